// SPDX-License-Identifier: Apache-2.0
// Parameters as YAML: the parts behind read_parameter_file() and parse_parameter_value(). Read by libyaml, the parser of
// rcl.
// Thread rules: functions without state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "baton/node/arguments.hpp"
#include "baton/node/parameter.hpp"

namespace baton::detail {

/// A scalar without quotes as YAML 1.1 and ROS 2 read it: `yes` is a bool, `0x10` an integer, `1.0` a double, everything
/// else a string. Not set: the scalar is empty, `~` or `null`. Throws invalid_argument if an integer has more than 64
/// bits.
ParameterValue plain_scalar(std::string_view text);

/// parse_parameter_value().
ParameterValue value_of_text(const std::string& text, const std::string& where);

/// The parameters of YAML text in ROS 2's form, in the order of the text. Throws invalid_argument with file and line,
/// or unsupported if this library was built without libyaml.
std::vector<ParameterAssignment> parse_parameters(std::string_view yaml, const std::string& file);

}  // namespace baton::detail
