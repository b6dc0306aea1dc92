// SPDX-License-Identifier: Apache-2.0
// The command line of the program baton_link.
// Thread rules: read_arguments() uses getopt_long(3), whose state is the process's: one thread at a time.
#pragma once

#include "baton/link/link.hpp"
#include "baton/os/result.hpp"

namespace baton::link {

/// What `--help` prints.
extern const char* const kUsage;

struct LinkArguments {
  Options options;    ///< without on_diagnostic
  bool help = false;  ///< print kUsage, and end
};

/// Reads a command line; argv[0] is the program's name. May change the order of argv. Error invalid_argument: a word that is no
/// option, an option without its value, or a value out of range; the text names it.
Result<LinkArguments> read_arguments(int argc, char** argv);

}  // namespace baton::link
