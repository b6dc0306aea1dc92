// SPDX-License-Identifier: Apache-2.0
// Which readers of a topic need a publisher's messages from the underlying RMW, and why. Baton alone is enough for a
// message if Baton serves, or served until their end, all readers that the underlying RMW has matched.
//
// Thread rules: no locks; one thread at a time. All facts are parameters.
// Invariants:
// (1) A reader that ended needs nothing. The underlying RMW may take many seconds to notice the end; Baton notices at
//     once.
// (2) A reader whose process was only disconnected from Baton (it was stopped for too long, ran out of descriptors,
//     misbehaved) is alive. It needs the underlying RMW until Baton serves it again.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "path_order.hpp"

namespace baton::rmw {

/// The process of a reader that Baton serves.
struct ReaderProcess {
  std::int32_t pid = 0;  ///< 0: not visible in this pid namespace
  std::uint64_t connection = 0;
  bool known = false;  ///< false: Baton has matched the reader, but does not have it in its graph
};

/// The origin of the reader, from Baton's graph.
ReaderProcess origin_of(const std::vector<transport::EndpointInfo>& graph, const transport::Gid& gid);

/// True if there is a proof that a reader, which Baton does not serve any more, has ended. One proof: its process
/// withdrew it over a connection that is still up (the graph has other endpoints of that connection). The other proof:
/// the process is dead by `process_ended`. Nothing else is a proof: a disconnected process has no endpoints in the
/// graph, and a process that comes back announces them one by one over a new connection.
bool has_ended(const std::vector<transport::EndpointInfo>& graph, const transport::Gid& gid,
               const ReaderProcess& origin, bool (*process_ended)(std::int32_t pid));

/// The state of a context, by its announcement in Baton's graph.
enum class ContextState : std::uint8_t { kUnknown, kAlive, kDead };

class UnderlyingNeed {
 public:
  /// A reader that the underlying RMW knows.
  struct KnownReader {
    transport::Gid gid;
    std::string node;
    bool compatible;  // by its quality of service
  };
  struct Facts {
    std::size_t matched_underlying = 0, matched_baton = 0;
    std::vector<transport::Gid> served;          // readers that Baton serves
    std::vector<transport::EndpointInfo> graph;  // Baton's graph
    std::vector<KnownReader> known;
    bool wrote_underlying = false;  // older messages may still arrive through the underlying RMW
    bool (*process_ended)(std::int32_t pid) = nullptr;
    std::function<ContextState(const transport::Gid&)> context_of;
  };
  struct Judged {
    transport::Gid gid;
    std::string node;
    bool needs_underlying;
    const char* why;
  };

  static constexpr std::int64_t kLookAgainNs =
      20'000'000;  ///< while a reader needs the underlying RMW, or may have ended
  static constexpr std::int64_t kForgetEndedNs = 60'000'000'000;  ///< longer than the default lease of ROS 2's RMWs

  /// Whether look() is due before the next message. `now_ns()` is called only if the time matters.
  template <class Clock>
  bool is_due(std::size_t matched_underlying, std::size_t matched_baton, Clock&& now_ns) const {
    if (!looked_ || !newcomers_.empty()) return true;
    if (matched_underlying != matched_underlying_ || matched_baton != matched_baton_) return true;
    return (needed_ || !ended_.empty()) && now_ns() >= next_look_ns_;
  }
  void look(const Facts& facts, std::int64_t now_ns);
  /// Makes the next is_due() true.
  void look_again() noexcept { looked_ = false; }

  /// True if the next message must be written to the underlying RMW.
  bool needed() const noexcept { return needed_ || older_ == OlderUnderlying::kFollowed; }
  /// For the next message that Baton hands over.
  OlderUnderlying older() const noexcept { return older_; }
  void forget_older() noexcept { older_ = OlderUnderlying::kUnknown; }
  /// Records that Baton has handed a message to all readers that it serves.
  void handed_over() noexcept {
    newcomers_.clear();
    forget_older();
  }

  // As of the last look().
  std::size_t matched_underlying() const noexcept { return matched_underlying_; }
  std::size_t matched_baton() const noexcept { return matched_baton_; }
  const std::vector<Judged>& readers() const noexcept { return readers_; }

 private:
  struct Ended {
    ReaderProcess origin;
    std::int64_t since_ns;
  };
  void update_served(const Facts& facts, std::int64_t now_ns);

  // What is_due() reads comes first.
  std::size_t matched_underlying_ = 0, matched_baton_ = 0;
  bool needed_ = true, looked_ = false;
  OlderUnderlying older_ = OlderUnderlying::kUnknown;
  std::vector<transport::Gid> newcomers_;  // readers that Baton serves, and to which it has not handed any message
  std::map<transport::Gid, Ended> ended_;  // formerly served readers; the underlying RMW may still know them
  std::int64_t next_look_ns_ = 0;
  std::map<transport::Gid, ReaderProcess> served_;
  std::vector<Judged> readers_;
};

}  // namespace baton::rmw
