#include "tools/weftrun/node_plan.h"

#include <cstring>
#include <utility>

namespace weft {
namespace {

constexpr uint32_t kNone = UINT32_MAX;

void Append(std::string& bytes, uint32_t number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

void Append(std::string& bytes, std::string_view text) {
  Append(bytes, static_cast<uint32_t>(text.size()));
  bytes.append(text);
}

// Takes values off the front; `ok` turns false at the first that is not there.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  uint32_t Number() {
    uint32_t number = 0;
    const std::string_view bytes = Bytes(sizeof(number));
    if (ok_) std::memcpy(&number, bytes.data(), sizeof(number));
    return number;
  }
  bool Switch() {
    const uint32_t number = Number();
    ok_ = ok_ && number <= 1;
    return number == 1;
  }
  std::string Text() { return std::string(Bytes(Number())); }
  // Of things that take `bytes` at least: no more than there can be.
  uint32_t Count(size_t bytes) {
    const uint32_t count = Number();
    ok_ = ok_ && count <= left_.size() / bytes;
    return ok_ ? count : 0;
  }
  std::string_view Bytes(size_t count) {
    ok_ = ok_ && count <= left_.size();
    if (!ok_) return {};
    const std::string_view bytes = left_.substr(0, count);
    left_.remove_prefix(count);
    return bytes;
  }
  bool AtEnd() const { return ok_ && left_.empty(); }

 private:
  std::string_view left_;
  bool ok_ = true;
};

bool MakesSense(const NodePlan& plan) {
  const Options& options = plan.options;
  const Rank size = plan.map.size();
  if (size == 0 || size > kMaxRanks || options.command.empty()) return false;
  if (plan.map.nodes() > size || plan.node.value_or(0) >= plan.map.nodes()) return false;
  return !options.stdin_rank || *options.stdin_rank < size;
}

}  // namespace

std::vector<Rank> NodePlan::Ranks() const {
  if (node) return map.RanksOn(*node);
  std::vector<Rank> all(map.size());
  for (Rank rank = 0; rank < map.size(); ++rank) all[rank] = rank;
  return all;
}

std::string EncodeNodePlan(const NodePlan& plan) {
  const Options& options = plan.options;
  std::string bytes;
  Append(bytes, plan.node.value_or(kNone));
  Append(bytes, plan.host);
  Append(bytes, plan.map.size());
  bytes.append(reinterpret_cast<const char*>(plan.map.table().data()),
               plan.map.size() * sizeof(uint16_t));
  Append(bytes, static_cast<uint32_t>(options.environment.size()));
  for (const auto& [name, value] : options.environment) {
    Append(bytes, name);
    Append(bytes, value);
  }
  Append(bytes, options.directory);
  Append(bytes, options.stdin_rank.value_or(kNone));
  Append(bytes, static_cast<uint32_t>(options.binding));
  Append(bytes, options.verbose ? 1u : 0u);
  Append(bytes, options.survivors_go_on ? 1u : 0u);
  Append(bytes, static_cast<uint32_t>(options.command.size()));
  for (const std::string& word : options.command) Append(bytes, word);
  return bytes;
}

absl::StatusOr<NodePlan> DecodeNodePlan(std::string_view bytes) {
  Reader reader(bytes);
  NodePlan plan;
  Options& options = plan.options;
  if (const uint32_t node = reader.Number(); node != kNone) plan.node = node;
  plan.host = reader.Text();
  std::vector<uint16_t> table(reader.Count(sizeof(uint16_t)));
  const std::string_view entries = reader.Bytes(table.size() * sizeof(uint16_t));
  if (!entries.empty()) std::memcpy(table.data(), entries.data(), entries.size());
  plan.map = NodeMap(std::move(table));
  options.ranks = plan.map.size();
  for (uint32_t left = reader.Count(8); left > 0; --left) {
    std::string name = reader.Text();
    options.environment.emplace_back(std::move(name), reader.Text());
  }
  options.directory = reader.Text();
  options.stdin_rank = std::nullopt;
  if (const uint32_t rank = reader.Number(); rank != kNone) options.stdin_rank = rank;
  const uint32_t binding = reader.Number();
  options.binding = static_cast<Options::Binding>(binding);
  options.verbose = reader.Switch();
  options.survivors_go_on = reader.Switch();
  for (uint32_t left = reader.Count(4); left > 0; --left) options.command.push_back(reader.Text());
  if (!reader.AtEnd() || binding > static_cast<uint32_t>(Options::Binding::kNone) ||
      !MakesSense(plan)) {
    return absl::InvalidArgumentError(
        "the launcher's plan makes no sense: use the same build of Weft on all hosts");
  }
  return plan;
}

}  // namespace weft
