// SPDX-License-Identifier: Apache-2.0
// DDS matches the endpoints of one process while they are created, and programs rely on it: they publish, call a service, or count partners
// at once. Baton connects all endpoints on its background thread. So a message that no reader would get, and a count of partners, wait a moment
// for those that the graph knows already, and a request also for the way of its response. Each partner has its time once, since some never connect:
// what else changes in the graph gives it no further one.
//
// Thread rules: await() from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "baton/os/lock.hpp"
#include "baton/transport/transport.hpp"

namespace baton::rmw {

class Matching {
 public:
  enum class Partners : std::uint8_t { kOfThisProcess, kAll };
  Matching(std::shared_ptr<transport::Participant> participant, const transport::Participant::WriterOptions& writer,
           Partners partners)
      : Matching(std::move(participant), writer, true, partners) {}
  Matching(std::shared_ptr<transport::Participant> participant, const transport::Participant::ReaderOptions& reader,
           Partners partners)
      : Matching(std::move(participant), reader, false, partners) {}

  static constexpr std::int64_t kMostNs = 100'000'000;

  /// Returns when met() of the number of partners that the graph knows holds, at once if all of them have had their time, and after `most_ns`.
  void await(const std::function<bool(std::size_t)>& met, std::int64_t most_ns = kMostNs);

 private:
  template <class Options>
  Matching(std::shared_ptr<transport::Participant> participant, const Options& own, bool writes, Partners partners)
      : participant_(std::move(participant)),
        topic_(own.topic),
        type_hash_(own.type.hash),
        qos_(own.qos),
        writes_(writes),
        partners_(partners) {}
  std::vector<transport::Gid> partners() const;  // sorted
  bool had_their_time(const std::vector<transport::Gid>& gids) const;

  const std::shared_ptr<transport::Participant> participant_;
  const std::string topic_;
  const std::array<std::uint8_t, 16> type_hash_;
  const QoS qos_;
  const bool writes_;
  const Partners partners_;
  std::atomic<std::uint64_t> version_{0};  // of the graph for which there is nothing to wait: orders nothing
  mutable os::Mutex mutex_;
  std::vector<transport::Gid> had_their_time_ BATON_GUARDED_BY(mutex_);  // of those known at the last wait in vain
};

}  // namespace baton::rmw
