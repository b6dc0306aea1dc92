// SPDX-License-Identifier: Apache-2.0
// Shared code of the codec fuzzers. An input is {u16 size of a type definition, the definition, bytes of that type}, so
// the fuzzer varies types and bytes together; tests/codec/make_vectors.py makes the seeds from tests/vectors/codec/.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include "baton/message/builder.hpp"
#include "baton/message/definition.hpp"
#include "baton/message/validate.hpp"

namespace baton::message::fuzz {

/// A property that a hostile input must not break.
inline void require(bool condition) {
  if (!condition) std::abort();
}

inline constexpr std::size_t kMaxMessageBytes = std::size_t{1} << 20;
inline constexpr std::size_t kMaxSkeletonBytes = std::size_t{1} << 14;

struct Input {
  Definition definition;
  Bytes bytes;

  static std::optional<Input> read(const std::uint8_t* data, std::size_t size) {
    if (size < 2) return std::nullopt;
    const std::size_t text = std::size_t{data[0]} | std::size_t{data[1]} << 8;
    if (text > size - 2) return std::nullopt;
    auto definition = Definition::parse({reinterpret_cast<const char*>(data) + 2, text});
    if (!definition || definition->type().size > kMaxSkeletonBytes) return std::nullopt;
    return Input{std::move(*definition), {data + 2 + text, size - 2 - text}};
  }
};

/// A copy of bytes at an aligned address, with an end that a sanitizer watches.
class Copy {
 public:
  explicit Copy(Bytes bytes)
      : data_(static_cast<std::byte*>(std::aligned_alloc(8, (bytes.size + 15) & ~std::size_t{7}))), size_(bytes.size) {
    if (size_ != 0) std::memcpy(data_, bytes.data, size_);
  }
  ~Copy() { std::free(data_); }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  Bytes bytes() const { return {data_, size_}; }
  MutableBytes writable() { return {data_, size_}; }
  bool equals(Bytes other) const {
    return size_ == other.size && (size_ == 0 || std::memcmp(data_, other.data, size_) == 0);
  }

 private:
  std::byte* data_;
  std::size_t size_;
};

inline bool equal(Bytes a, Bytes b) {
  return a.size == b.size && (a.size == 0 || std::memcmp(a.data, b.data, a.size) == 0);
}

inline bool valid(const Type& type, Bytes message) {
  return validate(type, message.data, static_cast<std::uint32_t>(message.size)).ok();
}

/// The output of encode(), in a buffer of exactly the announced size.
template <class Codec, class... Options>
std::vector<std::byte> encode(const Codec& codec, Bytes message, Options... options) {
  const auto size = codec.encoded_size(message);
  require(size.ok());
  std::vector<std::byte> out(*size);
  const auto written = codec.encode(message, {out.data(), out.size()}, options...);
  require(written.ok() && *written == out.size());
  return out;
}

inline Bytes bytes_of(const std::vector<std::byte>& bytes) { return {bytes.data(), bytes.size()}; }

}  // namespace baton::message::fuzz
