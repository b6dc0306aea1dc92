// SPDX-License-Identifier: Apache-2.0
// Which participants Cyclone DDS 0.10 refuses: it says so in lines of its log, and by no call.
// Thread rules: any thread; the function has no state.
#pragma once

#include <optional>
#include <string>

#include "baton/link/state.hpp"

namespace baton::link::ros2 {

/// What a warning or an error of Cyclone's says of a participant that DDS Security refuses, without a time; nothing: it says something else.
/// `is_error`: the line is an error, not a warning. A failed handshake is said several times, mostly without the GUID: then the subject of the certificate is the name, if it is there.
std::optional<RefusedState> refused_participant(const std::string& line, bool is_error);

}  // namespace baton::link::ros2
