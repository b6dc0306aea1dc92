// SPDX-License-Identifier: Apache-2.0
// The bridge's lines on stderr, bounded in number: a peer can cause any number of them. Thread rules: any thread.
#pragma once

#include <string>

namespace baton::bridge {

void log_line(const std::string& text);

}  // namespace baton::bridge
