// SPDX-License-Identifier: Apache-2.0
// The memory of the arrays in native messages.
// Thread rules: all functions from any thread.
#pragma once

namespace baton::rmw {

/// Whether native messages may have arrays in Baton's memory (docs/concepts/heap.md). The first call decides, before
/// any subscription is made.
bool may_alias();

/// Obeys BATON_RMW_MALLOC: whether large arrays that are copied ask for huge pages.
void choose_array_memory();

}  // namespace baton::rmw
