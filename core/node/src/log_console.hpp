// SPDX-License-Identifier: Apache-2.0
// Lines on stderr: each in one write, none waits for the reader, lost ones are counted.
// Thread rules: thread-safe; a forked child has a lock and a count of its own.
#pragma once

#include <string_view>

namespace baton::detail {

/// Writes one line with its end. `plain` goes to files and pipes, `coloured` to terminals.
void print_line(std::string_view plain, std::string_view coloured) noexcept;

}  // namespace baton::detail
