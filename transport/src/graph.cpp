// SPDX-License-Identifier: Apache-2.0
#include "graph.hpp"

namespace baton::transport {
namespace {

Error limit(const std::string& what, std::size_t most) {
  return {Errc::limit_reached, "more than " + std::to_string(most) + " " + what};
}

}  // namespace

void Graph::drop_unused(Names::iterator name) noexcept {
  if (name->second == 0) names_.erase(name);
}

void Graph::release_name(const std::string& name) noexcept {
  const auto found = names_.find(name);
  --found->second;
  drop_unused(found);
}

void Graph::drop_if_empty(PeerMap::iterator peer) noexcept {
  const AnnouncingPeer& value = peer->second;
  if (value.endpoints == 0 && value.nodes == 0 && !value.leaving) peers_.erase(peer);
}

Result<EndpointRecord*> Graph::add_endpoint(PeerId peer, const AnnounceFrame& frame) {
  ++visits_;
  if (by_gid_.count(frame.gid) != 0) return Error{Errc::already_exists, "an endpoint id was announced twice"};
  Charge charge;
  if (budgets_ != nullptr) {
    Result<Charge> granted = budgets_->charge(
        peer, Keep::kAnnouncements, kEndpointBytes + frame.topic.size() + frame.node.size() + frame.type_name.size());
    if (!granted) return granted.error();
    charge = std::move(*granted);
  }
  // All steps that can throw come first, and leave at most entries that nothing uses; the later steps cannot throw.
  const auto owner = peers_.try_emplace(peer).first;
  Types::iterator type = types_.end();
  Names::iterator node = names_.end();
  auto topic = topics_.end();
  auto record = by_gid_.end();
  std::map<PeerId, std::size_t>::iterator share;
  bool shares = false;
  const auto undo = [&]() noexcept {
    if (record != by_gid_.end()) by_gid_.erase(record);
    if (topic != topics_.end()) {
      if (shares && share->second == 0) topic->second.per_peer.erase(share);
      if (topic->second.per_peer.empty()) topics_.erase(topic);
    }
    if (node != names_.end()) drop_unused(node);
    if (type != types_.end() && type->second == 0) types_.erase(type);
    drop_if_empty(owner);
  };
  try {
    if (owner->second.leaving || owner->second.endpoints >= kMaxAnnouncedPerPeer) {
      Error error = limit("endpoints announced by one process", kMaxAnnouncedPerPeer);
      undo();
      return error;
    }
    type = types_.try_emplace(TypeRecord{frame.type_name, frame.type_hash, frame.skeleton_bytes}).first;
    node = names_.try_emplace(frame.node).first;
    topic = topics_.try_emplace(frame.topic).first;
    topic->second.name = &topic->first;
    share = topic->second.per_peer.try_emplace(peer).first;
    shares = true;
    if (peer != kSelf && share->second >= kMaxAnnouncedPerTopic) {
      Error error = limit("endpoints of one process on one topic", kMaxAnnouncedPerTopic);
      undo();
      return error;
    }
    record = by_gid_.try_emplace(frame.gid).first;
    auto& list = peer == kSelf ? topic->second.own[frame.is_writer] : topic->second.foreign[frame.is_writer];
    list.emplace_hint(list.end(), next_serial_, &record->second);
  } catch (...) {
    undo();
    throw;
  }
  EndpointRecord& added = record->second;
  added.gid = frame.gid;
  added.peer = peer;
  added.is_writer = frame.is_writer;
  added.type = &type->first;
  added.node = &node->first;
  added.qos = frame.qos;
  added.topic = &topic->second;
  added.serial = next_serial_++;
  added.charge = std::move(charge);
  added.owner = &owner->second;
  added.next = owner->second.first;
  if (added.next != nullptr) added.next->previous = &added;
  owner->second.first = &added;
  ++owner->second.endpoints;
  ++type->second;
  ++node->second;
  ++share->second;
  return &added;
}

EndpointRecord* Graph::find(const Gid& gid) {
  ++visits_;
  const auto found = by_gid_.find(gid);
  return found == by_gid_.end() || found->second.owner->leaving ? nullptr : &found->second;
}

EndpointRecord* Graph::find_left(const Gid& gid) {
  ++visits_;
  const auto found = by_gid_.find(gid);
  return found == by_gid_.end() || !found->second.owner->leaving ? nullptr : &found->second;
}

void Graph::remove_endpoint(EndpointRecord& record) noexcept {
  ++visits_;
  AnnouncingPeer& owner = *record.owner;
  Topic& topic = *record.topic;
  const PeerId peer = record.peer;
  (record.previous != nullptr ? record.previous->next : owner.first) = record.next;
  if (record.next != nullptr) record.next->previous = record.previous;
  (peer == kSelf ? topic.own : topic.foreign)[record.is_writer].erase(record.serial);
  const auto share = topic.per_peer.find(peer);
  if (--share->second == 0) topic.per_peer.erase(share);
  if (topic.per_peer.empty()) topics_.erase(topics_.find(*topic.name));
  release_name(*record.node);
  const auto type = types_.find(*record.type);
  if (--type->second == 0) types_.erase(type);
  by_gid_.erase(by_gid_.find(record.gid));
  --owner.endpoints;
  if (!owner.leaving) drop_if_empty(peers_.find(peer));
}

Topic* Graph::topic(const std::string& name) {
  const auto found = topics_.find(name);
  return found == topics_.end() ? nullptr : &found->second;
}

Result<void> Graph::add_node(PeerId peer, const std::string& name) {
  Charge charge;
  if (budgets_ != nullptr) {
    Result<Charge> granted = budgets_->charge(peer, Keep::kAnnouncements, kNodeBytes + name.size());
    if (!granted) return granted.error();
    charge = std::move(*granted);
  }
  const auto owner = peers_.try_emplace(peer).first;
  Names::iterator entry = names_.end();
  try {
    if (owner->second.leaving || owner->second.nodes >= kMaxAnnouncedPerPeer) {
      Error error = limit("nodes announced by one process", kMaxAnnouncedPerPeer);
      drop_if_empty(owner);
      return error;
    }
    entry = names_.try_emplace(name).first;
    AnnouncingPeer::Nodes& same = owner->second.names[&entry->first];
    // One charge for all nodes of one name: for a second node only the count grows.
    if (++same.count == 1) {
      same.charge = std::move(charge);
      ++entry->second;
    }
    ++owner->second.nodes;
  } catch (...) {
    if (entry != names_.end()) drop_unused(entry);
    drop_if_empty(owner);
    throw;
  }
  return {};
}

void Graph::drop_name(AnnouncingPeer& peer, AnnouncingPeer::Names::iterator at) noexcept {
  const std::string& name = *at->first;
  peer.nodes -= at->second.count;
  peer.names.erase(at);
  release_name(name);
}

void Graph::remove_node(PeerId peer, const std::string& name) noexcept {
  const auto owner = peers_.find(peer);
  const auto entry = names_.find(name);
  if (owner == peers_.end() || entry == names_.end()) return;
  const auto found = owner->second.names.find(&entry->first);
  if (found == owner->second.names.end()) return;
  if (found->second.count > 1) {
    --found->second.count;
    --owner->second.nodes;
    return;
  }
  drop_name(owner->second, found);
  drop_if_empty(owner);
}

void Graph::leave(PeerId peer) noexcept {
  const auto found = peers_.find(peer);
  if (found == peers_.end() || found->second.leaving) return;
  found->second.leaving = true;
  ++leaving_;
}

AnnouncingPeer* Graph::next_leaving() noexcept {
  if (leaving_ == 0) return nullptr;
  for (auto& [id, peer] : peers_) {
    if (peer.leaving) return &peer;
  }
  return nullptr;
}

void Graph::erase_left(const AnnouncingPeer* peer) noexcept {
  for (auto at = peers_.begin(); at != peers_.end(); ++at) {
    if (&at->second != peer) continue;
    peers_.erase(at);
    --leaving_;
    return;
  }
}

bool Graph::visit_endpoints(std::optional<Gid>& after, std::size_t most,
                            const std::function<void(const EndpointRecord&)>& visit) const {
  for (auto at = after ? by_gid_.upper_bound(*after) : by_gid_.begin(); at != by_gid_.end(); ++at) {
    if (most-- == 0) return true;
    ++visits_;
    if (!at->second.owner->leaving) visit(at->second);
    after = at->first;
  }
  return false;
}

bool Graph::visit_nodes(NodePosition& after, std::size_t most,
                        const std::function<void(PeerId, const std::string&)>& visit) const {
  for (auto peer = peers_.lower_bound(after.first); peer != peers_.end(); ++peer) {
    if (peer->second.leaving) continue;
    const auto& names = peer->second.names;
    for (auto at = peer->first == after.first ? names.upper_bound(after.second) : names.begin(); at != names.end();
         ++at) {
      if (most-- == 0) return true;
      after = {peer->first, at->first};
      for (std::size_t i = 0; i < at->second.count; ++i) visit(peer->first, *at->first);
    }
  }
  return false;
}

}  // namespace baton::transport
