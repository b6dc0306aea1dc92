// SPDX-License-Identifier: Apache-2.0
// The exception that says: Baton itself has no memory for a message that the program builds. An executor counts it when
// it leaves a callback, and goes on. And whose a std::bad_alloc is: decided by where it was thrown. Thread rules: values.
#pragma once

#include <new>
#include <utility>

#include "baton/os/hot_path.hpp"
#include "baton/os/result.hpp"

namespace baton {

/// A loan could not be made, or could not grow: its code is limit_reached, out_of_memory, out_of_descriptors or
/// window_exhausted. Only Baton throws it, so an exception of the program with such a code is another one.
class Shortage : public Exception {
 public:
  using Exception::Exception;
};

/// A std::bad_alloc that left a function of the program, which Baton called: the program's error, never a shortage of Baton's. Every other
/// std::bad_alloc is one of Baton's own code.
class ProgramBadAlloc : public std::bad_alloc {};

/// Calls a function of the program.
template <class F>
decltype(auto) call_program(F&& function) {
  try {
    return function();
  } catch (const std::bad_alloc&) {
    throw ProgramBadAlloc();
  }
}

constexpr bool is_shortage(Errc code) noexcept {
  return code == Errc::limit_reached || code == Errc::out_of_memory || code == Errc::out_of_descriptors ||
         code == Errc::window_exhausted;
}

/// Of a message that is not sent: Baton's own shortage, or the message is larger than its publisher may send.
constexpr bool finds_no_room(Errc code) noexcept { return is_shortage(code) || code == Errc::message_too_large; }

/// For an error of a loan, its growth or its publication: a Shortage, or an Exception for any other code.
[[noreturn]] BATON_COLD inline void throw_shortage(const Error& error) {
  if (is_shortage(error.code)) throw Shortage(error);
  throw Exception(error);
}

/// The value, or throw_shortage().
template <class T>
T lent_or_throw(Result<T>&& result) {
  if (unlikely(!result.ok())) throw_shortage(result.error());
  return std::move(result).value();
}

}  // namespace baton
