// SPDX-License-Identifier: Apache-2.0
#include "links.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "baton/containers/heap.hpp"
#include "baton/os/environment.hpp"
#include "baton/os/hexadecimal.hpp"
#include "baton/os/process.hpp"
#include "buffers.hpp"
#include "domain.hpp"

namespace baton::ros1 {
namespace {

using transport::Gid;
using transport::Participant;

// The keys of connection headers, and their version. A peer of another version is a peer without Baton.
constexpr const char* kVersionKey = "baton_tcpros";
constexpr const char* const kVersion = "3";
constexpr const char* kReaderKey = "baton_reader";
constexpr const char* kSecretKey = "baton_secret";
constexpr const char* kWriterKey = "baton_writer";

std::optional<Gid> gid_of(const std::string& digits) {
  Gid gid{};
  return os::from_hexadecimal(digits, gid) ? std::optional(gid) : std::nullopt;
}

std::string channel_of(const std::string& topic, const Gid& writer) {
  return topic + kChannelPart + os::hexadecimal(writer);
}

std::string value_of(const Headers& headers, const char* key) {
  const auto found = headers.find(key);
  return found == headers.end() ? std::string() : found->second;
}

}  // namespace

Links& Links::instance() {
  static auto* const links = new Links;  // never destroyed: roscpp ends its links in static destructors
  return *links;
}

/// Joined at the first link; `node` is this process's name. Null: the reason was reported, and messages go as without Baton.
std::shared_ptr<Participant> Links::participant(const std::string& node) {
  if (participant_ || failed_) return participant_;
  // First, so that the memory of every publisher can be mapped a second time for its arrays.
  if (!containers::active_beside([](void* address) { return Buffers::instance().release(address); })) {
    failed_ = true;
    say(Errc::unsupported, "messages go by TCPROS as without Baton: " + containers::reason());
    return nullptr;
  }
  transport::ParticipantOptions options;
  if (const char* const chosen = os::harmless_environment("BATON_DOMAIN"); chosen == nullptr || *chosen == '\0') {
    options.domain = domain_of_master(Roscpp::instance().master_uri(), os::host_name());
  }
  options.on_diagnostic = [](const transport::Diagnostic& diagnostic) {
    if (diagnostic.level != transport::Diagnostic::Level::kInfo) say(diagnostic.code, diagnostic.text);
  };
  Result<std::shared_ptr<Participant>> joined = Participant::join(options);
  if (joined) {
    participant_ = std::move(*joined);
    participant_->add_node(node);  // so that the domain's tools count this process
    // An orderly end leaves no name behind: the participant ends with the last of its links.
    std::atexit([] {
      Links& links = instance();
      const os::Lock lock(links.mutex_);
      links.participant_.reset();
      links.failed_ = true;
    });
  } else {
    failed_ = true;
    say(joined.error().code, "messages go by TCPROS as without Baton: " + joined.error().message);
  }
  return participant_;
}

void Links::add_keys(ros::Connection& connection, Headers& headers) {
  if (headers.count("service") != 0 || headers.count("error") != 0) return;
  if (headers.count("tcp_nodelay") != 0) {  // a subscriber's first header
    const Result<Gid> id = os::random_id();
    const Result<LinkSecret> secret = os::random_id();
    const os::Lock lock(mutex_);
    if (!id || !secret || !participant(value_of(headers, "callerid"))) return;
    headers[kVersionKey] = kVersion;
    headers[kReaderKey] = os::hexadecimal(*id);
    headers[kSecretKey] = os::hexadecimal(*secret);
    incoming_[&connection] =
        std::make_shared<Incoming>(value_of(headers, "topic"), value_of(headers, "callerid"), *id, *secret);
  } else if (headers.count("latching") != 0) {
    answer(connection, headers);
  }
}

/// A publisher's answer to a subscriber's header.
void Links::answer(ros::Connection& connection, Headers& headers) {
  const auto request = connection.getHeader().getValues();
  if (!request || value_of(*request, kVersionKey) != kVersion) return;
  const std::optional<Gid> reader = gid_of(value_of(*request, kReaderKey));
  const std::optional<LinkSecret> secret = gid_of(value_of(*request, kSecretKey));
  if (!reader || !secret) return;
  const std::string topic = value_of(headers, "topic");
  const os::Lock lock(mutex_);
  if (has_link_to(*reader) || !participant(value_of(headers, "callerid"))) return;
  std::shared_ptr<transport::Writer> writer = topics_[topic].writer.lock();
  if (!writer) {
    const Result<Gid> id = os::random_id();
    if (!id) return;
    Participant::WriterOptions options;
    options.gid = *id;
    options.topic = channel_of(topic, options.gid);
    options.node = value_of(headers, "callerid");
    options.type = serialized_type();
    options.qos = QoS().keep_all(kInFlight);
    options.pool.policy = memory::Policy::kNone;
    Result<std::shared_ptr<transport::Writer>> made = participant_->create_writer(options);
    if (!made) return say(made.error().code, topic + " goes by TCPROS as without Baton: " + made.error().message);
    writer = std::move(*made);
    topics_[topic] = {writer, std::make_shared<ArrayPlace>(value_of(headers, "message_definition"))};
  }
  headers[kVersionKey] = kVersion;
  headers[kWriterKey] = os::hexadecimal(writer->gid());
  outgoing_[&connection] = std::make_shared<Outgoing>(std::move(writer), *reader, *secret);
}

/// Another subscriber that names this id, which it found in the graph, would fill the queue of the one that has it.
bool Links::has_link_to(const Gid& reader) const {
  return std::any_of(outgoing_.begin(), outgoing_.end(),
                     [&](const auto& each) { return each.second->reader() == reader; });
}

void Links::header_received(ros::Connection& connection, const Headers& headers) {
  const std::optional<Gid> writer = gid_of(value_of(headers, kWriterKey));
  if (!writer || value_of(headers, kVersionKey) != kVersion) return;
  const os::Lock lock(mutex_);
  const auto found = incoming_.find(&connection);
  if (found == incoming_.end() || found->second->answered() || !participant(found->second->node())) return;
  Incoming& incoming = *found->second;
  Participant::ReaderOptions options;
  options.gid = incoming.id();
  options.topic = channel_of(incoming.topic(), *writer);
  options.node = incoming.node();
  options.type = serialized_type();
  options.qos = QoS().keep_all(kInFlight).hold(kHeld);
  Result<std::shared_ptr<transport::Reader>> reader = participant_->create_reader(options);
  if (!reader)
    return say(reader.error().code, incoming.topic() + " comes by TCPROS as without Baton: " + reader.error().message);
  incoming.set_reader(std::move(*reader));
}

void Links::link_made(const ros::Connection& connection, const boost::shared_ptr<ros::SubscriberLink>& link) {
  if (const auto outgoing = outgoing_of(connection)) outgoing->set_link(link);
}

void Links::connection_ended(const ros::Connection& connection) {
  // The endpoints end without the lock: their end takes locks of its own, and may free buffers.
  std::shared_ptr<Incoming> incoming;
  std::shared_ptr<Outgoing> outgoing;
  const os::Lock lock(mutex_);
  if (const auto found = incoming_.find(&connection); found != incoming_.end()) {
    incoming = std::move(found->second);
    incoming_.erase(found);
  }
  if (const auto found = outgoing_.find(&connection); found != outgoing_.end()) {
    outgoing = std::move(found->second);
    outgoing_.erase(found);
  }
}

Destination Links::destination_of(const std::string& topic) {
  Destination out;
  std::shared_ptr<transport::Writer>& writer = out.writer;
  std::vector<std::shared_ptr<Outgoing>> links;
  {
    const os::Lock lock(mutex_);
    const auto found = topics_.find(topic);
    if (found == topics_.end()) return {};
    writer = found->second.writer.lock();
    out.place = found->second.place;
    if (!writer) topics_.erase(found);
    if (!writer || writer->matched() == 0) return {};
    for (const auto& [connection, link] : outgoing_) {
      if (&link->writer() == writer.get()) links.push_back(link);
    }
  }
  // So that the new message finds the memory of those that were taken, which the caches still have.
  for (const auto& link : links) link->collect();
  return out;
}

std::shared_ptr<Outgoing> Links::outgoing_of(const ros::Connection& connection) {
  const os::Lock lock(mutex_);
  const auto found = outgoing_.find(&connection);
  return found == outgoing_.end() ? nullptr : found->second;
}

std::optional<Outgoing::Frames> Links::replace(const ros::Connection& connection,
                                               const boost::shared_array<std::uint8_t>& buffer, std::uint32_t bytes) {
  const auto outgoing = outgoing_of(connection);
  return outgoing ? outgoing->replace(buffer, bytes) : std::nullopt;
}

bool Links::arrive(ros::TransportPublisherLink& link, const ros::SerializedMessage& message) {
  std::shared_ptr<Incoming> incoming;
  {
    const os::Lock lock(mutex_);
    if (const auto found = incoming_.find(link.getConnection().get()); found != incoming_.end())
      incoming = found->second;
  }
  const auto deliver = [&link](const ros::SerializedMessage& ready) {
    Roscpp::instance().handle_message(&link, ready, true, false);
  };
  if (!incoming) {
    deliver(message);
    return true;
  }
  const bool good = incoming->arrive(message, deliver);
  incoming->link = incoming->waits() ? link.shared_from_this() : nullptr;
  if (incoming->waits()) waiting_ = true;
  return good;
}

/// In the poll thread, before each poll(2): looks after messages that were handed over and not taken, and after messages
/// that did not come.
void Links::look() {
  constexpr auto kPause = std::chrono::milliseconds(10);
  const auto now = std::chrono::steady_clock::now();
  if (!waiting_ && now < next_look_) return;
  next_look_ = now + kPause;
  std::vector<std::shared_ptr<Outgoing>> outgoing;
  std::vector<std::shared_ptr<Incoming>> waiting;
  {
    const os::Lock lock(mutex_);
    for (const auto& [connection, link] : outgoing_) outgoing.push_back(link);
    if (waiting_) {
      for (const auto& [connection, link] : incoming_) {
        if (link->waits()) waiting.push_back(link);
      }
    }
  }
  for (const auto& link : outgoing) {
    if (!link->collect()) continue;
    if (const auto target = link->link()) {
      const Outgoing::Frames nothing = link->nothing();
      Roscpp::instance().write_if_idle(static_cast<ros::TransportSubscriberLink&>(*target), nothing.buffer,
                                       nothing.bytes);
    }
  }
  waiting_ = !waiting.empty();
  bool soon = false;
  for (const auto& incoming : waiting) {
    const boost::shared_ptr<ros::PublisherLink> kept = incoming->link;
    auto* const link = static_cast<ros::TransportPublisherLink*>(kept.get());
    const ros::ConnectionPtr connection = link->getConnection();
    const auto deliver = [link](const ros::SerializedMessage& ready) {
      Roscpp::instance().handle_message(link, ready, true, false);
    };
    if (!incoming->look_again(deliver)) {
      Roscpp::instance().drop(connection.get(), ros::Connection::TransportDisconnect);
    }
    if (incoming->waits() && Roscpp::instance().is_dropped(connection.get())) incoming->end(deliver);
    if (!incoming->waits()) incoming->link.reset();
    soon = soon || incoming->waits_a_moment();
  }
  if (!soon) return;
  std::this_thread::sleep_for(std::chrono::microseconds(200));
  Roscpp::instance().poll_soon();
}

}  // namespace baton::ros1
