// SPDX-License-Identifier: Apache-2.0
// Whose an endpoint id is (docs/format/connection.md, "Whose an id is"): the processes by the first bytes of their endpoints' ids, and the
// announcements of ids that others have.
// Pure: it knows no graph, no socket and no lock. Thread rules: externally synchronised.
#pragma once

#include <map>
#include <optional>
#include <utility>

#include "baton/transport/transport.hpp"
#include "budgets.hpp"
#include "frames.hpp"
#include "hub.hpp"

namespace baton::transport {

class IdOwners {
 public:
  void add(PeerId peer, const IdPrefix& prefix) { peers_[prefix] = peer; }
  /// The peer is gone, with its claims. A later connection of the same process stays.
  void remove(PeerId peer) noexcept {
    claims_.erase(peer);
    for (auto at = peers_.begin(); at != peers_.end();) at = at->second == peer ? peers_.erase(at) : std::next(at);
  }
  /// The peer whose endpoints' ids begin like this one. Nothing: none that is known.
  std::optional<PeerId> owner(const Gid& gid) const {
    const auto found = peers_.find(prefix_of(gid));
    return found == peers_.end() ? std::nullopt : std::optional(found->second);
  }

  /// Keeps the announcement of an id that another process has.
  void claim(PeerId claimant, const AnnounceFrame& frame, Charge charge) {
    claims_[claimant].insert_or_assign(frame.gid, Claim{frame, std::move(charge)});
  }
  bool has_claim(PeerId peer, const Gid& gid) const {
    const auto found = claims_.find(peer);
    return found != claims_.end() && found->second.count(gid) != 0;
  }
  void drop_claim(PeerId peer, const Gid& gid) noexcept {
    const auto found = claims_.find(peer);
    if (found == claims_.end()) return;
    found->second.erase(gid);
    if (found->second.empty()) claims_.erase(found);
  }
  bool is_claimed(const Gid& gid) const noexcept {
    for (const auto& [peer, claims] : claims_)
      if (claims.count(gid) != 0) return true;
    return false;
  }
  /// The claim that is granted when nobody has the id: the owner's, or without an owner any. The frame is valid until the claim is dropped.
  std::optional<std::pair<PeerId, const AnnounceFrame*>> next_claim(const Gid& gid,
                                                                    const std::optional<PeerId>& owner) const {
    for (const auto& [peer, claims] : claims_) {
      const auto found = claims.find(gid);
      if (found != claims.end() && owner.value_or(peer) == peer) return std::pair(peer, &found->second.frame);
    }
    return std::nullopt;
  }

 private:
  struct Claim {
    AnnounceFrame frame;
    Charge charge;
  };
  std::map<IdPrefix, PeerId> peers_;
  std::map<PeerId, std::map<Gid, Claim>> claims_;
};

}  // namespace baton::transport
