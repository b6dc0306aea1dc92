// SPDX-License-Identifier: Apache-2.0
// The command line of the program baton_record.
// Thread rules: one thread.
#pragma once

#include <chrono>

#include "recorder.hpp"

namespace baton::record {

struct RecordArguments {
  RecorderOptions options;
  std::chrono::milliseconds interval{1000};
  bool help = false;
};

extern const char* const kUsage;

/// Error invalid_argument, for people.
Result<RecordArguments> read_arguments(int argc, char** argv);

}  // namespace baton::record
