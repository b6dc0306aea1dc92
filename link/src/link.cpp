// SPDX-License-Identifier: Apache-2.0
// The link's own thread: waits for the leader lock, then forwards topics until the link ends.
#include "baton/link/link.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <optional>

#include "baton/os/clock.hpp"
#include "baton/os/fork.hpp"
#include "baton/os/lock.hpp"
#include "baton/os/process.hpp"
#include "baton/transport/runtime_directory.hpp"
#include "baton/transport/transport.hpp"
#include "diagnostic_queue.hpp"
#include "leader_lock.hpp"
#include "link_log.hpp"
#include "stream/security.hpp"
#include "topic_forwarder.hpp"

namespace baton::link {
namespace {

constexpr std::chrono::milliseconds kLeaderPoll{100};  // the release of a lock by another process wakes no thread
constexpr std::chrono::milliseconds kSoon{10};
constexpr std::chrono::seconds kRetry{2};
/// How long messages may still be sent to connected hosts when the link ends.
constexpr std::chrono::milliseconds kLastWords{500};
constexpr std::chrono::seconds kStateEvery{1};
constexpr std::size_t kStackBytes = std::size_t{512} << 10;
const std::string kNode = "link";

}  // namespace

class Link::Impl {
 public:
  Impl(const Options& options, std::shared_ptr<transport::Participant> participant, LeaderLock leader_lock,
       std::shared_ptr<DiagnosticQueue> diagnostics, std::shared_ptr<LinkLog> log)
      : options_(options),
        participant_(std::move(participant)),
        leader_lock_(std::move(leader_lock)),
        diagnostics_(std::move(diagnostics)),
        log_(std::move(log)) {
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
    os::UniqueLock lock(mutex_);
    changed_.wait(lock.standard(), [this]() BATON_REQUIRES(mutex_) { return first_.has_value(); });
    const Result<void> first = *first_;
    lock.unlock();
    // Another error may pass: an interface appears, an address is assigned.
    if (!first && ends_it(first.error())) {
      end();
      if (first.error().code != Errc::already_exists) return first;
      return Error{
          Errc::already_exists,
          first.error().message + ". With another port (--port, port=) the other hosts name this one HOST:PORT"};
    }
    return {};
  }

  void end() {
    stop();
    pthread_join(worker_, nullptr);
    pthread_join(watcher_, nullptr);
    if (diagnostics_) diagnostics_->end();
  }

  State state() const {
    State out;
    const os::Lock lock(forwarder_mutex_);
    out.phase = phase_;
    out.why = why_;
    out.host_name = options_.host_name;
    out.domain = participant_->domain();
    out.secured = !options_.security.empty();
    out.absence = options_.absence;
    if (forwarder_) {
      out.port = forwarder_->port();
      forwarder_->fill(out);
    }
    return out;
  }

