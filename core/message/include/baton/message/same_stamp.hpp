// SPDX-License-Identifier: Apache-2.0
// Where stamps and durations of messages convert to and from the classes of another library. Thread rules: types only.
#pragma once

#include <type_traits>

namespace baton::message {

/// True if `Foreign` has the members `sec` and `nsec` with the meaning of the generated struct `Own`, and a constructor
/// from both. baton/ros1/stock.hpp specialises it for ros::Time and ros::Duration.
template <class Own, class Foreign>
struct SameStamp : std::false_type {};

}  // namespace baton::message
