// SPDX-License-Identifier: Apache-2.0
// What command lines say, as ROS 2 (`--ros-args -r from:=to -p name:=value`) and ROS 1 (`from:=to _name:=value`) write them.
// docs/guides/names.md has the grammar and the rules; init.hpp reads them.
// Thread rules: plain values; the functions are thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "baton/node/parameter.hpp"

namespace baton {

/// One rule for names: `[node:]from:=to`.
struct Remapping {
  enum class Applies : std::uint8_t {
    kTopicsAndServices,
    kTopics,     ///< rostopic://
    kServices,   ///< rosservice://
    kNodeName,   ///< __node, __name
    kNamespace,  ///< __ns
  };
  std::string node;  ///< the rule is for nodes of this name (renamed by __node already); empty: for all nodes
  Applies applies = Applies::kTopicsAndServices;
  std::string from;  ///< empty for kNodeName and kNamespace
  std::string to;
};

/// The user's mistake, not the program's: a command line, a file of parameters or an environment variable with a wrong
/// option or value. If it leaves main() after init(), the program ends with one line on stderr and status 2, where another
/// exception calls abort().
class UsageError : public Exception {
 public:
  explicit UsageError(const Exception& error) : Exception(error) {}
};

namespace detail {

/// Whether an assignment was used. All copies of the assignment share it. The flags order nothing else: relaxed suffices.
struct AssignmentUse {
  std::atomic<bool> applied{false};   ///< a node had a matching name
  std::atomic<bool> declared{false};  ///< a node has declared the parameter
};

}  // namespace detail

/// A parameter's value for the nodes whose name matches.
struct ParameterAssignment {
  std::string node;  ///< an absolute name of nodes; `*` stands for one part of it, `**` for any number of parts
  std::string name;
  ParameterValue value;
  std::string where;    ///< file and line, or the argument: for errors
  bool single = false;  ///< of an argument, not of a file
  std::shared_ptr<detail::AssignmentUse> use = std::make_shared<detail::AssignmentUse>();

  /// `fully_qualified_name` is a node's, e.g. "/left/camera".
  bool applies_to(const std::string& fully_qualified_name) const;
};

/// One option `--log-level [logger:=]level`.
struct LogLevel {
  std::string logger;  ///< empty: all loggers
  std::string level;   ///< "debug", "info", "warn", "error", "fatal", "off" or "unset"
};

/// The ROS arguments of a command line, in their order.
struct Arguments {
  std::vector<Remapping> remappings;            ///< the first one that matches is used
  std::vector<ParameterAssignment> parameters;  ///< of files and single ones; the last one that matches is used
  std::vector<LogLevel> log_levels;             ///< the last one for a logger is used
  std::optional<bool> rosout;                   ///< --enable-rosout-logs, --disable-rosout-logs
  std::optional<bool> console;                  ///< --enable-stdout-logs, --disable-stdout-logs: the lines on stderr
  std::vector<std::string> rest;                ///< the arguments that are not ROS's
};

/// The parameters of a YAML file in ROS 2's form, in the order of the file, which has 16 MiB at most. Throws not_found
/// (it cannot be read), invalid_argument with file and line, unsupported (this library was built without libyaml).
std::vector<ParameterAssignment> read_parameter_file(const std::string& path);
/// The value of YAML text: a scalar or a list, e.g. `[1.0, 2.0]`. `where` begins the text of an error. Throws
/// invalid_argument, or unsupported if this library was built without libyaml and `text` is more than a plain scalar.
ParameterValue parse_parameter_value(const std::string& text, const std::string& where);

}  // namespace baton
