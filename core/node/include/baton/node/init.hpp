// SPDX-License-Identifier: Apache-2.0
// Reads command lines as ROS 2 and ROS 1 write them (docs/guides/names.md).
// Thread rules: all functions are thread-safe.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "baton/node/arguments.hpp"
#include "baton/node/parameter.hpp"

namespace baton {

/// Reads a command line, with or without the program's name. Throws UsageError: invalid_argument (an unknown or malformed
/// argument, with the argument in the text), not_found (a missing file of parameters).
Arguments parse_arguments(const std::vector<std::string>& arguments);

/// Reads the program's command line: names and parameters of all nodes made afterwards follow it. Does what
/// shutdown_on_signals() does. Returns the arguments that are not ROS's, the program's name first. Throws as
/// parse_arguments(); a UsageError that nobody catches then ends the program with one line and status 2. A second call
/// replaces the first one's arguments.
std::vector<std::string> init(int argc, const char* const* argv);
std::vector<std::string> init(const std::vector<std::string>& arguments);

/// The arguments that init() read; empty before init(). Never null.
std::shared_ptr<const Arguments> arguments();

namespace detail {

/// init() without shutdown_on_signals(), for languages that have their own handlers.
std::vector<std::string> read_arguments(const std::vector<std::string>& arguments);
/// Logs once the parameters of init()'s arguments that no node has declared, since their names may be misspelt. The first
/// spin() calls it, after the nodes were made.
void report_unused_parameters() noexcept;

}  // namespace detail

}  // namespace baton
