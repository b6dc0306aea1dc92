// SPDX-License-Identifier: Apache-2.0
#include "handle_resolver.hpp"

#include <ros/console.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace baton::ros1::detail {

using transport::Gid;
using transport::TakenSample;

void HandleResolver::set_writers(const std::map<Gid, Process>& alive, const std::map<Gid, Process>& gone) {
  // Whoever has messages stays: their publishers are as many as the reader's queue, or its QoS `held`, permits.
  for (auto each = writers_.begin(); writers_.size() > kMostWriters && each != writers_.end();) {
    const bool stays = each->second.early || alive.count(each->first) != 0 || gone.count(each->first) != 0;
    each = stays ? std::next(each) : writers_.erase(each);
  }
  for (auto& [gid, writer] : writers_) {
    if (writer.standing == WriterState::WriterStanding::kThere) writer.standing = WriterState::WriterStanding::kGone;
  }
  for (const auto& [gid, process] : alive) {
    WriterState& writer = writers_[gid];
    writer.process = process;
    writer.standing = WriterState::WriterStanding::kThere;
    writer.unlinked.reset();
  }
  for (const auto& [gid, process] : gone) {
    const auto [found, is_new] = writers_.try_emplace(gid);
    if (is_new) found->second.process = process;
    if (is_new || found->second.standing == WriterState::WriterStanding::kEmpty)
      found->second.standing = WriterState::WriterStanding::kGone;
  }
}

/// The source's publisher, if Baton's graph knows it as one of the sender's process.
HandleResolver::WriterState* HandleResolver::writer_of(HandleSender& source) {
  const auto found = writers_.find(source.writer);
  if (found == writers_.end() || !source.sender->is(found->second.process)) return nullptr;
  found->second.delivered = std::max(found->second.delivered, source.delivered);
  return &found->second;
}

/// For one more source of this sender.
void HandleResolver::make_room(const RoscppPeer& sender) {
  std::size_t same = 0;
  for (auto each = sources_.begin(); each != sources_.end();) {
    same += each->sender.get() == &sender;
    const bool over = each->waiting.empty() && each->link.expired();
    if (over) writer_of(*each);
    each = over ? sources_.erase(each) : std::next(each);
  }
  for (auto each = sources_.begin(); same >= kMostSources && each != sources_.end();) {
    if (each->sender.get() != &sender) {
      ++each;
      continue;
    }
    writer_of(*each);
    counters.refused += each->waiting.size();
    each = sources_.erase(each);
    --same;
  }
}

HandleResolver::HandleSender& HandleResolver::source_of(const ArrivedHandle& handle) {
  const auto found = std::find_if(sources_.begin(), sources_.end(), [&](const HandleSender& each) {
    return each.writer == handle.handle.writer && each.sender == handle.sender;
  });
  if (found != sources_.end()) return *found;
  make_room(*handle.sender);
  sources_.push_back({handle.handle.writer, handle.sender, handle.link, 0, {}, 0});
  return sources_.back();
}

void HandleResolver::arrive(const ArrivedHandlePtr& handle) {
  if (handle->handle.type != type_) {
    ++counters.refused;
    return;
  }
  HandleSender& source = source_of(*handle);
  // The message of the oldest one was overwritten, or does not come.
  if (source.waiting.size() >= most_waiting_) lose_first(source);
  make_room_for_bytes(*handle);
  source.waiting.push_back({handle, Clock::now()});
  source.waiting_bytes += handle->bytes.size();
}

void HandleResolver::lose_first(HandleSender& source) {
  if (source.waiting.front().handle->handle.number > source.delivered) count_lost(source);
  source.remove_first();
}

/// Messages that come with their handles wait only behind one without.
void HandleResolver::make_room_for_bytes(const ArrivedHandle& handle) {
  if (handle.bytes.empty()) return;
  std::size_t bytes = handle.bytes.size();
  for (const HandleSender& each : sources_) {
    if (each.sender == handle.sender) bytes += each.waiting_bytes;
  }
  for (HandleSender& each : sources_) {
    if (each.sender != handle.sender) continue;
    while (bytes > kMostContentBytes && each.waiting_bytes > 0) {
      bytes -= each.waiting.front().handle->bytes.size();
      lose_first(each);
    }
  }
}

HandleResolver::Lookup HandleResolver::find(HandleSender& source, WriterState* writer, std::uint64_t number,
                                            TakenSample* sample) {
  if (writer == nullptr) return writers_.count(source.writer) == 0 ? Lookup::kNotYet : Lookup::kRefused;
  for (int passed = 0; passed < kMostPassed; ++passed) {
    if (!writer->early) {
      Result<TakenSample> taken = reader_->take_from(source.writer);
      if (!taken) {
        ROS_WARN_THROTTLE(1.0, "baton: a message is lost: %s", taken.error().message.c_str());
        return taken.error().code == Errc::held_limit ? Lookup::kHeld : Lookup::kGone;
      }
      if (!*taken) return Lookup::kNotYet;
      writer->early = std::move(*taken);
    }
    const std::uint64_t next = writer->early.sequence();
    if (next > number) return Lookup::kGone;
    TakenSample found = std::move(writer->early);
    writer->early = {};
    if (next == number) {
      *sample = std::move(found);
      return Lookup::kMessage;
    }
    // A handle that roscpp's queues have dropped.
  }
  return Lookup::kMore;
}

