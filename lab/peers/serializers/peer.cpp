// SPDX-License-Identifier: Apache-2.0
// ROS-SF Fig. 14: the same image in several serialization formats over one common transport. The installed packages
// decide which formats exist.
#include <map>
#include <stdexcept>

#include "codec.hpp"

namespace baton::perf {
namespace {

const std::map<std::string, Format>& formats() {
  static const std::map<std::string, Format> all = {
      {"cdr", cdr_format()},
      {"sfm", sfm_format()},
#ifdef BATON_PERF_ROS1
      {"ros1", ros1_format()},
#endif
#ifdef BATON_PERF_PROTOBUF
      {"protobuf", protobuf_format()},
#endif
#ifdef BATON_PERF_FLATBUFFERS
      {"flatbuffers", flatbuffers_format()},
#endif
#ifdef BATON_PERF_CAPNPROTO
      {"capnproto", capnproto_format()},
#endif
  };
  return all;
}

const Format& format_of(const RunPlan& plan) {
  const auto found = formats().find(plan.variant);
  if (found == formats().end()) throw std::runtime_error("the format '" + plan.variant + "' is not built here");
  return found->second;
}

}  // namespace

PeerInfo peer_info() {
  PeerInfo info{"serializers",
                BATON_PERF_FORMAT_VERSIONS,
                "sensor_msgs/Image over the Unix socket of peer unix_socket; message objects and buffers are reused",
                {}};
  for (const auto& [name, format] : formats()) info.variants.push_back(name);
  info.can_spin = true;
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned index) {
  return make_encoding_publisher(plan, index, format_of(plan));
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned, Receiver& receiver) {
  return make_decoding_subscriber(plan, format_of(plan), receiver);
}

}  // namespace baton::perf
