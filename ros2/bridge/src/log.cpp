// SPDX-License-Identifier: Apache-2.0
#include "log.hpp"

#include <cstdio>

#include "baton/os/line_budget.hpp"
#include "baton/os/printable.hpp"

namespace baton::bridge {

void log_line(const std::string& text) {
  static os::LineBudget budget;
  const auto line = budget.admit(std::chrono::steady_clock::now(), Errc::system);
  if (line) std::fprintf(stderr, "baton_bridge: %s\n", os::printable(line->of(text)).c_str());
}

}  // namespace baton::bridge
