// SPDX-License-Identifier: Apache-2.0
// For Window::instance(), and for tests that lay a message anywhere. Thread rules: before other threads ask in_window().
#pragma once

#include "baton/memory/window_range.hpp"

namespace baton::memory {

/// What in_window() compares with, in programs and in the library.
void set_window_range(const WindowRange& range) noexcept;

}  // namespace baton::memory
