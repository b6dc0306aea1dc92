// SPDX-License-Identifier: Apache-2.0
// Code of victim and survivors: endpoints of one small type whose content proves that it is not torn.
#pragma once

#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "baton/memory/arena.hpp"
#include "baton/transport/transport.hpp"

namespace baton::crash {

inline constexpr std::size_t kContentBytes = 2000;

template <class Predicate>
bool wait_for(Predicate&& predicate, std::chrono::seconds patience = std::chrono::seconds(20)) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!predicate()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  return true;
}

inline std::shared_ptr<transport::Participant> join(const std::string& directory) {
  transport::ParticipantOptions options;
  options.domain = 0;
  options.runtime_directory = directory;
  return transport::Participant::join(options).or_throw();
}

inline transport::TypeInfo type() {
  transport::TypeInfo type;
  type.name = "crash/Number";
  type.hash[0] = 7;
  type.skeleton_bytes = 8;
  return type;
}

inline memory::PoolOptions pool() {
  memory::PoolOptions pool;
  pool.max_message_bytes = std::size_t{1} << 20;
  pool.slot_count = 128;
  return pool;
}

inline std::shared_ptr<transport::Writer> make_writer(transport::Participant& participant, const std::string& topic,
                                                      const QoS& qos,
                                                      const memory::PoolOptions& pool_options = pool()) {
  transport::Participant::WriterOptions options;
  options.topic = topic;
  options.type = type();
  options.qos = qos;
  options.pool = pool_options;
  return participant.create_writer(options).or_throw();
}

inline std::shared_ptr<transport::Reader> make_reader(transport::Participant& participant, const std::string& topic,
                                                      const QoS& qos) {
  transport::Participant::ReaderOptions options;
  options.topic = topic;
  options.type = type();
  options.qos = qos;
  return participant.create_reader(options).or_throw();
}

/// Publishes the value, then `bytes` bytes that all have this value.
inline Result<std::uint64_t> publish_growing(transport::Writer& writer, std::uint64_t value, std::size_t bytes) {
  Result<memory::Chunk> chunk = writer.loan_growing();
  if (!chunk) return chunk.error();
  void* content = memory::content_allocate(chunk->message(), bytes, 8);
  std::memset(content, static_cast<int>(value & 0xFF), bytes);
  std::memcpy(chunk->message(), &value, 8);
  Result<std::uint64_t> sequence = writer.publish(*chunk);
  if (!sequence) writer.abandon(*chunk);
  return sequence;
}

inline Result<std::uint64_t> publish(transport::Writer& writer, std::uint64_t value) {
  return publish_growing(writer, value, kContentBytes);
}

/// The value, or 0 if the message is torn.
inline std::uint64_t intact_value(const transport::TakenSample& sample) {
  std::uint64_t value = 0;
  std::memcpy(&value, sample.message(), 8);
  const auto* bytes = static_cast<const unsigned char*>(sample.message());
  for (std::uint32_t i = 8; i < sample.size_bytes(); ++i) {
    if (bytes[i] != (value & 0xFF)) return 0;
  }
  return sample.size_bytes() >= 8 + kContentBytes ? value : 0;
}

}  // namespace baton::crash
