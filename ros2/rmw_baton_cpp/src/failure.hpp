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

#include "baton/os/hot_path.hpp"
#include "baton/os/result.hpp"
#include "rmw/error_handling.h"
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

// Results with a text.
inline rmw_ret_t invalid(const char* why) noexcept {
  RMW_SET_ERROR_MSG(why);
  return RMW_RET_INVALID_ARGUMENT;
}
inline rmw_ret_t unsupported(const char* why) noexcept {
  RMW_SET_ERROR_MSG(why);
  return RMW_RET_UNSUPPORTED;
}
rmw_ret_t failed(const Error& error) noexcept;
inline constexpr const char* kNoNetworkFlows =
    "messages of rmw_baton_cpp take shared memory: there are no network flows";

BATON_COLD rmw_ret_t refuse_null() noexcept;
BATON_COLD rmw_ret_t refuse_foreign() noexcept;

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
