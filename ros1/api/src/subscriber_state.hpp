// SPDX-License-Identifier: Apache-2.0
// A subscription's two ends. Two sources, one callback: a thread waits for messages of Baton (LOT's puller) and asks roscpp's callback queue to
// run take_waiting(), or with `own_thread` runs it itself; roscpp's own subscription runs decode() and deliver() (subscriber_side.cpp).
//
// In mode tzc a third: roscpp's subscription of the side topic runs arrived() for each handle. The thread then waits for
// messages only while a publisher of the topic sends no handles, and delivers those of all publishers.
//
// Lock order: State::turns before State::mutex. A callback of the program runs within a turn, and without `mutex`.
#pragma once

#include <ros/callback_queue_interface.h>
#include <ros/subscriber.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "baton/os/lock.hpp"
#include "baton/ros1/endpoints.hpp"
#include "baton/ros1/ros1.hpp"
#include "by_bytes.hpp"
#include "handle_resolver.hpp"
#include "held_back.hpp"
#include "peer.hpp"
#include "reached_publishers.hpp"

namespace baton::ros1::detail {

/// The turn to call back: one thread at a time. Recursive, since a callback may spin.
class BATON_LOCK_CLASS CallbackTurns {
 public:
  void lock() BATON_ACQUIRES() { mutex_.lock(); }
  bool try_lock_for(std::chrono::milliseconds time) BATON_TRY_ACQUIRES(true) { return mutex_.try_lock_for(time); }
  void unlock() BATON_RELEASES() { mutex_.unlock(); }

 private:
  std::recursive_timed_mutex mutex_;
};

/// Ends the turn of a thread that has it.
class BATON_LOCK_SCOPE Turn {
 public:
  explicit Turn(CallbackTurns& turns) BATON_REQUIRES(turns) : turns_(turns) {}
  ~Turn() BATON_RELEASES() { turns_.unlock(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  CallbackTurns& turns_;
};

struct SubscriberSide::State : std::enable_shared_from_this<SubscriberSide::State> {
  State(std::string topic_name, Mode own_mode, bool calls_in_own_thread, const StockType& stock,
        std::shared_ptr<baton::Node> own_node, std::shared_ptr<transport::Reader> own_reader, std::uint32_t queue_size,
        Callbacks functions)
      : topic(std::move(topic_name)),
        mode(own_mode),
        own_thread(calls_in_own_thread),
        node(std::move(own_node)),
        reader(std::move(own_reader)),
        callbacks(std::move(functions)),
        arrivals(reader, md5_of(stock.md5sum), depth_of(queue_size, Mode::kTzc)) {}

  struct CallbackForTurn;  // in roscpp's callback queue: runs take_waiting()
  struct Queue;            // subscriber_side.cpp has these
  struct Helper;
  struct SideHelper;

  // --- turns, and the end ---
  /// Waits for the turn of this thread to call back. False: the subscription has ended. The destructor may run in a
  /// callback, that is within a turn, and waits for the threads that roscpp has called here.
  bool enter() BATON_TRY_ACQUIRES(true, turns);
  /// Calls nothing back afterwards, and waits for a callback in another thread. Only the first call does it.
  void end();
  bool has_ended();
  void end_turn();
  /// For roscpp's callback queue.
  std::uint64_t id() const { return reinterpret_cast<std::uint64_t>(this); }
  /// The thread.
  void pull();

  // --- messages ---
  /// In the callback queue's thread.
  void arrived(const ArrivedHandlePtr& handle);
  /// In the callback queue's thread, or in the subscription's own.
  void take_waiting();
  /// What waits now, as ros::spinOnce() runs what waits; and not what comes meanwhile, which could be without end.
  void take_unread();
  /// The same within a turn.
  void take_unread_now() BATON_REQUIRES(turns);
  /// False: there is no message, or the subscription has ended.
  bool take_one() BATON_REQUIRES(turns);
  void deliver_arrived() BATON_REQUIRES(turns);
  void deliver_carried(const ArrivedHandle& arrived);
  /// Now, or after the message by TCPROS that it follows. False: the subscription has ended.
  bool deliver(transport::TakenSample&& sample) BATON_REQUIRES(turns);
  /// True: `sample` was taken over, and is delivered later.
  bool hold_back(transport::TakenSample& sample) BATON_REQUIRES(turns);
  /// False: the subscription has ended.
  bool release_held_back() BATON_REQUIRES(turns);
  /// This message was delivered. What waited for it follows.
  void came_by_bytes(const Trailer& trailer) BATON_REQUIRES(turns);
  bool call_back(transport::TakenSample&& sample);
  /// The thread gives a turn in a while, also if nothing comes, as long as something may be due then.
  void plan_look() BATON_REQUIRES(turns);

  // --- publishers ---
  void look_for_writers() BATON_REQUIRES(turns);
  /// Whether a publisher that Baton knows sends no handles.
  bool some_send_no_handles() const;
  /// Records that `publisher` reaches us over Baton, and looks for stock subscriptions beside us.
  void note(const Gid& publisher);
  std::shared_ptr<transport::Reader> mark();
  /// Whether messages of this process come over Baton, so that its serialized ones are older than those, or doubles.
  bool has(const RoscppPeer& peer);

  static constexpr std::chrono::milliseconds kLate{1}, kLeft{100};

  const std::string topic;
  const Mode mode;
  const bool own_thread;
  const std::shared_ptr<baton::Node> node;
  const std::shared_ptr<transport::Reader> reader;
  const Callbacks callbacks;
  ros::CallbackQueueInterface* queue = nullptr;
  transport::WaitSet waits;
  std::thread puller;
  CallbackTurns turns;  // before `mutex`. See enter()
  os::Mutex mutex;
  std::condition_variable changed;
  bool ended BATON_GUARDED_BY(mutex) = false;
  bool turn_given BATON_GUARDED_BY(mutex) = false;  // a CallbackForTurn is in the callback queue, or runs
  ReachedPublishers reached BATON_GUARDED_BY(mutex);
  PublisherPeers peers;
  std::shared_ptr<transport::Reader> stock_mark BATON_GUARDED_BY(mutex);
  ros::Subscriber subscriber;
  boost::weak_ptr<Helper> helper;  // of the subscriber

  HeldBack<transport::TakenSample> held_back BATON_GUARDED_BY(turns);

  // In mode tzc.
  HandleResolver arrivals BATON_GUARDED_BY(turns);
  std::uint64_t writers_seen BATON_GUARDED_BY(turns) = UINT64_MAX;
  std::atomic<std::uint64_t> malformed{0};
  // Flags without data behind them: each is looked at again after the wake-up that follows its change.
  std::atomic<bool> graph_changed{true}, pulls{false};
  std::atomic<std::int64_t> look_again_ns{kInfinite.count()};
  ros::Subscriber side;
};

}  // namespace baton::ros1::detail
