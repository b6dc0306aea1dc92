// SPDX-License-Identifier: Apache-2.0
// Which participants Cyclone DDS 0.10 refuses. Cyclone reports this only in lines of its log, and by no function.
// Thread rules: any thread; the function has no state.
#pragma once

#include <optional>
#include <string>

#include "baton/link/state.hpp"

namespace baton::link::ros2 {

/// The participant that DDS Security refuses, as a warning or an error of Cyclone names it, without a time. Nothing: the line is about something
/// else. `is_error`: the line is an error, not a warning. A failed handshake has several lines, mostly without the GUID. Then the name is the
/// subject of the certificate, if the line has one.
std::optional<RefusedState> refused_participant(const std::string& line, bool is_error);

}  // namespace baton::link::ros2
