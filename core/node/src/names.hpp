// SPDX-License-Identifier: Apache-2.0
// Names of topics and services, from what a program writes to what a domain knows: made absolute in the node's
// namespace, then renamed by the first rule that matches (rcl: rcl_node_resolve_name). docs/guides/names.md.
// Thread rules: pure functions; NodeNames does not change after it was made.
#pragma once

#include <string>
#include <vector>

#include "baton/node/arguments.hpp"

namespace baton::detail {

/// Why `name` is no name of a topic or service, as the end of a sentence that begins with the name; empty: it is one.
/// Relative, absolute ("/a") and private names ("~/a", "~a", "~") are names.
std::string why_no_name(const std::string& name);

/// Why `name` is no name of a node by ROS's rule, as the end of a sentence that begins with the name; empty: it is one.
std::string why_no_node_name(const std::string& name);

/// "/a/b" of "/a/b" and "a/b"; "/" of "/" and "". Throws invalid_argument if it is no namespace.
std::string checked_namespace(const std::string& text);

/// True if `name`, an absolute name, matches `pattern`: `*` is any one part, `**` any number of parts, also none.
bool matches(const std::string& pattern, const std::string& name);

/// The names of one node, and the rules that apply to it.
class NodeNames {
 public:
  enum class Kind : std::uint8_t { kTopic, kService };

  NodeNames() = default;
  /// `rules`: the node's own before those of the command line. Throws invalid_argument (the namespace).
  NodeNames(const std::string& name, const std::string& ns, std::vector<Remapping> rules);

  const std::string& name() const noexcept { return name_; }
  const std::string& ns() const noexcept { return ns_; }                      ///< "/" or "/left/arm"
  const std::string& fully_qualified() const noexcept { return qualified_; }  ///< "/left/arm/camera"
  /// The name in lists of the domain: "camera" in the root namespace, else the fully qualified one.
  std::string in_graph() const { return ns_ == "/" ? name_ : qualified_; }

  /// The absolute name, renamed by the rules. Throws invalid_argument if it is no name.
  std::string resolve(const std::string& name, Kind kind) const;

 private:
  std::string expand(const std::string& name) const;

  std::string name_, ns_ = "/", qualified_;
  std::vector<Remapping> rules_;  // of topics and services, for this node
};

}  // namespace baton::detail
