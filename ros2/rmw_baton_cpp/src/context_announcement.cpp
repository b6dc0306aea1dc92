// SPDX-License-Identifier: Apache-2.0
#include "context_announcement.hpp"

#include "baton/message/builder.hpp"
#include "baton/message/definition.hpp"
#include "baton/os/process.hpp"
#include "baton/os/wake_socket.hpp"
#include "baton/rosidl/native_plan.hpp"
#include "baton_context.hpp"
#include "rcutils/logging_macros.h"

namespace baton::rmw {
namespace {

constexpr const char* kText = "message std_msgs/String\nstring data\n";  // docs/format/type-hash.md
constexpr std::array<std::uint8_t, 4> kMark = {0xba, 0x70, 0x6e, 0x01};  // the last bytes of an announcement's gid
constexpr std::size_t kMostContexts = 4096;                              // remembered, dead ones included

const message::Definition& text_type() {
  // Leaked: Baton contexts may outlive static destruction.
  static const auto* const type =
      new message::Definition(message::Definition::parse(kText, rosidl::hash_of_definition(kText)).value());
  return *type;
}

Result<void> publish(transport::Writer& writer, const std::string& text) {
  Result<memory::Chunk> chunk = writer.loan_growing();
  if (!chunk) return chunk.error();
  message::LoanBuilder builder(chunk->message());
  Result<void> done = builder.begin(text_type().type());
  if (done) done = builder.add_string(0, text.data(), text.size());
  if (done) {
    if (Result<std::uint64_t> published = writer.publish(*chunk); published)
      return {};
    else
      done = published.error();
  }
  writer.abandon(*chunk);
  return done;
}

}  // namespace

std::string quoted(const std::string& text) {
  std::string made = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') made += '\\';
    made += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return made + '"';
}

std::string ContextAnnouncement::Described::text() {
  const std::lock_guard<std::mutex> lock(mutex);
  std::string made = "{\"pid\": " + std::to_string(pid) + ", " + about + ", \"publishers\": [";
  const char* separator = "";
  for (const auto& [gid, describe] : publishers) {
    made += separator + describe();
    separator = ", ";
  }
  return made + "]}";
}

void ContextAnnouncement::announce(transport::Participant& participant, const transport::Gid& endpoint) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (tried_) return;
  tried_ = true;
  own_ = common(endpoint);
  transport::Participant::WriterOptions options;
  options.topic = kAnnouncementTopic;
  options.type.name = text_type().type().name;
  options.type.hash = text_type().type().hash;
  options.type.definition = kText;
  options.type.skeleton_bytes = text_type().type().size;
  options.qos = QoS(1);
  std::memcpy(options.gid.data(), endpoint.data(), kCommonBytes);
  std::memcpy(options.gid.data() + kCommonBytes, kMark.data(), kMark.size());
  Result<std::shared_ptr<transport::Writer>> writer = participant.create_writer(options);
  if (!writer) {
    RCUTILS_LOG_DEBUG_NAMED(kLogger, "%s", writer.error().message.c_str());
    return;
  }
  writer_ = std::move(*writer);
  for (const transport::EndpointInfo& known : participant.endpoints()) {
    if (known.gid != writer_->gid()) continue;
    const std::lock_guard<std::mutex> described(described_->mutex);
    described_->pid = known.pid;
  }
  writer_->on_event([described = described_, weak = std::weak_ptr<transport::Writer>(writer_)](transport::Event event) {
    if (event != transport::Event::kMatched) return;
    const auto asked = weak.lock();
    if (!asked || asked->matched() == 0) return;
    if (Result<void> sent = publish(*asked, described->text()); !sent)
      RCUTILS_LOG_DEBUG_NAMED(kLogger, "%s", sent.error().message.c_str());
  });
}

void ContextAnnouncement::set_context(const transport::Gid& endpoint) {
  const std::lock_guard<std::mutex> lock(mutex_);
  own_ = common(endpoint);
}

void ContextAnnouncement::forget_context() {
  std::shared_ptr<transport::Writer> ended;  // ends without the lock, which its events may wait for
  const std::lock_guard<std::mutex> lock(mutex_);
  ended = std::move(writer_);
  writer_ = nullptr;
  own_.reset();
  tried_ = false;
}

bool ContextAnnouncement::knows_context() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return own_.has_value();
}

bool ContextAnnouncement::is_of_this_context(const transport::Gid& endpoint) {
  const std::lock_guard<std::mutex> lock(mutex_);
  return own_ == common(endpoint);
}

void ContextAnnouncement::add(const transport::Gid& gid, std::function<std::string()> describe) {
  const std::lock_guard<std::mutex> lock(described_->mutex);
  described_->publishers[gid] = std::move(describe);
}

void ContextAnnouncement::remove(const transport::Gid& gid) {
  const std::lock_guard<std::mutex> lock(described_->mutex);
  described_->publishers.erase(gid);
}

void ContextAnnouncement::look(transport::Participant& participant) {
  const std::uint64_t version = participant.graph_version();
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (version_ == version) return;
  }
  const std::vector<transport::EndpointInfo> endpoints = participant.endpoints();
  const std::lock_guard<std::mutex> lock(mutex_);
  if (contexts_.size() >= kMostContexts) contexts_.clear();
  for (auto& [bytes, seen] : contexts_) seen.present = false;
  for (const transport::EndpointInfo& endpoint : endpoints) {
    if (endpoint.topic == kAnnouncementTopic && endpoint.is_writer)
      contexts_[common(endpoint.gid)] = {endpoint.local_pid, true};
  }
  version_ = version;
}

ContextState ContextAnnouncement::context_of(transport::Participant& participant, const transport::Gid& endpoint) {
  look(participant);
  Seen seen;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = contexts_.find(common(endpoint));
    if (found == contexts_.end()) return ContextState::kUnknown;
    seen = found->second;
  }
  if (seen.present) return ContextState::kAlive;
  return os::process_ended(seen.pid) ? ContextState::kDead : ContextState::kAlive;
}

}  // namespace baton::rmw
