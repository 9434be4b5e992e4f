#include "runtime/world/settings.h"

#include <unistd.h>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "runtime/world/memory_limit.h"

namespace weft {
namespace {

constexpr uint64_t kDefaultHeapBytes = uint64_t{256} << 20;
constexpr uint64_t kMaxHeapBytes = uint64_t{1} << 46;
// The arenas start at multiples of their largest alignment.
constexpr uint64_t kGranule = 4096;

uint64_t RoundUp(uint64_t bytes, uint64_t granule) {
  return (bytes + granule - 1) / granule * granule;
}

absl::StatusOr<uint64_t> ParseBytes(const char* name, std::string_view text) {
  std::string_view digits = text;
  int shift = 0;
  if (!digits.empty()) {
    const size_t unit = std::string_view("KMGT").find(digits.back());
    if (unit != std::string_view::npos) {
      shift = static_cast<int>(unit + 1) * 10;
      digits.remove_suffix(1);
    }
  }
  uint64_t count = 0;
  if (!absl::SimpleAtoi(absl::string_view(digits.data(), digits.size()), &count) || count == 0 ||
      count > kMaxHeapBytes >> shift) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s=%s: expected a number of bytes from 1 to 64T, such as 268435456 or 256M", name,
        std::string(text)));
  }
  return count << shift;
}

absl::StatusOr<absl::Duration> ParseDeadline(const char* name, const char* text) {
  absl::Duration duration;
  if (!absl::ParseDuration(text, &duration) || duration <= absl::ZeroDuration()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s=%s: expected a positive time with its unit, such as 30s, 500ms or inf", name, text));
  }
  return duration;
}

// Sets `result` to what the variable, if it is set, stands for: one of `choices`.
template <typename T>
absl::Status ReadChoice(const std::function<const char*(const char*)>& environment,
                        const char* name,
                        std::initializer_list<std::pair<absl::string_view, T>> choices, T& result) {
  const char* const text = environment(name);
  if (text == nullptr) return absl::OkStatus();
  std::vector<absl::string_view> words;
  for (const auto& [word, value] : choices) {
    if (word == text) {
      result = value;
      return absl::OkStatus();
    }
    words.push_back(word);
  }
  return absl::InvalidArgumentError(
      absl::StrCat(name, "=", text, ": expected one of ", absl::StrJoin(words, ", ")));
}

}  // namespace

absl::StatusOr<Settings> ResolveSettings(
    const World::Options& options, const std::function<const char*(const char*)>& environment) {
  uint64_t heap = options.heap_bytes;
  if (const char* text = environment("WEFT_HEAP_BYTES"); heap == 0 && text != nullptr) {
    auto parsed = ParseBytes("WEFT_HEAP_BYTES", text);
    if (!parsed.ok()) return parsed.status();
    heap = *parsed;
  }
  if (heap == 0) heap = kDefaultHeapBytes;
  if (heap > kMaxHeapBytes) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "heap_bytes is %u: a slab has at most %u bytes (64 TiB)", heap, kMaxHeapBytes));
  }
  uint64_t local = options.local_bytes;
  if (const char* text = environment("WEFT_LOCAL_BYTES"); local == 0 && text != nullptr) {
    auto parsed = ParseBytes("WEFT_LOCAL_BYTES", text);
    if (!parsed.ok()) return parsed.status();
    local = *parsed;
  }
  if (local == 0) local = heap / 4;

  Settings settings;
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  settings.shape.slab_bytes = RoundUp(heap, std::max(page, kGranule));
  settings.shape.local_bytes = RoundUp(local, kGranule);
  if (settings.shape.local_bytes > settings.shape.slab_bytes) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "local_bytes (WEFT_LOCAL_BYTES) is %u, more than heap_bytes (WEFT_HEAP_BYTES), %u: the "
        "local part lies within the heap",
        local, heap));
  }
  const MemoryLimit limit = ReadMemoryLimit();
  if (settings.shape.slab_bytes > limit.bytes) {
    return absl::ResourceExhaustedError(absl::StrFormat(
        "heap_bytes (WEFT_HEAP_BYTES) asks for a slab of %u bytes, but %s is %u bytes: ask for "
        "less, or raise that",
        settings.shape.slab_bytes, limit.name, limit.bytes));
  }

  struct Choice {
    absl::Duration explicit_value;
    const char* option;
    const char* variable;
    absl::Duration fallback;
    absl::Duration* result;
  };
  for (const Choice& choice : {Choice{options.deadline, "deadline", "WEFT_DEADLINE",
                                      absl::Seconds(30), &settings.deadline},
                               Choice{options.wait_deadline, "wait_deadline", "WEFT_WAIT_DEADLINE",
                                      absl::Minutes(10), &settings.wait_deadline}}) {
    *choice.result = choice.fallback;
    if (choice.explicit_value < absl::ZeroDuration()) {
      return absl::InvalidArgumentError(absl::StrCat(choice.option, " is negative"));
    }
    if (choice.explicit_value > absl::ZeroDuration()) {
      *choice.result = choice.explicit_value;
    } else if (const char* text = environment(choice.variable); text != nullptr) {
      auto parsed = ParseDeadline(choice.variable, text);
      if (!parsed.ok()) return parsed.status();
      *choice.result = *parsed;
    }
  }

  if (const char* text = environment("WEFT_FAULT"); text != nullptr) {
    uint64_t seed = 0;
    if (!absl::SimpleAtoi(text, &seed)) {
      return absl::InvalidArgumentError(
          absl::StrFormat("WEFT_FAULT=%s: expected a seed, a number", text));
    }
    settings.fault_seed = seed;
  }
  if (const char* text = environment("WEFT_TRANSPORTS"); text != nullptr) {
    settings.use_shm = settings.use_verbs = settings.use_tcp = false;
    for (const absl::string_view name : absl::StrSplit(text, ',')) {
      if (name == "shm") {
        settings.use_shm = true;
      } else if (name == "verbs") {
        settings.use_verbs = true;
      } else if (name == "tcp") {
        settings.use_tcp = true;
      } else {
        return absl::InvalidArgumentError(absl::StrFormat(
            "WEFT_TRANSPORTS=%s: expected a list of shm, verbs and tcp, such as shm,tcp", text));
      }
    }
  }
  if (const char* text = environment("WEFT_INTERFACE"); text != nullptr) {
    settings.interface = text;
  }
  if (const char* text = environment("WEFT_VERBS_DEVICE"); text != nullptr) {
    settings.verbs.device = text;
  }
  absl::Status chosen = ReadChoice<AtomicsChoice>(environment, "WEFT_ATOMICS",
                                                  {{"auto", AtomicsChoice::kAuto},
                                                   {"nic", AtomicsChoice::kNic},
                                                   {"agent", AtomicsChoice::kAgent}},
                                                  settings.verbs.atomics);
  chosen.Update(ReadChoice<bool>(environment, "WEFT_VERBS_STRICT_FLUSH",
                                 {{"0", false}, {"1", true}}, settings.verbs.strict_flush));
  chosen.Update(ReadChoice<ConnectChoice>(environment, "WEFT_VERBS_CONNECT",
                                          {{"auto", ConnectChoice::kAuto},
                                           {"cm", ConnectChoice::kCm},
                                           {"exchange", ConnectChoice::kExchange}},
                                          settings.verbs.connect));
  if (!chosen.ok()) return chosen;
  return settings;
}

}  // namespace weft
