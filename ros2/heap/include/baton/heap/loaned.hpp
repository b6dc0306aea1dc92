// SPDX-License-Identifier: Apache-2.0
// A loan whose arrays become the buffers of ordinary containers, to be filled by a program that knows nothing of loans. Afterwards
// each buffer is still where it was, or the program took it: moved it away, or grew beyond it.
//
// Thread rules: a Loaned is a value of one thread at a time; the buffers may be freed by any thread.
// Invariants: (1) the chunk is published only while no buffer of it is in the program's hands; (2) a chunk with such buffers is
// given back when the last of them is freed.
#pragma once

#include <cstddef>
#include <memory>

#include "baton/os/result.hpp"
#include "baton/transport/transport.hpp"

namespace baton::heap {

struct Entry;

class Loaned {
 public:
  /// Takes the loan over. Error, with the loan untouched: unsupported (not active()).
  static Result<Loaned> begin(std::shared_ptr<transport::Writer> writer, const memory::Chunk& chunk);

  Loaned(Loaned&& other) noexcept;
  Loaned& operator=(Loaned&& other) noexcept;
  /// Gives the chunk back, at once or with its last buffer.
  ~Loaned();

  const memory::Chunk& chunk() const noexcept;

  /// A buffer of `bytes` > 0 in the chunk, with memory behind it. Errors: message_too_large, out_of_memory, limit_reached.
  Result<void*> buffer(std::size_t bytes, std::size_t alignment);

  /// Whether a buffer of this loan begins there.
  bool owns(const void* begin) const noexcept;

  /// The program gives `begin` back unfreed: true if it is one of this loan's buffers. The content is now `used_bytes` long (at
  /// most the buffer's size; 0: none), at the same place, and no container may point to it any more. False for any other address,
  /// which then is to be copied and freed as usual.
  bool reclaim(void* begin, std::size_t used_bytes) noexcept;

  /// Buffers in the program's hands. A loan with any must not be published: copy it.
  std::size_t outstanding() const noexcept;

  /// Ends this object without giving the chunk back, which is the caller's to publish. REQUIRES: outstanding() == 0.
  memory::Chunk detach() noexcept;

 private:
  explicit Loaned(Entry* entry) noexcept : entry_(entry) {}
  Entry* entry_;
};

}  // namespace baton::heap
