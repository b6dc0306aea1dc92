// SPDX-License-Identifier: Apache-2.0
// tf2's header of this name with another tf2::getFrameId: the stock one returns a const std::string&, and a recompiled message has
// no std::string to refer to. Messages need no specialisation of it; that of other classes is written as for tf2.
#pragma once

#include <geometry_msgs/TransformStamped.h>
#include <ros/message_traits.h>
#include <tf2/exceptions.h>
#include <tf2/transform_datatypes.h>

#include <string>
#include <type_traits>

#pragma GCC system_header  // no warnings of the stock code
#define getFrameId baton_stock_frame_id
#include_next <tf2/convert.h>
#undef getFrameId

namespace tf2 {

template <class T>
std::enable_if_t<!::baton::ros1::recompiled::kIsMessage<T>, const std::string&> getFrameId(const T& t);

template <class T>
std::enable_if_t<::baton::ros1::recompiled::kIsMessage<T>, std::string> getFrameId(const T& t) {
  return t.header.frame_id;
}

template <class P>
const std::string& getFrameId(const tf2::Stamped<P>& t) {
  return t.frame_id_;
}

}  // namespace tf2
