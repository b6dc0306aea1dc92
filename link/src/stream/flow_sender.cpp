// SPDX-License-Identifier: Apache-2.0
#include "flow_sender.hpp"

#include <algorithm>
#include <utility>

namespace baton::link::stream {

FlowSender::~FlowSender() {
  for (auto& [id, flow] : flows_) set_attached(flow, false);
}

void FlowSender::set_attached(SendFlow& flow, bool attached) {
  if (flow.attached == attached) return;
  flow.attached = attached;
  if (attached) {
    flow.source->attach(wait_set_);
  } else {
    flow.source->detach(wait_set_);
  }
}

void FlowSender::add_open(std::uint32_t id, const SendFlow& flow) {
  OutgoingFrame open;
  open.frame.kind = FrameKind::kOpen;
  open.frame.flow = id;
  open.frame.number = flow.continues;
  open.frame.size = static_cast<std::uint32_t>(flow.channel.size());
  open.name = flow.channel;
  control_.push_back(std::move(open));
}

std::uint32_t FlowSender::open(const std::string& channel, std::shared_ptr<ChunkSource> source,
                               std::optional<TrafficClass> fixed) {
  MovingFlow flow;
  flow.channel = channel;
  flow.source = std::move(source);
  flow.fixed = fixed;
  return adopt(std::move(flow), {});
}

std::uint32_t FlowSender::adopt(MovingFlow from, TimePoint now) {
  if (flows_.size() >= kMostFlows) return 0;
  SendFlow& flow = flows_[++last_];
  flow.channel = std::move(from.channel);
  flow.source = std::move(from.source);
  flow.fixed = from.fixed;
  flow.bulky = now;
  if (from.continues) {
    flow.continues = from.id;
    flow.first = from.acknowledged + 1;
  }
  for (auto& chunk : from.chunks) {
    flow.bytes += chunk->size_bytes;
    flow.chunks.push_back({std::move(chunk), 0});
  }
  if (connected_) add_open(last_, flow);
  return last_;
}

std::vector<MovingFlow> FlowSender::take_leaving() {
  std::vector<MovingFlow> out;
  for (const std::uint32_t id : std::exchange(leaving_, {})) {
    const auto found = flows_.find(id);
    if (found == flows_.end() || !found->second.next) continue;  // closed meanwhile, or kept
    SendFlow& flow = found->second;
    out.push_back({id, flow.channel, flow.source, flow.fixed, {std::move(flow.next)}, flow.first - 1, false});
    close(id);
  }
  return out;
}

std::vector<MovingFlow> FlowSender::take_all() {
  std::vector<MovingFlow> out;
  for (auto& [id, flow] : flows_) {
    MovingFlow& moving = out.emplace_back();
    moving = {id, std::move(flow.channel), std::move(flow.source), flow.fixed, {}, flow.first - 1, true};
    for (UnacknowledgedChunk& each : flow.chunks) moving.chunks.push_back(std::move(each.outgoing));
    if (flow.next) moving.chunks.push_back(std::move(flow.next));
  }
  flows_.clear();
  leaving_.clear();
  return out;
}

bool FlowSender::is_settled() const {
  return std::all_of(flows_.begin(), flows_.end(), [](const auto& each) { return each.second.continues == 0; });
}

void FlowSender::close(std::uint32_t id) {
  const auto found = flows_.find(id);
  if (found == flows_.end()) return;
  set_attached(found->second, false);
  flows_.erase(found);
  if (!connected_) return;
  OutgoingFrame close;
  close.frame.kind = FrameKind::kClose;
  close.frame.flow = id;
  control_.push_back(std::move(close));
}

void FlowSender::connected() {
  connected_ = true;
  ready_ = false;
  control_.clear();
  for (const auto& [id, flow] : flows_) add_open(id, flow);
  OutgoingFrame ready;
  ready.frame.kind = FrameKind::kReady;
  ready.frame.number = ++connections_;
  control_.push_back(std::move(ready));
}

void FlowSender::disconnected() {
  connected_ = ready_ = false;
  control_.clear();
  for (auto& [id, flow] : flows_) {
    set_attached(flow, false);
    flow.at = 0;
    for (UnacknowledgedChunk& chunk : flow.chunks) chunk.sent = 0;
  }
}

void FlowSender::ready() { ready_ = true; }

Result<void> FlowSender::resume(const HostFrame& frame) {
  const auto found = flows_.find(frame.flow);
  if (found == flows_.end()) return {};  // closed meanwhile
  SendFlow& flow = found->second;
  const Error wrong{Errc::protocol_violation, "the other end goes on where this one has never been"};
  const bool may_come = !ready_ || flow.continues != 0;
  if (!may_come || frame.number + 1 < flow.first || frame.number - (flow.first - 1) > flow.chunks.size()) return wrong;
  flow.continues = 0;
  const std::size_t come = frame.number - (flow.first - 1);
  flow.at = come;
  for (std::size_t i = 0; i < flow.chunks.size(); ++i)
    flow.chunks[i].sent = i < come ? flow.chunks[i].outgoing->size_bytes : 0;
  if (frame.offset == 0) return {};
  // A chunk's first part has its header.
  if (come == flow.chunks.size() || frame.offset < sizeof(memory::ChunkHeader) ||
      frame.offset >= flow.chunks[come].outgoing->size_bytes)
    return wrong;
  flow.chunks[come].sent = frame.offset;
  return {};
}

Result<void> FlowSender::acknowledge(const HostFrame& frame) {
  const auto found = flows_.find(frame.flow);
  if (found == flows_.end() || frame.number < found->second.first) return {};
  SendFlow& flow = found->second;
  const std::uint64_t count = frame.number - flow.first + 1;
  if (count > flow.at) return Error{Errc::protocol_violation, "the other end acknowledges what was not sent"};
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::size_t bytes = flow.chunks.front().outgoing->size_bytes;
    flow.bytes -= bytes;
    totals_.bytes += bytes;
    flow.chunks.pop_front();
  }
  totals_.messages += count;
  flow.first += count;
  flow.at -= count;
  return {};
}

