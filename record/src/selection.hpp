// SPDX-License-Identifier: Apache-2.0
// Which topics are recorded.
// Thread rules: one thread.
#pragma once

#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "baton/os/result.hpp"

namespace baton::record {

struct SelectionOptions {
  bool all = false;                   ///< every topic that is not hidden
  bool all_services = false;          ///< the events of every service (NAME/_service_event)
  std::vector<std::string> topics;    ///< names; hidden ones as well
  std::vector<std::string> patterns;  ///< regular expressions (ECMAScript), which match the whole name
  std::vector<std::string> types;     ///< "sensor_msgs/msg/Image" or "sensor_msgs/Image"
  std::vector<std::string> excluded;  ///< regular expressions, which match the whole name; they win over all others
};

class Selection {
 public:
  /// Error invalid_argument: an expression is malformed or has a back reference, or the options select nothing.
  static Result<Selection> make(const SelectionOptions& options);
  /// `type`: Baton's name of it. Topics are selected only if their names are printable ASCII.
  bool has(const std::string& topic, const std::string& type);

 private:
  /// Which kinds of expressions match a name.
  struct Match {
    bool selected = false, excluded = false;
  };
  Match match(const std::string& topic);

  bool all_ = false, all_services_ = false;
  std::set<std::string> topics_, types_;
  std::vector<std::regex> patterns_, excluded_;
  std::map<std::string, Match> matches_;  // remembered results of match()
};

/// "sensor_msgs/Image" of "sensor_msgs/msg/Image".
std::string short_type_name(const std::string& name);

}  // namespace baton::record
