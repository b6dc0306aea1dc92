// SPDX-License-Identifier: Apache-2.0
// A loan whose arrays become the buffers of ordinary containers, to be filled by a program that does not know loans.
// Afterwards each buffer is still in its place, or the program took it: moved it away, or grew beyond it.
//
// Thread rules: a Loaned is a value of one thread at a time; the buffers may be freed by any thread.
// Invariants: (1) the chunk is published only while the program has no buffer of it; (2) a chunk with such buffers is
// given back when the last of them is freed.
#pragma once

#include <cstddef>
#include <memory>

#include "baton/os/result.hpp"
#include "baton/transport/transport.hpp"

namespace baton::containers {

struct Entry;

class Loaned {
 public:
  /// Takes the loan over. Error, with the loan untouched: unsupported (not active()).
  static Result<Loaned> begin(std::shared_ptr<transport::Writer> writer, const memory::Chunk& chunk);

  Loaned(Loaned&& other) noexcept;
  Loaned& operator=(Loaned&& other) noexcept;
  /// Gives the chunk back, at once or when its last buffer is freed.
  ~Loaned();

  const memory::Chunk& chunk() const noexcept;

  /// A buffer of `bytes` > 0 in the chunk, backed with memory. Errors: message_too_large, out_of_memory, limit_reached.
  Result<void*> buffer(std::size_t bytes, std::size_t alignment);

  /// Whether a buffer of this loan begins at `begin`.
  bool owns(const void* begin) const noexcept;

  /// The program gives `begin` back unfreed. True if it is a buffer of this loan: the content is now `used_bytes` long
  /// (at most the buffer's size; 0: none), at the same place, and no container may point to it any more. False for any
  /// other address: copy and free it as usual.
  bool reclaim(void* begin, std::size_t used_bytes) noexcept;

  /// Number of buffers that the program has. A loan with such buffers must not be published: copy it.
  std::size_t outstanding() const noexcept;

  /// Ends this object without giving the chunk back; the caller publishes the chunk. REQUIRES: outstanding() == 0.
  memory::Chunk detach() noexcept;

 private:
  explicit Loaned(Entry* entry) noexcept : entry_(entry) {}
  Entry* entry_;
};

}  // namespace baton::containers
