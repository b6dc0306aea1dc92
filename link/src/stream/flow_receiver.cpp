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
    HostFrame resume;
    resume.kind = FrameKind::kResume;
    resume.flow = id;
    resume.number = flow.come;
    resume.offset = flow.offset;
    frames.push_back(resume);
    add_pending_ack(id, flow);  // an acknowledgement may have been lost with the connection
  }
}

Result<void> FlowReceiver::open(const HostFrame& frame, const std::string& channel) {
  const auto known = flows_.find(frame.flow);
  if (known != flows_.end()) {
    if (known->second.named || known->second.channel != channel) return violation("a flow is opened twice");
    known->second.named = true;
    return {};
  }
  if (flows_.size() >= kMostFlows) return violation("more than " + std::to_string(kMostFlows) + " flows");
  if (name_bytes_ + channel.size() > kMostFlowNameBytes) return violation("its flows have too long names");
  ReceiveFlow& flow = flows_[frame.flow];
  flow.channel = channel;
  name_bytes_ += channel.size();
  flow.registered = channels_->find(channel);
  return {};
}

/// A message that waits takes memory beside its bytes, and may have none.
std::size_t FlowReceiver::weight(const ArrivingChunk& waiting) { return kWaitingMessageBytes + waiting.size_bytes; }

void FlowReceiver::drop(ReceiveFlow& flow) {
  name_bytes_ -= flow.channel.size();
  for (const auto& each : flow.waiting) waiting_bytes_ -= weight(*each);
  flow.waiting.clear();
}

void FlowReceiver::close(std::uint32_t id) {
  const auto found = flows_.find(id);
  if (found == flows_.end()) return;
  if (flow_ == &found->second) flow_ = nullptr;
  drop(found->second);
  flows_.erase(found);
}

Result<void> FlowReceiver::ready(std::uint64_t number) {
  if (number <= connection_) return Error{Errc::system, "the other end has used another connection since"};
  connection_ = number;
  for (auto at = flows_.begin(); at != flows_.end();) {
    if (at->second.named) {
      ++at;
    } else {
      drop(at->second);
      at = flows_.erase(at);
    }
  }
  return {};
}

Result<void> FlowReceiver::begin_part(const HostFrame& frame) {
  part_ = frame;
  header_bytes_ = 0;
  const auto found = flows_.find(frame.flow);
  if (found == flows_.end() || !found->second.named) return violation("a part of a flow that is not open");
  ReceiveFlow& flow = found->second;
  const bool goes_on =
      frame.number == flow.come + 1 && frame.offset == flow.offset && (frame.offset == 0 || frame.total == flow.total);
  if (!goes_on) return violation("a part is missing, or comes twice");
  if (frame.number - flow.delivered > kMostUnderWay) return violation("more chunks under way than may be");
  flow_ = &flow;
  if (frame.offset == 0) header_bytes_ = sizeof(memory::ChunkHeader);
  return {};
}

std::byte* FlowReceiver::place() {
  ReceiveFlow& flow = *flow_;
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

bool FlowReceiver::deliver(ReceiveFlow& flow, ArrivingChunk& arriving) {
  const os::Lock lock(flow.registered->mutex);
  return !flow.registered->receiver || flow.registered->receiver->deliver(host_, arriving);
}

void FlowReceiver::end_part() {
  ReceiveFlow& flow = *std::exchange(flow_, nullptr);
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

void FlowReceiver::add_pending_ack(std::uint32_t id, ReceiveFlow& flow) {
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
