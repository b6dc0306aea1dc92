// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <algorithm>
#include <functional>
#include <utility>

#include "advertisement.hpp"
#include "serving_thread.hpp"

namespace baton::link::stream {
namespace {

using std::chrono::steady_clock;

/// Between two calls for the bulk connection.
constexpr std::chrono::milliseconds kCallPause{500};
/// A detour that lasts so long is said.
constexpr std::chrono::seconds kDetourShown{5};

}  // namespace

class Session::SessionFlow final : public Flow {
 public:
  SessionFlow(std::shared_ptr<Session> session, std::shared_ptr<Place> place)
      : session_(std::move(session)), place_(std::move(place)) {}
  ~SessionFlow() override {
    const os::Lock lock(session_->places_mutex_);
    SessionStream& stream = session_->stream(place_->traffic_class);
    stream.with_flows([&](FlowSender& flows) { flows.close(place_->id); });
    session_->places_.erase({place_->traffic_class, place_->id});
    stream.wake();
  }
  void wake() override {
    const os::Lock lock(session_->places_mutex_);
    session_->stream(place_->traffic_class).wake();
  }
  bool idle() const override {
    const os::Lock lock(session_->places_mutex_);
    return session_->stream(place_->traffic_class).with_flows([&](FlowSender& flows) {
      return flows.idle(place_->id);
    });
  }
  std::uint64_t sent() const override {
    const os::Lock lock(session_->places_mutex_);
    return place_->before + session_->stream(place_->traffic_class).with_flows([&](FlowSender& flows) {
      return flows.acknowledged(place_->id);
    });
  }
  bool ended() const override { return session_->ended(); }

