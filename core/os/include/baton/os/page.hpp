// SPDX-License-Identifier: Apache-2.0
// The machine's page. Thread rules: callable from any thread.
#pragma once

#include <cstddef>

namespace baton::os {

/// Bytes of a page of memory. Asks the kernel once.
std::size_t page_bytes() noexcept;

}  // namespace baton::os
