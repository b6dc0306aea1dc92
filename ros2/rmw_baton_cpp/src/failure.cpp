// SPDX-License-Identifier: Apache-2.0
#include "failure.hpp"

#include <new>

#include "rmw/error_handling.h"

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

}  // namespace baton::rmw
