// SPDX-License-Identifier: Apache-2.0
// The connections of one writer that get its messages, oldest first. Each has a pointer to the next: an array
// of them would be one more cache line for a message.
// Thread rules: those of the connections, the writer's mutex.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <utility>

#include "connection.hpp"

namespace baton::transport {

class LiveConnections {
 public:
  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = WriterConnection*;
    using difference_type = std::ptrdiff_t;
    using pointer = void;
    using reference = WriterConnection*;

    explicit Iterator(WriterConnection* at) noexcept : at_(at) {}
    WriterConnection* operator*() const noexcept { return at_; }
    Iterator& operator++() noexcept {
      at_ = at_->next;
      return *this;
    }
    bool operator==(const Iterator& other) const noexcept { return at_ == other.at_; }
    bool operator!=(const Iterator& other) const noexcept { return at_ != other.at_; }

   private:
    WriterConnection* at_;
  };

  Iterator begin() const noexcept { return Iterator(first_); }
  static Iterator end() noexcept { return Iterator(nullptr); }
  std::uint32_t size() const noexcept { return size_; }
  bool empty() const noexcept { return first_ == nullptr; }
  WriterConnection* operator[](std::size_t index) const noexcept { return all_[index].get(); }
  /// Null: there is none.
  template <class Predicate>
  WriterConnection* find(Predicate&& is_it) const {
    return *std::find_if(begin(), end(), std::forward<Predicate>(is_it));
  }

  /// On std::bad_alloc nothing has changed.
  void push_back(std::unique_ptr<WriterConnection> connection) {
    WriterConnection*& link = all_.empty() ? first_ : all_.back()->next;
    all_.push_back(std::move(connection));
    link = all_.back().get();
    ++size_;
  }
  std::unique_ptr<WriterConnection> remove(const WriterConnection& connection) noexcept {
    const auto at = std::find_if(all_.begin(), all_.end(), [&](const auto& each) { return each.get() == &connection; });
    (at == all_.begin() ? first_ : at[-1]->next) = (*at)->next;
    std::unique_ptr<WriterConnection> removed = std::move(*at);
    all_.erase(at);
    --size_;
    return removed;
  }
  void clear() noexcept {
    first_ = nullptr;
    size_ = 0;
    all_.clear();
  }

 private:
  os::HotVector<std::unique_ptr<WriterConnection>> all_;
  // What every message touches.
  WriterConnection* first_ = nullptr;
  std::uint32_t size_ = 0;
};

}  // namespace baton::transport
