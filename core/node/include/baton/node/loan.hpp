// SPDX-License-Identifier: Apache-2.0
// A message under construction in the publisher's shared memory (ROS-SF life cycle: Allocated).
// Thread rules: one thread at a time, as any object. Loans of one publisher are independent of each other.
#pragma once

#include <new>
#include <utility>

#include "baton/node/not_empty.hpp"
#include "baton/transport/transport.hpp"

namespace baton {

template <class T>
class Publisher;

/// Owns one chunk until it is published or destroyed (then the chunk is given back unpublished). The skeleton never
/// moves, so references to *loan stay valid; references into its vectors obey std::vector's rules. In a forked child
/// the object does nothing.
template <class T>
class Loan {
 public:
  Loan() = default;
  Loan(Loan&& other) noexcept : writer_(std::move(other.writer_)), chunk_(std::exchange(other.chunk_, {})) {}
  Loan& operator=(Loan&& other) noexcept {
    if (this != &other) {
      reset();
      writer_ = std::move(other.writer_);
      chunk_ = std::exchange(other.chunk_, {});
    }
    return *this;
  }
  ~Loan() { reset(); }

  explicit operator bool() const noexcept { return chunk_.header != nullptr; }
  /// Both throw invalid_argument if the loan is empty: after publish(), reset() or a move.
  T& operator*() const {
    if (chunk_.header == nullptr) detail::throw_empty("loan");
    return *std::launder(static_cast<T*>(chunk_.message()));
  }
  T* operator->() const { return &**this; }
  /// Null if the loan is empty.
  T* get() const noexcept { return chunk_.header ? std::launder(static_cast<T*>(chunk_.message())) : nullptr; }
  /// Bytes that the message can grow to, skeleton included.
  std::size_t capacity_bytes() const noexcept { return chunk_.capacity_bytes; }
  /// Gives the chunk back without publishing.
  void reset() noexcept {
    // T's destructor is not run: every content lies in this chunk, which is given back as a whole.
    if (chunk_.header) writer_->abandon(chunk_);
    chunk_ = {};
    writer_.reset();
  }

 private:
  friend class Publisher<T>;
  Loan(transport::Writer& writer, const memory::Chunk& chunk) : writer_(writer), chunk_(chunk) {}

  transport::WriterShare writer_;
  memory::Chunk chunk_;
};

}  // namespace baton
