// SPDX-License-Identifier: Apache-2.0
// The state of a recording as one line of JSON (docs/guides/record.md).
// Thread rules: a pure function.
#pragma once

#include <string>

#include "recorder.hpp"

namespace baton::record {

std::string progress_json(const Progress& progress, bool last);

}  // namespace baton::record
