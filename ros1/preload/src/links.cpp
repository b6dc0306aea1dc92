// SPDX-License-Identifier: Apache-2.0
#include "links.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "baton/os/process.hpp"
#include "buffers.hpp"
#include "domain.hpp"

namespace baton::ros1 {
namespace {

using transport::Gid;
using transport::Participant;
using transport::TakenSample;

// The keys of connection headers, and their version. A peer of another version is a peer without Baton.
constexpr const char* kVersionKey = "baton_tcpros";
constexpr const char* const kVersion = "1";
constexpr const char* kReaderKey = "baton_reader";
constexpr const char* kWriterKey = "baton_writer";

// A marker: TCPROS's length, then these 24 bytes.
constexpr std::uint32_t kMarkerBytes = sizeof(Gid) + sizeof(std::uint64_t);

/// How long a marker waits for its message. The message was in the queue before the marker was written, so this takes
/// long only while the first connection, or a new segment, is on its way.
constexpr auto kPatience = std::chrono::seconds(5);

std::string digits_of(const Gid& gid) {
  std::string out;
  for (const std::uint8_t byte : gid) {
    constexpr const char* kDigits = "0123456789abcdef";
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out;
}

std::optional<Gid> gid_of(const std::string& digits) {
  Gid gid{};
  if (digits.size() != 2 * gid.size()) return std::nullopt;
  const auto value = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  for (std::size_t i = 0; i < gid.size(); ++i) {
    const int high = value(digits[2 * i]), low = value(digits[2 * i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    gid[i] = static_cast<std::uint8_t>(high * 16 + low);
  }
  return gid;
}

std::string channel_of(const std::string& topic, const Gid& writer) { return topic + "/_tcpros/" + digits_of(writer); }

std::string value_of(const Headers& headers, const char* key) {
  const auto found = headers.find(key);
  return found == headers.end() ? std::string() : found->second;
}

/// The bytes of a received message, without TCPROS's length; empty if there are none.
struct Bytes {
  const std::uint8_t* begin = nullptr;
  std::size_t size = 0;
};

Bytes bytes_of(const TakenSample& sample) {
  // Fetched once: the publisher can still write them.
  const auto* const message = static_cast<const std::uint8_t*>(sample.message());
  std::uint32_t length;
  std::int32_t offset;
  std::memcpy(&length, message, 4);
  std::memcpy(&offset, message + 4, 4);
  const std::int64_t begin = std::int64_t{4} + offset;
  if (begin < 8 || length < 4 || begin + length > sample.size_bytes()) return {};
  return {message + begin + 4, length - 4};
}

}  // namespace

Links& Links::instance() {
  static auto* const links = new Links;  // never destroyed: roscpp ends its links in static destructors
  return *links;
}

/// Joined at the first link. Null: the reason was reported, and messages go as without Baton.
std::shared_ptr<Participant> Links::participant() {  // with mutex_
  if (participant_ || failed_) return participant_;
  transport::ParticipantOptions options;
  if (std::getenv("BATON_DOMAIN") == nullptr) {
    options.domain = domain_of_master(Roscpp::instance().master_uri(), os::host_name());
  }
  options.on_diagnostic = [](const transport::Diagnostic& diagnostic) {
    if (diagnostic.level != transport::Diagnostic::Level::kInfo) say(diagnostic.text);
  };
  Result<std::shared_ptr<Participant>> joined = Participant::join(options);
  if (joined) {
    participant_ = std::move(*joined);
    // An orderly end leaves no name behind: the participant ends with the last of its links.
    std::atexit([] {
      Links& links = instance();
      const std::lock_guard<std::mutex> lock(links.mutex_);
      links.participant_.reset();
      links.failed_ = true;
    });
  } else {
    failed_ = true;
    say("messages go by TCPROS as without Baton: " + joined.error().message);
  }
  return participant_;
}

void Links::add_keys(ros::Connection& connection, Headers& headers) {
  if (headers.count("service") != 0 || headers.count("error") != 0) return;
  if (headers.count("tcp_nodelay") != 0) {  // a subscriber's first header
    const Result<Gid> id = os::random_id();
    const std::lock_guard<std::mutex> lock(mutex_);
    if (!id || !participant()) return;
    auto incoming = std::make_shared<Incoming>();
    incoming->topic = value_of(headers, "topic");
    incoming->id = *id;
    headers[kVersionKey] = kVersion;
    headers[kReaderKey] = digits_of(*id);
    incoming_[&connection] = std::move(incoming);
  } else if (headers.count("latching") != 0) {
    answer(connection, headers);
  }
}

/// A publisher's answer to a subscriber's header.
void Links::answer(ros::Connection& connection, Headers& headers) {
  const auto request = connection.getHeader().getValues();
  if (!request || value_of(*request, kVersionKey) != kVersion) return;
  const std::optional<Gid> reader = gid_of(value_of(*request, kReaderKey));
  if (!reader) return;
  const std::string topic = value_of(headers, "topic");
  const std::lock_guard<std::mutex> lock(mutex_);
  if (!participant()) return;
  std::shared_ptr<transport::Writer> writer = writers_[topic].lock();
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
    if (!made) return say(topic + " goes by TCPROS as without Baton: " + made.error().message);
    writer = std::move(*made);
    writers_[topic] = writer;
  }
  headers[kVersionKey] = kVersion;
  headers[kWriterKey] = digits_of(writer->gid());
  outgoing_[&connection] = {topic, std::move(writer), *reader};
}

void Links::header_received(ros::Connection& connection, const Headers& headers) {
  const std::optional<Gid> writer = gid_of(value_of(headers, kWriterKey));
  if (!writer || value_of(headers, kVersionKey) != kVersion) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = incoming_.find(&connection);
  if (found == incoming_.end() || found->second->reader || !participant()) return;
  Participant::ReaderOptions options;
  options.gid = found->second->id;
  options.topic = channel_of(found->second->topic, *writer);
  options.node = value_of(headers, "callerid");
  options.type = serialized_type();
  options.qos = QoS().keep_all(kInFlight).hold(kHeld);
  Result<std::shared_ptr<transport::Reader>> reader = participant_->create_reader(options);
  if (!reader) return say(found->second->topic + " comes by TCPROS as without Baton: " + reader.error().message);
  found->second->reader = std::move(*reader);
}

void Links::connection_ended(const ros::Connection& connection) {
  // The endpoints end without the lock: their end takes locks of its own, and may free buffers.
  std::shared_ptr<Incoming> incoming;
  Outgoing outgoing;
  const std::lock_guard<std::mutex> lock(mutex_);
  if (const auto found = incoming_.find(&connection); found != incoming_.end()) {
    incoming = std::move(found->second);
    incoming_.erase(found);
  }
  if (const auto found = outgoing_.find(&connection); found != outgoing_.end()) {
    outgoing = std::move(found->second);
    outgoing_.erase(found);
  }
}

std::shared_ptr<transport::Writer> Links::writer_for(const std::string& topic) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = writers_.find(topic);
  if (found == writers_.end()) return nullptr;
  std::shared_ptr<transport::Writer> writer = found->second.lock();
  if (!writer) writers_.erase(found);
  return writer && writer->matched() > 0 ? writer : nullptr;
}

boost::shared_array<std::uint8_t> Links::publish_to(const ros::Connection& connection, const std::uint8_t* buffer,
                                                    std::uint32_t* marker_bytes) {
  std::shared_ptr<transport::Writer> writer;
  Gid reader;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = outgoing_.find(&connection);
    if (found == outgoing_.end()) return {};
    writer = found->second.writer;
    reader = found->second.reader;
  }
  std::uint64_t number = 0;
  if (!Buffers::instance().publish_to(buffer, *writer, reader, &number)) return {};
  *marker_bytes = sizeof kMarkerBytes + kMarkerBytes;
  boost::shared_array<std::uint8_t> marker(new std::uint8_t[*marker_bytes]);
  std::memcpy(marker.get(), &kMarkerBytes, 4);
  std::memcpy(marker.get() + 4, reader.data(), reader.size());
  std::memcpy(marker.get() + 4 + reader.size(), &number, sizeof number);
  return marker;
}

Links::Received Links::receive(const ros::Connection& connection, ros::SerializedMessage& message) {
  if (message.num_bytes != kMarkerBytes) return Received::kBytes;
  std::shared_ptr<Incoming> incoming;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    const auto found = incoming_.find(&connection);
    if (found == incoming_.end() || !found->second->reader) return Received::kBytes;
    incoming = found->second;
  }
  if (std::memcmp(message.buf.get(), incoming->id.data(), incoming->id.size()) != 0) return Received::kBytes;
  std::uint64_t number;
  std::memcpy(&number, message.buf.get() + incoming->id.size(), sizeof number);

