// SPDX-License-Identifier: Apache-2.0
#include "session.hpp"

#include <utility>
#include <vector>

#include "advertisement.hpp"
#include "serving_thread.hpp"

namespace baton::link::stream {
namespace {

/// Between two calls for the bulk connection.
constexpr std::chrono::milliseconds kCallPause{500};

}  // namespace

class Session::SessionFlow final : public Flow {
 public:
  SessionFlow(std::shared_ptr<Session> session, std::shared_ptr<Place> place)
      : session_(std::move(session)), place_(std::move(place)) {}
  ~SessionFlow() override {
    const os::Lock lock(session_->places_mutex_);
    SessionStream& stream = session_->stream(place_->traffic_class);
    stream.close(place_->id);
    session_->places_.erase({place_->traffic_class, place_->id});
    stream.wake();
  }
  void wake() override {
    const os::Lock lock(session_->places_mutex_);
    session_->stream(place_->traffic_class).wake();
  }
  bool idle() const override {
    const os::Lock lock(session_->places_mutex_);
    return session_->stream(place_->traffic_class).idle(place_->id);
  }
  std::uint64_t sent() const override {
    const os::Lock lock(session_->places_mutex_);
    return place_->before + session_->stream(place_->traffic_class).acknowledged(place_->id);
  }
  bool ended() const override { return session_->ended(); }

 private:
  const std::shared_ptr<Session> session_;
  const std::shared_ptr<Place> place_;  // guarded by places_mutex_
};

Session::Session(Identity identity, const std::shared_ptr<const ReceiverTable>& channels,
                 std::function<void(bool)> changed, CallBulk call_bulk)
    : identity_(std::move(identity)),
      changed_(std::move(changed)),
      call_bulk_(std::move(call_bulk)),
      urgent_(TrafficClass::kUrgent, identity_.key, identity_.address, channels,
              {[this](bool connected) {
                 note_change();
                 changed_(connected);
               },
               [this] { move_flows(TrafficClass::kUrgent); }, [this] { static_cast<void>(want_bulk()); }}),
      bulk_(TrafficClass::kBulk, identity_.key, identity_.address, channels,
            {[this](bool) { note_change(); }, [this] { move_flows(TrafficClass::kBulk); }, [] {}}) {}

Session::~Session() = default;

void Session::leave() {
  stop_.store(true, std::memory_order_release);  // pairs with the acquire in ended()
}

KnownHost Session::known() const {
  KnownHost out = urgent_.known();
  out.place.second = hello().port;
  out.carries = wanted_.load(std::memory_order_relaxed) || out.carries || bulk_.known().carries;
  return out;
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
  return stream(traffic_class).attach(connection);
}

Error Session::read(TrafficClass traffic_class, const std::shared_ptr<HostConnection>& connection) {
  return stream(traffic_class).read(connection);
}

std::unique_ptr<Flow> Session::open_flow(const std::string& channel, std::shared_ptr<ChunkSource> source,
                                         TopicPriority priority) {
  const bool is_bulk = priority == TopicPriority::kLow && want_bulk();
  const TrafficClass of = is_bulk ? TrafficClass::kBulk : TrafficClass::kUrgent;
  const os::Lock lock(places_mutex_);
  // Each stream has room for all flows, so that each can change its class.
  if (urgent_.flows() + bulk_.flows() >= kMostFlows) return nullptr;
  const std::uint32_t id = stream(of).open(channel, std::move(source), priority != TopicPriority::kBySize);
  if (channel != kAdvertisementChannel) wanted_.store(true, std::memory_order_relaxed);  // see known()
  auto place = std::make_shared<Place>(Place{of, id, 0});
  places_[{of, id}] = place;
  stream(of).wake();
  return std::make_unique<SessionFlow>(shared_from_this(), std::move(place));
}

void Session::move_flows(TrafficClass from) {
  // Without its threads the bulk stream sends nothing: then the flow's chunk goes over the urgent one.
  const bool to_bulk = from == TrafficClass::kUrgent && want_bulk();
  const TrafficClass to = to_bulk ? TrafficClass::kBulk : TrafficClass::kUrgent;
  const os::Lock lock(places_mutex_);
  for (LeavingFlow& each : stream(from).take_leaving()) {
    const auto found = places_.find({from, each.id});
    if (found == places_.end()) continue;
    const std::shared_ptr<Place> place = found->second;
    places_.erase(found);
    place->before += each.acknowledged;
    place->traffic_class = to;
    place->id = stream(to).adopt(std::move(each));
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
  urgent_.ask_for_bulk();
  note_change();
  return true;
}

/// A connection has come or gone, or the bulk connection is wanted.
void Session::note_change() {
  const bool calls = urgent_.dialed().has_value();
  {
    const os::Lock lock(mutex_);
    ++changes_;
    if (bulk_wanted_ && calls && !caller_ && !ending_) {
      Result<pthread_t> thread = os::start_thread("baton-link-bulk", kNetworkStackBytes, [this] { call(); });
      if (thread) caller_ = *thread;  // else with the next change
    }
  }
  news_.notify_all();
}

/// The thread that makes the bulk connection, again and again, and reads it.
void Session::call() {
  for (;;) {
    std::uint64_t seen = 0;
    {
      const os::Lock lock(mutex_);
      if (ending_) return;
      seen = changes_;
    }
    const std::optional<ListenAddress> place = urgent_.dialed();
    const bool needs_call = place && bulk_.disconnected_since();
    if (needs_call) call_bulk_(shared_from_this(), *place);
    os::UniqueLock lock(mutex_);
    calling_.reset();
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
  return out;
}

}  // namespace baton::link::stream
