// SPDX-License-Identifier: Apache-2.0
// Bytes over TCP, one connection per subscriber.
#include "stream.hpp"

namespace baton::perf {

PeerInfo peer_info() {
  PeerInfo info{
      "TCP",
      "kernel",
      "TCP_NODELAY (nagle: not set), 4 MB buffers, one sendmsg() per message; a full buffer blocks the publisher; "
      "sleeps in recv(), poll() for several publishers",
      {"stream", "nagle"}};
  info.network_variants = {"stream"};
  info.can_spin = true;
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned index) {
  return make_stream_publisher(plan, index, Family::kTcp);
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned, Receiver& receiver) {
  return make_stream_subscriber(plan, Family::kTcp, receiver);
}

}  // namespace baton::perf
