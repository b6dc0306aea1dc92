// SPDX-License-Identifier: Apache-2.0
// Endpoints of this process and queries of users. Frames are handled in participant_frames.cpp, those of this process to itself wait in
// frames_to_self.cpp; matching is in matching.cpp.
#include "participant.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "baton/os/clock.hpp"
#include "baton/os/hot_memory.hpp"
#include "baton/os/process.hpp"

namespace baton::transport {
namespace {

/// Endpoints or nodes that a query of the user copies before the background thread gets its turn.
constexpr std::size_t kCopiedAtOnce = 256;

/// Participants of this process by domain directory.
struct Registry {
  os::Mutex mutex;
  std::map<std::string, std::weak_ptr<Participant>> participants BATON_GUARDED_BY(mutex);
};

Registry& registry() { return os::of_this_process<Registry>(); }

Result<void> check(const std::string& topic, const std::string& node, const TypeInfo& type, const QoS& qos) {
  const auto invalid = [&topic](const std::string& what) {
    return Error{Errc::invalid_argument, "endpoint on '" + topic + "': " + what};
  };
  if (topic.empty() || topic.size() > kMaxNameBytes) return invalid("the topic name must have 1 to 1024 bytes");
  // The announcement would be a violation to every other process.
  if (node.size() > kMaxNameBytes) return invalid("the node name is longer than 1024 bytes");
  if (type.name.size() > kMaxNameBytes) return invalid("the type name is longer than 1024 bytes");
  if (qos.depth == 0 || qos.depth > kMaxDepth)
    return invalid(
        "QoS depth must be 1 to 65536. What is 0 in ROS 1, a queue without a bound, is a long one here, e.g. 1000, or "
        "keep_all()");
  if (qos.held == 0 || qos.held > kMaxHeld) return invalid("QoS held must be 1 to 65536");
  if (qos.deadline.count() < 0 || qos.lifespan.count() < 0 || qos.lease.count() < 0) {
    return invalid("QoS durations must not be negative");
  }
  return {};
}

}  // namespace

Participant::Impl::Impl() : generation_(os::fork_generation()) { self_state_.rates = std::make_shared<PeerRates>(); }

Result<std::shared_ptr<Participant>> Participant::Impl::join(const ParticipantOptions& options) {
  try {
    return join_or_throw(options);
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

Result<std::shared_ptr<Participant>> Participant::Impl::join_or_throw(const ParticipantOptions& options) {
  if (!DomainAccount::limit()) return DomainAccount::limit().error();
  const std::shared_ptr<Participant> made(new Participant(std::make_unique<Impl>()));
  Impl& impl = made->impl();
  HubOptions hub_options;
  hub_options.domain = options.domain;
  hub_options.runtime_directory = options.runtime_directory;
  hub_options.on_diagnostic = [self = &impl](const Diagnostic& diagnostic) {
    self->diagnose(diagnostic.level, diagnostic.code, diagnostic.text);
  };
  Result<std::unique_ptr<Hub>> hub = Hub::create(hub_options, impl);
  if (!hub) return hub.error();

  std::shared_ptr<Participant> participant;
  {
    Registry& known = registry();
    const os::Lock lock(known.mutex);
    std::weak_ptr<Participant>& entry = known.participants[(*hub)->domain_directory()];
    participant = entry.lock();
    if (!participant) {
      impl.hub_ = std::move(*hub);
      impl.add_diagnostic_callback(options);
      if (Result<void> started = impl.hub_->start(); !started) return started.error();
      impl.account_.start(impl.hub_.get(), [self = &impl] { self->report_account(); });
      entry = made;
      return made;
    }
  }
  participant->impl().add_diagnostic_callback(options);
  return participant;
}

void Participant::Impl::add_diagnostic_callback(const ParticipantOptions& options) {
  if (!options.on_diagnostic) return;
  const std::shared_ptr<const void>& owner = options.diagnostic_owner;
  const os::Lock lock(pids_mutex_);
  auto& all = on_diagnostic_;
  all.erase(
      std::remove_if(all.begin(), all.end(), [](const auto& entry) { return entry.owned && entry.owner.expired(); }),
      all.end());
  const bool known =
      owner && std::any_of(all.begin(), all.end(), [&](const auto& entry) { return entry.owner.lock() == owner; });
  if (!known) all.push_back({options.on_diagnostic, owner, owner != nullptr});
}

void Participant::Impl::call_diagnostic_callbacks(const Diagnostic& diagnostic) noexcept {
  try {
    std::vector<DiagnosticCallback> callbacks;
    {
      const os::Lock lock(pids_mutex_);
      callbacks = on_diagnostic_;
    }
    for (const DiagnosticCallback& callback : callbacks) {
      const std::shared_ptr<const void> owner = callback.owner.lock();
      if (owner || !callback.owned) callback.call(diagnostic);
    }
  } catch (const std::bad_alloc&) {
    // There is no memory to report the lack of memory.
  }
}

Participant::Impl::~Impl() {
  account_.stop();
  if (hub_) hub_->stop();  // before any member is destroyed: its callbacks use all others, and hub_ itself
}

Result<void> Participant::Impl::usable() const {
  if (generation_ != os::fork_generation()) {
    return Error{Errc::forked, "this node belongs to the parent process; make a new one in the child"};
  }
  return {};
}

Gid Participant::Impl::new_gid(std::uint8_t part) {
  Gid gid{};
  // Process id (random) with the endpoint's number in its last bytes: unique in the domain, stable for a writer.
  const ProcessId& process = hub_->process_id();
  std::copy(process.begin(), process.end(), gid.begin());
  gid.back() = part;
  do {
    for (std::size_t i = 0; i < 3; ++i) gid[12 + i] = static_cast<std::uint8_t>(next_endpoint_ >> (8 * i));
    ++next_endpoint_;
  } while (graph_.is_taken(gid));
  return gid;
}

Result<Gid> Participant::Impl::gid_for(const Gid& wanted, std::uint8_t part) {
  if (wanted == Gid{}) return new_gid(part);
  if (graph_.find(wanted) != nullptr)
    return Error{Errc::already_exists, "an endpoint with this gid exists in the domain"};
  if (owner_of(wanted).value_or(kSelf) != kSelf)
    return Error{Errc::already_exists, "this gid is one of another process's endpoints"};
  return wanted;
}

void Participant::Impl::diagnose(Diagnostic::Level level, Errc code, std::string text) noexcept {
  if (const std::optional<os::LineBudget::Line> line = lines_.admit(os::Allowance::Clock::now(), code))
    say(*line, level, code, std::move(text));
}

/// This process itself, and peers that left, have the budget of all lines alone.
std::optional<os::LineBudget::Line> Participant::Impl::admit(PeerId about, Errc kind) noexcept {
  const os::Allowance::Clock::time_point now = os::Allowance::Clock::now();
  int left = INT_MAX;
  {
    const os::Lock lock(pids_mutex_);
    if (const auto found = pids_.find(about); found != pids_.end())
      left = found->second.rates->lines.use(now, kMaxReports, kReportWindow);
  }
  if (left < 0) {
    lines_.leave_out();
    return std::nullopt;
  }
  std::optional<os::LineBudget::Line> line = lines_.admit(now, kind);
  if (line && left == 0) line->last = true;
  return line;
}

/// The one way to the callbacks.
void Participant::Impl::say(const os::LineBudget::Line& line, Diagnostic::Level level, Errc code,
                            std::string text) noexcept {
  try {
    if (line.last) level = std::max(level, Diagnostic::Level::kWarning);
    hub_->post([this, diagnostic = Diagnostic{level, code, line.of(std::move(text))}] {
      call_diagnostic_callbacks(diagnostic);
    });
  } catch (const std::bad_alloc&) {
    // As documented: dropped.
  }
}

void Participant::Impl::end_peer(PeerId peer, const Error& error) {
  const auto state = peers_.find(peer);
  if (state == peers_.end()) return;
  hub_->disconnect(peer, error);
  diagnose(Diagnostic::Level::kWarning, error.code,
           "process '" + state->second.name + "' (pid " + std::to_string(state->second.pid) +
               ") is disconnected: " + error.message);
}

os::SharedFd Participant::Impl::duplicate(int fd) {
  os::UniqueFd copy = os::duplicate(fd);
  if (!copy) {
    if (share_shortage_lines_.once()) {  // with many publishers one shortage is many failures
      diagnose(Diagnostic::Level::kError, Errc::out_of_descriptors,
               "no file descriptor left to share data segments; their messages wait until there is one; raise "
               "RLIMIT_NOFILE (ulimit -n)");
    }
    return nullptr;
  }
  return std::make_shared<const os::UniqueFd>(std::move(copy));
}

void Participant::Impl::broadcast(FrameType type, const Payload& payload) {
  for (const auto& [peer, state] : peers_) hub_->send(peer, static_cast<std::uint16_t>(type), payload);
}

template <class Encode>
void Participant::Impl::broadcast_or_disconnect(FrameType type, Encode&& encode) noexcept {
  try {
    broadcast(type, encode());
  } catch (const std::bad_alloc&) {
    for (const auto& [peer, state] : peers_) hub_->end_for_want_of_memory(peer);
  }
}

void Participant::Impl::graph_changed() noexcept {
  hub_->note_change();
  {
    const os::Lock lock(version_mutex_);
    ++version_;
    for (const std::weak_ptr<GuardCondition>& entry : graph_guards_) {
      if (const std::shared_ptr<GuardCondition> guard = entry.lock()) guard->trigger();
    }
  }
  version_changed_.notify_all();
}

/// The last part of create_writer() and create_reader(): enters an endpoint of `endpoints` in the graph
/// and announces it.
template <class Endpoint>
Result<void> Participant::Impl::announce_own(Endpoints<Endpoint>& endpoints, const std::shared_ptr<Endpoint>& own) {
  const AnnounceFrame frame = own->announcement();
  const Payload payload = encode(frame);
  const auto entry = endpoints.try_emplace(frame.gid, own).first;
  EndpointRecord* record = nullptr;
  try {
    Result<EndpointRecord*> added = graph_.add_endpoint(kSelf, frame);
    if (!added) {
      endpoints.erase(entry);
      return added.error();
    }
    record = *added;
    for (const auto& [peer, state] : peers_)
      hub_->send_soon(peer, static_cast<std::uint16_t>(FrameType::kAnnounce), payload, kMostAnnouncements);
  } catch (...) {
    // A peer that got the announcement forgets the endpoint when its connection ends.
    if (record != nullptr) {
      for (const auto& [peer, state] : peers_) hub_->end_for_want_of_memory(peer);
      graph_.remove_endpoint(*record);
    }
    endpoints.erase(entry);
    throw;
  }
  match_new(*record);  // if it throws, the unfinished part ends when the endpoint is withdrawn
  return {};
}

Result<std::shared_ptr<Writer>> Participant::Impl::create_writer(std::shared_ptr<Impl> self,
                                                                 const WriterOptions& options) {
  if (Result<void> ok = usable(); !ok) return ok.error();
  if (Result<void> ok = check(options.topic, options.node, options.type, options.qos); !ok) return ok.error();
  const QoS& qos = options.qos;
  if (options.seldom && (qos.history != History::kKeepLast || qos.liveliness != Liveliness::kAutomatic ||
                         qos.deadline < kEndless || options.relayed))
    return Error{Errc::invalid_argument, "endpoint on '" + options.topic +
                                             "': seldom messages need keep_last, automatic liveliness and no deadline"};
  try {
    Gid gid;
    {
      const os::Lock lock(mutex_);
      Result<Gid> given = gid_for(options.gid, options.part);
      if (!given) return given.error();
      gid = *given;
    }
    const os::HotRoom room;
    Result<std::shared_ptr<Writer::Impl>> writer = Writer::Impl::create(std::move(self), options, gid);
    if (!writer) return writer.error();
    const std::shared_ptr<Writer::Impl> impl = *writer;
    std::shared_ptr<Writer> handle = impl->open();
    {
      const os::Lock lock(mutex_);
      if (Result<void> known = announce_own(writers_, impl); !known) return known.error();
    }
    graph_changed();
    impl->start_timers();
    return handle;
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

Result<std::shared_ptr<Reader>> Participant::Impl::create_reader(std::shared_ptr<Impl> self,
                                                                 const ReaderOptions& options) {
  if (Result<void> ok = usable(); !ok) return ok.error();
  if (Result<void> ok = check(options.topic, options.node, options.type, options.qos); !ok) return ok.error();
  try {
    std::shared_ptr<Reader> handle;
    std::shared_ptr<Reader::Impl> impl;
    {
      os::UniqueLock lock(mutex_);
      Result<Gid> gid = gid_for(options.gid, options.part);
      if (!gid) return gid.error();
      lock.unlock();
      const os::HotRoom room;
      impl = os::make_hot_shared<Reader::Impl>(std::move(self), options, *gid);
      handle = os::make_hot_shared<Reader>(impl);
      lock.lock();
      Result<void> known = announce_own(readers_, impl);
      lock.unlock();  // the handle is destroyed without the lock
      if (!known) return known.error();
    }
    graph_changed();
    impl->start_timers();
    return handle;
  } catch (const std::bad_alloc&) {
    return no_memory();
  }
}

void Participant::Impl::withdraw_writer(const Gid& gid) noexcept {
  std::shared_ptr<Writer::Impl> kept;
  {
    const os::Lock lock(mutex_);
    const auto found = writers_.find(gid);
    if (found == writers_.end()) return;
    deliver_last_to_self(gid);
    kept = std::move(found->second);
    writers_.erase(found);
    withdraw_own(gid);
  }
  graph_changed();
}

void Participant::Impl::withdraw_reader(const Gid& gid) noexcept {
  std::shared_ptr<Reader::Impl> kept;
  {
    const os::Lock lock(mutex_);
    const auto found = readers_.find(gid);
    if (found == readers_.end()) return;
    drop_to_self(gid);
    kept = std::move(found->second);
    readers_.erase(found);
    if (const EndpointRecord* record = graph_.find(gid)) {
      for (const EndpointList* list : {&record->topic->own, &record->topic->foreign}) {
        for (const auto& [serial, writer] : *list) {  // also those of a peer that is leaving
          if (writer != nullptr && writer->is_writer) release_remote_writer(writer->gid, gid);
        }
      }
    }
    withdraw_own(gid);
  }
  graph_changed();
}

void Participant::Impl::withdraw_own(const Gid& gid) noexcept {
  broadcast_or_disconnect(FrameType::kWithdraw, [&] { return encode_gid(gid); });
  EndpointRecord* record = graph_.find(gid);
  if (record == nullptr) return;
  try {
    endpoint_gone(*record, false);
  } catch (const std::bad_alloc&) {
    // Messages that a publisher of this process keeps for this ended subscription are unread, and will be overwritten.
  }
  graph_.remove_endpoint(*record);
  give_to_next(gid);
}

void Participant::Impl::add_node(const NodeName& node) {
  if (!usable()) return;
  {
    const Payload payload = encode(node);
    const os::Lock lock(mutex_);
    if (!graph_.add_node(kSelf, node)) return;
    broadcast_or_disconnect(FrameType::kNodeUp, [&] { return payload; });
  }
  graph_changed();
}

void Participant::Impl::remove_node(const NodeName& node) {
  if (!usable()) return;
  {
    const os::Lock lock(mutex_);
    graph_.remove_node(kSelf, node);
    broadcast_or_disconnect(FrameType::kNodeDown, [&] { return encode(node); });
  }
  graph_changed();
}

EndpointInfo Participant::Impl::info_of(const EndpointRecord& record, const Pids& pids) {
  EndpointInfo info;
  info.gid = record.gid;
  info.is_writer = record.is_writer;
  info.topic = *record.topic->name;
  info.type_name = record.type->name;
  info.type_hash = record.type->hash;
  info.ros_type_hash = record.type->ros_hash;
  info.node = *record.node;
  info.qos = *record.qos;
  info.pid = pids.shown;
  info.local_pid = pids.local;
  info.connection = record.peer();
  return info;
}

std::vector<EndpointInfo> Participant::Impl::endpoints() const {
  std::vector<EndpointInfo> out;
  if (!usable()) return out;
  PeerId peer = kSelf;
  Pids pids = pids_of(kSelf);
  std::optional<Gid> last;
  for (bool more = true; more;) {
    // In portions: the background thread must not wait until all are copied.
    const os::Lock lock(mutex_);
    more = graph_.visit_endpoints(last, kCopiedAtOnce, [&](const EndpointRecord& record) {
      if (record.peer() != peer) pids = pids_of(peer = record.peer());
      out.push_back(info_of(record, pids));
    });
  }
  return out;
}

std::vector<EndpointInfo> Participant::Impl::endpoints_of(const std::string& topic) {
  std::vector<EndpointInfo> out;
  if (!usable()) return out;
  for (EndpointList Topic::*const list : {&Topic::own, &Topic::foreign}) {
    for (const bool writers : {false, true}) {
      for (std::uint64_t from = 0; from != kAllSerials;) {
        const os::Lock lock(mutex_);
        const Topic* const known = graph_.topic(topic);  // it may have gone
        if (known == nullptr) break;
        from = graph_.visit(known->*list, writers, from, kAllSerials, kCopiedAtOnce, [&](const EndpointRecord& record) {
          out.push_back(info_of(record, pids_of(record.peer())));
        });
      }
    }
  }
  return out;
}

std::vector<TopicInfo> Participant::Impl::topics(const std::vector<std::string>& nodes,
                                                 const std::function<bool(const std::string&)>& wanted) const {
  const auto parts = [](const auto& info) {
    return std::tuple<std::string_view, std::string_view, bool>(info.topic, info.type_name, info.is_writer);
  };
  struct Known {  // an endpoint of the graph: nothing is copied to compare it
    std::string_view topic, type_name;
    bool is_writer;
  };
  struct Less {
    using is_transparent = void;
    decltype(parts) of;
    bool operator()(const TopicInfo& a, const TopicInfo& b) const { return of(a) < of(b); }
    bool operator()(const TopicInfo& a, const Known& b) const { return of(a) < of(b); }
    bool operator()(const Known& a, const TopicInfo& b) const { return of(a) < of(b); }
  };
  std::set<TopicInfo, Less> found(Less{parts});
  if (!usable()) return {};
  std::optional<Gid> last;
  for (bool more = true; more;) {
    const os::Lock lock(mutex_);
    more = graph_.visit_endpoints(last, kCopiedAtOnce, [&](const EndpointRecord& record) {
      if (wanted && !wanted(*record.topic->name)) return;
      if (!nodes.empty() && std::find(nodes.begin(), nodes.end(), *record.node) == nodes.end()) return;
      const Known known{*record.topic->name, record.type->name, record.is_writer};
      if (found.find(known) == found.end()) found.insert({*record.topic->name, record.type->name, record.is_writer});
    });
  }
  std::vector<TopicInfo> out;
  while (!found.empty()) out.push_back(std::move(found.extract(found.begin()).value()));
  return out;
}

std::vector<std::string> Participant::Impl::nodes_of_endpoints() const {
  std::set<std::string, std::less<>> found;
  if (!usable()) return {};
  std::optional<Gid> last;
  for (bool more = true; more;) {
    const os::Lock lock(mutex_);
    const std::string* before = nullptr;  // endpoints of one node stand together, with one string
    more = graph_.visit_endpoints(last, kCopiedAtOnce, [&](const EndpointRecord& record) {
      if (std::exchange(before, record.node) != record.node) found.insert(*record.node);
    });
  }
  std::vector<std::string> out;
  while (!found.empty()) out.push_back(std::move(found.extract(found.begin()).value()));
  return out;
}

std::vector<NodeInfo> Participant::Impl::nodes() const {
  std::vector<NodeInfo> out;
  if (!usable()) return out;
  Graph::NodePosition last{kSelf, nullptr};
  for (bool more = true; more;) {
    const os::Lock lock(mutex_);
    more = graph_.visit_nodes(last, kCopiedAtOnce, [&](PeerId peer, const NodeName& node) {
      out.push_back({node.name, node.enclave, pid_of(peer)});
    });
  }
  return out;
}

std::size_t Participant::Impl::unmet_count() const { return usable() ? hub_->unmet_count() : 0; }
std::vector<std::int32_t> Participant::Impl::unmet_pids() const {
  return usable() ? hub_->unmet_pids() : std::vector<std::int32_t>();
}

std::uint64_t Participant::Impl::graph_version() const {
  if (!usable()) return 0;
  const os::Lock lock(version_mutex_);
  return version_;
}

Result<std::uint64_t> Participant::Impl::wait_graph_change(std::uint64_t seen, std::chrono::nanoseconds timeout) {
  if (Result<void> ok = usable(); !ok) return ok.error();
  os::UniqueLock lock(version_mutex_);
  const auto differs = [&]() BATON_REQUIRES(version_mutex_) { return version_ != seen; };
  // wait_for adds it to the present time; a year is long enough.
  timeout = std::clamp<std::chrono::nanoseconds>(timeout, timeout.zero(), std::chrono::hours(24 * 365));
  if (!version_changed_.wait_for(lock.standard(), timeout, differs)) {
    return Error{Errc::timed_out, "the graph did not change in the given time"};
  }
  return version_;
}

void Participant::Impl::trigger_on_graph_change(const std::shared_ptr<GuardCondition>& guard) {
  const os::Lock lock(version_mutex_);
  graph_guards_.erase(
      std::remove_if(graph_guards_.begin(), graph_guards_.end(), [](const auto& entry) { return entry.expired(); }),
      graph_guards_.end());
  graph_guards_.push_back(guard);
}

void Participant::Impl::report_account() {
  const os::Lock lock(mutex_);
  const Payload payload = encode(account_.own());
  for (auto& [peer, state] : peers_) {
    state.account_due = hub_->is_parked(peer);
    if (!state.account_due) send(peer, FrameType::kAccount, payload);
  }
}

Participant::MemoryAccount Participant::Impl::memory_account() const {
  MemoryAccount out{};
  if (!usable()) return out;
  const AccountFrame own = account_.own();
  out.process_backed_bytes = own.backed_bytes;
  out.process_limit_bytes = own.limit_bytes;
  out.domain_backed_bytes = own.backed_bytes + account_.peers_backed_bytes();
  out.domain_limit_bytes = DomainAccount::limit_bytes();
  return out;
}

Participant::Impl::Pids Participant::Impl::pids_of(PeerId peer) const {
  if (peer == kSelf) return {os::process_id(), os::process_id()};
  const os::Lock lock(pids_mutex_);
  const auto found = pids_.find(peer);
  return found == pids_.end() ? Pids() : found->second.pids;
}

Party Participant::Impl::party_of(PeerId peer) const {
  const auto found = peers_.find(peer);
  if (found == peers_.end()) return {};  // this process
  const PeerState& state = found->second;
  if (state.uid != os::effective_user_id()) return {Party::Kind::kUser, state.uid};
  // By process, not by connection: samples that a process still holds when it comes back count for it.
  return {Party::Kind::kProcess, state.identity};
}

void Participant::Impl::give_wake_socket(PeerId peer, const Gid& writer, const Gid& reader,
                                         const os::SharedFd& notify_end) {
  send(peer, FrameType::kWakeSocket, encode(PairFrame{writer, reader}), {notify_end});
}

void Participant::Impl::broke_wake_socket(PeerId peer) {
  post([this, peer] {
    const os::Lock lock(mutex_);
    end_peer(peer, {Errc::protocol_violation, "it shut down or flooded its wake socket"});
  });
}

void Participant::Impl::ban(const Gid& endpoint) {
  hub_->post([this, endpoint] {
    const os::Lock lock(mutex_);
    if (EndpointRecord* record = graph_.find(endpoint)) record->banned = true;
  });
}

void Participant::Impl::expel(PeerId peer, const Gid& reader, const Gid& writer, const Error& error) {
  Payload detach = encode(PairFrame{writer, reader});
  hub_->post([this, writer, reader] {
    const os::Lock lock(mutex_);
    if (EndpointRecord* record = graph_.find(writer)) record->banned = true;
    release_remote_writer(writer, reader);
  });
  diagnose_about(peer, Diagnostic::Level::kError, error.code, [&] { return error.message; });
  send(peer, FrameType::kDetach, std::move(detach));
}

}  // namespace baton::transport
