// SPDX-License-Identifier: Apache-2.0
// Baton's message types with serialization: an image in private memory, encoded as CDR, over a Unix socket, decoded.
#include "codec.hpp"

namespace baton::perf {

PeerInfo peer_info() {
  PeerInfo info{"Baton, serialized",
                BATON_VERSION_STRING,
                "sensor_msgs/Image as CDR over the Unix socket of peer unix_socket",
                {"cdr"}};
  info.can_spin = true;
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned index) {
  return make_encoding_publisher(plan, index, cdr_format());
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned, Receiver& receiver) {
  return make_decoding_subscriber(plan, cdr_format(), receiver);
}

}  // namespace baton::perf
