// SPDX-License-Identifier: Apache-2.0
// A readable difference of two type definitions. Thread rules: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace baton::transport {

/// Lines only in `here` start with "- here:  ", lines only in `there` with "- there: "; common lines are left out. At
/// most 40 lines are shown. A peer's definition is untrusted text: unprintable bytes become '?'.
std::string definition_difference(std::string_view here, std::string_view there);

}  // namespace baton::transport
