// SPDX-License-Identifier: Apache-2.0
// Which of roscpp's callbacks in this process are Baton's. The others are of stock subscriptions, which share roscpp's link with ours.
//
// Thread rules: any thread.
#pragma once

#include <cstddef>
#include <string>

namespace baton::ros1::detail {

/// `added` more of roscpp's callbacks on `topic` are ours; -1: one less.
void count_own_callback(const std::string& topic, int added);
/// roscpp has callbacks on `topic` in this process that are not ours.
bool has_stock_callbacks(const std::string& topic);

}  // namespace baton::ros1::detail
