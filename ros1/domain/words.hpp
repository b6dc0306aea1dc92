// SPDX-License-Identifier: Apache-2.0
// The names and numbers that C++ and Python have in common (docs/format/tcpros.md). baton/_ros1_domain.py reads this file, too: each
// constant has a line of its own, whose value is a literal of both languages.
#pragma once

#include <cstddef>
#include <cstdint>

namespace baton::ros1 {

/// Behind a topic's name in Baton's graph: a preloaded publisher's channel, and the type of its messages.
inline constexpr char kChannelPart[] = "/_tcpros/";
inline constexpr char kSerializedType[] = "baton_ros1/Serialized";
/// The same, of a process with stock subscriptions; and of a subscription and a publisher in mode tzc.
inline constexpr char kStockPart[] = "/_stock";
inline constexpr char kSidePart[] = "/_baton";
inline constexpr char kSidePublisherPart[] = "/_baton/publisher";
/// Begins the words of messages that Baton cannot carry.
inline constexpr char kByBytes[] = "Batonby1";

/// Shorter messages go as bytes: a marker would save less than it costs.
inline constexpr std::size_t kWorthwhileBytes = 65536;
/// Messages of one preloaded link that wait between the two processes, beyond roscpp's outbox.
inline constexpr std::uint32_t kInFlight = 4;

}  // namespace baton::ros1
