// SPDX-License-Identifier: Apache-2.0
// Reading and writing frame payloads: fixed little-endian scalars, length-prefixed strings. No alignment, no recursion.
// A reader never reads past its bytes. After the first failure every further read yields zero and ok() stays false. So
// a decoder reads all its fields and checks once (`done()`: no failure and no bytes left).
// Thread rules: values, no shared state.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace baton::transport {

class WireWriter {
 public:
  template <class T>
  WireWriter& put(T value) {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T>);
    using U = std::make_unsigned_t<T>;
    const U bits = static_cast<U>(value);
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes_.push_back(static_cast<std::uint8_t>(bits >> (8 * i)));
    return *this;
  }
  WireWriter& put(bool value) { return put<std::uint8_t>(value ? 1 : 0); }
  WireWriter& put_bytes(const void* data, std::size_t size) {
    const auto* first = static_cast<const std::uint8_t*>(data);
    bytes_.insert(bytes_.end(), first, first + size);
    return *this;
  }
  template <std::size_t N>
  WireWriter& put(const std::array<std::uint8_t, N>& bytes) {
    return put_bytes(bytes.data(), N);
  }
  /// u32 length, then the bytes, no terminator.
  WireWriter& put_string(std::string_view text) {
    put(static_cast<std::uint32_t>(text.size()));
    return put_bytes(text.data(), text.size());
  }
  std::size_t size() const noexcept { return bytes_.size(); }
  std::vector<std::uint8_t> take() && { return std::move(bytes_); }

 private:
  std::vector<std::uint8_t> bytes_;
};

class WireReader {
 public:
  /// The bytes are borrowed; they must outlive the reader.
  WireReader(const std::uint8_t* data, std::size_t size) noexcept : at_(data), left_(size) {}
  explicit WireReader(const std::vector<std::uint8_t>& bytes) noexcept : WireReader(bytes.data(), bytes.size()) {}

  template <class T>
  T get() noexcept {
    static_assert(std::is_integral_v<T> || std::is_enum_v<T>);
    using U = std::make_unsigned_t<T>;
    U bits = 0;
    const std::uint8_t* p = take(sizeof(T));
    if (p == nullptr) return T{};
    for (std::size_t i = 0; i < sizeof(T); ++i) bits = static_cast<U>(bits | (static_cast<U>(p[i]) << (8 * i)));
    return static_cast<T>(bits);
  }
  bool get_bool() noexcept {  // any other byte than 0 and 1 is a failure
    const auto byte = get<std::uint8_t>();
    if (byte > 1) fail();
    return byte == 1;
  }
  template <std::size_t N>
  std::array<std::uint8_t, N> get_array() noexcept {
    std::array<std::uint8_t, N> out{};
    if (const std::uint8_t* p = take(N)) std::memcpy(out.data(), p, N);
    return out;
  }
  /// A string of at most `limit` bytes; longer is a failure.
  std::string get_string(std::size_t limit) {
    const auto size = get<std::uint32_t>();
    if (size > limit) {
      fail();
      return {};
    }
    const std::uint8_t* p = take(size);
    return p == nullptr ? std::string() : std::string(reinterpret_cast<const char*>(p), size);
  }
  /// For the caller's own checks of values.
  void fail() noexcept {
    ok_ = false;
    left_ = 0;
  }
  bool ok() const noexcept { return ok_; }
  std::size_t left() const noexcept { return left_; }
  bool done() const noexcept { return ok_ && left_ == 0; }

 private:
  const std::uint8_t* take(std::size_t size) noexcept {
    if (!ok_ || size > left_) {
      fail();
      return nullptr;
    }
    const std::uint8_t* p = at_;
    at_ += size;
    left_ -= size;
    return p;
  }
  const std::uint8_t* at_;
  std::size_t left_;
  bool ok_ = true;
};

}  // namespace baton::transport
