// SPDX-License-Identifier: Apache-2.0
// The types of this domain's endpoints, as their processes define them. No function waits: a process that is stopped does not answer, and must
// not delay the others. A process that has not answered yet is asked for one type at a time, so that few questions wait for a stopped process.
// Thread rules: one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "advertisement.hpp"
#include "baton/transport/transport.hpp"
#include "inbound.hpp"
#include "link_log.hpp"

namespace baton::link {

class TypeCache {
 public:
  using Clock = std::chrono::steady_clock;
  TypeCache(std::shared_ptr<transport::Participant> participant, std::shared_ptr<LinkLog> log)
      : participant_(std::move(participant)), log_(std::move(log)) {}
  /// The type `name` with this hash, which `endpoint` has. Asks the endpoint's process if the type is not known. `connection`:
  /// EndpointInfo::connection. Null: not known yet. An answer changes the participant's graph_version(): then call read_answers(), and of()
  /// again.
  std::shared_ptr<const LocalType> of(const Gid& endpoint, std::uint64_t connection, const std::string& name,
                                      const TypeHash& hash);
  void read_answers();
  /// Whether of() is to be called again soon, because another process may answer in place of one that does not.
  bool is_pressing() const { return is_pressing_; }

 private:
  using Key = std::pair<std::string, TypeHash>;
  struct TypeRequest {
    Key type;
    std::uint64_t connection = 0;
    Clock::time_point since;
    bool is_said = false;  ///< that it is late
  };
  void read(const Gid& endpoint, const TypeRequest& question, Clock::time_point now);
  bool may_ask(const Gid& endpoint, const Key& type, std::uint64_t connection);

  const std::shared_ptr<transport::Participant> participant_;
  const std::shared_ptr<LinkLog> log_;
  std::map<Key, std::shared_ptr<const LocalType>> known_;
  std::size_t known_bytes_ = 0;                        // of its definitions
  std::map<Gid, TypeRequest> questions_;               // by endpoint: not answered yet
  std::map<Key, Clock::time_point> asked_;             // the oldest question for a type
  std::map<std::uint64_t, Clock::time_point> oldest_;  // the oldest question to a process, by its connection
  std::set<std::uint64_t> answering_;                  // processes that have answered once
  std::map<Gid, Clock::time_point> not_defined_;       // endpoints whose answer was no definition
  bool is_pressing_ = false;
};

}  // namespace baton::link
