// SPDX-License-Identifier: Apache-2.0
// A writer's first message. DDS matches the endpoints of one process while they are created, and programs rely on it: they publish, or call
// a service, at once. Baton connects all endpoints on its background thread. So a message that no reader would get waits a moment for a reader
// that the graph knows already, and a request also for the way of its response.
//
// Thread rules: await() from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "baton/transport/transport.hpp"

namespace baton::rmw {

class Matching {
 public:
  enum class Readers : std::uint8_t { kOfThisProcess, kAll };
  Matching(std::shared_ptr<transport::Participant> participant, const transport::Participant::WriterOptions& writer,
           Readers readers)
      : participant_(std::move(participant)),
        topic_(writer.topic),
        type_hash_(writer.type.hash),
        qos_(writer.qos),
        readers_(readers) {}

  static constexpr std::int64_t kMostNs = 100'000'000;

  /// REQUIRES: !met(). Returns when met() holds, at once if the graph knows no reader that matches, and after `most_ns`.
  void await(const std::function<bool()>& met, std::int64_t most_ns = kMostNs);

 private:
  bool is_expected() const;

  const std::shared_ptr<transport::Participant> participant_;
  const std::string topic_;
  const std::array<std::uint8_t, 16> type_hash_;
  const QoS qos_;
  const Readers readers_;
  std::atomic<std::uint64_t> version_{0};  // of the graph that was looked at without success: orders nothing
};

}  // namespace baton::rmw
