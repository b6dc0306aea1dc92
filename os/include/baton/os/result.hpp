// SPDX-License-Identifier: Apache-2.0
// Error values for the rooms that do not throw (os, memory, message, transport). The node API turns them into the
// exception baton::Exception. Thread rules: values, no shared state.
#pragma once

#include <cassert>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace baton {

/// Every error code that a Baton call can return; the table is error_codes.def.
enum class Errc : int {
#define BATON_ERROR_CODE(name, value, text) name = value,
#include "baton/os/error_codes.def"
#undef BATON_ERROR_CODE
};

/// The table's name of `code`, e.g. "held_limit". Never null.
inline const char* errc_name(Errc code) noexcept {
  switch (code) {
#define BATON_ERROR_CODE(name, value, text) \
  case Errc::name:                          \
    return #name;
#include "baton/os/error_codes.def"
#undef BATON_ERROR_CODE
  }
  return "unknown";
}

/// The table's explanation of `code`. Never null.
inline const char* errc_text(Errc code) noexcept {
  switch (code) {
#define BATON_ERROR_CODE(name, value, text) \
  case Errc::name:                          \
    return text;
#include "baton/os/error_codes.def"
#undef BATON_ERROR_CODE
  }
  return "unknown";
}

/// An error value: the code for programs, the message for people. The message names the thing that failed and the way
/// out.
struct Error {
  Errc code;
  std::string message;
};

/// An error for places without memory for a text: this text is short enough to need no allocation.
inline Error no_memory() noexcept { return {Errc::out_of_memory, "no memory left"}; }

/// Calls make(), out of line. Use it to make errors in code that runs for every message: their texts are long code, and
/// a process that wakes up cold would fetch that code together with the code that it needs.
template <class Make>
[[gnu::cold, gnu::noinline]] auto out_of_line(Make&& make) {
  return make();
}

/// Thrown by the node API (and by message types when a chunk cannot grow). what() = "<code name>: <message>".
class Exception : public std::runtime_error {
 public:
  explicit Exception(const Error& error)
      : std::runtime_error(std::string(errc_name(error.code)) + ": " + error.message), code_(error.code) {}
  Errc code() const noexcept { return code_; }

 private:
  Errc code_;
};

/// Either a T or an Error. value() requires ok(), error() requires !ok().
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }
  T& value() & {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  const T& value() const& {
    assert(ok());
    return *std::get_if<0>(&state_);
  }
  T&& value() && {
    assert(ok());
    return std::move(*std::get_if<0>(&state_));
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const {
    assert(!ok());
    return *std::get_if<1>(&state_);
  }
  /// The value, or throws baton::Exception.
  T&& or_throw() && {
    if (!ok()) throw Exception(error());
    return std::move(*std::get_if<0>(&state_));
  }

 private:
  std::variant<T, Error> state_;
};

/// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}  // NOLINT(google-explicit-constructor)
  bool ok() const noexcept { return ok_; }
  explicit operator bool() const noexcept { return ok_; }
  const Error& error() const {
    assert(!ok_);
    return error_;
  }
  void or_throw() const {
    if (!ok_) throw Exception(error_);
  }

 private:
  Error error_{};
  bool ok_ = true;
};

}  // namespace baton
