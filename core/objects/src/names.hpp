// SPDX-License-Identifier: Apache-2.0
// The shared words of the names of a heap's objects; class Names is in baton/objects/shared_ptr.hpp.
// Invariant: a name exists while its first byte is not 0. Storing that byte is the last step of add() and the first
// step of remove(). If a process dies in between, it leaves an object without a name, and the next process that takes
// the lock over drops the object.
#pragma once

#include <cstddef>
#include <cstdint>

#include "baton/objects/block.hpp"
#include "baton/objects/process_lock.hpp"

namespace baton::objects::detail {

inline constexpr std::size_t kMaxNames = 256;
inline constexpr std::size_t kNameBytes = 48;

struct NamedObject {
  char name[kNameBytes];  // ends with 0; empty: free
  std::uint64_t type;
  StoredWords object;
};
struct NameWords {
  explicit NameWords(std::byte* base) : lock(base) {}
  ProcessLock lock;
  NamedObject objects[kMaxNames] = {};
};

}  // namespace baton::objects::detail
