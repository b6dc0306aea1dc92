// SPDX-License-Identifier: Apache-2.0
// The bytes that readers hold of a writer's memory: of all, and of each party. A message that several connections hold counts once in each sum.
// Pure: it knows no pool, no connection and no lock. Its lists keep their memory. Thread rules: externally synchronised.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "baton/memory/handle.hpp"
#include "grants.hpp"

namespace baton::transport {

class HeldMemory {
 public:
  struct OfParty {
    Party party;
    std::size_t bytes;
  };

  void clear() noexcept {
    held_.clear();
    parties_.clear();
    bytes_ = 0;
  }
  /// The number of a party that has a connection, for add(). Throws std::bad_alloc.
  std::uint32_t number_of(const Party& party) {
    const auto found = find(party);
    const auto number = static_cast<std::uint32_t>(found - parties_.begin());
    if (found == parties_.end()) parties_.push_back({party, 0});
    return number;
  }
  /// A connection of this party holds this message. Throws std::bad_alloc.
  void add(std::uint32_t party, memory::Handle handle, std::size_t bytes) { held_.push_back({handle, party, bytes}); }
  /// After the last add(): makes the sums.
  void sum() noexcept {
    std::sort(held_.begin(), held_.end(), [](const Held& a, const Held& b) {
      return a.handle != b.handle ? a.handle < b.handle : a.party < b.party;
    });
    const Held* before = nullptr;
    for (const Held& each : held_) {
      const bool same = before != nullptr && before->handle == each.handle;
      if (!same) bytes_ += each.bytes;
      if (!same || before->party != each.party) parties_[each.party].bytes += each.bytes;
      before = &each;
    }
  }
  std::size_t bytes() const noexcept { return bytes_; }
  std::size_t bytes_of(const Party& party) const noexcept {
    const auto found = find(party);
    return found == parties_.end() ? 0 : found->bytes;
  }
  /// Also those that hold nothing.
  const std::vector<OfParty>& parties() const noexcept { return parties_; }

 private:
  struct Held {
    memory::Handle handle;
    std::uint32_t party;
    std::size_t bytes;
  };
  std::vector<OfParty>::const_iterator find(const Party& party) const noexcept {
    return std::find_if(parties_.begin(), parties_.end(), [&](const OfParty& each) { return each.party == party; });
  }

  std::vector<Held> held_;
  std::vector<OfParty> parties_;
  std::size_t bytes_ = 0;
};

}  // namespace baton::transport
