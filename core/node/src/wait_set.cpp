// SPDX-License-Identifier: Apache-2.0
#include "baton/node/wait_set.hpp"

#include "baton/node/clock.hpp"
#include "end_of_wait.hpp"

namespace baton {

bool WaitSet::wait(os::Nanoseconds timeout) {
  const detail::EndOfWait end(detail::deadline_after(timeout));
  do {
    const auto pause = end.next();
    if (wait_set_.wait(pause.value_or(std::chrono::nanoseconds::zero())).or_throw()) return true;
    if (!pause) return false;
  } while (true);
}

}  // namespace baton
