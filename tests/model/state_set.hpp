// SPDX-License-Identifier: Apache-2.0
// The states met so far: 128-bit digests in an open-addressing table, 16 bytes a place, at most two thirds full.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace baton::model {

struct StateKey {
  std::uint64_t a = 0, b = 0;  // {0, 0} marks an empty place
};

class StateSet {
 public:
  /// False if it was there already.
  bool insert(StateKey key) {
    key.b |= 1;  // never empty
    if (3 * (size_ + 1) > 2 * places_.size()) grow();
    if (!place(key)) return false;
    ++size_;
    return true;
  }
  std::size_t size() const { return size_; }
  void clear() {
    places_.clear();
    size_ = 0;
  }

 private:
  bool place(const StateKey& key) {
    const std::size_t mask = places_.size() - 1;
    for (std::size_t i = key.a & mask;; i = (i + 1) & mask) {
      StateKey& at = places_[i];
      if (at.b == 0) {
        at = key;
        return true;
      }
      if (at.a == key.a && at.b == key.b) return false;
    }
  }
  void grow() {
    std::vector<StateKey> old(places_.empty() ? 1024 : 2 * places_.size());
    old.swap(places_);
    for (const StateKey& key : old) {
      if (key.b != 0) place(key);
    }
  }
  std::vector<StateKey> places_;
  std::size_t size_ = 0;
};

}  // namespace baton::model
