// SPDX-License-Identifier: Apache-2.0
// Where C++ ends: no exception leaves one of rmw.h's functions, and none that fails leaves something half made.
//
// Functions that run code of Baton's end in `catch (const std::exception& error) { return failure(error); }`: what is no
// std::exception is a thread that is being cancelled, which must not be stopped. Functions that only ask the underlying RMW need not:
// its functions are C's, too, and underlying() throws nothing.
// Thread rules: none of their own.
#pragma once

#include <exception>
#include <utility>

#include "rmw/ret_types.h"

namespace baton::rmw {

/// What a function returns that has failed: the code, or null where it returns a pointer.
class Failure {
 public:
  explicit Failure(rmw_ret_t code) noexcept : code_(code) {}
  // NOLINTNEXTLINE(google-explicit-constructor): it is what is returned
  operator rmw_ret_t() const noexcept { return code_; }
  template <class T>
  operator T*() const noexcept {  // NOLINT(google-explicit-constructor)
    return nullptr;
  }

 private:
  rmw_ret_t code_;
};

/// Sets the error text. RMW_RET_BAD_ALLOC or RMW_RET_ERROR.
Failure failure(const std::exception& error) noexcept;

/// What fails while something is undone: its error text would hide the first one.
void ignore(rmw_ret_t result) noexcept;

/// Undoes what was done, unless all the rest was done, too.
template <class Action>
class Undo {
 public:
  explicit Undo(Action action) : action_(std::move(action)) {}
  Undo(const Undo&) = delete;
  Undo& operator=(const Undo&) = delete;
  ~Undo() {
    if (!done_) action_();
  }
  void all_is_done() noexcept { done_ = true; }

 private:
  Action action_;
  bool done_ = false;
};

}  // namespace baton::rmw
