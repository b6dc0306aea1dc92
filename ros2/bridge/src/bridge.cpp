// SPDX-License-Identifier: Apache-2.0
#include "bridge.hpp"

#include <algorithm>
#include <thread>

#include "log.hpp"

namespace baton::bridge {
namespace {

using std::chrono::milliseconds;

// Changes come in groups: a node with its endpoints.
constexpr milliseconds kGroup{10};
// What waits for a match, which changes no graph, is looked at after 10 ms, doubling; not again after the last pause. Endpoints whose QoS does
// not suit never match, and cost nothing then.
constexpr milliseconds kFirstPause{10}, kLastPause{5000};
// After this pause nothing else waits for them.
constexpr milliseconds kLongPause{500};
// Standbys end at most once in this time, and begin at once. wait_for_change() looks that long.
constexpr std::chrono::seconds kShortestWork{5};

}  // namespace

Bridge::Bridge(RmwLibrary baton, const SideOptions& baton_options, RmwLibrary other, const SideOptions& other_options)
    : baton_(std::move(baton), baton_options, [this] { ask(); }),
      other_(std::move(other), other_options, [this] { ask(); }),
      to_baton_(other_, baton_, *this),
      to_other_(baton_, other_, *this) {}

bool Bridge::settled() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return settled_ && !look_;
}

void Bridge::ask() {
  const std::lock_guard<std::mutex> lock(mutex_);
  look_ = true;
  changed_.notify_one();
}

void Bridge::stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  stopping_ = true;
  changed_.notify_one();
}

bool Bridge::wait_for_change(bool something_waits) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto awake = [&] { return look_ || stopping_; };
  if (something_waits && pause_ <= kLastPause) {
    changed_.wait_for(lock, pause_, awake);
    pause_ = look_ ? kFirstPause : pause_ * 2;
  } else {
    changed_.wait(lock, awake);
    pause_ = kFirstPause;
  }
  if (look_ && !stopping_) changed_.wait_for(lock, kGroup, [&] { return stopping_; });
  look_ = false;
  return !stopping_;
}

bool Bridge::stands_by(bool joined) {
  const auto now = std::chrono::steady_clock::now();
  if (joined == standby_ || (standby_ && now < works_again_)) return standby_;
  const std::string both = other_.label() + " with " + baton_.label();
  standby_ = joined;
  if (joined) {
    const Direction::Lost one = to_baton_.end(), two = to_other_.end();
    const std::size_t messages = one.messages + two.messages, requests = one.requests + two.requests;
    log_line("other bridges and links join " + both + " already: this one is on standby");
    if (messages + requests != 0)
      log_line(std::to_string(messages) + " messages that waited and " + std::to_string(requests) +
               " requests without a response are lost");
  } else {
    works_again_ = now + kShortestWork;
    log_line("no other bridge joins " + both + " any more: this one works now");
  }
  return joined;
}

bool Bridge::update() try {
  const SideGraph baton = baton_.graph();
  if (stands_by(baton.joined)) return !baton.joined;
  const SideGraph other = other_.graph();
  const bool patient = pause_ <= kLongPause;
  bool waits = to_baton_.update(other, baton, patient);
  waits |= to_other_.update(baton, other, patient);
  const bool settled = !waits || !patient;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    settled_ = settled;
  }
  if (settled) {
    waits |= to_baton_.send_waiting();
    waits |= to_other_.send_waiting();
  }
  return waits;
} catch (const BridgeError& error) {
  log_line(error.what());
  return true;
}

void Bridge::run_side(RmwSide& side) try { side.run(); } catch (const BridgeError&) {
  const std::lock_guard<std::mutex> lock(mutex_);
  failure_ = std::current_exception();
  stopping_ = true;
  changed_.notify_one();
}

void Bridge::run() {
  std::thread baton([this] { run_side(baton_); });
  std::thread other([this] { run_side(other_); });
  bool waits = false;
  while (wait_for_change(waits)) waits = update();
  baton_.stop();
  other_.stop();
  baton.join();
  other.join();
  if (failure_) std::rethrow_exception(failure_);
}

}  // namespace baton::bridge
