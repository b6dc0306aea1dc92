// SPDX-License-Identifier: Apache-2.0
// Faults of other processes' messages. A message that cannot be read is lost; that is no error of the program that
// takes it. So the message is dropped, counted (RMW_EVENT_MESSAGE_LOST of a subscription) and named in the log. No
// function of rmw.h returns an error because of it: rclpy and rclcpp would end the program.
//
// Thread rules: all functions from any thread.
#pragma once

#include <string>

#include "baton/os/result.hpp"

namespace baton::rmw {

inline constexpr const char* kLogger = "rmw_baton_cpp";

/// A line of level WARN about something that another process has caused. Few lines in each window for the whole process, and the first
/// one of each kind (os::LineBudget); the others are counted.
void warn_of_peer(Errc kind, const std::string& text);

/// Logs why a take of Baton's reader gave no message. True: the message, or its publisher's connection, is gone, and
/// the reader may have another message.
bool may_take_again(const Error& error);

}  // namespace baton::rmw
