// The main of a fuzz target in plain test runs: replays the files given as arguments, then
// --runs=N mutations of them from a fixed seed (WEFT_SEEDS=M: from M more seeds too). The bytes
// of an input that brings the process down are printed to stderr.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Input = std::vector<uint8_t>;

constexpr size_t kMaxInput = 4096;

std::vector<std::string> corpus_files;
int runs = 100000;

// What the signal handler prints.
const uint8_t* current_data = nullptr;
size_t current_size = 0;

void PrintInputAndDie(int signal) {
  constexpr char kDigits[] = "0123456789abcdef";
  auto print = [](const char* text, size_t size) {
    if (write(STDERR_FILENO, text, size) < 0) _exit(1);
  };
  constexpr char kTitle[] = "the input that failed, in hex: ";
  print(kTitle, sizeof(kTitle) - 1);
  for (size_t i = 0; i < current_size; ++i) {
    const char pair[] = {kDigits[current_data[i] >> 4], kDigits[current_data[i] & 15]};
    print(pair, sizeof(pair));
  }
  print("\n", 1);
  raise(signal);  // The handler was reset: this ends the process.
}

void RunOne(const Input& input) {
  // An exact heap copy, so that AddressSanitizer sees one byte too far.
  const Input copy(input.begin(), input.end());
  current_data = copy.data();
  current_size = copy.size();
  LLVMFuzzerTestOneInput(copy.data(), copy.size());
  current_size = 0;
}

class Mutator {
 public:
  Mutator(uint32_t seed, const std::vector<Input>& corpus) : random_(seed), pool_(corpus) {
    if (pool_.empty()) pool_.emplace_back();
  }

  Input Next() {
    Input input = pool_[Below(pool_.size())];
    for (size_t n = 1 + Below(5); n > 0; --n) Mutate(input);
    if (input.size() > kMaxInput) input.resize(kMaxInput);
    // Some results become seeds: mutations add up even without a corpus.
    if (Below(16) == 0) {
      if (pool_.size() < 256) {
        pool_.push_back(input);
      } else {
        pool_[Below(pool_.size())] = input;
      }
    }
    return input;
  }

 private:
  size_t Below(size_t n) { return random_() % n; }
  Input::iterator At(Input& input, size_t i) {
    return input.begin() + static_cast<std::ptrdiff_t>(i);
  }

  void Mutate(Input& input) {
    switch (input.empty() ? 0 : Below(8)) {
      case 0: {  // Insert random bytes.
        Input bytes(1 + Below(Below(8) == 0 ? 300 : 8));
        for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random_());
        input.insert(At(input, Below(input.size() + 1)), bytes.begin(), bytes.end());
        break;
      }
      case 1:  // Flip a bit.
        input[Below(input.size())] ^= static_cast<uint8_t>(1u << Below(8));
        break;
      case 2:
        input[Below(input.size())] = static_cast<uint8_t>(random_());
        break;
      case 3:
        input.resize(Below(input.size() + 1));
        break;
      case 4: {  // Erase a range.
        const size_t from = Below(input.size());
        input.erase(At(input, from), At(input, from + 1 + Below(input.size() - from)));
        break;
      }
      case 5: {  // Repeat a range.
        const size_t from = Below(input.size());
        const Input range(At(input, from), At(input, from + 1 + Below(input.size() - from)));
        input.insert(At(input, Below(input.size() + 1)), range.begin(), range.end());
        break;
      }
      case 6: {  // A number at the edge of some width.
        static constexpr std::array<uint64_t, 12> kEdges = {
            0,          1,          0x7f,       0xff,        0x7fff,     0xffff,
            0x7fffffff, 0x80000000, 0xffffffff, 0x100000000, 1ull << 63, ~uint64_t{0}};
        const uint64_t value = kEdges[Below(kEdges.size())] + Below(3) - 1;
        const size_t width = size_t{1} << Below(4);
        const size_t at = Below(input.size());
        std::memcpy(&input[at], &value, std::min(width, input.size() - at));
        break;
      }
      default: {  // Continue as another input does.
        const Input& other = pool_[Below(pool_.size())];
        if (other.empty()) break;
        const size_t from = Below(other.size());
        input.resize(Below(input.size() + 1));
        input.insert(input.end(), other.begin() + static_cast<std::ptrdiff_t>(from), other.end());
      }
    }
  }

  std::mt19937 random_;
  std::vector<Input> pool_;
};

std::vector<Input> ReadCorpus() {
  std::vector<Input> corpus;
  for (const std::string& file : corpus_files) {
    std::ifstream in(file, std::ios::binary);
    EXPECT_TRUE(in.is_open()) << file;
    corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return corpus;
}

TEST(Fuzz, Corpus) {
  RunOne({});
  for (const Input& input : ReadCorpus()) RunOne(input);
}

TEST(Fuzz, Mutations) {
  const char* const seeds = std::getenv("WEFT_SEEDS");
  const int last = 1 + (seeds == nullptr ? 0 : std::atoi(seeds));
  const std::vector<Input> corpus = ReadCorpus();
  for (int seed = 1; seed <= last; ++seed) {
    Mutator mutator(static_cast<uint32_t>(seed), corpus);
    for (int i = 0; i < runs; ++i) RunOne(mutator.Next());
  }
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (std::strncmp(argv[i], "--runs=", 7) == 0) {
      runs = std::atoi(argv[i] + 7);
    } else {
      corpus_files.emplace_back(argv[i]);
    }
  }
  struct sigaction action = {};
  action.sa_handler = PrintInputAndDie;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    sigaction(signal, &action, nullptr);
  }
  return RUN_ALL_TESTS();
}
