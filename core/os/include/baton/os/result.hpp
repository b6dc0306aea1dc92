// SPDX-License-Identifier: Apache-2.0
// Error values for the rooms that do not throw (os, memory, message, transport). The node API turns them into the
// exception baton::Exception. Thread rules: values, no shared state.
#pragma once

#include <cassert>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>

#include "baton/os/hot_path.hpp"
#include "baton/os/lock_words.hpp"

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
BATON_COLD auto out_of_line(Make&& make) BATON_UNCHECKED_LOCKS {  // `make` needs locks of the caller
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

/// Out of line, as out_of_line().
[[noreturn]] BATON_COLD inline void throw_error(const Error& error) { throw Exception(error); }

namespace detail {

/// What Result<T> stores. Not a std::variant: that is moved and destroyed by calls out of line, in every function of the
/// hot path and of the program, and here one branch tells which member lives.
template <class T>
class ResultState {
 public:
  template <class... Arguments>
  explicit ResultState(std::in_place_t, Arguments&&... arguments)
      : value_(std::forward<Arguments>(arguments)...), ok_(true) {}
  explicit ResultState(Error&& error) noexcept : error_(std::move(error)), ok_(false) {}
  ResultState(ResultState&& other) noexcept(std::is_nothrow_move_constructible_v<T>) : ok_(other.ok_) {
    take(std::move(other));
  }
  ResultState(const ResultState& other) : ok_(other.ok_) { take(other); }
  ResultState& operator=(ResultState&& other) noexcept(std::is_nothrow_move_constructible_v<T>) {
    if (this == &other) return *this;
    end();
    ok_ = other.ok_;
    take(std::move(other));
    return *this;
  }
  ResultState& operator=(const ResultState& other) {
    if (this != &other) *this = ResultState(other);
    return *this;
  }
  ~ResultState() { end(); }

  union {
    T value_;
    Error error_;
  };
  bool ok_;

 private:
  template <class Other>
  void take(Other&& other) {
    if (likely(ok_)) {
      new (static_cast<void*>(std::addressof(value_))) T(std::forward<Other>(other).value_);
    } else {
      new (static_cast<void*>(std::addressof(error_))) Error(std::forward<Other>(other).error_);
    }
  }
  void end() noexcept {
    if (likely(ok_)) {
      value_.~T();
    } else {
      error_.~Error();
    }
  }
};

/// A base that lets a class be copied or not.
template <bool kCopyable>
struct CopiedIf {};
template <>
struct CopiedIf<false> {
  CopiedIf() = default;
  CopiedIf(CopiedIf&&) = default;
  CopiedIf& operator=(CopiedIf&&) = default;
};

}  // namespace detail

/// Either a T, which moves without throwing, or an Error. value() requires ok(), error() !ok(). Copied as T is.
template <class T>
class [[nodiscard]] Result : private detail::CopiedIf<std::is_copy_constructible_v<T>> {
  static_assert(std::is_nothrow_move_constructible_v<T>,
                "an assignment that throws would leave neither value nor error");

 public:
  Result(T value) : state_(std::in_place, std::move(value)) {}  // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}             // NOLINT(google-explicit-constructor)
  /// A T made of `arguments` where it stays.
  template <class... Arguments>
  explicit Result(std::in_place_t, Arguments&&... arguments)
      : state_(std::in_place, std::forward<Arguments>(arguments)...) {}
  bool ok() const noexcept { return state_.ok_; }
  explicit operator bool() const noexcept { return ok(); }
  T& value() & {
    assert(ok());
    return state_.value_;
  }
  const T& value() const& {
    assert(ok());
    return state_.value_;
  }
  T&& value() && {
    assert(ok());
    return std::move(state_.value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  const Error& error() const {
    assert(!ok());
    return state_.error_;
  }
  /// The value, or throws baton::Exception.
  T&& or_throw() && {
    if (!ok()) throw_error(error());
    return std::move(state_.value_);
  }

 private:
  detail::ResultState<T> state_;
};

/// Success without a value, or an Error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() noexcept : state_(std::in_place) {}
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const noexcept { return state_.ok_; }
  explicit operator bool() const noexcept { return ok(); }
  const Error& error() const {
    assert(!ok());
    return state_.error_;
  }
  void or_throw() const {
    if (!ok()) throw_error(error());
  }

 private:
  struct Nothing {};
  detail::ResultState<Nothing> state_;
};

}  // namespace baton