  auto pause = std::chrono::microseconds(20);
  for (const auto end = std::chrono::steady_clock::now() + kPatience;;) {
    if (!incoming->early) {
      Result<TakenSample> taken = incoming->reader->take();
      // held_limit: another thread has stored a release and not counted it yet.
      if (!taken && taken.error().code != Errc::held_limit) {
        say(incoming->topic + ": " + taken.error().message);
        return Received::kLost;
      }
      if (taken) incoming->early = std::move(*taken);
    }
    if (incoming->early) {
      const std::uint64_t next = incoming->early.header().sequence;
      if (next > number) break;  // its marker is still to come
      auto sample = std::make_shared<TakenSample>(std::move(incoming->early));
      if (next < number) continue;  // its marker never came
      const Bytes bytes = bytes_of(*sample);
      if (bytes.begin == nullptr) break;
      message =
          ros::SerializedMessage(boost::shared_array<std::uint8_t>(const_cast<std::uint8_t*>(bytes.begin),
                                                                   [sample](std::uint8_t*) mutable { sample.reset(); }),
                                 bytes.size);
      return Received::kMessage;
    }
    if (std::chrono::steady_clock::now() > end) break;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(1000));
  }
  say(incoming->topic + ": a message of its publisher did not arrive in shared memory; connecting again");
  return Received::kLost;
}

}  // namespace baton::ros1
