// SPDX-License-Identifier: Apache-2.0
#include "names.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

namespace baton::detail {
namespace {

constexpr char kForm[] =
    "is no name of a topic or service: use letters, digits and '_', separated by single '/'; '~/' at the front stands "
    "for the node's name";

std::string join(const std::string& ns, const std::string& name) { return ns == "/" ? "/" + name : ns + "/" + name; }

bool is_in_names(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool is_absolute(std::string_view name) {
  if (name.size() < 2 || name.front() != '/' || name.back() == '/') return false;
  char before = 0;
  for (const char c : name) {
    if (!(is_in_names(c) || c == '/') || (c == '/' && before == '/')) return false;
    before = c;
  }
  return true;
}

std::vector<std::string_view> parts(std::string_view name) {
  std::vector<std::string_view> found;
  while (!name.empty()) {
    const std::size_t end = name.find('/');
    if (end != 0) found.push_back(name.substr(0, end));
    name.remove_prefix(end == std::string_view::npos ? name.size() : end + 1);
  }
  return found;
}

}  // namespace

std::string why_no_name(const std::string& name) {
  if (name.empty()) return kForm;
  std::string text = name == "~" ? "n" : name;
  if (text.front() == '~') text.erase(0, text[1] == '/' ? 2 : 1);
  if (text.empty() || (text.front() == '/' && name.front() == '~')) return kForm;
  return is_absolute(text.front() == '/' ? text : "/" + text) ? "" : kForm;
}

std::string why_no_node_name(const std::string& name) {
  const bool is_name = !name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) == 0 &&
                       std::all_of(name.begin(), name.end(), is_in_names);
  return is_name ? "" : "is no name of a node: use letters, digits and '_', and no digit at the front";
}

std::string checked_namespace(const std::string& text) {
  std::string result = text.empty() || text.front() != '/' ? "/" + text : text;
  if (result != "/" && !is_absolute(result))
    throw Exception({Errc::invalid_argument,
                     "'" + text + "' is no namespace: use letters, digits and '_', separated by single '/'"});
  return result;
}

bool matches(const std::string& pattern, const std::string& name) {
  // One row of the table of all prefixes at a time, so that many `**` cost no more than their number.
  const auto wanted = parts(pattern), given = parts(name);
  std::vector<bool> row(given.size() + 1, false);
  row[0] = true;
  for (const std::string_view part : wanted) {
    std::vector<bool> next(row.size(), false);
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (part == "**") {
        next[i] = row[i] || (i > 0 && next[i - 1]);
      } else {
        next[i] = i > 0 && row[i - 1] && (part == "*" || part == given[i - 1]);
      }
    }
    row = std::move(next);
  }
  return row.back();
}

NodeNames::NodeNames(const std::string& name, const std::string& ns, std::vector<Remapping> rules)
    : name_(name), ns_(checked_namespace(ns)) {
  const auto first = [&](Remapping::Applies applies) -> const Remapping* {
    for (const Remapping& rule : rules)
      if (rule.applies == applies && (rule.node.empty() || rule.node == name_)) return &rule;
    return nullptr;
  };
  // In rcl's order: the namespace and all other rules know the node by its new name.
  if (const Remapping* rule = first(Remapping::Applies::kNodeName)) name_ = rule->to;
  if (const Remapping* rule = first(Remapping::Applies::kNamespace)) ns_ = checked_namespace(rule->to);
  qualified_ = join(ns_, name_);
  for (Remapping& rule : rules) {
    const bool names = rule.applies != Remapping::Applies::kNodeName && rule.applies != Remapping::Applies::kNamespace;
    if (names && (rule.node.empty() || rule.node == name_)) rules_.push_back(std::move(rule));
  }
}

std::string NodeNames::expand(const std::string& name) const {
  if (const std::string why = why_no_name(name); !why.empty())
    throw Exception({Errc::invalid_argument, "'" + name + "' " + why});
  std::string text = name;
  if (text.front() == '~') {
    const std::size_t rest = text.size() > 1 && text[1] == '/' ? 2 : 1;
    text = text.size() > rest ? qualified_ + "/" + text.substr(rest) : qualified_;
  } else if (text.front() != '/') {
    text = join(ns_, text);
  }
  return text;
}

std::string NodeNames::resolve(const std::string& name, Kind kind) const {
  std::string full = expand(name);
  const Remapping::Applies other = kind == Kind::kTopic ? Remapping::Applies::kServices : Remapping::Applies::kTopics;
  for (const Remapping& rule : rules_)
    if (rule.applies != other && expand(rule.from) == full) return expand(rule.to);
  return full;
}

}  // namespace baton::detail
