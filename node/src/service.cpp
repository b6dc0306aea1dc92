// SPDX-License-Identifier: Apache-2.0
#include "baton/node/service.hpp"

namespace baton::detail {

std::string request_topic(const std::string& service) { return service + "/_request"; }
std::string response_topic(const std::string& service) { return service + "/_response"; }

QoS request_qos() { return QoS().reliable().keep_all(100); }
QoS response_qos() { return QoS().reliable().keep_last(100); }

bool wait_until(transport::WaitSet& wait_set, std::chrono::steady_clock::time_point deadline) {
  const auto left = deadline - std::chrono::steady_clock::now();
  if (left <= std::chrono::nanoseconds::zero()) return false;
  (void)std::move(wait_set.wait(left)).or_throw();
  return true;
}

}  // namespace baton::detail
