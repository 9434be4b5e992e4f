// A decoder with a bug that mutations of its corpus (testdata/planted_bug) reach.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size >= 6 && data[0] == 'w' && data[1] == 'e' && data[2] == 'f' && data[3] == 0xff) {
    std::abort();
  }
  return 0;
}
