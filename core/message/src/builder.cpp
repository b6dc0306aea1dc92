// SPDX-License-Identifier: Apache-2.0
#include "baton/message/builder.hpp"

#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "baton/memory/arena.hpp"
#include "baton/sfm/string.hpp"

// Defines empty macros without AddressSanitizer.
#if defined(__has_include)
#if __has_include(<sanitizer/asan_interface.h>)
#include <sanitizer/asan_interface.h>
#endif
#endif
#ifndef ASAN_POISON_MEMORY_REGION
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

namespace baton::message {

namespace {

constexpr std::size_t kStringAlignment = 4;
constexpr std::size_t kFirstCapacity = 512;
constexpr std::size_t kBufferAlignment = 64;  // as a chunk's message, so that contents may have any alignment

std::size_t align_up(std::size_t value, std::size_t alignment) noexcept {
  return (value + alignment - 1) & ~(alignment - 1);
}

void release(std::byte* data, [[maybe_unused]] std::size_t capacity) noexcept {
  if (data != nullptr) ASAN_UNPOISON_MEMORY_REGION(data, capacity);
  std::free(data);
}

Error too_large(std::size_t bytes, std::size_t limit) {
  return {Errc::message_too_large, "the message needs " + std::to_string(bytes) + " bytes or more, but its limit is " +
                                       std::to_string(limit) + " bytes; raise the limit or send less"};
}

}  // namespace

Result<std::size_t> Builder::add_content(std::size_t words, std::size_t length, std::size_t bytes,
                                         std::size_t alignment) {
  auto place = append(words, bytes, alignment);
  if (!place) return place;
  const std::size_t offset_word = words + sizeof(std::uint32_t);
  const auto length_value = static_cast<std::uint32_t>(length);
  const auto offset_value =
      static_cast<std::int32_t>(static_cast<std::int64_t>(*place) - static_cast<std::int64_t>(offset_word));
  std::memcpy(base_ + words, &length_value, sizeof length_value);
  std::memcpy(base_ + offset_word, &offset_value, sizeof offset_value);
  return place;
}

Result<std::size_t> Builder::add_sequence(std::size_t words, std::size_t count, ElementLayout element) {
  if (count == 0) return std::size_t{0};
  if (count > std::numeric_limits<std::uint32_t>::max() || count > memory::kMaxMessageBytes / element.size)
    return too_large(count > std::numeric_limits<std::size_t>::max() / element.size ? count : count * element.size,
                     memory::kMaxMessageBytes);
  const std::size_t bytes = count * element.size;
  return add_content(words, count, bytes, sfm::detail::content_alignment(element.alignment, bytes));
}

Result<std::size_t> Builder::add_zeroed_sequence(std::size_t words, std::size_t count, ElementLayout element) {
  auto place = add_sequence(words, count, element);
  if (place && count != 0) std::memset(base_ + *place, 0, count * element.size);
  return place;
}

Result<void> Builder::add_string(std::size_t words, const void* text, std::size_t length) {
  if (length == 0) return {};
  if (length >= memory::kMaxMessageBytes) return too_large(length, memory::kMaxMessageBytes);
  const std::size_t padded = sfm::detail::padded_string_bytes(length);
  auto place = add_content(words, padded, padded, sfm::detail::content_alignment(kStringAlignment, padded));
  if (!place) return place.error();
  std::byte* content = base_ + *place;
  // Terminator and padding first: they lie in the last four bytes, and the text may overwrite up to three of these.
  std::memset(content + padded - 4, 0, 4);
  content[padded - 1] = static_cast<std::byte>(padded - length - 1);
  std::memcpy(content, text, length);
  return {};
}

FlatBuffer::~FlatBuffer() { release(data_, capacity_); }

FlatBuffer::FlatBuffer(FlatBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      capacity_(std::exchange(other.capacity_, 0)) {}

FlatBuffer& FlatBuffer::operator=(FlatBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(capacity_, other.capacity_);
  return *this;
}

bool FlatBuffer::reserve(std::size_t capacity) noexcept {
  if (capacity <= capacity_) return true;
  std::size_t wanted = capacity_ < kFirstCapacity ? kFirstCapacity : capacity_ * 2;
  if (wanted < capacity) wanted = capacity;
  wanted = align_up(wanted, kBufferAlignment);
  auto* grown = static_cast<std::byte*>(std::aligned_alloc(kBufferAlignment, wanted));
  if (grown == nullptr) return false;
  if (size_ != 0) std::memcpy(grown, data_, size_);
  release(data_, capacity_);
  data_ = grown;
  capacity_ = wanted;
  ASAN_POISON_MEMORY_REGION(data_ + size_, capacity_ - size_);
  return true;
}

void FlatBuffer::set_size(std::size_t size) noexcept {
  size_ = size;
  if (capacity_ == 0) return;
  ASAN_UNPOISON_MEMORY_REGION(data_, size_);
  ASAN_POISON_MEMORY_REGION(data_ + size_, capacity_ - size_);
}

Result<void> FlatBuilder::begin(const Type& type) {
  buffer_.set_size(0);
  if (type.size > max_bytes_) return too_large(type.size, max_bytes_);
  if (!buffer_.reserve(type.size))
    return Error{Errc::out_of_memory, std::string("no memory for a message of type ") + type.name};
  buffer_.set_size(type.size);
  std::memset(buffer_.data(), 0, type.size);
  base_ = buffer_.data();
  return {};
}

Result<std::size_t> FlatBuilder::append(std::size_t /*owner*/, std::size_t bytes, std::size_t alignment) {
  const std::size_t used = buffer_.size();
  const std::size_t place = align_up(used, alignment);
  if (place > max_bytes_ || bytes > max_bytes_ - place) return too_large(place + bytes, max_bytes_);
  if (!buffer_.reserve(place + bytes))
    return Error{Errc::out_of_memory, "no memory for a message of " + std::to_string(place + bytes) + " bytes"};
  buffer_.set_size(place + bytes);
  std::memset(buffer_.data() + used, 0, place - used);
  base_ = buffer_.data();
  return place;
}

Result<void> LoanBuilder::begin(const Type& type) {
  std::memset(base_, 0, type.size);
  return {};
}

Result<std::size_t> LoanBuilder::append(std::size_t owner, std::size_t bytes, std::size_t alignment) {
  try {
    auto* content = static_cast<std::byte*>(memory::content_allocate(base_ + owner, bytes, alignment));
    return static_cast<std::size_t>(content - base_);
  } catch (const Exception& exception) {
    return Error{exception.code(), exception.what()};
  } catch (const std::bad_alloc&) {
    return Error{Errc::out_of_memory, "no memory for the bookkeeping of a loan"};
  }
}

}  // namespace baton::message
