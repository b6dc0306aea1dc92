// SPDX-License-Identifier: Apache-2.0
// Which messages of this process lie in chunks of its publishers, and in which state (ROS-SF 4.2: Allocated, Published,
// Destructed).
//
// Thread rules: all functions are thread-safe.
#pragma once

#include <memory>
#include <optional>

#include "baton/memory/pool.hpp"
#include "baton/transport/transport.hpp"

namespace baton::ros1::recompiled {

struct Place {
  memory::Chunk chunk;
  std::shared_ptr<transport::Writer> writer;  // its memory lives as long as this
  bool published = false;
};

/// The place of `message` if it is Allocated in a chunk of `writer`: from now on it is Published, or is about to be.
std::optional<Place> begin_publish(const void* message, const std::shared_ptr<transport::Writer>& writer);
/// It was not published after all.
void cancel_publish(const void* message);

}  // namespace baton::ros1::recompiled
