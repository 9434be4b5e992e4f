#include "tools/weftrun/hosts.h"

#include <unistd.h>

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"

namespace weft {
namespace {

absl::Status Bad(std::string text) { return absl::InvalidArgumentError(std::move(text)); }

// A name becomes an argument of the agent: it must not look like a flag of it.
absl::Status CheckName(std::string_view name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) ||
           std::string_view(".-_:%@").find(c) != std::string_view::npos;
  });
  if (!name.empty() && plain && name[0] != '-') return absl::OkStatus();
  return Bad(absl::StrFormat("\"%s\" is no host's name", absl::CEscape(std::string(name))));
}

absl::StatusOr<uint32_t> ParseSlots(std::string_view text) {
  uint32_t slots;
  if (!absl::SimpleAtoi(std::string(text), &slots) || slots == 0 || slots > kMaxRanks) {
    return Bad(absl::StrFormat("\"%s\" is no number of slots from 1 to %u",
                               absl::CEscape(std::string(text)), kMaxRanks));
  }
  return slots;
}

// "name", "name:slots", "[address]", "[address]:slots", "IPv6 address".
absl::StatusOr<Host> ParseHost(std::string_view text) {
  Host host;
  std::string_view rest;
  const size_t bracket = text.find(']');
  if (text.starts_with('[') && bracket != std::string_view::npos) {
    host.name = text.substr(1, bracket - 1);
    rest = text.substr(bracket + 1);
    if (!rest.empty() && rest[0] != ':') return Bad("after a ] comes :slots, or nothing");
  } else {
    const size_t colon =
        std::count(text.begin(), text.end(), ':') == 1 ? text.find(':') : text.size();
    host.name = text.substr(0, colon);
    rest = text.substr(colon);
  }
  if (absl::Status named = CheckName(host.name); !named.ok()) return named;
  if (!rest.empty()) {
    auto slots = ParseSlots(rest.substr(1));
    if (!slots.ok()) return slots.status();
    host.slots = *slots;
  }
  return host;
}

// The same host named twice has the room of both.
std::vector<Host> Merged(const std::vector<Host>& hosts) {
  std::vector<Host> merged;
  for (const Host& host : hosts) {
    const auto same = std::find_if(merged.begin(), merged.end(), [&](const Host& other) {
      return absl::EqualsIgnoreCase(other.name, host.name) ||
             (IsThisHost(other.name) && IsThisHost(host.name));
    });
    if (same == merged.end()) {
      merged.push_back(host);
    } else {
      same->slots = std::min(same->slots + host.slots, kMaxRanks);
    }
  }
  return merged;
}

}  // namespace

absl::StatusOr<std::vector<Host>> ParseHostList(std::string_view list) {
  std::vector<Host> hosts;
  for (const absl::string_view part : absl::StrSplit(std::string(list), ',')) {
    auto host = ParseHost(std::string_view(part.data(), part.size()));
    if (!host.ok()) {
      return Bad(absl::StrCat("--host: ", host.status().message(),
                              "; it takes names, with slots if you like: --host a,b:2"));
    }
    hosts.push_back(*std::move(host));
  }
  return hosts;
}

absl::StatusOr<std::vector<Host>> ParseHostFile(std::string_view file, std::string_view text) {
  std::vector<Host> hosts;
  int number = 0;
  for (const std::string& line :
       std::vector<std::string>(absl::StrSplit(std::string(text), '\n'))) {
    ++number;
    const std::vector<std::string> words =
        absl::StrSplit(line.substr(0, line.find('#')), absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    if (words.empty()) continue;
    absl::Status status = CheckName(words[0]);
    Host host = {.name = words[0]};
    constexpr std::string_view kSlots = "slots=";
    if (status.ok() && words.size() == 2 && words[1].starts_with(kSlots)) {
      auto slots = ParseSlots(std::string_view(words[1]).substr(kSlots.size()));
      if (slots.ok()) host.slots = *slots;
      status = slots.status();
    } else if (status.ok() && words.size() > 1) {
      status = Bad(absl::StrFormat("\"%s\" is not slots=N", absl::CEscape(words[1])));
    }
    if (!status.ok()) {
      return Bad(absl::StrFormat("--hostfile %s, line %d: %s; a line is a name, or name slots=N",
                                 std::string(file), number, std::string(status.message())));
    }
    hosts.push_back(std::move(host));
  }
  if (hosts.empty()) {
    return Bad(absl::StrFormat("--hostfile %s names no host; give it lines with a name on each",
                               std::string(file)));
  }
  return hosts;
}

absl::StatusOr<Placement> PlaceRanks(const std::vector<Host>& named, Rank ranks,
                                     std::optional<uint32_t> per_host, bool by_node) {
  std::vector<Host> hosts =
      named.empty() ? std::vector<Host>{{.name = "localhost"}} : Merged(named);
  uint64_t room = 0;
  for (Host& host : hosts) {
    if (per_host) host.slots = *per_host;
    room += host.slots;
  }
  if (ranks == 0 && room > kMaxRanks) {
    return Bad(absl::StrFormat(
        "these hosts have %u slots, but a job has 1 to %u ranks: say how many with -n", room,
        kMaxRanks));
  }
  if (ranks == 0) ranks = static_cast<Rank>(room);
  if (per_host && ranks > room) {
    return Bad(
        absl::StrFormat("-n %u: %u on each of %u hosts (-N) are %u; name more hosts, or raise -N",
                        ranks, *per_host, hosts.size(), room));
  }
  // How many each host gets: up to its slots one after the other, or in turn; what is over, in
  // turn.
  std::vector<uint32_t> counts(hosts.size(), 0);
  std::vector<size_t> order;  // Of rank `by_node`: its host.
  uint32_t left = ranks;
  if (!by_node) {
    for (size_t h = 0; h < hosts.size(); ++h) {
      counts[h] = std::min(left, hosts[h].slots);
      left -= counts[h];
    }
  }
  const bool crowded = ranks > room;
  for (size_t h = 0; left > 0; h = (h + 1) % hosts.size()) {
    const bool full = counts[h] >= hosts[h].slots;
    // In turn, nobody gets more than its slots before all have that many.
    if (full && !(crowded && (!by_node || order.size() >= room))) continue;
    ++counts[h];
    --left;
    if (by_node) order.push_back(h);
  }
  if (!by_node) {
    for (size_t h = 0; h < hosts.size(); ++h) order.insert(order.end(), counts[h], h);
  }
  Placement placement;
  std::vector<uint16_t> node_of_host(hosts.size());
  for (size_t h = 0; h < hosts.size(); ++h) {
    if (counts[h] == 0) continue;
    node_of_host[h] = static_cast<uint16_t>(placement.hosts.size());
    placement.hosts.push_back(hosts[h].name);
  }
  std::vector<uint16_t> node_of_rank;
  for (const size_t h : order) node_of_rank.push_back(node_of_host[h]);
  placement.map = NodeMap(std::move(node_of_rank));
  return placement;
}

std::string OwnHostName() {
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  return host;
}

bool IsThisHost(std::string_view name) {
  if (absl::EqualsIgnoreCase(std::string(name), "localhost") || name == "127.0.0.1" ||
      name == "::1") {
    return true;
  }
  const std::string whole = OwnHostName();
  const std::string given(name);
  return !whole.empty() && (absl::EqualsIgnoreCase(given, whole) ||
                            absl::EqualsIgnoreCase(given, whole.substr(0, whole.find('.'))));
}

}  // namespace weft
