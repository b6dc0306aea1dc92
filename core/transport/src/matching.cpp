// SPDX-License-Identifier: Apache-2.0
// Matches endpoints. The reader's process requests the connection (ATTACH); both sides count and report mismatches.
#include <algorithm>

#include "baton/os/process.hpp"
#include "definition_difference.hpp"
#include "participant.hpp"

namespace baton::transport {
namespace {

/// Foreign endpoints that are matched with a new own endpoint before other work gets its turn: each may become a
/// connection.
constexpr std::size_t kMatchesAtOnce = 32;
/// Definitions that were requested from one peer and have not come yet.
constexpr std::size_t kMaxWanted = 16;
/// Queries of one peer that are answered in a window.
constexpr unsigned kMaxAnswered = 256;
/// Endpoints of departed peers that are removed before other work gets its turn.
constexpr std::size_t kForgottenAtOnce = 256;
constexpr std::size_t kWorthReturning = std::size_t{1} << 20;
constexpr auto kReturnPause = std::chrono::seconds(3);

}  // namespace

void Participant::Impl::match_new(const EndpointRecord& added) {
  Topic& topic = *added.topic;
  // Match a new foreign (or own) endpoint with the own endpoints of the other kind ...
  graph_.visit(topic.own, !added.is_writer, 0, added.serial, SIZE_MAX,
               [&](const EndpointRecord& other) BATON_REQUIRES(mutex_) { match_pair(other, added); });
  if (added.peer() != kSelf) return;
  // ... and a new own endpoint with all known ones.
  graph_.visit(topic.own, !added.is_writer, 0, added.serial, SIZE_MAX,
               [&](const EndpointRecord& other) BATON_REQUIRES(mutex_) { match_pair(added, other); });
  match_known(added.gid, 0, added.serial);
}

/// Matches a new own endpoint with the foreign endpoints that were known before it, in portions: a peer can announce
/// very many.
void Participant::Impl::match_known(const Gid& own, std::uint64_t from, std::uint64_t end) {
  const EndpointRecord* record = graph_.find(own);
  if (record == nullptr) return;  // withdrawn meanwhile
  const std::uint64_t next =
      graph_.visit(record->topic->foreign, !record->is_writer, from, end, kMatchesAtOnce,
                   [&](const EndpointRecord& other) BATON_REQUIRES(mutex_) { match_pair(*record, other); });
  if (next >= end) return;
  hub_->post([this, own, next, end] {
    const os::Lock lock(mutex_);
    match_known(own, next, end);
  });
}

void Participant::Impl::match_pair(const EndpointRecord& own, const EndpointRecord& other) {
  if (own.peer() == kSelf && other.peer() == kSelf) {
    const auto writer = writers_.find(own.is_writer ? own.gid : other.gid);
    const auto reader = readers_.find(own.is_writer ? other.gid : own.gid);
    if (writer != writers_.end() && reader != readers_.end() && writer->second->options().relayed &&
        reader->second->options().not_relayed)
      return;
  }
  if (own.is_writer) {
    const auto writer = writers_.find(own.gid);
    if (writer != writers_.end()) match(writer->second, other);
  } else {
    const auto reader = readers_.find(own.gid);
    if (reader != readers_.end()) match(reader->second, other);
  }
}

template <class Endpoint>
bool Participant::Impl::compatible(const std::shared_ptr<Endpoint>& own, const EndpointRecord& other,
                                   const QoS& offered, const QoS& requested) {
  const TypeInfo& type = own->options().type;
  const auto who = [&] {
    return (other.is_writer ? "subscription to '" : "publisher of '") + own->options().topic + "'";
  };
  const auto whom = [&] {
    return std::string(other.is_writer ? "publisher" : "subscription") + " of node '" + *other.node + "' (process " +
           std::to_string(pid_of(other.peer())) + ")";
  };
  // A peer can announce very many endpoints that do not match: all are counted, few are described.
  const auto report = [&](Event event, Policy policy, Diagnostic::Level level, Errc code, auto&& text) {
    std::string words;
    const bool described = diagnose_about(other.peer(), level, code, [&] { return words = text(); });
    own->report_incompatible(event, described ? &words : nullptr, policy);
  };
  if (type.name != other.type->name) {
    report(Event::kIncompatibleType, Policy::kNone, Diagnostic::Level::kError, Errc::type_mismatch, [&] {
      return who() + " with type " + type.name + " is not connected to the " + whom() + ", which has type " +
             other.type->name + "; rename the topic of one of them";
    });
    return false;
  }
  if (type.hash != other.type->hash) {
    std::string text;
    const bool described =
        want_definition(own->gid(), other);  // the difference is reported when the definition arrives
    if (described) text = who() + ": the " + whom() + " has another definition of " + type.name;
    own->report_incompatible(Event::kIncompatibleType, described ? &text : nullptr);
    return false;
  }
  const std::string difference = incompatibility(offered, requested);
  if (difference.empty()) return true;
  report(Event::kIncompatibleQos, first_incompatible(offered, requested), Diagnostic::Level::kWarning,
         Errc::incompatible_qos, [&] { return who() + " is not connected to the " + whom() + ": " + difference; });
  return false;
}

/// Requests the definition once for each type of a peer, and few types at a time. True if this pair now waits for the
/// answer.
bool Participant::Impl::want_definition(const Gid& own, const EndpointRecord& other) {
  PeerState* state = state_of(other.peer());
  if (state == nullptr) return false;
  auto& wanted = state->wanted;
  const auto found =
      std::find_if(wanted.begin(), wanted.end(), [&](const Wanted& entry) { return entry.hash == other.type->hash; });
  if (found != wanted.end()) {
    if (std::find(found->own.begin(), found->own.end(), own) != found->own.end()) return false;
    found->own.push_back(own);
    return true;
  }
  if (wanted.size() >= kMaxWanted ||
      state->rates->questions.use(os::Allowance::Clock::now(), kMaxReports, kReportWindow) < 0)
    return false;
  wanted.push_back({other.gid, other.type->hash, {own}});
  send(other.peer(), FrameType::kDefinitionRequest, encode_gid(other.gid));
  return true;
}

Participant::Impl::PeerState* Participant::Impl::state_of(PeerId peer) {
  if (peer == kSelf) return &self_state_;
  const auto found = peers_.find(peer);
  return found == peers_.end() ? nullptr : &found->second;
}

void Participant::Impl::match(const std::shared_ptr<Writer::Impl>& writer, const EndpointRecord& reader) {
  // If they are compatible, the reader's process sends ATTACH; or, if messages are seldom, when the writer calls it.
  if (!compatible(writer, reader, writer->options().qos, *reader.qos)) return;
  hub_->send_waiting(reader.peer());  // its process must not wait for a new writer
  if (!writer->options().seldom || reader.banned) return;
  if (EndpointRecord* const record = graph_.find(reader.gid)) record->attached = true;
  if (Result<Charge> room = budgets_.charge(reader.peer(), Keep::kConnections, kRestingBytes)) {
    writer->rest(reader.peer(), reader.gid, *reader.qos, std::move(*room));
  } else {  // it attaches, is refused in words, and tries again
    send(reader.peer(), FrameType::kCall, encode(PairFrame{writer->gid(), reader.gid}));
  }
}

void Participant::Impl::match(const std::shared_ptr<Reader::Impl>& reader, const EndpointRecord& writer) {
  if (writer.banned || !compatible(reader, writer, *writer.qos, reader->options().qos)) return;
  hub_->send_waiting(writer.peer());
  if (!writer.seldom || reader->options().connects_at_once || !rest(reader, writer)) begin_attach(reader, writer);
}

/// False: there is no room for the pair.
bool Participant::Impl::rest(const std::shared_ptr<Reader::Impl>& reader, const EndpointRecord& writer) {
  Result<Charge> room = budgets_.charge(writer.peer(), Keep::kConnections, kRestingBytes);
  if (room) reader->rest(writer.peer(), writer.gid, std::move(*room));
  return room.ok();
}

void Participant::Impl::begin_attach(const std::shared_ptr<Reader::Impl>& reader, const EndpointRecord& writer) {
  const Gid& own = reader->gid();
  if (reader->is_connected(writer.gid)) return;
  RemoteWriter& remote = remote_writers_[writer.gid];
  // First its other readers disconnect: it sends its segments only to a process that has none of its connections.
  if (remote.lacking) {
    attach_later(own, writer.gid);
    return;
  }
  remote.peer = writer.peer();
  if (std::find(remote.readers.begin(), remote.readers.end(), own) == remote.readers.end()) {
    try {
      remote.readers.push_back(own);
    } catch (...) {
      if (remote.readers.empty()) remote_writers_.erase(writer.gid);
      throw;
    }
  }
  Result<bool> begun = false;
  try {
    Result<Charge> charge =
        budgets_.charge(writer.peer(), Keep::kConnections, reader->connection_bytes(), kAreasOfConnection);
    if (charge) {
      begun = reader->begin_attach(info_of(writer, pids_of(writer.peer())), std::move(*charge));
    } else {
      // Other endpoints of that process may leave, which makes room.
      begun = Error{charge.error().code,
                    "process " + std::to_string(pid_of(writer.peer())) + ": " + charge.error().message};
    }
  } catch (...) {
    release_remote_writer(writer.gid, own);
    throw;
  }
  if (begun && *begun) return;
  release_remote_writer(writer.gid, own);
  if (begun) return;  // it matches no more
  if (attach_later(own, writer.gid)) {
    diagnose_about(writer.peer(), Diagnostic::Level::kError, begun.error().code, [&] {
      return "subscription to '" + reader->options().topic + "' cannot connect: " + begun.error().message +
             "; trying again";
    });
  }
}

void Participant::Impl::give_up(PeerId peer, const Gid& writer, const Gid& reader, const Error& why) {
  send(peer, FrameType::kDetach, encode(PairFrame{writer, reader}));
  RefusedFrame refused;
  refused.reader = reader;
  refused.writer = writer;
  refused.code = why.code;
  refused.text = "process " + std::to_string(pid_of(peer)) + ": " + why.message;
  static_cast<void>(on_ended(peer, refused));
}

bool Participant::Impl::attach_later(const Gid& reader, const Gid& writer) {
  if (attempts_.is_planned(writer, reader)) return false;
  const AttachAttempts::Next next = attempts_.failed(writer, reader);
  hub_->schedule(std::chrono::steady_clock::now() + next.pause, [this, reader, writer, number = next.number] {
    const os::Lock lock(mutex_);
    if (!attempts_.is_due(writer, reader, number)) return;
    const auto own = readers_.find(reader);
    const EndpointRecord* record = graph_.find(writer);
    if (own == readers_.end() || record == nullptr || record->banned) {
      attempts_.forget(writer, reader);
      return;
    }
    begin_attach(own->second, *record);
  });
  attempts_.planned(writer, reader, next.number);
  return next.first;
}

/// A writer may end a new connection at once, for lack of another resource. So the pauses grow until a connection has
/// lasted.
void Participant::Impl::forget_attempts_later(const Gid& reader, const Gid& writer) {
  const unsigned failures = attempts_.failures(writer, reader);
  if (failures == 0) return;
  hub_->schedule(std::chrono::steady_clock::now() + 2 * AttachAttempts::kLongestPause,
                 [this, reader, writer, failures] {
                   const os::Lock lock(mutex_);
                   attempts_.lasted(writer, reader, failures);
                 });
}

void Participant::Impl::release_remote_writer(const Gid& writer, const Gid& reader) noexcept {
  const auto remote = remote_writers_.find(writer);
  if (remote == remote_writers_.end()) return;
  auto& readers = remote->second.readers;
  readers.erase(std::remove(readers.begin(), readers.end(), reader), readers.end());
  if (readers.empty()) remote_writers_.erase(remote);
}

void Participant::Impl::endpoint_gone(const EndpointRecord& record, bool with_its_process) {
  const Gid& gid = record.gid;
  if (record.is_writer) {
    attempts_.forget(gid);
    // All readers of the topic, because refused readers also keep a record of it.
    graph_.visit(record.topic->own, false, 0, kAllSerials, SIZE_MAX,
                 [&](const EndpointRecord& own) BATON_REQUIRES(mutex_) {
                   const auto reader = readers_.find(own.gid);
                   if (reader != readers_.end()) reader->second->writer_gone(record.peer(), gid, !with_its_process);
                 });
    remote_writers_.erase(gid);
  } else if (record.attached && !with_its_process) {  // otherwise peer_gone() has done it
    graph_.visit(record.topic->own, true, 0, kAllSerials, SIZE_MAX,
                 [&](const EndpointRecord& own) BATON_REQUIRES(mutex_) {
                   const auto writer = writers_.find(own.gid);
                   if (writer != writers_.end()) writer->second->reader_gone(record.peer(), gid);
                 });
  }
  forget_type_question(gid);
  PeerState* state = state_of(record.peer());
  if (state == nullptr) return;
  auto& wanted = state->wanted;
  wanted.erase(std::remove_if(wanted.begin(), wanted.end(), [&](const Wanted& entry) { return entry.endpoint == gid; }),
               wanted.end());
}

void Participant::Impl::forget_left() {
  const bool more = graph_.forget_some(kForgottenAtOnce, [&](const EndpointRecord& record) BATON_REQUIRES(mutex_) {
    endpoint_gone(record, true);
    give_to_next(record.gid);
  });
  if (!more) return_memory_later();
  if (!more || forgetting_) return;
  hub_->post([this] {
    {
      const os::Lock lock(mutex_);
      forgetting_ = false;
      forget_left();
    }
    graph_changed();
  });
  forgetting_ = true;
}

/// The records of a peer's announcements lie between allocations that stay, so the allocator does not give their pages
/// back by itself. Do so only after much was freed, and rarely, since threads that allocate wait for it.
void Participant::Impl::return_memory_later() {
  if (returning_memory_ || budgets_.returned(false) < kWorthReturning) return;
  hub_->schedule(std::chrono::steady_clock::now() + kReturnPause, [this] {
    {
      const os::Lock lock(mutex_);
      returning_memory_ = false;
      if (budgets_.returned(true) < kWorthReturning) return;
    }
    os::return_free_memory();
  });
  returning_memory_ = true;
}

Result<void> Participant::Impl::on_definition_request(PeerId peer, const Gid& gid) {
  if (!may_ask(peer)) return {};
  const TypeInfo* type = nullptr;
  if (const auto writer = writers_.find(gid); writer != writers_.end()) type = &writer->second->options().type;
  if (const auto reader = readers_.find(gid); reader != readers_.end()) type = &reader->second->options().type;
  if (type != nullptr) send(peer, FrameType::kDefinition, encode(DefinitionFrame{gid, type->definition}));
  return {};
}

/// An answer costs more than a query.
bool Participant::Impl::may_ask(PeerId peer) {
  const auto state = peers_.find(peer);
  return state == peers_.end() ||
         state->second.rates->answers.use(os::Allowance::Clock::now(), kMaxAnswered, kReportWindow) >= 0;
}

void Participant::Impl::on_definition(PeerId peer, const DefinitionFrame& frame) {
  answer_type_question(peer, frame);
  PeerState* state = state_of(peer);
  if (state == nullptr) return;
  auto& wanted = state->wanted;
  const EndpointRecord* other = graph_.find(frame.endpoint);
  const auto found =
      std::find_if(wanted.begin(), wanted.end(), [&](const Wanted& entry) { return entry.endpoint == frame.endpoint; });
  if (other == nullptr || other->peer() != peer || found == wanted.end()) return;
  const std::vector<Gid> own_gids = std::move(found->own);
  wanted.erase(found);
  for (const Gid& own : own_gids) {
    const auto writer = writers_.find(own);
    const auto reader = readers_.find(own);
    if (writer == writers_.end() && reader == readers_.end()) continue;
    const TypeInfo& type = writer != writers_.end() ? writer->second->options().type : reader->second->options().type;
    std::string text;
    const bool described =
        diagnose_about(peer, Diagnostic::Level::kError, Errc::type_mismatch, [&]() BATON_REQUIRES(mutex_) {
          const std::string who = writer != writers_.end()
                                      ? "publisher of '" + writer->second->options().topic + "'"
                                      : "subscription to '" + reader->second->options().topic + "'";
          return text = who + ": process " + std::to_string(pid_of(peer)) + " (node '" + *other->node + "') defines " +
                        type.name + " differently; rebuild both from the same .msg files:\n" +
                        definition_difference(type.definition, frame.text);
        });
    if (!described) continue;
    if (writer != writers_.end()) {
      writer->second->explain_incompatible(text);
    } else {
      reader->second->explain_incompatible(text);
    }
  }
}

}  // namespace baton::transport
