// SPDX-License-Identifier: Apache-2.0
#include "flow_receiver.hpp"

#include <algorithm>

namespace baton::link::stream {
namespace {

Error violation(const std::string& what) {
  return {Errc::protocol_violation, "the other end does not speak as a link of Baton: " + what};
}

}  // namespace

void FlowReceiver::connected(std::vector<HostFrame>& frames) {
  flow_ = nullptr;
  for (auto& [id, flow] : flows_) {
    flow.named = false;
    frames.push_back(resume(id));
    add_pending_ack(id, flow);  // an acknowledgement may have been lost with the connection
  }
}

HostFrame FlowReceiver::resume(std::uint32_t id) const {
  const ReceivedFlow& flow = flows_.at(id);
  HostFrame out;
  out.kind = FrameKind::kResume;
  out.flow = id;
  out.number = flow.come;
  out.offset = flow.offset;
  return out;
}

Result<void> FlowReceiver::open(const HostFrame& frame, const std::string& channel,
                                std::optional<ReceivedFlow> continued) {
  const auto known = flows_.find(frame.flow);
  if (known != flows_.end()) {
    if (known->second.named || known->second.channel != channel) return violation("a flow is opened twice");
    known->second.named = true;
    return {};
  }
  if (flows_.size() >= kMostFlows) return violation("more than " + std::to_string(kMostFlows) + " flows");
  if (name_bytes_ + channel.size() > kMostFlowNameBytes) return violation("its flows have too long names");
  if (continued && continued->channel != channel) return violation("a flow goes on with another channel");
  ReceivedFlow& flow = flows_[frame.flow];
  if (continued) {
    flow = std::move(*continued);
    flow.named = true;
    flow.ack_pending = false;
    add_pending_ack(frame.flow, flow);  // an acknowledgement may have been lost with the connection
  } else {
    flow.channel = channel;
    flow.registered = channels_->find(channel);
  }
  count(flow, true);
  return {};
}

/// A message that waits takes memory beside its bytes, and may have none.
std::size_t FlowReceiver::weight(const ArrivingChunk& waiting) { return kWaitingMessageBytes + waiting.size_bytes; }

/// A flow comes, or goes.
void FlowReceiver::count(const ReceivedFlow& flow, bool comes) {
  std::size_t bytes = 0;
  for (const auto& each : flow.waiting) bytes += weight(*each);
  waiting_bytes_ = comes ? waiting_bytes_ + bytes : waiting_bytes_ - bytes;
  name_bytes_ = comes ? name_bytes_ + flow.channel.size() : name_bytes_ - flow.channel.size();
}

std::optional<FlowReceiver::ReceivedFlow> FlowReceiver::take(std::uint32_t id) {
  const auto found = flows_.find(id);
  if (found == flows_.end()) return std::nullopt;
  if (flow_ == &found->second) flow_ = nullptr;
  count(found->second, false);
  std::optional<ReceivedFlow> out(std::move(found->second));
  flows_.erase(found);
  return out;
}

void FlowReceiver::close(std::uint32_t id) { static_cast<void>(take(id)); }

Result<void> FlowReceiver::ready(std::uint64_t number) {
  if (number <= connection_) return Error{Errc::system, "the other end has used another connection since"};
  if (number - connection_ > kMostUnready) return violation("it says that it has used too many connections");
  connection_ = number;
  for (auto at = flows_.begin(); at != flows_.end();) {
    const auto each = at++;
    if (!each->second.named) close(each->first);
  }
  return {};
}

Result<void> FlowReceiver::begin_part(const HostFrame& frame) {
  part_ = frame;
  header_bytes_ = 0;
  const auto found = flows_.find(frame.flow);
  if (found == flows_.end() || !found->second.named) return violation("a part of a flow that is not open");
  ReceivedFlow& flow = found->second;
  const bool goes_on =
      frame.number == flow.come + 1 && frame.offset == flow.offset && (frame.offset == 0 || frame.total == flow.total);
  if (!goes_on) return violation("a part is missing, or comes twice");
  if (frame.number - flow.delivered > kMostUnderWay) return violation("more chunks under way than may be");
  flow_ = &flow;
  if (frame.offset == 0) header_bytes_ = sizeof(memory::ChunkHeader);
  return {};
}

std::byte* FlowReceiver::place() {
  ReceivedFlow& flow = *flow_;
  if (part_.offset == 0) {
    flow.total = part_.total;
    flow.arriving.reset();
    if (flow.registered) {
      const os::Lock lock(flow.registered->mutex);
      if (flow.registered->receiver)
        flow.arriving =
            flow.registered->receiver->begin(host_, header_, part_.total - sizeof(memory::ChunkHeader), place_bytes());
    }
    if (flow.arriving) flow.arriving->header = header_;
  } else if (flow.arriving && !flow.arriving->grow(part_.offset + part_.size - sizeof(memory::ChunkHeader))) {
    flow.arriving.reset();
  }
  if (!flow.arriving) return nullptr;
  return flow.arriving->message + (part_.offset + header_bytes_ - sizeof(memory::ChunkHeader));
}

bool FlowReceiver::deliver(ReceivedFlow& flow, ArrivingChunk& arriving) {
  const os::Lock lock(flow.registered->mutex);
  return !flow.registered->receiver || flow.registered->receiver->deliver(host_, arriving);
}

void FlowReceiver::end_part() {
  ReceivedFlow& flow = *std::exchange(flow_, nullptr);
  flow.offset = part_.offset + part_.size;
  if (flow.offset < flow.total) return;
  flow.offset = 0;
  ++flow.come;
  ++messages_;
  bytes_ += flow.total;
  std::unique_ptr<ArrivingChunk> arriving = std::move(flow.arriving);
  if (arriving) arriving->come();
  if (flow.waiting.empty() && (!arriving || deliver(flow, *arriving))) {
    flow.delivered = flow.come;
    add_pending_ack(part_.flow, flow);
    return;
  }
  // A refused chunk keeps its place among the waiting ones, so that numbers are acknowledged in order.
  if (!arriving) arriving = std::make_unique<ArrivingChunk>();
  waiting_bytes_ += weight(*arriving);
  flow.waiting.push_back(std::move(arriving));
}

bool FlowReceiver::offer_again() {
  bool some = false;
  for (auto& [id, flow] : flows_) {
    while (!flow.waiting.empty()) {
      ArrivingChunk& arriving = *flow.waiting.front();
      if (arriving.message != nullptr && !deliver(flow, arriving)) break;
      waiting_bytes_ -= weight(arriving);
      flow.waiting.pop_front();
      ++flow.delivered;
      add_pending_ack(id, flow);
    }
    some = some || !flow.waiting.empty();
  }
  return some;
}

void FlowReceiver::add_pending_ack(std::uint32_t id, ReceivedFlow& flow) {
  if (flow.ack_pending || flow.delivered == 0) return;
  flow.ack_pending = true;
  pending_acks_.push_back(id);
}

void FlowReceiver::acknowledgements(std::vector<HostFrame>& frames) {
  for (const std::uint32_t id : pending_acks_) {
    const auto found = flows_.find(id);
    if (found == flows_.end()) continue;  // closed
    found->second.ack_pending = false;
    HostFrame ack;
    ack.kind = FrameKind::kAck;
    ack.flow = id;
    ack.number = found->second.delivered;
    frames.push_back(ack);
  }
  pending_acks_.clear();
}

}  // namespace baton::link::stream
