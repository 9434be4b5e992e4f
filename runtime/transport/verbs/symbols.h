// Looks the functions of a shared library up, and remembers the first that is missing.
#ifndef WEFT_RUNTIME_TRANSPORT_VERBS_SYMBOLS_H_
#define WEFT_RUNTIME_TRANSPORT_VERBS_SYMBOLS_H_

#include <dlfcn.h>

#include <string>

namespace weft {

class Symbols {
 public:
  explicit Symbols(void* library) : library_(library) {}

  template <typename Function>
  void Find(const char* name, Function*& function) {
    void* const symbol = dlsym(library_, name);
    if (symbol == nullptr && missing_.empty()) missing_ = name;
    function = reinterpret_cast<Function*>(symbol);
  }
  const std::string& missing() const { return missing_; }

 private:
  void* const library_;
  std::string missing_;
};

}  // namespace weft
#endif  // WEFT_RUNTIME_TRANSPORT_VERBS_SYMBOLS_H_