 private:
  const std::shared_ptr<Session> session_;
  const std::shared_ptr<Place> place_;  // guarded by places_mutex_
};

Session::Session(Identity identity, const std::shared_ptr<const ReceiverTable>& channels,
                 std::function<void(bool)> changed, CallBulk call_bulk, std::chrono::milliseconds patience)
    : identity_(std::move(identity)),
      patience_(patience),
      changed_(std::move(changed)),
      call_bulk_(std::move(call_bulk)),
      urgent_(TrafficClass::kUrgent, identity_.key, identity_.address, channels,
              {[this](bool connected) {
                 note_change();
                 changed_(connected);
               },
               [this] { move_flows(TrafficClass::kUrgent); }, [] {}, [this](std::uint64_t key) { bulk_is_wanted(key); },
               [this](std::uint32_t flow) { return bulk_.take_received(flow); }}),
      bulk_(TrafficClass::kBulk, identity_.key, identity_.address, channels,
            {[this](bool connected) {
               if (connected) end_detour();
               note_change();
             },
             [this] { move_flows(TrafficClass::kBulk); }, [this] { take_detour(); }, [](std::uint64_t) {},
             [](std::uint32_t) { return std::nullopt; }}) {}

Session::~Session() = default;

void Session::leave() {
  stop_.store(true, std::memory_order_release);  // pairs with the acquire in ended()
}

KnownHost Session::known() const {
  const SessionStream::Presence urgent = urgent_.presence();
  const bool carries = wanted_.load(std::memory_order_relaxed) || urgent_.carries() || bulk_.carries();
  return {{urgent.address, hello().port}, urgent.connected, carries, urgent.since};
}

bool Session::ended() const noexcept { return stop_.load(std::memory_order_acquire); }  // pairs with leave()

void Session::end() {
  leave();
  std::optional<pthread_t> caller;
  {
    const os::Lock lock(mutex_);
    ending_ = true;
    caller = std::exchange(caller_, {});
    if (calling_) calling_->end();  // else its hellos would hold up the join
  }
  news_.notify_all();
  urgent_.end();
  bulk_.end();
  if (caller) pthread_join(*caller, nullptr);
}

bool Session::begin_call(const std::shared_ptr<HostConnection>& connection) {
  const os::Lock lock(mutex_);
  if (ending_) return false;
  calling_ = connection;
  return true;
}

bool Session::attach(TrafficClass traffic_class, const std::shared_ptr<HostConnection>& connection) {
  if (ended() || (traffic_class == TrafficClass::kBulk && !want_bulk())) return false;
  if (traffic_class == TrafficClass::kBulk) {
    const os::Lock lock(places_mutex_);
    if (urgent_.with_flows(std::mem_fn(&FlowSender::is_settled))) bulk_.unseal();
  }
  return stream(traffic_class).attach(connection);
}

Error Session::read(TrafficClass traffic_class, const std::shared_ptr<HostConnection>& connection) {
  return stream(traffic_class).read(connection);
}

std::unique_ptr<Flow> Session::open_flow(const std::string& channel, std::shared_ptr<ChunkSource> source,
                                         TopicPriority priority) {
  const bool is_bulk = priority == TopicPriority::kLow && want_bulk();
  std::optional<TrafficClass> fixed;
  if (priority != TopicPriority::kBySize)
    fixed = priority == TopicPriority::kLow ? TrafficClass::kBulk : TrafficClass::kUrgent;
  const os::Lock lock(places_mutex_);
  const TrafficClass of = is_bulk && !detours_ ? TrafficClass::kBulk : TrafficClass::kUrgent;
  // Each stream has room for all flows, so that each can change its class.
  const auto count = std::mem_fn(&FlowSender::flows);
  if (urgent_.with_flows(count) + bulk_.with_flows(count) >= kMostFlows) return nullptr;
  const std::uint32_t id =
      stream(of).with_flows([&](FlowSender& flows) { return flows.open(channel, std::move(source), fixed); });
  if (channel != kAdvertisementChannel) wanted_.store(true, std::memory_order_relaxed);  // see known()
  auto place = std::make_shared<Place>(Place{of, id, 0});
  places_[{of, id}] = place;
  stream(of).wake();
  return std::make_unique<SessionFlow>(shared_from_this(), std::move(place));
}

void Session::move_flows(TrafficClass from) {
  // Without its threads the bulk stream sends nothing: then the flow's chunk goes over the urgent one.
  const bool to_bulk = from == TrafficClass::kUrgent && want_bulk();
  const os::Lock lock(places_mutex_);
  std::vector<MovingFlow> flows = stream(from).with_flows(std::mem_fn(&FlowSender::take_leaving));
  stream(from).wake();  // their closings are to be sent
  move_to(to_bulk && !detours_ ? TrafficClass::kBulk : TrafficClass::kUrgent, from, std::move(flows));
}

void Session::move_to(TrafficClass to, TrafficClass from, std::vector<MovingFlow> flows) {
  for (MovingFlow& each : flows) {
    const auto found = places_.find({from, each.id});
    if (found == places_.end()) continue;
    const std::shared_ptr<Place> place = found->second;
    places_.erase(found);
    if (!each.continues) place->before += each.acknowledged;
    place->traffic_class = to;
    place->id = stream(to).with_flows(
        [&](FlowSender& adopting) { return adopting.adopt(std::move(each), steady_clock::now()); });
    places_[{to, place->id}] = place;
  }
  stream(to).wake();
}

/// From now on the bulk stream writes, and has a connection when the urgent one has. False: the system has no thread for it.
bool Session::want_bulk() {
  {
    const os::Lock lock(mutex_);
    if (ending_) return false;
    if (bulk_wanted_) return true;
    if (!bulk_.start()) return false;
    bulk_wanted_ = true;
  }
  urgent_.ask_for_bulk(identity_.bulk_key);
  note_change();
  return true;
}

void Session::bulk_is_wanted(std::uint64_t key) {
  {
    const os::Lock lock(mutex_);
    call_key_ = key;
  }
  if (want_bulk()) note_change();
}

/// Since when there is an urgent connection, and no bulk one although it is wanted.
std::optional<steady_clock::time_point> Session::alone_since() const {
  {
    const os::Lock lock(mutex_);
    if (!bulk_wanted_) return std::nullopt;
  }
  const SessionStream::Presence urgent = urgent_.presence(), bulk = bulk_.presence();
  return urgent.connected && !bulk.connected ? std::optional(std::max(urgent.since, bulk.since)) : std::nullopt;
}

void Session::take_detour() {
  const auto since = alone_since();
  if (!since || steady_clock::now() - *since < patience_) return;
  const os::Lock lock(places_mutex_);
  std::optional<std::vector<MovingFlow>> flows = bulk_.take_all();
  if (!flows) return;  // it has a connection again
  detours_ = true;
  move_to(TrafficClass::kUrgent, TrafficClass::kBulk, std::move(*flows));
  urgent_.with_flows([](FlowSender& urgent) { urgent.let_leave(false); });
  urgent_.wake();
}

void Session::end_detour() {
  const os::Lock lock(places_mutex_);
  detours_ = false;
  urgent_.with_flows([](FlowSender& urgent) { urgent.let_leave(true); });
}

std::optional<Session::Detour> Session::detour() const {
  const auto since = alone_since();
  if (!since || steady_clock::now() - *since < kDetourShown) return std::nullopt;
  const bool calls = urgent_.presence().dialed.has_value();
  const os::Lock lock(mutex_);
  if (!calls) return Detour{*since, "the other host, which has made the first connection, does not make the second"};
  if (call_key_ == 0) return Detour{*since, "the other host has not said how to make it"};
  return Detour{*since, call_failed_.empty() ? "it has ended" : call_failed_};
}

std::optional<Session::Detour> Session::new_detour() {
  std::optional<Detour> out = detour();
  const bool alone = alone_since().has_value();
  const os::Lock lock(mutex_);
  if (!alone) detour_said_ = false;
  if (out && std::exchange(detour_said_, true)) out.reset();
  return out;
}

/// A connection has come or gone, or the bulk connection is wanted.
void Session::note_change() {
  const bool calls = urgent_.presence().dialed.has_value();
  {
    const os::Lock lock(mutex_);
    ++changes_;
    if (bulk_wanted_ && call_key_ != 0 && calls && !caller_ && !ending_) {
      Result<pthread_t> thread = os::start_thread("baton-link-bulk", kNetworkStackBytes, [this] { call(); });
      if (thread) caller_ = *thread;  // else with the next change
    }
  }
  news_.notify_all();
}

/// The thread that makes the bulk connection, again and again, and reads it.
void Session::call() {
  for (;;) {
    std::uint64_t seen = 0, key = 0;
    {
      const os::Lock lock(mutex_);
      if (ending_) return;
      seen = changes_;
      key = call_key_;
    }
    const std::optional<ListenAddress> place = urgent_.presence().dialed;
    const bool needs_call = place && !bulk_.presence().connected;
    std::string failed;
    if (needs_call) failed = call_bulk_(shared_from_this(), *place, key);
    os::UniqueLock lock(mutex_);
    calling_.reset();
    if (needs_call) call_failed_ = std::move(failed);
    const auto news = [&]() BATON_REQUIRES(mutex_) { return ending_ || (!needs_call && changes_ != seen); };
    if (needs_call) {
      news_.wait_for(lock.standard(), kCallPause, news);
    } else {
      news_.wait(lock.standard(), news);
    }
  }
}

HostState Session::state() const {
  HostState out;
  out.name = hello().name;
  out.id = key();
  urgent_.describe(out);
  urgent_.add_counts(out);
  bulk_.add_counts(out);
  if (const auto missing = detour()) {
    out.bulk_missing_since_ns = std::chrono::nanoseconds(missing->since.time_since_epoch()).count();
    out.bulk_missing_why = missing->why;
  }
  return out;
}

}  // namespace baton::link::stream
