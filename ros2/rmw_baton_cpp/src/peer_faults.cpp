// SPDX-License-Identifier: Apache-2.0
#include "peer_faults.hpp"

#include "baton/os/line_budget.hpp"
#include "rcutils/logging_macros.h"

namespace baton::rmw {

void warn_of_peer(Errc kind, const std::string& text) {
  static os::LineBudget budget;
  if (const auto line = budget.admit(os::Allowance::Clock::now(), kind))
    RCUTILS_LOG_WARN_NAMED(kLogger, "%s", line->of(text).c_str());
}

bool may_take_again(const Error& error) {
  if (error.code == Errc::held_limit) return false;
  warn_of_peer(error.code, error.message);
  return error.code != Errc::forked && error.code != Errc::out_of_memory;
}

}  // namespace baton::rmw
