// SPDX-License-Identifier: Apache-2.0
// Which messages of this process lie in chunks of its publishers, and in which state (ROS-SF 4.2: Allocated, Published,
// Destructed).
//
// Thread rules: all functions are thread-safe.
#pragma once

#include <memory>
#include <optional>

#include "baton/memory/own_copy.hpp"
#include "baton/memory/pool.hpp"
#include "baton/node/publisher.hpp"

namespace baton::ros1::recompiled {

struct Place {
  memory::Chunk chunk;
  std::shared_ptr<baton::detail::PublisherCore> core;  // its memory lives as long as this
  bool published = false;
  unsigned copies = 0;                          // publications by reference that copied the message
  std::shared_ptr<memory::OwnCopy> own_copy{};  // published by reference
};

/// How the program publishes an object: by pointer it promises not to change the object any more.
enum class Form : unsigned char { kPointer, kReference };

/// The place of `message` if it is Allocated in a chunk of `core` and may be handed over in this form: from now on it is
/// Published, or is about to be. Nothing: the message has to be copied.
std::optional<Place> begin_publish(const void* message, const std::shared_ptr<baton::detail::PublisherCore>& core,
                                   Form form);
/// It was published by reference: from now on the program's object is `own_copy`.
void leave_to_program(const void* message, std::unique_ptr<memory::OwnCopy> own_copy);
/// It was not published after all.
void cancel_publish(const void* message);

}  // namespace baton::ros1::recompiled
