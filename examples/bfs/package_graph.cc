#include "examples/bfs/package_graph.h"

#include <algorithm>
#include <utility>

#include "examples/bfs/text_error.h"

namespace bfs {
namespace {

std::string_view PackageName(const ControlField& field) {
  std::string_view name = field.value;
  name.remove_prefix(std::min(name.find_first_not_of(" \t"), name.size()));
  return name.substr(0, name.find_last_not_of(" \t") + 1);
}

bool IsDependency(const ControlField& field) {
  return field.Is("Depends") || field.Is("Pre-Depends") || field.Is("Recommends");
}

}  // namespace

absl::Status PackageGraphBuilder::Add(std::string_view text, std::string_view file) {
  return ForEachStanza(
      text, file, [&](std::span<const ControlField> stanza) { return AddPackage(stanza, file); });
}

absl::Status PackageGraphBuilder::AddPackage(std::span<const ControlField> stanza,
                                             std::string_view file) {
  const auto field = std::find_if(stanza.begin(), stanza.end(),
                                  [](const ControlField& f) { return f.Is("Package"); });
  if (field == stanza.end() || PackageName(*field).empty()) {
    return ErrorAtLine(file, stanza.front().line, "a stanza without the name of its Package");
  }
  const Vertex package = names_.Intern(PackageName(*field));
  if (is_package_.size() <= package) is_package_.resize(package + 1);
  is_package_[package] = true;

  for (const ControlField& field : stanza) {
    const bool provides = field.Is("Provides");
    if (!provides && !IsDependency(field)) continue;
    auto names = ParsePackageNames(field, file);
    if (!names.ok()) return names.status();
    for (std::string_view name : *names) {
      const Vertex other = names_.Intern(name);
      if (provides) {
        provides_.push_back({other, package});
      } else {
        dependencies_.push_back({package, other});
      }
    }
  }
  return absl::OkStatus();
}

NamedEdges PackageGraphBuilder::Build() && {
  is_package_.resize(names_.size());
  NamedEdges graph;
  std::vector<Vertex> vertex(names_.size(), kNoVertex);
  for (Vertex name = 0; name < names_.size(); ++name) {
    if (is_package_[name]) vertex[name] = graph.names.Intern(names_[name]);
  }
  const Graph providers(names_.size(), provides_, Direction::kDirected);
  for (const Edge& dependency : dependencies_) {
    const Vertex from = vertex[dependency.from];
    if (is_package_[dependency.to]) {
      graph.edges.push_back({from, vertex[dependency.to]});
      continue;
    }
    for (Vertex provider : providers.Neighbours(dependency.to)) {
      graph.edges.push_back({from, vertex[provider]});
    }
  }
  return graph;
}

}  // namespace bfs
