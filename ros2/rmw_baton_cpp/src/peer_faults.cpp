// SPDX-License-Identifier: Apache-2.0
#include "peer_faults.hpp"

#include <mutex>
#include <utility>

#include "baton/os/line_budget.hpp"
#include "baton_context.hpp"
#include "rcutils/logging_macros.h"

namespace baton::rmw {

void warn_of_peer(std::string text) {
  {
    static std::mutex mutex;
    static os::LineBudget budget;
    const std::lock_guard<std::mutex> lock(mutex);
    if (!budget.pass(std::chrono::steady_clock::now(), &text)) return;
  }
  RCUTILS_LOG_WARN_NAMED(kLogger, "%s", text.c_str());
}

bool may_take_again(const Error& error) {
  if (error.code == Errc::held_limit) return false;
  warn_of_peer(error.message);
  return error.code != Errc::forked && error.code != Errc::out_of_memory;
}

}  // namespace baton::rmw
