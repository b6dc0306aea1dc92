// SPDX-License-Identifier: Apache-2.0
#include "subscriber_state.hpp"

#include <ros/console.h>

#include <algorithm>
#include <boost/make_shared.hpp>
#include <map>

#include "baton/os/crash_point.hpp"
#include "graph_names.hpp"
#include "own_callbacks.hpp"

namespace baton::ros1::detail {

struct SubscriberSide::State::CallbackForTurn final : ros::CallbackInterface {
  explicit CallbackForTurn(std::weak_ptr<State> owner) : state(std::move(owner)) {}
  CallResult call() override {
    const auto alive = state.lock();
    if (!alive) return Invalid;
    alive->take_waiting();
    return Success;
  }
  const std::weak_ptr<State> state;
};

// --- turns, and the end ---

bool SubscriberSide::State::enter() {
  for (;;) {
    if (turns.try_lock_for(std::chrono::milliseconds(20))) {
      // A thread may have taken a callback out of the queue before end(), and begin it now.
      if (!has_ended()) return true;
      turns.unlock();
      return false;
    }
    if (has_ended()) return false;
  }
}

void SubscriberSide::State::end() {
  {
    const os::Lock lock(mutex);
    if (ended) return;
    ended = true;
    changed.notify_one();
  }
  waits.wake();
  if (puller.get_id() == std::this_thread::get_id()) {
    puller.detach();  // a callback in the own thread ended its own subscription; the thread ends after the callback
  } else {
    puller.join();
  }
  queue->removeByID(id());
  // removeByID() of Debian's roscpp 1.15.15 does not wait for a callback that runs; roscpp's own subscriptions wait by a lock, too.
  const os::Lock waits_for_it(turns);
}

bool SubscriberSide::State::has_ended() {
  const os::Lock lock(mutex);
  return ended;
}

void SubscriberSide::State::end_turn() {
  const os::Lock lock(mutex);
  turn_given = false;
  changed.notify_one();
}

void SubscriberSide::State::pull() {
  bool added = false;
  bool some_are_left = false;  // perhaps of publishers that sent no handles and are gone
  os::UniqueLock lock(mutex);
  while (!ended) {
    lock.unlock();
    const bool looks = mode == Mode::kTzc && graph_changed.exchange(false);  // a turn finds out what has come or gone
    if (mode == Mode::kLotros) {
      pulls = true;
    } else if (looks || some_are_left) {
      const bool needed = some_send_no_handles();
      some_are_left = !needed && pulls && reader->has_data();
      pulls = needed || some_are_left;
    }
    Result<void> joined;
    if (pulls && !added) joined = waits.add(reader);
    if (!pulls && added) waits.remove(reader);
    added = pulls;
    // A late message has nobody to wait for it while the reader is not pulled, nor has what a dead publisher left.
    const std::chrono::nanoseconds patience(looks ? 0 : look_again_ns.load());
    const Result<bool> ready = joined ? waits.wait(patience) : joined.error();
    lock.lock();
    if (!ready) {
      ROS_ERROR("baton: %s gets no messages any more: %s", topic.c_str(), ready.error().message.c_str());
      return;
    }
    if (ended || (!looks && look_again_ns == kInfinite.count() && !(pulls && reader->has_data()))) continue;
    turn_given = true;
    lock.unlock();
    BATON_CRASH_POINT("ros1.api.turn");
    if (own_thread) {
      if (!ros::ok()) return;  // after ros::shutdown() there are no callbacks, as roscpp's queues have none
      take_waiting();
      lock.lock();
      continue;
    }
    queue->addCallback(boost::make_shared<CallbackForTurn>(weak_from_this()), id());
    lock.lock();
    changed.wait(lock.standard(), [this]() BATON_REQUIRES(mutex) { return ended || !turn_given; });
  }
}

// --- messages ---

void SubscriberSide::State::arrived(const ArrivedHandlePtr& handle) {
  if (!enter()) return;
  const Turn turn(turns);
  BATON_CRASH_POINT("ros1.api.handle");
  look_for_writers();
  arrivals.arrive(handle);
  deliver_arrived();
}

void SubscriberSide::State::take_waiting() {
  struct Finally {
    ~Finally() { state.end_turn(); }  // also if the callback throws, as roscpp allows
    State& state;
  } const finally{*this};
  if (mode == Mode::kTzc) {
    if (!enter()) return;
    const Turn turn(turns);
    look_for_writers();
    deliver_arrived();
    if (has_ended() || !pulls) return;
  }
  take_unread();
}

void SubscriberSide::State::take_unread() {
  {
    if (!enter()) return;
    const Turn turn(turns);
    if (!release_held_back()) return;
  }
  for (std::size_t left = reader->unread(); left > 0; --left) {
    if (!enter()) return;
    const Turn turn(turns);
    if (!take_one()) return;
  }
}

void SubscriberSide::State::take_unread_now() {
  if (!release_held_back()) return;
  for (std::size_t left = reader->unread(); left > 0 && take_one(); --left) {
  }
}

bool SubscriberSide::State::take_one() {
  Result<transport::TakenSample> taken = reader->take();
  if (!taken) {
    ROS_ERROR_THROTTLE(1.0, "baton: no message on %s: %s", topic.c_str(), taken.error().message.c_str());
    return false;
  }
  if (!*taken) return false;
  BATON_CRASH_POINT("ros1.api.taken");
  note(taken->publisher());
  if (mode == Mode::kLotros) return deliver(std::move(*taken));
  look_for_writers();
  for (transport::TakenSample& each : arrivals.without_handle(std::move(*taken))) {
    if (!deliver(std::move(each))) return false;
  }
  return true;
}

void SubscriberSide::State::deliver_arrived() {
  while (HandleResolver::ResolvedMessage next = arrivals.next()) {
    if (next.carried) {
      if (next.sample) note(next.sample.publisher());  // from Baton: a handle alone may name anyone
      if (next.sample && hold_back(next.sample))
        continue;  // in the place of its bytes, which would overtake what it follows
      next.sample = {};
      deliver_carried(*next.carried);
      if (has_ended()) return;
    } else {
      BATON_CRASH_POINT("ros1.api.found");
      note(next.sample.publisher());
      if (!deliver(std::move(next.sample))) return;
    }
  }
  for (transport::TakenSample& each : arrivals.left_behind()) {
    if (!deliver(std::move(each))) return;
  }
  plan_look();
}

void SubscriberSide::State::deliver_carried(const ArrivedHandle& arrived) {
  std::shared_ptr<const void> decoded;
  try {
    decoded = callbacks.decode(arrived.handle.content);
  } catch (const Exception& error) {
    ROS_ERROR_THROTTLE(1.0, "baton: a message on %s is lost: %s", topic.c_str(), error.what());
    return;
  }
  if (callbacks.carried) {
    callbacks.carried(decoded, arrived.handle.writer);
  } else {
    callbacks.deliver(decoded);
  }
}

bool SubscriberSide::State::deliver(transport::TakenSample&& sample) {
  return hold_back(sample) || call_back(std::move(sample));
}

bool SubscriberSide::State::hold_back(transport::TakenSample& sample) {
  if (!held_back.hold(sample, std::chrono::steady_clock::now())) return false;
  plan_look();
  return true;
}

bool SubscriberSide::State::release_held_back() {
  const bool goes_on = held_back.release(std::chrono::steady_clock::now(), [this](transport::TakenSample&& sample) {
    return call_back(std::move(sample));
  });
  if (goes_on) plan_look();
  return goes_on;
}

void SubscriberSide::State::came_by_bytes(const Trailer& trailer) {
  held_back.came(trailer, std::chrono::steady_clock::now());
  release_held_back();
}

bool SubscriberSide::State::call_back(transport::TakenSample&& sample) {
  callbacks.take(std::move(sample));
  return !has_ended();  // the callback may have ended its own subscription
}

void SubscriberSide::State::plan_look() {
  std::chrono::nanoseconds time = arrivals.waits() ? kLate : arrivals.may_be_left() ? kLeft : kInfinite;
  if (!held_back.empty()) time = std::min<std::chrono::nanoseconds>(time, kLeft);
  const std::int64_t before = look_again_ns.exchange(time.count());
  if (time.count() < before) waits.wake();
}

// --- publishers ---

void SubscriberSide::State::look_for_writers() {
  const std::uint64_t now = node->participant()->graph_version();
  if (now == writers_seen) return;
  writers_seen = now;
  std::map<Gid, Process> alive, gone;
  for (const transport::EndpointInfo& end : node->participant()->endpoints_of(topic)) {
    if (end.is_writer) alive[end.gid] = process_of(end);
  }
  for (const transport::EndpointInfo& end : reader->gone_publishers()) gone[end.gid] = process_of(end);
  arrivals.set_writers(alive, gone);
}

bool SubscriberSide::State::some_send_no_handles() const {
  std::map<Process, std::pair<std::size_t, std::size_t>> processes;  // publishers, and those in mode tzc
  for (const transport::EndpointInfo& end : node->participant()->endpoints_of(topic)) {
    if (end.is_writer) ++processes[process_of(end)].first;
  }
  for (const transport::EndpointInfo& end : node->participant()->endpoints_of(side_publisher(topic))) {
    if (!end.is_writer) ++processes[process_of(end)].second;
  }
  return std::any_of(processes.begin(), processes.end(),
                     [](const auto& each) { return each.second.first > each.second.second; });
}

void SubscriberSide::State::note(const Gid& publisher) {
  const os::Lock lock(mutex);
  if (!has_stock_callbacks(topic)) {
    stock_mark.reset();
  } else if (!stock_mark) {
    try {
      stock_mark = mark();
    } catch (const Exception& error) {  // the next message tries again
      ROS_ERROR_THROTTLE(1.0, "baton: stock subscriptions of %s in this process get no messages: %s", topic.c_str(),
                         error.what());
    }
  }
  const auto& participant = node->participant();
  reached.note(publisher, participant->graph_version(), [&] { return participant->endpoints_of(topic); });
}

std::shared_ptr<transport::Reader> SubscriberSide::State::mark() {
  static const message::Type nothing{"baton_ros1/Stock", 0, 1, nullptr, 0, true, {}, ""};
  return node->make_reader(stock_beside(topic), nothing, QoS(1));
}

bool SubscriberSide::State::has(const RoscppPeer& peer) {
  if (mode == Mode::kTzc) {
    if (!enter()) return true;
    const Turn turn(turns);
    if (arrivals.has(peer)) return true;
  }
  if (reader->statuses().refused_now > 0) return false;
  const os::Lock lock(mutex);
  return reached.any_in(peer);
}

}  // namespace baton::ros1::detail
