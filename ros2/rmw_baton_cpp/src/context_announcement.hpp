// SPDX-License-Identifier: Apache-2.0
// Announces a ROS context in Baton's graph, by a publisher. The first bytes of its gid are the common first bytes of
// the gids of all endpoints of the context. Other contexts learn from the announcement that an endpoint with such a gid
// belongs to a process that Baton knows. When that process dies, the kernel tells them at once, while the underlying
// RMW waits until a lease expires. `baton doctor` subscribes to the announcements, and then learns which path each
// publisher's messages take, and why.
//
// Thread rules: all functions from any thread; describe functions are called on Baton's background thread, one at a
// time.
// Invariants: (1) no describe function runs after remove() has returned; (2) nothing is sent before a subscription
// exists.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "baton/transport/transport.hpp"
#include "baton_graph.hpp"
#include "underlying_need.hpp"

namespace baton::rmw {

class ContextAnnouncement {
 public:
  /// The number of common bytes of the gids of a context: DDS's participant prefix.
  static constexpr std::size_t kCommonBytes = 12;
  /// Also true for endpoints that are gone.
  static bool same_context(const transport::Gid& one, const transport::Gid& other) {
    return common(one) == common(other);
  }

  explicit ContextAnnouncement(std::string about) : described_(std::make_shared<Described>()) {
    described_->about = std::move(about);
  }
  ContextAnnouncement(const ContextAnnouncement&) = delete;
  ContextAnnouncement& operator=(const ContextAnnouncement&) = delete;

  /// Call with each endpoint of the context. Does nothing after the first one, until forget_context(), nor if Baton cannot announce: then the
  /// death of a process is known only for endpoints that it served.
  void announce(transport::Participant& participant, const transport::Gid& endpoint);

  /// Takes this context's common bytes from the gid of one of its endpoints, as announce() does, too.
  void set_context(const transport::Gid& endpoint);
  bool knows_context();
  /// Call when the last node of the context has ended. The underlying RMW may give the endpoints of the next node other
  /// common bytes: they are learnt again.
  void forget_context();
  /// Whether an endpoint's gid begins with this context's common bytes. False unless knows_context().
  bool is_of_this_context(const transport::Gid& endpoint);

  /// `describe` returns a JSON object about one publisher.
  void add(const transport::Gid& gid, std::function<std::string()> describe);
  void remove(const transport::Gid& gid);

  /// Reads which contexts exist now.
  void look(transport::Participant& participant);
  /// The context of an endpoint that the underlying RMW knows.
  ContextState context_of(transport::Participant& participant, const transport::Gid& endpoint);

 private:
  struct Described {
    std::mutex mutex;
    std::string about;  // members of a JSON object
    std::int32_t pid = 0;
    std::map<transport::Gid, std::function<std::string()>> publishers;
    std::string text();
  };
  using Common = std::array<std::uint8_t, kCommonBytes>;
  static Common common(const transport::Gid& gid) {
    Common bytes{};
    std::memcpy(bytes.data(), gid.data(), bytes.size());
    return bytes;
  }

  const std::shared_ptr<Described> described_;
  std::mutex mutex_;
  std::shared_ptr<transport::Writer> writer_;
  bool tried_ = false;
  std::optional<Common> own_;
  struct Seen {
    std::int32_t pid = 0;  // 0: of another PID namespace, never known to be dead
    bool present = false;
  };
  std::map<Common, Seen> contexts_;       // contexts that have existed
  std::optional<std::uint64_t> version_;  // of the graph at the last look()
};

/// A JSON string.
std::string quoted(const std::string& text);

}  // namespace baton::rmw
