// SPDX-License-Identifier: Apache-2.0
// What the hub's tests share: a runtime directory of their own, a handler that records, a raw client that keeps no rules.
// Thread rules: Recorder is thread-safe; its hub calls it on the background thread.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "hub.hpp"
#include "support/temporary_directory.hpp"

namespace baton::transport {

/// Long enough for a loaded machine: it decides only how long a failing test takes.
inline constexpr auto kPatience = std::chrono::seconds(60);

using ::baton::test::TemporaryDirectory;

class Recorder final : public HubHandler {
 public:
  void on_peer_up(PeerId peer, const PeerInfo& info) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    EXPECT_TRUE(up_.emplace(peer, info).second) << "up twice";
    ++ups_;
    changed_.notify_all();
  }
  void on_peer_down(PeerId peer, const Error& reason) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    EXPECT_EQ(up_.erase(peer), 1U) << "down without up";
    disconnected_.insert(peer);
    downs_.push_back(reason);
    changed_.notify_all();
  }
  bool holds_anything(PeerId peer) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    EXPECT_EQ(disconnected_.count(peer), 1U) << "asked before it was down";
    return holding_;
  }
  void on_peer_gone(PeerId peer) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    EXPECT_EQ(disconnected_.erase(peer), 1U) << "gone without down, or twice";
    changed_.notify_all();
  }
  Need needs_link(PeerId) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    ++looks_;
    changed_.notify_all();
    return need_;
  }
  void on_link_open(PeerId peer) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    EXPECT_EQ(up_.count(peer), 1U) << "a link to a peer that is not up";
    ++opens_;
    changed_.notify_all();
  }
  Result<void> on_frame(PeerId peer, Frame&& frame) override {
    const std::lock_guard<std::mutex> lock(mutex_);
    EXPECT_EQ(up_.count(peer), 1U) << "a frame of a peer that is not up";
    if (frame.type == kRejected) return Error{Errc::protocol_violation, "a frame that nobody likes"};
    frames_.push_back(std::move(frame));
    changed_.notify_all();
    return {};
  }
  void on_diagnostic(const Diagnostic& diagnostic) {
    const std::lock_guard<std::mutex> lock(mutex_);
    diagnostics_.push_back(diagnostic);
    changed_.notify_all();
  }

  static constexpr std::uint16_t kRejected = 0x666;

  template <class Predicate>
  bool eventually(Predicate predicate, std::chrono::nanoseconds patience = kPatience) {
    std::unique_lock<std::mutex> lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return predicate(*this); });
  }
  bool has_peers(std::size_t count) {
    return eventually([&](const Recorder& r) { return r.up_.size() == count; });
  }
  bool has_frames(std::size_t count) {
    return eventually([&](const Recorder& r) { return r.frames_.size() >= count; });
  }
  bool has_diagnostic(Errc code, const std::string& part = "") {
    return eventually([&](const Recorder& r) { return r.find_diagnostic(code, part); });
  }
  bool find_diagnostic(Errc code, const std::string& part) const {
    for (const Diagnostic& d : diagnostics_) {
      if (d.code == code && d.text.find(part) != std::string::npos) return true;
    }
    return false;
  }
  /// From now on, what needs_link() answers.
  void set_need(Need need) {
    const std::lock_guard<std::mutex> lock(mutex_);
    need_ = need;
  }
  PeerId only_peer() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return up_.size() == 1 ? up_.begin()->first : 0;
  }
  std::string all_diagnostics() {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::string out;
    for (const Diagnostic& d : diagnostics_) out += std::string(errc_name(d.code)) + ": " + d.text + "\n";
    return out;
  }

  // Under the lock of eventually()'s predicate, or when the hub is gone.
  std::map<PeerId, PeerInfo> up_;
  std::set<PeerId> disconnected_;   ///< down, not gone
  bool holding_ = false;            ///< what holds_anything() answers; set it before anybody is down
  Need need_ = Need::kConnections;  ///< what needs_link() answers
  std::size_t ups_ = 0, opens_ = 0;
  std::size_t looks_ = 0;  ///< calls of needs_link()
  std::vector<Error> downs_;
  std::vector<Frame> frames_;
  std::vector<Diagnostic> diagnostics_;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

/// A hub with its recorder; started.
struct TestHub {
  explicit TestHub(const TemporaryDirectory& directory, const std::string& name = "test", int domain = 0,
                   std::chrono::milliseconds handshake_timeout = std::chrono::seconds(5), bool parks = false,
                   std::chrono::milliseconds idle_time = std::chrono::milliseconds(5)) {
    HubOptions options;
    options.domain = domain;
    options.runtime_directory = directory.path();
    options.name = name;
    options.handshake_timeout = handshake_timeout;
    if (parks) {
      options.idle_time = idle_time;
      recorder.need_ = HubHandler::Need::kNone;
    }
    options.on_diagnostic = [this](const Diagnostic& diagnostic) { recorder.on_diagnostic(diagnostic); };
    auto made = Hub::create(options, recorder);
    if (!made) throw Exception(made.error());
    hub = std::move(*made);
    hub->start().or_throw();
  }
  Recorder recorder;
  std::unique_ptr<Hub> hub;
};

}  // namespace baton::transport
