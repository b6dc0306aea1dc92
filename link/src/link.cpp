// SPDX-License-Identifier: Apache-2.0
// The link's own thread: waits for the role, then works until the end.
#include "baton/link/link.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "baton/os/process.hpp"
#include "baton/transport/runtime_directory.hpp"
#include "baton/transport/transport.hpp"
#include "carrier.hpp"
#include "role.hpp"
#include "saying.hpp"

namespace baton::link {
namespace {

constexpr std::chrono::milliseconds kRolePoll{100};  // a lock that another process gives up wakes nobody
constexpr std::chrono::milliseconds kSoon{10};
constexpr std::chrono::seconds kRetry{2};
constexpr std::size_t kStackBytes = std::size_t{512} << 10;
const std::string kNode = "link";

}  // namespace

class Link::Impl {
 public:
  Impl(const Options& options, std::shared_ptr<transport::Participant> participant, Role role)
      : options_(options),
        participant_(std::move(participant)),
        role_(std::move(role)),
        saying_(std::make_shared<Saying>(options.on_diagnostic)) {
    if (options_.host_name.empty()) options_.host_name = os::host_name();
    if (options_.host_name.empty()) options_.host_name = "unnamed";
  }

  Result<void> start() {
    Result<pthread_t> watcher = os::start_thread("baton-link-dom", kStackBytes, [this] { watch(); });
    if (!watcher) return watcher.error();
    watcher_ = *watcher;
    Result<pthread_t> worker = os::start_thread("baton-link-plan", kStackBytes, [this] { work(); });
    if (!worker) {
      stop();
      pthread_join(watcher_, nullptr);
      return worker.error();
    }
    worker_ = *worker;
    return {};
  }

  void end() {
    stop();
    pthread_join(worker_, nullptr);
    pthread_join(watcher_, nullptr);
  }

  State state() const {
    State out;
    const std::lock_guard<std::mutex> lock(carrier_mutex_);
    out.phase = phase_;
    if (carrier_) carrier_->fill(out);
    return out;
  }

 private:
  void stop() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    // A change of the graph, so that watch() returns.
    participant_->add_node("link_ends");
    participant_->remove_node("link_ends");
  }
  void changed() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      news_ = true;
    }
    changed_.notify_all();
  }
  bool stopped() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return stop_;
  }
  /// True unless the link ends.
  bool pause(std::chrono::nanoseconds duration) {
    std::unique_lock<std::mutex> lock(mutex_);
    return !changed_.wait_for(lock, duration, [this] { return stop_; });
  }

  void watch() {
    std::uint64_t seen = 0;
    while (!stopped()) {
      const Result<std::uint64_t> version = participant_->wait_graph_change(seen, std::chrono::hours(1));
      if (!version && version.error().code != Errc::timed_out) return;
      if (version) seen = *version;
      changed();
    }
  }

  void set_phase(Phase phase) {
    const std::lock_guard<std::mutex> lock(carrier_mutex_);
    phase_ = phase;
  }

  void work() {
    bool said = false;
    while (!role_.try_take()) {
      if (!std::exchange(said, true)) {
        saying_->say(Saying::Level::kInfo, Errc{},
                     "another process is the link of this domain (" + role_.directory() + "); waiting to take over");
      }
      if (!pause(kRolePoll)) return;
    }
    participant_->add_node(kNode);
    while (!stopped()) {
      if (const Result<void> worked = carry(); !worked) {
        set_phase(Phase::kFailed);
        saying_->say_rarely("network", Saying::Level::kError, worked.error().code,
                            worked.error().message + "; trying again");
        if (!pause(kRetry)) break;
      }
    }
    participant_->remove_node(kNode);
  }

  Result<void> carry() {
    EngineOptions engine;
    engine.domain = participant_->domain();
    engine.peers = options_.peers;
    engine.interface = options_.interface;
    engine.port = options_.port;
    engine.say = [saying = saying_](Saying::Level level, std::string text) {
      const bool bad = level == Saying::Level::kError;
      saying->say_rarely(bad ? "engine's errors" : "engine's warnings", level, Errc::system, std::move(text));
    };
    auto made = std::make_unique<Carrier>(participant_, options_.host_name, saying_, [this] { changed(); });
    Result<void> opened = made->open(engine);
    if (!opened) return opened;
    Carrier* carrier = made.get();
    {
      const std::lock_guard<std::mutex> lock(carrier_mutex_);
      carrier_ = std::move(made);
      phase_ = Phase::kWorking;
    }
    saying_->say(Saying::Level::kInfo, Errc{},
                 "this host is '" + options_.host_name + "' and listens on port " +
                     std::to_string(engine.port != 0 ? engine.port : default_port(engine.domain)));
    for (;;) {
      const bool again = carrier->step();
      std::unique_lock<std::mutex> lock(mutex_);
      const auto ready = [this] { return stop_ || news_; };
      if (again) {
        changed_.wait_for(lock, kSoon, ready);
      } else {
        changed_.wait(lock, ready);
      }
      if (stop_) break;
      news_ = false;
    }
    std::unique_ptr<Carrier> ended;  // destroyed without the lock: its writes may take a while
    {
      const std::lock_guard<std::mutex> lock(carrier_mutex_);
      ended = std::move(carrier_);
    }
    return {};
  }

  Options options_;
  const std::shared_ptr<transport::Participant> participant_;
  Role role_;
  const std::shared_ptr<Saying> saying_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool stop_ = false, news_ = false;
  mutable std::mutex carrier_mutex_;
  std::unique_ptr<Carrier> carrier_;
  Phase phase_ = Phase::kWaiting;
  pthread_t watcher_{}, worker_{};
};

Result<std::unique_ptr<Link>> Link::start(const Options& options) {
  transport::ParticipantOptions joining;
  joining.domain = options.domain;
  joining.runtime_directory = options.runtime_directory;
  joining.on_diagnostic = options.on_diagnostic;
  Result<std::shared_ptr<transport::Participant>> participant = transport::Participant::join(joining);
  if (!participant) return participant.error();
  Result<Role> role = Role::open((*participant)->domain(), options.runtime_directory);
  if (!role) return role.error();
  auto impl = std::make_unique<Impl>(options, *participant, std::move(*role));
  if (Result<void> started = impl->start(); !started) return started.error();
  return std::unique_ptr<Link>(new Link(std::move(impl)));
}

Link::Link(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Link::~Link() { impl_->end(); }
Link::State Link::state() const { return impl_->state(); }

}  // namespace baton::link
