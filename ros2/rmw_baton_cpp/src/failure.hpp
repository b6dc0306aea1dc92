// SPDX-License-Identifier: Apache-2.0
// The border between C++ and C: no exception leaves a function of rmw.h, and a function that fails leaves nothing half
// made.
//
// Functions that run code of Baton's end in `catch (const std::exception& error) { return failure(error); }`. An
// exception that is no std::exception comes from a thread that is being cancelled, and must not be caught.
// Thread rules: none of their own.
#pragma once

#include <exception>
#include <utility>

#include "rmw/ret_types.h"

namespace baton::rmw {

/// The result of a function that has failed: the code, or null if the function returns a pointer.
class CallFailure {
 public:
  explicit CallFailure(rmw_ret_t code) noexcept : code_(code) {}
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
CallFailure failure(const std::exception& error) noexcept;

/// For failures while another failure is undone: their error text would hide the first one.
void ignore(rmw_ret_t result) noexcept;

/// Runs `action` at the end of the scope, unless the whole function succeeded.
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
