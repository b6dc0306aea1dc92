// SPDX-License-Identifier: Apache-2.0
// The state of a recording as one line of JSON (docs/guides/record.md).
// Thread rules: a pure function.
#pragma once

#include <cstdint>
#include <string>

#include "recorder.hpp"

namespace baton::record {

/// `commands`: how many commands of the standard input were obeyed before this state.
std::string progress_json(const Progress& progress, std::uint64_t commands, bool last);

}  // namespace baton::record
