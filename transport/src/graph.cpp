// SPDX-License-Identifier: Apache-2.0
#include "graph.hpp"

#include <algorithm>
#include <cstring>

namespace baton::transport {

std::shared_ptr<const std::string> Graph::intern(const std::string& name) {
  std::shared_ptr<const std::string>& entry = names_[name];
  if (!entry) entry = std::make_shared<const std::string>(name);
  return entry;
}

std::shared_ptr<const TypeRecord> Graph::intern(const AnnounceFrame& frame) {
  auto& same_name = types_[frame.type_name];
  for (const auto& type : same_name) {
    if (type->hash == frame.type_hash && type->skeleton_bytes == frame.skeleton_bytes) return type;
  }
  same_name.push_back(
      std::make_shared<const TypeRecord>(TypeRecord{frame.type_name, frame.type_hash, frame.skeleton_bytes}));
  return same_name.back();
}

void Graph::forget(EndpointRecord&& record) {
  by_gid_.erase(record.gid);
  --peers_[record.peer].endpoints;
  // Two owners are left when this was the last user: the record and the table.
  if (record.node.use_count() == 2) names_.erase(*record.node);
  if (record.type.use_count() == 2) {
    const auto found = types_.find(record.type->name);
    auto& same_name = found->second;
    same_name.erase(std::remove(same_name.begin(), same_name.end(), record.type), same_name.end());
    if (same_name.empty()) types_.erase(found);
  }
}

Topic* Graph::add_endpoint(PeerId peer, const AnnounceFrame& frame) {
  if (by_gid_.count(frame.gid) != 0) return nullptr;
  Announced& announced = peers_[peer];
  if (announced.endpoints >= kMaxAnnouncedPerPeer) return nullptr;
  std::unique_ptr<Topic>& topic = topics_[frame.topic];
  if (!topic) {
    topic = std::make_unique<Topic>();
    topic->name = frame.topic;
  }
  topic->endpoints.push_back({frame.gid, peer, frame.is_writer, false, intern(frame), intern(frame.node), frame.qos});
  by_gid_[frame.gid] = topic.get();
  ++announced.endpoints;
  return topic.get();
}

std::pair<Topic*, EndpointRecord*> Graph::find(const Gid& gid) {
  const auto found = by_gid_.find(gid);
  if (found == by_gid_.end()) return {nullptr, nullptr};
  for (EndpointRecord& record : found->second->endpoints) {
    if (record.gid == gid) return {found->second, &record};
  }
  return {nullptr, nullptr};
}

void Graph::erase_from(Topic& topic, std::size_t at) {
  EndpointRecord record = std::move(topic.endpoints[at]);
  topic.endpoints.erase(topic.endpoints.begin() + static_cast<std::ptrdiff_t>(at));
  forget(std::move(record));
}

bool Graph::remove_endpoint(PeerId peer, const Gid& gid) {
  const auto [topic, record] = find(gid);
  if (record == nullptr || record->peer != peer) return false;
  erase_from(*topic, static_cast<std::size_t>(record - topic->endpoints.data()));
  if (topic->endpoints.empty()) topics_.erase(std::string(topic->name));
  return true;
}

Topic* Graph::topic(const std::string& name) {
  const auto found = topics_.find(name);
  return found == topics_.end() ? nullptr : found->second.get();
}

bool Graph::add_node(PeerId peer, const std::string& name) {
  Announced& announced = peers_[peer];
  if (announced.nodes.size() >= kMaxAnnouncedPerPeer) return false;
  announced.nodes.push_back(intern(name));
  return true;
}

void Graph::remove_node(PeerId peer, const std::string& name) {
  auto& nodes = peers_[peer].nodes;
  const auto found = std::find_if(nodes.begin(), nodes.end(), [&](const auto& node) { return *node == name; });
  if (found == nodes.end()) return;
  nodes.erase(found);
  const auto entry = names_.find(name);
  if (entry != names_.end() && entry->second.use_count() == 1) names_.erase(entry);
}

std::vector<std::pair<Gid, bool>> Graph::remove_peer(PeerId peer) {
  std::vector<std::pair<Gid, bool>> gone;
  for (auto at = topics_.begin(); at != topics_.end();) {
    Topic& topic = *at->second;
    for (std::size_t i = topic.endpoints.size(); i > 0; --i) {
      const EndpointRecord& record = topic.endpoints[i - 1];
      if (record.peer != peer) continue;
      gone.emplace_back(record.gid, record.is_writer);
      erase_from(topic, i - 1);
    }
    at = topic.endpoints.empty() ? topics_.erase(at) : std::next(at);
  }
  const auto announced = peers_.find(peer);
  if (announced != peers_.end()) {
    std::vector<std::shared_ptr<const std::string>> nodes = std::move(announced->second.nodes);
    peers_.erase(announced);
    for (auto& node : nodes) {
      const std::string name = *node;
      node.reset();
      const auto entry = names_.find(name);
      if (entry != names_.end() && entry->second.use_count() == 1) names_.erase(entry);
    }
  }
  return gone;
}

void Graph::for_each_endpoint(const std::function<void(const Topic&, const EndpointRecord&)>& visit) const {
  for (const auto& [name, topic] : topics_) {
    for (const EndpointRecord& record : topic->endpoints) visit(*topic, record);
  }
}

void Graph::for_each_node(const std::function<void(PeerId, const std::string&)>& visit) const {
  for (const auto& [peer, announced] : peers_) {
    for (const auto& node : announced.nodes) visit(peer, *node);
  }
}

}  // namespace baton::transport
