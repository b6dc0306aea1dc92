// SPDX-License-Identifier: Apache-2.0
// Large arrays of received messages, without a copy. The program's own code deserializes: for a std::vector of scalars it
// calls operator new, fills the vector with zeros (memset), and copies the content from the stream (memcpy). While it
// deserializes a message that lies in shared memory, operator new returns the address of the array in a private mapping
// of the chunk (baton/containers/received.hpp), where the content already is. Then the two other calls have nothing to do.
//
// Where the array will be is learned from the link's previous message, in which the three calls were seen.
//
// Thread rules: a Deserialization is a value of one thread; everything else from any thread.
// Invariants: (1) operator new's promise holds: every address is a multiple of 16, and the content up to memset is
// unspecified; (2) memset is left out only in code that roscpp's generator made, where memcpy is known to follow; (3) an
// array that no rule covers is copied by the program, as without this library.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/shared_array.hpp>

#include "baton/containers/received.hpp"
#include "baton/os/lock.hpp"
#include "baton/transport/transport.hpp"

namespace baton::ros1 {

/// Smaller arrays are copied, because aliasing them costs more (docs/concepts/heap.md).
inline constexpr std::size_t kLargeArray = std::size_t{64} << 10;
/// What operator new promises on every machine that roscpp is built for.
inline constexpr std::size_t kNewAlignment = 16;
/// Of messages of one link that the program may keep without a copy. Of further ones the program gets copies, so that the
/// link goes on in shared memory.
inline constexpr std::size_t kKeptArrays = 16;

/// What is known of the arrays of one link's messages.
class LearnedArrays {
 public:
  struct Place {
    std::size_t offset;  ///< of the content in the message
    const void* caller;  ///< of operator new: each instance of std::vector has another
    std::size_t element_bytes;
  };
  std::vector<Place> get();
  /// From now on in `place`, and not elsewhere for the same caller and number.
  void learn(std::size_t number, const Place& place);
  /// What was expected did not happen: never again for this link.
  void give_up();

  containers::Quota quota{kKeptArrays};

 private:
  os::Mutex mutex_;
  std::vector<Place> places_ BATON_GUARDED_BY(mutex_);
  bool given_up_ BATON_GUARDED_BY(mutex_) = false;
};

/// A received message, for roscpp: TCPROS's bytes without the length. Its memory is given back when roscpp and all arrays
/// that lie in it are gone.
boost::shared_array<std::uint8_t> hold(transport::TakenSample sample, const std::uint8_t* begin, std::size_t size,
                                       std::shared_ptr<LearnedArrays> learned);

/// Whether `type` (of std::type_info::name()) is a message that roscpp's generator made, with its ordinary allocator.
bool is_generated(const char* type);

struct HeldMessage;

/// The time in which this thread deserializes the message whose bytes are at `buffer`. No effect for other addresses than
/// those of hold().
class Deserialization {
 public:
  Deserialization(const std::uint8_t* buffer, const char* type);
  ~Deserialization();
  Deserialization(const Deserialization&) = delete;
  Deserialization& operator=(const Deserialization&) = delete;

  /// Of this thread, or null.
  static Deserialization* current() noexcept;

  /// What operator new returns, if not null.
  void* allocate(std::size_t bytes, const void* caller) noexcept;
  /// What operator new returned otherwise.
  void allocated(void* address, std::size_t bytes, const void* caller) noexcept;
  /// memset with zeros. True: not necessary.
  bool zeroed(const void* address, std::size_t bytes) noexcept;
  /// memcpy. True: the content is there already.
  bool copied(void* to, const void* from, std::size_t bytes) noexcept;

 private:
  struct Array {  // the last one that operator new returned
    std::uint8_t* address = nullptr;
    std::size_t bytes = 0;
    const void* caller = nullptr;
    const std::uint8_t* content = nullptr;  // null: not aliased
    bool zeroed = false;
  };
  void settle() noexcept;

  std::shared_ptr<HeldMessage> message_;
  std::vector<LearnedArrays::Place> places_;
  std::size_t number_ = 0;  // of large arrays so far
  Array array_;
};

/// Where the large array of a publisher's messages begins, so that the next message's buffer can be placed for
/// it. roscpp's generated code may assume that the buffer itself is aligned as by operator new[]. Only behind a
/// std_msgs/Header it may not: there every scalar is written alone, and the place of what follows is not constant.
class ArrayPlace {
 public:
  explicit ArrayPlace(const std::string& definition);
  /// How far behind a multiple of 64 the next buffer should begin.
  std::size_t shift() const noexcept;

  /// The time in which this thread serializes into a buffer.
  class Watch {
   public:
    explicit Watch(ArrayPlace& place) noexcept;
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;
    static Watch* current() noexcept;
    void buffer(const std::uint8_t* begin, std::size_t bytes) noexcept;
    void copied(const void* to, std::size_t bytes) noexcept;

   private:
    ArrayPlace& place_;
    const std::uint8_t* begin_ = nullptr;
    std::size_t bytes_ = 0, largest_ = 0, at_ = 0;
  };

 private:
  bool may_shift_;
  std::atomic<std::size_t> at_{0};  // a hint, which orders nothing: relaxed
};

}  // namespace baton::ros1
