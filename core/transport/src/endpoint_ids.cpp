// SPDX-License-Identifier: Apache-2.0
// Whose an endpoint id is (docs/format/connection.md, "Whose an id is").
#include <new>

#include "participant.hpp"

namespace baton::transport {

std::optional<PeerId> Participant::Impl::owner_of(const Gid& gid) const {
  const IdPrefix prefix = prefix_of(gid);
  if (prefix == prefix_of(hub_->process_id())) return kSelf;
  const auto found = prefixes_.find(prefix);
  return found == prefixes_.end() ? std::nullopt : std::optional(found->second);
}

Result<std::optional<PeerId>> Participant::Impl::holder_of(PeerId peer, const AnnounceFrame& frame) {
  EndpointRecord* const known = graph_.find(frame.gid);
  if ((known != nullptr && known->peer() == peer) || has_claim(peer, frame.gid))
    return Error{Errc::protocol_violation, "an endpoint id was announced twice"};
  const std::optional<PeerId> owner = owner_of(frame.gid);
  if (owner && *owner != peer) return owner;
  if (known == nullptr) return std::optional<PeerId>();
  const PeerId other = known->peer();
  if (!owner || other == kSelf) return std::optional(other);
  // It was announced before its owner was connected.
  AnnounceFrame lost;
  lost.gid = known->gid;
  lost.is_writer = known->is_writer;
  lost.topic = *known->topic->name;
  lost.node = *known->node;
  lost.type_name = known->type->name;
  lost.type_hash = known->type->hash;
  lost.skeleton_bytes = known->type->skeleton_bytes;
  lost.qos = *known->qos;
  endpoint_gone(*known, false);
  graph_.remove_endpoint(*known);
  if (const Result<void> kept = keep_claim(other, peer, lost); !kept) end_peer(other, kept.error());
  return std::optional<PeerId>();
}

Result<void> Participant::Impl::keep_claim(PeerId claimant, PeerId holder, const AnnounceFrame& frame) {
  Result<Charge> charge = budgets_.charge(
      claimant, Keep::kAnnouncements, kEndpointBytes + frame.topic.size() + frame.node.size() + frame.type_name.size());
  if (!charge) return Error{Errc::protocol_violation, charge.error().message};
  claims_[claimant].insert_or_assign(frame.gid, Claim{frame, std::move(*charge)});
  diagnose_about(claimant, Diagnostic::Level::kWarning, Errc::already_exists, [&] {
    return "process " + std::to_string(pid_of(claimant)) + " has announced an endpoint on '" + frame.topic +
           "' with an id of " + (holder == kSelf ? "this process" : "process " + std::to_string(pid_of(holder))) +
           "; it does not count";
  });
  return {};
}

bool Participant::Impl::has_claim(PeerId peer, const Gid& gid) const {
  const auto found = claims_.find(peer);
  return found != claims_.end() && found->second.count(gid) != 0;
}

void Participant::Impl::drop_claim(PeerId peer, const Gid& gid) noexcept {
  const auto found = claims_.find(peer);
  if (found == claims_.end()) return;
  found->second.erase(gid);
  if (found->second.empty()) claims_.erase(found);
}

void Participant::Impl::give_to_next(const Gid& gid) noexcept {
  for (const auto& [peer, claims] : claims_) {
    if (claims.count(gid) == 0) continue;
    try {
      hub_->post([this, gid] {
        {
          const os::Lock lock(mutex_);
          grant_claim(gid);
        }
        graph_changed();
      });
    } catch (const std::bad_alloc&) {
      // Then nobody has the id until one announces it again.
    }
    return;
  }
}

void Participant::Impl::grant_claim(const Gid& gid) {
  if (graph_.is_taken(gid)) return;
  const std::optional<PeerId> owner = owner_of(gid);
  for (auto& [claimant, claims] : claims_) {
    const PeerId peer = claimant;
    const auto found = claims.find(gid);
    if (found == claims.end() || (owner && *owner != peer)) continue;
    Result<EndpointRecord*> added = graph_.add_endpoint(peer, found->second.frame);
    drop_claim(peer, gid);
    if (!added) return end_peer(peer, {Errc::protocol_violation, added.error().message});
    try {
      match_new(**added);
    } catch (const std::bad_alloc&) {
      hub_->end_for_want_of_memory(peer);
    }
    return;
  }
}

}  // namespace baton::transport
