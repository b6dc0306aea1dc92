// SPDX-License-Identifier: Apache-2.0
#include "selection.hpp"

#include <algorithm>

#include "baton/os/printable.hpp"

namespace baton::record {
namespace {

/// A longer name is matched by no expression.
constexpr std::size_t kMostMatched = 1024;
/// Names whose matches are remembered; then all are forgotten.
constexpr std::size_t kMostRemembered = 10'000;

/// A publisher chooses the name, so the time of a match may not grow with a power of its length. libstdc++ does otherwise unless it is asked,
/// and then refuses back references. Other libraries limit the steps of a match.
constexpr std::regex::flag_type kFlags = std::regex::ECMAScript | std::regex::optimize
#ifdef __GLIBCXX__
                                         | std::regex_constants::__polynomial
#endif
    ;

Result<std::vector<std::regex>> compiled(const std::vector<std::string>& patterns) {
  std::vector<std::regex> out;
  for (const std::string& pattern : patterns) {
    try {
      out.emplace_back(pattern, kFlags);
    } catch (const std::regex_error& error) {
      if (error.code() == std::regex_constants::error_complexity)
        return Error{Errc::invalid_argument, "'" + pattern + "' has a back reference, or is too long"};
      return Error{Errc::invalid_argument, "'" + pattern + "' is no regular expression"};
    }
  }
  return out;
}

bool any_matches(const std::vector<std::regex>& patterns, const std::string& name) {
  if (name.size() > kMostMatched) return false;
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::regex& each) {
    try {
      return std::regex_match(name, each);
    } catch (const std::regex_error&) {  // too complex for this name
      return false;
    }
  });
}

/// Events of calls, which servers and clients publish.
bool has_service_events(const std::string& topic) {
  const std::string kEnd = "/_service_event";
  return topic.size() > kEnd.size() && topic.compare(topic.size() - kEnd.size(), kEnd.size(), kEnd) == 0 &&
         topic.find("/_") == topic.size() - kEnd.size();  // not of an action's hidden services
}

/// Topics that carry services, and others that ROS 2 hides.
bool is_hidden(const std::string& topic) { return topic.find("/_") != std::string::npos; }

}  // namespace

std::string short_type_name(const std::string& name) {
  for (const std::string part : {"/msg/", "/srv/", "/action/"}) {
    const std::size_t at = name.find(part);
    if (at != std::string::npos) return name.substr(0, at + 1) + name.substr(at + part.size());
  }
  return name;
}

Result<Selection> Selection::make(const SelectionOptions& options) {
  Selection out;
  out.all_ = options.all;
  out.all_services_ = options.all_services;
  for (const std::string& topic : options.topics)
    out.topics_.insert(topic.empty() || topic[0] == '/' ? topic : "/" + topic);
  for (const std::string& type : options.types) out.types_.insert(short_type_name(type));
  Result<std::vector<std::regex>> patterns = compiled(options.patterns);
  if (!patterns) return patterns.error();
  out.patterns_ = std::move(*patterns);
  Result<std::vector<std::regex>> excluded = compiled(options.excluded);
  if (!excluded) return excluded.error();
  out.excluded_ = std::move(*excluded);
  if (!out.all_ && !out.all_services_ && out.topics_.empty() && out.types_.empty() && out.patterns_.empty())
    return Error{Errc::invalid_argument, "no topic is selected: name some, or all"};
  return out;
}

Selection::Match Selection::match(const std::string& topic) {
  const auto found = matches_.find(topic);
  if (found != matches_.end()) return found->second;
  if (matches_.size() >= kMostRemembered) matches_.clear();
  return matches_[topic] = {any_matches(patterns_, topic), any_matches(excluded_, topic)};
}

bool Selection::has(const std::string& topic, const std::string& type) {
  // The strings of a bag are UTF-8, and a process may announce any bytes. ROS has ASCII alone.
  if (os::printable(topic) != topic) return false;
  const Match matched = match(topic);
  if (matched.excluded) return false;
  if (topics_.count(topic) != 0) return true;
  if (all_services_ && has_service_events(topic)) return true;
  if (is_hidden(topic)) return false;
  return all_ || types_.count(type) != 0 || matched.selected;
}

}  // namespace baton::record
