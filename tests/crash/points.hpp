// SPDX-License-Identifier: Apache-2.0
// Every named crash point but those of core/objects (core/objects/src/crash_points.hpp); docs/concepts/crash-points.md explains them.
// crash_matrix_test.cpp checks that this list and the sources agree, and kills a process at each.
#pragma once

namespace baton::crash {

inline constexpr const char* kPoints[] = {
    // joining a domain
    "hub.listening",
    "hub.visible",
    "hub.sweep",
    "hub.connected",
    "hub.hello_sent",
    "hub.hello_received",
    "hub.accepted",
    "hub.answer_sent",
    "hub.up",
    "hub.packet_sent",
    "handshake.before_announce",
    "handshake.after_announce",
    // connecting a pair
    "attach.before_attach",
    "attach.after_attach",
    "attach.before_ring",
    "attach.before_segment",
    "replay.before_push",
    "attach.before_attached",
    "attach.after_attached",
    "attach.live",
    // loan
    "loan.begin",
    "loan.segment_created",
    "loan.before_segment",
    "loan.segment_announced",
    "loan.header_written",
    "loan.end",
    "loan.grown",
    "evict.before_cursor",
    // publish
    "publish.begin",
    "publish.before_push",
    "queue.push.slot_written",
    "queue.push.handed_over",
    "queue.push.done",
    "queue.evict.claimed",
    "publish.between_pushes",
    "publish.after_push",
    "wake.signal.pushed",
    "wake.signal.decided",
    "publish.before_notify",
    "publish.before_wake",
    "publish.after_wake",
    // wait and take
    "wait.before_announce",
    "wake.wait.announced",
    "wait.before_sleep",
    "wait.after_sleep",
    "wake.wait.woken",
    "queue.take.peeked",
    "take.before_cursor",
    "queue.take.done",
    "take.after_cursor",
    "take.end",
    // release
    "release.before_store",
    "release.give_back.begin",
    "release.give_back.done",
    "release.after_store",
    "release.collect.found",
    // leaving
    "detach.before_evict",
    "hub.good_bye_sent",
    "hub.name_removed",
    "claim.before_end",
    "claim.after_end",
};

}  // namespace baton::crash
