// SPDX-License-Identifier: Apache-2.0
// A readable difference of two type definitions. Thread rules: pure functions.
#pragma once

#include <string>
#include <string_view>

namespace baton::transport {

/// Lines only here start with "- here:  ", lines only there with "- there: "; lines in common are left out. At most 40 lines are
/// shown. Definitions of a peer are untrusted text: unprintable bytes become '?'.
std::string definition_difference(std::string_view here, std::string_view there);

}  // namespace baton::transport
