// SPDX-License-Identifier: Apache-2.0
// Whose an endpoint id is (docs/format/connection.md, "Whose an id is").
#include <new>

#include "participant.hpp"

namespace baton::transport {

std::optional<PeerId> Participant::Impl::owner_of(const Gid& gid) const {
  if (prefix_of(gid) == prefix_of(hub_->process_id())) return kSelf;
  return id_owners_.owner(gid);
}

Result<std::optional<PeerId>> Participant::Impl::holder_of(PeerId peer, const AnnounceFrame& frame) {
  EndpointRecord* const known = graph_.find(frame.gid);
  if ((known != nullptr && known->peer() == peer) || id_owners_.has_claim(peer, frame.gid))
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
  lost.seldom = known->seldom;
  lost.topic = *known->topic->name;
  lost.node = *known->node;
  lost.type_name = known->type->name;
  lost.type_hash = known->type->hash;
  lost.ros_type_hash = known->type->ros_hash;
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
  id_owners_.claim(claimant, frame, std::move(*charge));
  diagnose_about(claimant, Diagnostic::Level::kWarning, Errc::already_exists, [&] {
    return "process " + std::to_string(pid_of(claimant)) + " has announced an endpoint on '" + frame.topic +
           "' with an id of " + (holder == kSelf ? "this process" : "process " + std::to_string(pid_of(holder))) +
           "; it does not count";
  });
  return {};
}

void Participant::Impl::give_to_next(const Gid& gid) noexcept {
  if (!id_owners_.is_claimed(gid)) return;
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
}

/// The writer of seldom messages may have called while another process had its id. It does not call twice.
void Participant::Impl::attach_called(const EndpointRecord& writer) {
  if (!writer.is_writer || !writer.seldom) return;
  graph_.visit(writer.topic->own, false, 0, kAllSerials, SIZE_MAX,
               [&](const EndpointRecord& own) BATON_REQUIRES(mutex_) {
                 const auto reader = readers_.find(own.gid);
                 if (reader != readers_.end() && reader->second->rests(writer.gid))
                   begin_attach(reader->second, writer);
               });
}

void Participant::Impl::grant_claim(const Gid& gid) {
  if (graph_.is_taken(gid)) return;
  const auto claim = id_owners_.next_claim(gid, owner_of(gid));
  if (!claim) return;
  const PeerId peer = claim->first;
  Result<EndpointRecord*> added = graph_.add_endpoint(peer, *claim->second);
  id_owners_.drop_claim(peer, gid);
  if (!added) return end_peer(peer, {Errc::protocol_violation, added.error().message});
  try {
    match_new(**added);
    attach_called(**added);
  } catch (const std::bad_alloc&) {
    hub_->end_for_want_of_memory(peer);
  }
}

}  // namespace baton::transport