 private:
  void stop() {
    {
      const os::Lock lock(mutex_);
      stop_ = true;
    }
    changed_.notify_all();
    // A change of the graph, so that watch() returns.
    participant_->add_node("link_ends");
    participant_->remove_node("link_ends");
  }
  void changed() {
    {
      const os::Lock lock(mutex_);
      news_ = true;
    }
    changed_.notify_all();
  }
  bool stopped() const {
    const os::Lock lock(mutex_);
    return stop_;
  }
  /// True unless the link ends.
  bool pause(std::chrono::nanoseconds duration) {
    os::UniqueLock lock(mutex_);
    return !changed_.wait_for(lock.standard(), duration, [this]() BATON_REQUIRES(mutex_) { return stop_; });
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

  void set_failed(const std::string& why) {
    const os::Lock lock(forwarder_mutex_);
    phase_ = Phase::kFailed;
    why_ = why;
  }
  /// Whether start() returns this error; others may pass.
  static bool ends_it(const Error& error) {
    return error.code == Errc::invalid_argument || error.code == Errc::already_exists;
  }
  /// What the first attempt to take the leader lock and to open the network gave. False: there was one before.
  bool settle(const Result<void>& first) {
    {
      const os::Lock lock(mutex_);
      if (first_) return false;
      first_ = first;
    }
    changed_.notify_all();
    return true;
  }
  void write_state() {
    const Result<void> written =
        leader_lock_.write_state(format_state(state(), os::process_id(), os::monotonic_ns(), os::realtime_ns()));
    if (written) return;
    log_->write(About::kLeader, LinkLog::Level::kWarning, written.error().code,
                "other processes cannot see what the link does: " + written.error().message);
  }

  void work() {
    bool said = false, refused = false;
    for (;;) {
      const bool unsecured = options_.security.empty() && leader_lock_.is_marked_secured();
      if (!unsecured && leader_lock_.try_take()) break;
      settle({});
      if (unsecured) {
        if (!std::exchange(refused, true)) {
          const std::string why =
              "the link of this domain has --security, and this one has not: start `baton link --security DIR`, or "
              "remove " +
              leader_lock_.directory() + "/" + kSecuredFile + " to do without";
          set_failed(why);
          log_->write(About::kLeader, LinkLog::Level::kWarning, Errc::unsupported, why);
        }
      } else if (!std::exchange(said, true)) {
        log_->write(
            About::kLeader, LinkLog::Level::kInfo, Errc{},
            "another process is the link of this domain (" + leader_lock_.directory() + "); waiting to take over");
      }
      if (!pause(kLeaderPoll)) return;
    }
    participant_->add_node(kNode);
    while (!stopped()) {
      if (const Result<void> worked = carry(); !worked) {
        set_failed(worked.error().message);
        if (settle(worked) && ends_it(worked.error())) break;  // start() says it
        write_state();
        log_->write(About::kNetwork, LinkLog::Level::kError, worked.error().code,
                    worked.error().message + "; trying again");
        if (!pause(kRetry)) break;
      }
    }
    participant_->remove_node(kNode);
    leader_lock_.remove_state();
  }

  /// Waits for a change, or until `end`, and forwards signs of life meanwhile. False: the link ends.
  bool wait(TopicForwarder& forwarder, std::chrono::steady_clock::time_point end) {
    for (;;) {
      const auto look = std::chrono::steady_clock::now() + forwarder.send_signs();
      os::UniqueLock lock(mutex_);
      const bool news = changed_.wait_until(lock.standard(), std::min(end, look),
                                            [this]() BATON_REQUIRES(mutex_) { return stop_ || news_; });
      if (stop_) return false;
      if (!news && std::chrono::steady_clock::now() < end) continue;
      news_ = false;
      return true;
    }
  }

  Result<void> carry() {
    if (!options_.security.empty()) {
      if (const Result<void> marked = leader_lock_.mark_secured(); !marked) return marked;
    }
    HostNetworkOptions network;
    network.domain = participant_->domain();
    network.peers = options_.peers;
    network.interface = options_.interface;
    network.port = options_.port;
    network.multicast = options_.multicast;
    network.security = options_.security;
    network.absence = options_.absence;
    network.say = [log = log_](About about, LinkLog::Level level, Errc code, std::string text) {
      log->write(about, level, code, std::move(text));
    };
    auto made = std::make_unique<TopicForwarder>(participant_, options_.host_name, log_, [this] { changed(); });
    Result<void> opened = made->open(std::move(network), options_.priorities);
    if (!opened) return opened;
    TopicForwarder* forwarder = made.get();
    {
      const os::Lock lock(forwarder_mutex_);
      forwarder_ = std::move(made);
      phase_ = Phase::kWorking;
      why_.clear();
    }
    settle({});
    log_->write(About::kLeader, LinkLog::Level::kInfo, Errc{},
                "this host is '" + options_.host_name + "' and listens on port " + std::to_string(forwarder->port()) +
                    (options_.security.empty() ? "" : ", with TLS"));
    for (auto next_state = std::chrono::steady_clock::now();;) {
      const bool again = forwarder->step();
      if (const auto now = std::chrono::steady_clock::now(); now >= next_state) {
        write_state();
        next_state = now + kStateEvery;
      }
      if (!wait(*forwarder, again ? std::chrono::steady_clock::now() + kSoon : next_state)) break;
    }
    forwarder->drain(kLastWords);
    std::unique_ptr<TopicForwarder> ended;  // destroyed without the lock: its writes may take a while
    {
      const os::Lock lock(forwarder_mutex_);
      ended = std::move(forwarder_);
    }
    return {};
  }

  Options options_;
  const std::shared_ptr<transport::Participant> participant_;
  LeaderLock leader_lock_;
  const std::shared_ptr<DiagnosticQueue> diagnostics_;  // null: they are dropped
  const std::shared_ptr<LinkLog> log_;
  mutable os::Mutex mutex_;
  std::condition_variable changed_;
  bool stop_ BATON_GUARDED_BY(mutex_) = false, news_ BATON_GUARDED_BY(mutex_) = false;
  std::optional<Result<void>> first_ BATON_GUARDED_BY(mutex_);
  mutable os::Mutex forwarder_mutex_;
  std::unique_ptr<TopicForwarder> forwarder_ BATON_GUARDED_BY(forwarder_mutex_);
  Phase phase_ BATON_GUARDED_BY(forwarder_mutex_) = Phase::kWaiting;
  std::string why_ BATON_GUARDED_BY(forwarder_mutex_);  // of kFailed
  pthread_t watcher_{}, worker_{};
};

Result<std::unique_ptr<Link>> Link::start(const Options& given) {
  Options options = given;
  constexpr std::chrono::hours kMostAbsence{24};
  if (options.absence.time < std::chrono::seconds(1) || options.absence.time > kMostAbsence)
    return Error{Errc::invalid_argument, "the absence budget of a link has a time of 1 s to 24 h, not " +
                                             std::to_string(options.absence.time.count()) + " ms"};
  if (options.absence.bytes < std::size_t{1} << 20)
    return Error{Errc::invalid_argument, "the absence budget of a link has at least 1 MiB, not " +
                                             std::to_string(options.absence.bytes) + " bytes"};
  if (!options.security.empty()) {  // a link on standby reports now what is wrong
    const auto readable = stream::make_security(options.security, [](bool, const std::string&) {});
    if (!readable) return readable.error();
  }
  std::shared_ptr<DiagnosticQueue> diagnostics;
  DiagnosticQueue::Call say;
  if (options.on_diagnostic) {
    diagnostics = std::make_shared<DiagnosticQueue>(std::exchange(options.on_diagnostic, {}));
    if (Result<void> started = diagnostics->start(); !started) return started.error();
    say = [to = std::weak_ptr<DiagnosticQueue>(diagnostics)](const transport::Diagnostic& diagnostic) {
      if (const auto queue = to.lock()) queue->push(diagnostic);
    };
  }
  auto log = std::make_shared<LinkLog>(say);
  transport::ParticipantOptions joining;
  joining.domain = options.domain;
  joining.runtime_directory = options.runtime_directory;
  if (options.domain_diagnostics) {
    // The participant, which may outlive the link, keeps the function for a while.
    joining.on_diagnostic = [to = std::weak_ptr<LinkLog>(log)](const transport::Diagnostic& diagnostic) {
      if (const auto here = to.lock()) here->write(About::kDomain, diagnostic.level, diagnostic.code, diagnostic.text);
    };
    joining.diagnostic_owner = log;
  }
  Result<std::shared_ptr<transport::Participant>> participant = transport::Participant::join(joining);
  if (!participant) return participant.error();
  Result<LeaderLock> leader_lock = LeaderLock::open((*participant)->domain(), options.runtime_directory);
  if (!leader_lock) return leader_lock.error();
  auto impl =
      std::make_unique<Impl>(options, *participant, std::move(*leader_lock), std::move(diagnostics), std::move(log));
  if (Result<void> started = impl->start(); !started) return started.error();
  return std::unique_ptr<Link>(new Link(std::move(impl)));
}

Link::Link(std::unique_ptr<Impl> impl) : impl_(std::move(impl)), generation_(os::fork_generation()) {}
Link::~Link() {
  if (generation_ == os::fork_generation()) {
    impl_->end();
  } else {
    static_cast<void>(impl_.release());  // its threads are the parent's, and its locks may be taken for ever
  }
}
Link::State Link::state() const { return generation_ == os::fork_generation() ? impl_->state() : State{}; }

}  // namespace baton::link
