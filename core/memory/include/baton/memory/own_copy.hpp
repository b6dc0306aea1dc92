// SPDX-License-Identifier: Apache-2.0
// What a program keeps of a message that it published without giving its object away: the pages of the message, copied
// one by one when the program writes them.
//
// The program has the object at the loan's addresses. make() gives these pages to the process alone
// (os/private_mapping.hpp), and the message is published through shared(), where its pages stay shared. So addresses
// that the program took before the publication stay good, and no later write reaches a reader. Everything that is
// private is this process's: when it is killed, the kernel takes it, and readers keep the message.
//
// Thread rules: one thread at a time, as the loan. Other threads may read the message meanwhile.
// Invariants: (1) while an OwnCopy lives, its slot is loaned, or published with a reference that the owner of the OwnCopy
// drops after end(); (2) a slot whose pages could not be put back is never used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "baton/memory/pool.hpp"

namespace baton::memory {

class ContentBook;

class OwnCopy {
 public:
  /// Smaller messages are copied: below this size a copy costs less than the system calls.
  static constexpr std::size_t kLeastBytes = std::size_t{1} << 20;
  /// Alive in a process at the same time; each takes up to three areas of vm.max_map_count (65530).
  static constexpr unsigned kMostAlive = 256;

  /// Whether make() has a chance with `chunk` as it is now, or larger: what it refuses for the size, the slot, a limit or locked
  /// memory is refused here, before the caller completes the message. The errors are those of make().
  static Result<void> possible(const Chunk& chunk);
  /// For `chunk`, a loan of this process that is complete. Errors, after which nothing has changed: unsupported (a small
  /// message; locked memory; an old kernel), limit_reached, forked, out_of_memory, system: the caller copies the message.
  static Result<std::unique_ptr<OwnCopy>> make(const Chunk& chunk);
  /// end().
  ~OwnCopy();
  OwnCopy(const OwnCopy&) = delete;
  OwnCopy& operator=(const OwnCopy&) = delete;

  /// The chunk that Writer::publish() gets: at an address outside of the window, and with no more capacity than it has.
  const Chunk& shared() const noexcept { return shared_; }
  /// Right after the publication: Pool::header_of() knows the message, and contents of the program's object can grow, shrink and end again, as in a loan.
  void let_grow() noexcept;
  struct End {
    std::size_t pages, changed;  ///< of the message; of them those that the program has written
  };
  /// The program's object has ended: its pages are the slot's again. Nothing: they could not be put back, or this is a
  /// forked child; the slot must stay as it is. A second call returns nothing.
  std::optional<End> end() noexcept;

 private:
  OwnCopy() = default;

  struct Slot* slot_ = nullptr;
  Chunk shared_;
  std::byte *at_ = nullptr, *aside_ = nullptr;
  std::size_t bytes_ = 0;
  std::unique_ptr<ContentBook> book_;
};

}  // namespace baton::memory
