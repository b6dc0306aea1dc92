// SPDX-License-Identifier: Apache-2.0
#include "underlying_need.hpp"

#include <algorithm>

namespace baton::rmw {

ReaderProcess origin_of(const std::vector<transport::EndpointInfo>& graph, const transport::Gid& gid) {
  for (const transport::EndpointInfo& endpoint : graph)
    if (endpoint.gid == gid) return {endpoint.local_pid, endpoint.connection, true};
  return {};
}

bool has_ended(const std::vector<transport::EndpointInfo>& graph, const transport::Gid& gid,
               const ReaderProcess& origin, bool (*process_ended)(std::int32_t pid)) {
  if (!origin.known) return false;
  bool connected = false;
  for (const transport::EndpointInfo& endpoint : graph) {
    if (endpoint.gid == gid) return false;  // announced: Baton may serve it again
    connected = connected || endpoint.connection == origin.connection;
  }
  return connected || process_ended(origin.pid);
}

void UnderlyingNeed::update_served(const Facts& facts, std::int64_t now_ns) {
  std::map<transport::Gid, ReaderProcess> served;
  for (const transport::Gid& gid : facts.served) {
    ReaderProcess& origin = served[gid] = origin_of(facts.graph, gid);
    const auto before = served_.find(gid);
    if (before == served_.end())
      newcomers_.push_back(gid);
    else if (!origin.known)
      origin = before->second;  // the graph has already removed it
  }
  const auto is_served = [&](const transport::Gid& gid) { return served.count(gid) != 0; };
  for (const auto& [gid, origin] : served_) {
    if (!is_served(gid)) ended_.emplace(gid, Ended{origin, now_ns});
  }
  newcomers_.erase(std::remove_if(newcomers_.begin(), newcomers_.end(), std::not_fn(is_served)), newcomers_.end());
  served_ = std::move(served);
}

void UnderlyingNeed::look(const Facts& facts, std::int64_t now_ns) {
  looked_ = true;
  next_look_ns_ = now_ns + kLookAgainNs;
  matched_underlying_ = facts.matched_underlying;
  matched_baton_ = facts.matched_baton;
  update_served(facts, now_ns);

  std::size_t needing = 0, needing_nothing = 0, known_newcomers = 0;
  std::map<transport::Gid, Ended> still_known;
  readers_.clear();
  for (const KnownReader& known : facts.known) {
    const auto judge = [&](bool needs_underlying, const char* why) {
      readers_.push_back({known.gid, known.node, needs_underlying, why});
    };
    if (served_.count(known.gid) != 0) {
      ++needing_nothing;
      known_newcomers += static_cast<std::size_t>(std::count(newcomers_.begin(), newcomers_.end(), known.gid));
      judge(false, "");
      continue;
    }
    if (!known.compatible) {
      judge(false, "quality of service does not match");
      continue;
    }
    const auto ended = ended_.find(known.gid);
    if (ended != ended_.end() && now_ns - ended->second.since_ns < kForgetEndedNs) {
      still_known.insert(*ended);
      if (has_ended(facts.graph, known.gid, ended->second.origin, facts.process_ended)) {
        ++needing_nothing;
        judge(false, "has left; the underlying RMW does not know yet");
        continue;
      }
    }
    const ContextState context = facts.context_of(known.gid);
    if (context == ContextState::kDead) {  // killed before Baton served it
      ++needing_nothing;
      judge(false, "its process died; the underlying RMW does not know yet");
      continue;
    }
    ++needing;
    judge(true,
          context == ContextState::kAlive
              ? "Baton does not serve it (yet): a content filter, a type or topic that is not for Baton"
              : "its process is not in Baton: another RMW, machine or runtime directory, BATON_RMW_PATHS=underlying, "
                "or security");
  }
  ended_ = std::move(still_known);
  needed_ = needing != 0 || matched_underlying_ > needing_nothing;
  older_ = OlderUnderlying::kUnknown;
  // All known readers are matched, and no others: messages written to the underlying RMW reach exactly these readers.
  if (matched_underlying_ == needing_nothing + needing && !newcomers_.empty() && facts.wrote_underlying) {
    if (known_newcomers == 0) older_ = OlderUnderlying::kNone;
    if (known_newcomers == newcomers_.size()) older_ = OlderUnderlying::kFollowed;
  }
  if (matched_underlying_ > needing_nothing + needing)
    readers_.push_back({{}, "?", true, "matched, but not in the graph: it has just come"});
}

}  // namespace baton::rmw