/// Whether the connection to it, or the memory of a message that came, is on its way: on a busy machine for seconds.
bool HandleResolver::is_connecting(const Gid& writer) const {
  const std::map<Gid, bool> publishers = reader_->publishers();
  const auto found = publishers.find(writer);
  return (found != publishers.end() && !found->second) || reader_->awaits_memory(writer);
}

/// Looks at the first waiting handle. False: it goes on waiting, or there is none.
bool HandleResolver::step(HandleSender& source, ResolvedMessage* out) {
  if (source.waiting.empty()) return false;
  const ArrivedHandlePtr first = source.waiting.front().handle;
  const auto done = [&] {
    source.remove_first();
    return true;
  };
  WriterState* const writer = writer_of(source);
  std::uint64_t& delivered = writer != nullptr ? writer->delivered : source.delivered;
  if (first->handle.number <= delivered) return done();
  TakenSample sample;
  const Lookup found = find(source, writer, first->handle.number, &sample);
  if (first->handle.place == TopicHandle::Place::kHere) {
    delivered = first->handle.number;
    out->carried = first;
    out->sample = std::move(sample);
    ++counters.carried;
    return done();
  }
  switch (found) {
    case Lookup::kMessage:
      delivered = first->handle.number;
      out->sample = std::move(sample);
      ++counters.taken;
      return done();
    case Lookup::kHeld:
      ++counters.held_limit;
      return done();
    case Lookup::kGone:
      ++counters.overwritten;
      return done();
    case Lookup::kRefused:
      ++counters.refused;
      return done();
    case Lookup::kMore:
      return false;  // it waits(), so the caller comes again
    case Lookup::kNotYet:
      break;
  }
  const auto waited = Clock::now() - source.waiting.front().since;
  if (waited < kPatience || (waited < kConnecting && is_connecting(source.writer))) return false;
  count_lost(source);
  return done();
}

HandleResolver::ResolvedMessage HandleResolver::next() {
  ResolvedMessage out;
  std::vector<Gid> waiting;  // their later links wait, too
  for (HandleSender& source : sources_) {
    const bool is_next = std::find(waiting.begin(), waiting.end(), source.writer) == waiting.end();
    while (is_next && !out && step(source, &out)) {
    }
    if (out) return out;
    if (!source.waiting.empty() && writer_of(source) != nullptr) waiting.push_back(source.writer);
  }
  for (auto& [gid, writer] : writers_) {
    if (writer.early && writer.standing == WriterState::WriterStanding::kThere && !has_link(gid))
      writer.early = {};  // it pins memory, and no handle comes for it
  }
  return out;
}

/// Whether a handle of this publisher may come.
bool HandleResolver::has_link(const Gid& writer) {
  return std::any_of(sources_.begin(), sources_.end(), [&](HandleSender& each) {
    return each.writer == writer && writer_of(each) != nullptr && (!each.waiting.empty() || !each.link.expired());
  });
}

bool HandleResolver::waits() const {
  return std::any_of(sources_.begin(), sources_.end(), [](const HandleSender& each) { return !each.waiting.empty(); });
}

std::vector<TakenSample> HandleResolver::without_handle(TakenSample&& sample) {
  std::vector<TakenSample> out;
  const auto found = writers_.find(sample.publisher());
  if (found == writers_.end()) {
    out.push_back(std::move(sample));
    return out;
  }
  for (HandleSender& each : sources_) {
    if (each.writer == found->first) writer_of(each);
  }
  WriterState& writer = found->second;
  if (writer.early && writer.early.sequence() < sample.sequence()) {
    out.push_back(std::move(writer.early));
    writer.early = {};
  }
  if (sample.sequence() > writer.delivered) {
    writer.delivered = sample.sequence();
    out.push_back(std::move(sample));
  }
  return out;
}

std::vector<TakenSample> HandleResolver::left_behind() {
  std::vector<TakenSample> out;
  for (auto& [gid, writer] : writers_) {
    if (writer.standing != WriterState::WriterStanding::kGone) continue;
    const bool linked = std::any_of(sources_.begin(), sources_.end(), [&, &of = gid](HandleSender& each) {
      return each.writer == of && writer_of(each) != nullptr &&
             (!each.waiting.empty() || (!each.link.expired() && each.sender->is_connected()));
    });
    if (linked) {
      writer.unlinked.reset();
      continue;
    }
    if (!writer.unlinked) writer.unlinked = Clock::now();
    if (Clock::now() - *writer.unlinked < kPatience) continue;
    if (writer.early) out.push_back(std::exchange(writer.early, {}));
    for (std::size_t left = most_waiting_; left > 0; --left) {
      Result<TakenSample> taken = reader_->take_from(gid);
      if (!taken && taken.error().code == Errc::held_limit) break;  // later
      if (taken && !*taken) {
        writer.standing = WriterState::WriterStanding::kEmpty;
        break;
      }
      if (!taken) continue;
      for (TakenSample& each : without_handle(std::move(*taken))) out.push_back(std::move(each));
    }
  }
  return out;
}

bool HandleResolver::may_be_left() const {
  return std::any_of(writers_.begin(), writers_.end(),
                     [](const auto& each) { return each.second.standing == WriterState::WriterStanding::kGone; });
}

bool HandleResolver::has(const RoscppPeer& peer) {
  return std::any_of(sources_.begin(), sources_.end(), [&](HandleSender& each) {
    if (each.link.expired()) return false;
    const WriterState* const writer = writer_of(each);
    return writer != nullptr && peer.is(writer->process);
  });
}

}  // namespace baton::ros1::detail
