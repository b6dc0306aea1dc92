// SPDX-License-Identifier: Apache-2.0
#include "link_writers.hpp"

#include "context_announcement.hpp"

namespace baton::rmw {

bool LinkWriters::repeats(transport::Participant& participant, const transport::Gid& publisher) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const std::uint64_t version = participant.graph_version();
  if (version_ != version) {
    const std::vector<transport::EndpointInfo> endpoints = participant.endpoints();
    std::set<std::string> publishers;
    for (const transport::EndpointInfo& end : endpoints) {
      if (end.is_writer && end.topic != kLinkWriterTopic) publishers.insert(hexadecimal(end.gid));
    }
    writers_.clear();
    for (const transport::EndpointInfo& end : endpoints) {
      if (end.is_writer && end.topic == kLinkWriterTopic && publishers.count(end.node) != 0) writers_.insert(end.gid);
    }
    version_ = version;
  }
  return writers_.count(publisher) != 0;
}

}  // namespace baton::rmw
