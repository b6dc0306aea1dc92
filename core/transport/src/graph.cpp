// SPDX-License-Identifier: Apache-2.0
#include "graph.hpp"

#include <algorithm>
#include <tuple>

namespace baton::transport {
namespace {

Error limit(const std::string& what, std::size_t most) {
  return {Errc::limit_reached, "more than " + std::to_string(most) + " " + what};
}

std::size_t bytes_of(const std::string& topic, const std::string& node, const std::string& type) {
  return kEndpointBytes + topic.size() + node.size() + type.size();
}

std::size_t bytes_of_node(const NodeName& node) { return kNodeBytes + node.name.size() + node.enclave.size(); }

Result<Charge> charge(Budgets* budgets, PeerId peer, std::size_t bytes) {
  return budgets == nullptr ? Result<Charge>(Charge()) : budgets->charge(peer, Keep::kAnnouncements, bytes);
}

}  // namespace

bool QosLess::operator()(const QoS& a, const QoS& b) const noexcept {
  const auto all = [](const QoS& qos) {
    // Every policy by name: the compiler refuses this line when QoS has one more.
    const auto& [reliability, history, depth, durability, deadline, lifespan, liveliness, lease, held] = qos;
    return std::tie(reliability, history, depth, durability, deadline, lifespan, liveliness, lease, held);
  };
  return all(a) < all(b);
}

const EndpointList::Entry* EndpointList::at_least(std::uint64_t serial) const noexcept {
  return std::lower_bound(begin(), end(), serial, [](const Entry& entry, std::uint64_t s) { return entry.serial < s; });
}

void EndpointList::remove(std::uint64_t serial) noexcept {
  entries_[static_cast<std::size_t>(at_least(serial) - begin())].record = nullptr;
  if (++gaps_ <= entries_.size() / 2) return;
  entries_.erase(std::remove_if(entries_.begin(), entries_.end(), [](const Entry& e) { return e.record == nullptr; }),
                 entries_.end());
  gaps_ = 0;
  // The peers that needed the room are no longer charged for it. Without memory for the smaller copy the room stays.
  if (entries_.capacity() > 4 * entries_.size()) entries_.shrink_to_fit();
}

void Graph::drop_if_empty(Peers::iterator peer) noexcept {
  const AnnouncingPeer& value = peer->second;
  if (value.endpoints == 0 && value.nodes == 0 && !value.leaving) peers_.erase(peer);
}

void Graph::drop_if_empty(Topics::iterator topic) noexcept {
  if (topic->second.own.empty() && topic->second.foreign.empty()) topics_.erase(topic);
}

/// The number of the peer's endpoints on `topic`. Null while the peer has too few endpoints for any topic to have too
/// many.
std::size_t* Graph::share_of(AnnouncingPeer& peer, const Topic& topic) {
  if (!peer.per_topic) {
    if (peer.endpoints < kMaxAnnouncedPerTopic) return nullptr;
    auto counted = std::make_unique<std::map<const Topic*, std::size_t>>();
    for (const EndpointRecord* record = peer.first; record != nullptr; record = record->next) {
      ++(*counted)[record->topic];
      ++visits_;
    }
    peer.per_topic = std::move(counted);
  }
  return &(*peer.per_topic)[&topic];
}

Result<EndpointRecord*> Graph::add_endpoint(PeerId peer, const AnnounceFrame& frame) {
  ++visits_;
  if (is_taken(frame.gid)) return Error{Errc::already_exists, "an endpoint id was announced twice"};
  Result<Charge> charged = charge(budgets_, peer, bytes_of(frame.topic, frame.node, frame.type_name));
  if (!charged) return charged.error();
  const auto owner = peers_.try_emplace(peer).first;
  AnnouncingPeer& announcing = owner->second;
  announcing.id = peer;
  EndpointRecord record;
  record.gid = frame.gid;
  record.is_writer = frame.is_writer;
  record.seldom = frame.seldom;
  record.owner = &announcing;
  record.serial = next_serial_;
  record.next = announcing.first;
  Topics::iterator topic = topics_.end();
  std::size_t* share = nullptr;
  // All steps that can throw or fail come first; this takes them back.
  const auto undo = [&]() noexcept {
    if (is_taken(frame.gid)) last_place_ = by_gid_.erase(place_of(frame.gid));
    if (share != nullptr && *share == 0) announcing.per_topic->erase(&topic->second);
    if (topic != topics_.end()) drop_if_empty(topic);
    if (record.qos != nullptr) qos_.remove(*record.qos);
    if (record.node != nullptr) names_.remove(*record.node);
    if (record.type != nullptr) types_.remove(*record.type);
    drop_if_empty(owner);
  };
  EndpointRecord* added = nullptr;
  try {
    const auto fail = [&](Error error) {
      undo();
      return error;
    };
    if (announcing.leaving || announcing.endpoints >= kMaxAnnouncedPerPeer)
      return fail(limit("endpoints announced by one process", kMaxAnnouncedPerPeer));
    record.type = types_.add(TypeRecord{frame.type_name, frame.type_hash, frame.skeleton_bytes, frame.ros_type_hash});
    record.node = names_.add(frame.node);
    record.qos = qos_.add(frame.qos);
    topic = topics_.try_emplace(frame.topic).first;
    topic->second.name = &topic->first;
    record.topic = &topic->second;
    share = share_of(announcing, topic->second);
    if (share != nullptr && *share >= kMaxAnnouncedPerTopic)
      return fail(limit("endpoints of one process on one topic", kMaxAnnouncedPerTopic));
    last_place_ = by_gid_.insert(place_of(frame.gid), Slot{record});
    added = &last_place_->record;
    (peer == kSelf ? topic->second.own : topic->second.foreign).append(added->serial, added);
  } catch (...) {
    undo();
    throw;
  }
  ++next_serial_;
  if (added->next != nullptr) added->next->previous = added;
  announcing.first = added;
  ++announcing.endpoints;
  if (share != nullptr) ++*share;
  announcing.charge.add(std::move(*charged));
  return added;
}

Graph::Slots::iterator Graph::place_of(const Gid& gid) const noexcept {
  const ById less = by_gid_.key_comp();
  if (last_place_ != by_gid_.end() && less(*last_place_, gid)) {
    const auto next = std::next(last_place_);
    if (next == by_gid_.end() || !less(*next, gid)) return last_place_ = next;
  } else if (last_place_ == by_gid_.begin() || less(*std::prev(last_place_), gid)) {
    return last_place_;
  }
  return last_place_ = by_gid_.lower_bound(gid);
}

bool Graph::is_taken(const Gid& gid) const {
  const auto place = place_of(gid);
  return place != by_gid_.end() && place->record.gid == gid;
}

EndpointRecord* Graph::find(const Gid& gid) {
  ++visits_;
  return is_taken(gid) && !last_place_->record.owner->leaving ? &last_place_->record : nullptr;
}

EndpointRecord* Graph::find_left(const Gid& gid) {
  ++visits_;
  return is_taken(gid) && last_place_->record.owner->leaving ? &last_place_->record : nullptr;
}

void Graph::remove_endpoint(EndpointRecord& record) noexcept {
  ++visits_;
  AnnouncingPeer& owner = *record.owner;
  Topic& topic = *record.topic;
  owner.charge.give_back(bytes_of(*topic.name, *record.node, record.type->name));
  (record.previous != nullptr ? record.previous->next : owner.first) = record.next;
  if (record.next != nullptr) record.next->previous = record.previous;
  (owner.id == kSelf ? topic.own : topic.foreign).remove(record.serial);
  if (owner.per_topic) {
    const auto share = owner.per_topic->find(&topic);
    if (--share->second == 0) owner.per_topic->erase(share);
  }
  drop_if_empty(topics_.find(*topic.name));
  names_.remove(*record.node);
  types_.remove(*record.type);
  qos_.remove(*record.qos);
  last_place_ = by_gid_.erase(place_of(record.gid));
  --owner.endpoints;
  if (!owner.leaving) drop_if_empty(peers_.find(owner.id));
}

Topic* Graph::topic(const std::string& name) {
  const auto found = topics_.find(name);
  return found == topics_.end() ? nullptr : &found->second;
}

Result<void> Graph::add_node(PeerId peer, const NodeName& node) {
  Result<Charge> charged = charge(budgets_, peer, bytes_of_node(node));
  if (!charged) return charged.error();
  const auto owner = peers_.try_emplace(peer).first;
  AnnouncingPeer& announcing = owner->second;
  announcing.id = peer;
  const NodeName* interned = nullptr;
  try {
    if (announcing.leaving || announcing.nodes >= kMaxAnnouncedPerPeer) {
      Error error = limit("nodes announced by one process", kMaxAnnouncedPerPeer);
      drop_if_empty(owner);
      return error;
    }
    interned = nodes_.add(node);
    // One charge and one user for all nodes of one name: for a second node only the count grows.
    if (++announcing.names[interned] == 1) {
      announcing.charge.add(std::move(*charged));
    } else {
      nodes_.remove(node);
    }
    ++announcing.nodes;
  } catch (...) {
    if (interned != nullptr) nodes_.remove(node);
    drop_if_empty(owner);
    throw;
  }
  return {};
}

void Graph::drop_name(AnnouncingPeer& peer, std::map<const NodeName*, std::size_t>::iterator at) noexcept {
  const NodeName& node = *at->first;
  peer.nodes -= at->second;
  peer.names.erase(at);
  peer.charge.give_back(bytes_of_node(node));
  nodes_.remove(node);
}

void Graph::remove_node(PeerId peer, const NodeName& node) noexcept {
  const auto owner = peers_.find(peer);
  const NodeName* interned = nodes_.find(node);
  if (owner == peers_.end() || interned == nullptr) return;
  const auto found = owner->second.names.find(interned);
  if (found == owner->second.names.end()) return;
  if (found->second > 1) {
    --found->second;
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
    if (!at->record.owner->leaving) visit(at->record);
    after = at->record.gid;
  }
  return false;
}

void Graph::visit_nodes_of(PeerId peer, const std::function<void(const NodeName&)>& visit) const {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return;
  for (const auto& [name, count] : found->second.names)
    for (std::size_t i = 0; i < count; ++i) visit(*name);
}

bool Graph::visit_nodes(NodePosition& after, std::size_t most,
                        const std::function<void(PeerId, const NodeName&)>& visit) const {
  for (auto peer = peers_.lower_bound(after.first); peer != peers_.end(); ++peer) {
    if (peer->second.leaving) continue;
    const auto& names = peer->second.names;
    for (auto at = peer->first == after.first ? names.upper_bound(after.second) : names.begin(); at != names.end();
         ++at) {
      if (most-- == 0) return true;
      after = {peer->first, at->first};
      for (std::size_t i = 0; i < at->second; ++i) visit(peer->first, *at->first);
    }
  }
  return false;
}

}  // namespace baton::transport