/// Whether the flow's next chunk belongs to the other class.
bool FlowSender::leaves(SendFlow& flow, std::size_t chunk_bytes, TimePoint now) const {
  if (flow.fixed) return *flow.fixed != class_;
  if (now - flow.second >= std::chrono::seconds(1)) {
    flow.second = now;
    flow.bytes_of_second = 0;
  }
  flow.bytes_of_second += chunk_bytes;
  const bool bulky = chunk_bytes > kMostUrgentBytes || flow.bytes_of_second > kMostUrgentRate;
  if (bulky) flow.bulky = now;
  return class_ == TrafficClass::kUrgent ? bulky : now - flow.bulky > kCalm;
}

/// True if something was added.
bool FlowSender::next_of(std::uint32_t id, SendFlow& flow, std::size_t most, TimePoint now,
                         std::vector<OutgoingFrame>& frames) {
  if (flow.continues != 0) return false;
  if (flow.next && !may_leave_) {
    flow.bytes += flow.next->size_bytes;
    flow.chunks.push_back({std::move(flow.next), 0});
  }
  if (flow.at == flow.chunks.size()) {
    if (flow.next) {
      if (flow.chunks.empty() && std::count(leaving_.begin(), leaving_.end(), id) == 0) leaving_.push_back(id);
      return false;
    }
    if (flow.chunks.size() >= kMostUnderWay || (flow.bytes >= kMostBytes && !flow.chunks.empty())) {
      set_attached(flow, false);
      return false;
    }
    std::shared_ptr<const OutgoingChunk> chunk;
    const ChunkSource::NextChunk found = flow.source->next(chunk);
    if (found != ChunkSource::NextChunk::kChunk) {
      set_attached(flow, found != ChunkSource::NextChunk::kHeld);
      if (found == ChunkSource::NextChunk::kMore) wait_set_.wake();  // comes back at once
      return false;
    }
    if (leaves(flow, chunk->size_bytes, now) && may_leave_) {
      set_attached(flow, false);
      flow.next = std::move(chunk);
      if (flow.chunks.empty()) leaving_.push_back(id);
      return false;
    }
    flow.bytes += chunk->size_bytes;
    flow.chunks.push_back({std::move(chunk), 0});
  }
  UnacknowledgedChunk& chunk = flow.chunks[flow.at];
  const std::size_t size = std::min(most, chunk.outgoing->size_bytes - chunk.sent);
  OutgoingFrame part;
  part.frame.kind = FrameKind::kPart;
  part.frame.flow = id;
  part.frame.number = flow.first + flow.at;
  part.frame.offset = chunk.sent;
  part.frame.size = static_cast<std::uint32_t>(size);
  part.frame.total = static_cast<std::uint32_t>(chunk.outgoing->size_bytes);
  part.chunk = chunk.outgoing;
  chunk.sent += size;
  if (chunk.sent == chunk.outgoing->size_bytes) ++flow.at;
  frames.push_back(std::move(part));
  return true;
}

void FlowSender::next(std::size_t bytes, std::size_t count, TimePoint now, std::vector<OutgoingFrame>& frames) {
  for (OutgoingFrame& each : control_) frames.push_back(std::move(each));
  control_.clear();
  if (!ready_) return;
  const std::size_t most = std::clamp(bytes, sizeof(memory::ChunkHeader), kPartBytes);
  std::size_t added = 0;
  for (bool some = true; some;) {
    some = false;
    // Once around, beginning behind the flow that was served last.
    auto at = flows_.upper_bound(turn_);
    for (std::size_t i = flows_.size(); i > 0; --i, ++at) {
      if (at == flows_.end()) at = flows_.begin();
      // Each flow gets the same number of bytes, not of chunks: else flows of small chunks would fall behind flows of big ones.
      for (std::size_t used = 0; used < most && next_of(at->first, at->second, most, now, frames);) {
        some = true;
        turn_ = at->first;
        const std::size_t size = frames.back().frame.size + kFrameBytes;
        used += size;
        added += size;
        if (added >= bytes || frames.size() >= count) return;
      }
    }
  }
}

bool FlowSender::idle(std::uint32_t id) const {
  const auto found = flows_.find(id);
  return found == flows_.end() ||
         (found->second.chunks.empty() && !found->second.next && found->second.source->empty());
}

std::uint64_t FlowSender::acknowledged(std::uint32_t id) const {
  const auto found = flows_.find(id);
  return found == flows_.end() ? 0 : found->second.first - 1;
}

FlowSender::Totals FlowSender::totals() const {
  Totals out = totals_;
  for (const auto& [id, flow] : flows_) {
    out.queued_bytes += flow.source->waiting_bytes();
    out.waiting_messages += flow.chunks.size() + (flow.next ? 1 : 0);
    out.waiting_bytes += flow.bytes + (flow.next ? flow.next->size_bytes : 0);
  }
  return out;
}

}  // namespace baton::link::stream
