// SPDX-License-Identifier: Apache-2.0
#include "failure.hpp"

#include <new>

namespace baton::rmw {

CallFailure failure(const std::exception& error) noexcept {
  rcutils_reset_error();  // the error of a function that was undone before
  const bool no_memory = dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  RMW_SET_ERROR_MSG(no_memory ? "no memory" : error.what());  // copied into memory that the thread already has
  return CallFailure(no_memory ? RMW_RET_BAD_ALLOC : RMW_RET_ERROR);
}

void ignore(rmw_ret_t result) noexcept {
  if (result != RMW_RET_OK) rcutils_reset_error();
}

rmw_ret_t refuse_null() noexcept { return invalid("an argument is null"); }

rmw_ret_t refuse_foreign() noexcept {
  RMW_SET_ERROR_MSG("a handle is of another RMW, or is not initialized");
  return RMW_RET_INCORRECT_RMW_IMPLEMENTATION;
}

rmw_ret_t failed(const Error& error) noexcept {
  RMW_SET_ERROR_MSG(error.message.c_str());
  switch (error.code) {
    case Errc::out_of_memory:
      return RMW_RET_BAD_ALLOC;
    case Errc::unsupported:
      return RMW_RET_UNSUPPORTED;
    case Errc::invalid_argument:
      return RMW_RET_INVALID_ARGUMENT;
    case Errc::timed_out:
    case Errc::queue_full:
      return RMW_RET_TIMEOUT;
    default:
      return RMW_RET_ERROR;
  }
}

}  // namespace baton::rmw
