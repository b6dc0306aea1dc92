// SPDX-License-Identifier: Apache-2.0
// Bytes over a Unix stream socket, one connection per subscriber: the minimal work of a serializing middleware over
// sockets.
#include "stream.hpp"

namespace baton::perf {

PeerInfo peer_info() {
  PeerInfo info{"Unix socket",
                "kernel",
                "stream socket per subscriber, one sendmsg() per message; a full buffer blocks the publisher; sleeps "
                "in recv(), poll() for several publishers",
                {"stream"}};
  info.can_spin = true;
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned index) {
  return make_stream_publisher(plan, index, Family::kUnix);
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned, Receiver& receiver) {
  return make_stream_subscriber(plan, Family::kUnix, receiver);
}

}  // namespace baton::perf
