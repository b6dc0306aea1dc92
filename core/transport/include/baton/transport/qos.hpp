// SPDX-License-Identifier: Apache-2.0
// Quality of service in ROS 2's terms. docs/format/qos.md (normative table) says what each combination does when a
// queue, a held limit or the pool is full, and which clock a deadline or lifespan uses.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "baton/os/duration.hpp"

namespace baton {

enum class Reliability : std::uint8_t { kBestEffort, kReliable };
enum class History : std::uint8_t { kKeepLast, kKeepAll };
enum class Durability : std::uint8_t { kVolatile, kTransientLocal };
enum class Liveliness : std::uint8_t { kAutomatic, kManualByTopic };

inline constexpr std::chrono::nanoseconds kInfinite = std::chrono::nanoseconds::max();

struct QoS {
  Reliability reliability = Reliability::kReliable;
  History history = History::kKeepLast;
  std::uint32_t depth = 10;  ///< KEEP_LAST: messages; KEEP_ALL: the resource limit of the queue, messages
  Durability durability = Durability::kVolatile;
  os::Nanoseconds deadline = kInfinite;
  os::Nanoseconds lifespan = kInfinite;
  Liveliness liveliness = Liveliness::kAutomatic;
  os::Nanoseconds lease = kInfinite;
  /// Subscription only: samples that it may hold at the same time, per publisher. A request above 8 is granted in full,
  /// or the subscription is refused. A request of up to 8 may be granted in part. One subscription, process and user
  /// each have an upper share of a publisher's slots: docs/format/qos.md.
  std::uint32_t held = 8;

  QoS() = default;
  explicit QoS(std::uint32_t keep_last_depth) : depth(keep_last_depth) {}
  QoS& keep_last(std::uint32_t n) {
    history = History::kKeepLast;
    depth = n;
    return *this;
  }
  QoS& keep_all(std::uint32_t limit = 1000) {
    history = History::kKeepAll;
    depth = limit;
    return *this;
  }
  QoS& reliable() {
    reliability = Reliability::kReliable;
    return *this;
  }
  QoS& best_effort() {
    reliability = Reliability::kBestEffort;
    return *this;
  }
  QoS& transient_local() {
    durability = Durability::kTransientLocal;
    return *this;
  }
  QoS& durability_volatile() {
    durability = Durability::kVolatile;
    return *this;
  }
  QoS& hold(std::uint32_t n) {
    held = n;
    return *this;
  }
};

/// ROS 2's profile for sensors: the newest 5 messages, without waiting for slow subscriptions.
struct SensorDataQoS : QoS {
  SensorDataQoS() : QoS(5) { best_effort(); }
};

/// A policy whose offer must satisfy the request; kNone: all do, or the reason is no policy.
enum class Policy : std::uint8_t { kNone, kReliability, kDurability, kLiveliness, kDeadline, kLease };
/// The first policy, in the order of the enumeration, whose offer does not satisfy the request.
Policy first_incompatible(const QoS& offered, const QoS& requested) noexcept;
/// Applies ROS 2's request-versus-offered rules. Empty if compatible, else the policies that differ, e.g. "reliability:
/// offered best_effort, requested reliable".
std::string incompatibility(const QoS& offered, const QoS& requested);

}  // namespace baton
