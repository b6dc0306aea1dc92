// SPDX-License-Identifier: Apache-2.0
// Command lines as ROS 2 (`--ros-args -r from:=to -p name:=value`) and ROS 1 (`from:=to _name:=value`) write them.
// docs/guides/names.md has the grammar and the rules.
// Thread rules: all functions are thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "baton/node/parameter.hpp"
#include "baton/node/refused.hpp"

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

/// A parameter's value for the nodes whose name matches.
struct ParameterAssignment {
  std::string node;  ///< an absolute name of nodes; `*` stands for one part of it, `**` for any number of parts
  std::string name;
  ParameterValue value;
  std::string where;  ///< file and line, or the argument: for errors

  /// `fully_qualified_name` is a node's, e.g. "/left/camera".
  bool applies_to(const std::string& fully_qualified_name) const;
};

/// What `--log-level [logger:=]level` asks for.
struct LogLevel {
  std::string logger;  ///< empty: all loggers
  std::string level;   ///< "debug", "info", "warn", "error", "fatal", "off" or "unset"
};

/// What a command line says to ROS, in the order of the command line.
struct Arguments {
  std::vector<Remapping> remappings;            ///< the first one that matches is used
  std::vector<ParameterAssignment> parameters;  ///< of files and single ones; the last one that matches is used
  std::vector<LogLevel> log_levels;             ///< the last one for a logger is used
  std::optional<bool> rosout;                   ///< --enable-rosout-logs, --disable-rosout-logs
  std::optional<bool> console;                  ///< --enable-stdout-logs, --disable-stdout-logs: the lines on stderr
  std::vector<std::string> rest;                ///< the arguments that are not ROS's
};

/// Reads a command line, with or without the program's name. Throws invalid_argument (an unknown or malformed argument,
/// with the argument in the text), not_found (a missing file of parameters).
Arguments parse_arguments(const std::vector<std::string>& arguments);

/// Reads the program's command line: names and parameters of all nodes made afterwards follow it. Does what
/// shutdown_on_signals() does. Returns the arguments that are not ROS's, the program's name first. Throws as
/// parse_arguments(). A second call replaces the first one's arguments.
std::vector<std::string> init(int argc, const char* const* argv);
std::vector<std::string> init(const std::vector<std::string>& arguments);
template <class Name, class... Options>
void init(int, const char* const*, const Name&, const Options&...) {
  static_assert(detail::kNever<Name>, "write baton::init(argc, argv), and the name at baton::Node node(\"camera\")");
}

/// What init() read; empty before. Never null.
std::shared_ptr<const Arguments> arguments();

/// The parameters of a YAML file in ROS 2's form, in the order of the file, which has 16 MiB at most. Throws not_found
/// (it cannot be read), invalid_argument with file and line, unsupported (this library was built without libyaml).
std::vector<ParameterAssignment> read_parameter_file(const std::string& path);
/// The value of YAML text: a scalar or a list, e.g. `[1.0, 2.0]`. `where` begins the text of an error. Throws
/// invalid_argument, or unsupported if this library was built without libyaml and `text` is more than a plain scalar.
ParameterValue parse_parameter_value(const std::string& text, const std::string& where);

namespace detail {

/// init() without shutdown_on_signals(), for languages that have their own handlers.
std::vector<std::string> read_arguments(const std::vector<std::string>& arguments);

}  // namespace detail

}  // namespace baton
