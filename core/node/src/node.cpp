// SPDX-License-Identifier: Apache-2.0
#include "baton/node/node.hpp"

#include <algorithm>

#include "baton/message/validate.hpp"
#include "baton/os/clock.hpp"
#include "baton/os/fork.hpp"
#include "baton/os/hot_memory.hpp"
#include "baton/os/lock.hpp"
#include "end_of_wait.hpp"
#include "node_core.hpp"

namespace baton {
namespace detail {

Error empty_error(const char* what) {
  return {Errc::invalid_argument,
          std::string("this ") + what +
              " is empty: it was never made, or its content was published or moved to another one"};
}

void throw_empty(const char* what) { throw Exception(empty_error(what)); }

NodeCore::~NodeCore() {
  if (participant) participant->remove_node(names.in_graph());
}

std::shared_ptr<Executable> NodeCore::add(const std::shared_ptr<Executable>& executable) {
  {
    const os::Lock lock(mutex);
    executables.push_back(executable);
  }
  changed();
  std::weak_ptr<NodeCore> self = weak_from_this();
  return std::shared_ptr<Executable>(executable.get(), [self, executable](Executable* gone) {
    if (auto core = self.lock()) core->remove(gone);
  });
}

void NodeCore::remove(const Executable* executable) {
  std::shared_ptr<Executable> last;  // destroyed outside the lock
  {
    const os::Lock lock(mutex);
    auto it =
        std::find_if(executables.begin(), executables.end(), [&](const auto& e) { return e.get() == executable; });
    if (it == executables.end()) return;
    last = std::move(*it);
    executables.erase(it);
  }
  changed();
}

void NodeCore::changed() {
  std::function<void()> notify;
  {
    const os::Lock lock(mutex);
    notify = on_change;
  }
  if (notify) notify();
}

void print_diagnostic(const transport::Diagnostic& diagnostic) {
  using Level = transport::Diagnostic::Level;
  const Logger::Level level = diagnostic.level == Level::kInfo      ? Logger::Level::kDebug
                              : diagnostic.level == Level::kWarning ? Logger::Level::kWarn
                                                                    : Logger::Level::kError;
  log_of_baton(level, errc_name(diagnostic.code) + (": " + diagnostic.text));
}

transport::TypeInfo type_info(const message::Type& type) {
  transport::TypeInfo info;
  info.name = type.name;
  info.hash = type.hash;
  info.definition = type.definition;
  info.skeleton_bytes = type.size;
  info.fixed_size = type.fixed;
  return info;
}

std::shared_ptr<const void> printer() {
  struct Current {
    os::Mutex mutex;
    std::weak_ptr<const void> printer BATON_GUARDED_BY(mutex);
  };
  Current& current = os::of_this_process<Current>();
  const os::Lock lock(current.mutex);
  std::shared_ptr<const void> printer = current.printer.lock();
  if (!printer) current.printer = printer = std::make_shared<char>();
  return printer;
}

MessageInfo message_info(const transport::TakenSample& taken) noexcept {
  const memory::ChunkHeader& header = taken.header();
  MessageInfo info;
  info.sequence = taken.sequence();
  info.source_time_ns = header.source_time_ns;
  info.source_monotonic_ns = os::of_process(header.source_monotonic_ns);
  info.reception_time_ns = os::realtime_ns();
  info.publisher = taken.publisher();
  std::copy(std::begin(header.correlation_client), std::end(header.correlation_client),
            info.correlation_client.begin());
  info.correlation_sequence = header.correlation_sequence;
  if (header.selection == memory::Selection::kLow || header.selection == memory::Selection::kHigh)
    info.selection = header.selection;
  return info;
}

transport::PublishInfo answer_to(const MessageInfo& request) noexcept {
  transport::PublishInfo answer;
  answer.correlation_client = request.correlation_client;
  answer.correlation_sequence = request.correlation_sequence;
  answer.only_client = true;
  return answer;
}

}  // namespace detail

Node::~Node() = default;

const std::string& Node::name() const noexcept { return core_->names.name(); }
const std::string& Node::ns() const noexcept { return core_->names.ns(); }
const std::string& Node::fully_qualified_name() const noexcept { return core_->names.fully_qualified(); }
const Logger& Node::get_logger() const noexcept { return *core_->logger; }
int Node::domain() const { return core_->participant->domain(); }

std::string Node::resolve_topic_name(const std::string& topic) const {
  return core_->names.resolve(topic, detail::NodeNames::Kind::kTopic);
}
std::string Node::resolve_service_name(const std::string& service) const {
  return core_->names.resolve(service, detail::NodeNames::Kind::kService);
}

std::shared_ptr<detail::PublisherCore> Node::publisher_at(const std::string& name, const message::Type& type,
                                                          const QoS& qos, const PublisherOptions& options,
                                                          detail::PublisherUse use,
                                                          std::shared_ptr<detail::ServiceEvents> events) {
  const os::HotRoom room;
  transport::Participant::WriterOptions made{name, core_->names.in_graph(), detail::type_info(type), qos, options};
  made.skips_full = use == detail::PublisherUse::kRequests;
  if (use == detail::PublisherUse::kResponses) {
    made.grants_in_part = true;
    if (options.slot_count == 0 || options.slot_count == memory::kDefaultSlots)
      made.pool.slot_count = transport::kResponseSlots;
  }
  auto writer = core_->participant->create_writer(made).or_throw();
  return os::make_hot_shared<detail::PublisherCore>(std::move(writer), name, std::move(events));
}

std::shared_ptr<detail::ServiceEvents> Node::events_of(const std::string& service, const message::Type& request,
                                                       const message::Type& response, bool is_server) const {
  detail::ServiceEvents::Options options;
  options.is_server = is_server;
  options.request = &request;
  options.response = &response;
  const std::string topic = detail::event_topic(service);
  options.advertise = [participant = core_->participant, node = core_->names.in_graph(),
                       topic](const message::Type& type) {
    return participant->create_writer({topic, node, detail::type_info(type), detail::event_qos(), {}}).or_throw();
  };
  options.on_lost = [topic](const Error& why) { detail::say_event_lost(topic, why); };
  return std::make_shared<detail::ServiceEvents>(std::move(options));
}

std::shared_ptr<transport::Reader> Node::reader_at(const std::string& name, const message::Type& type, const QoS& qos) {
  transport::Participant::ReaderOptions options;
  options.topic = name;
  options.node = core_->names.in_graph();
  options.type = detail::type_info(type);
  options.qos = qos;
  options.validate = message::Validation::check;
  const os::HotRoom room;
  options.validate_context = os::make_hot_shared<message::Validation>(type);
  return core_->participant->create_reader(options).or_throw();
}

std::shared_ptr<detail::PublisherCore> Node::make_publisher(const std::string& topic, const message::Type& type,
                                                            const QoS& qos, const PublisherOptions& options) {
  return publisher_at(resolve_topic_name(topic), type, qos, options, detail::PublisherUse::kTopic, nullptr);
}

std::shared_ptr<transport::Reader> Node::make_reader(const std::string& topic, const message::Type& type,
                                                     const QoS& qos) {
  return reader_at(resolve_topic_name(topic), type, qos);
}

detail::ServerCore Node::make_server(const std::string& service, const message::Type& request,
                                     const message::Type& response, const PublisherOptions& options) {
  detail::ServerCore core;
  core.name = resolve_service_name(service);
  core.requests = reader_at(detail::request_topic(core.name), request, detail::request_qos());
  core.responses =
      publisher_at(detail::response_topic(core.name), response, detail::response_qos(kHeldResponses), options,
                   detail::PublisherUse::kResponses, events_of(core.name, request, response, true));
  return core;
}

std::shared_ptr<detail::ClientCore> Node::make_client(const std::string& service, const message::Type& request,
                                                      const message::Type& response, const PublisherOptions& options,
                                                      std::uint32_t held) {
  std::string name = resolve_service_name(service);
  // The reader first: a server must not see a client that cannot get responses.
  auto responses = reader_at(detail::response_topic(name), response, detail::response_qos(held));
  auto requests = publisher_at(detail::request_topic(name), request, detail::request_qos(), options,
                               detail::PublisherUse::kRequests, events_of(name, request, response, false));
  return std::make_shared<detail::ClientCore>(participant(), std::move(name), std::move(requests),
                                              std::move(responses));
}

std::shared_ptr<detail::Executable> Node::add(const std::shared_ptr<detail::Executable>& executable) {
  return core_->add(executable);
}

std::vector<transport::EndpointInfo> Node::endpoints() const { return core_->participant->endpoints(); }
std::vector<std::pair<std::string, std::int32_t>> Node::nodes() const {
  std::vector<std::pair<std::string, std::int32_t>> result;
  for (transport::NodeInfo& node : core_->participant->nodes()) result.emplace_back(std::move(node.name), node.pid);
  return result;
}

std::map<std::string, std::vector<std::string>> Node::topics() const {
  std::map<std::string, std::vector<std::string>> result;
  for (const transport::EndpointInfo& endpoint : endpoints()) {
    std::vector<std::string>& types = result[endpoint.topic];
    if (std::find(types.begin(), types.end(), endpoint.type_name) == types.end()) types.push_back(endpoint.type_name);
  }
  return result;
}

namespace {

std::size_t count(const std::vector<transport::EndpointInfo>& endpoints, const std::string& topic, bool writers) {
  return static_cast<std::size_t>(std::count_if(endpoints.begin(), endpoints.end(), [&](const auto& endpoint) {
    return endpoint.is_writer == writers && endpoint.topic == topic;
  }));
}

}  // namespace

std::size_t Node::count_publishers(const std::string& topic) const {
  return count(endpoints(), resolve_topic_name(topic), true);
}
std::size_t Node::count_subscriptions(const std::string& topic) const {
  return count(endpoints(), resolve_topic_name(topic), false);
}

bool Node::wait_for(const std::function<bool()>& condition, os::Nanoseconds timeout) const {
  for (const detail::EndOfWait end(detail::deadline_after(timeout));;) {
    const std::uint64_t seen = core_->participant->graph_version();
    if (condition()) return true;
    const auto pause = end.next();
    if (!pause) return false;
    (void)core_->participant->wait_graph_change(seen, *pause);
  }
}

void spin(Node& node) {
  Executor executor;
  executor.add(node);
  executor.spin();
}

std::size_t spin_some(Node& node) {
  Executor executor;
  executor.add(node);
  return executor.spin_some();
}

transport::Participant::MemoryAccount Node::memory_account() const { return core_->participant->memory_account(); }
const std::shared_ptr<CallbackGroup>& Node::default_group() const noexcept { return core_->default_group; }
const std::shared_ptr<transport::Participant>& Node::participant() const noexcept { return core_->participant; }

Timer Node::create_timer(os::Nanoseconds period, std::function<void()> callback, std::shared_ptr<Clock> clock,
                         std::shared_ptr<CallbackGroup> group) {
  if (period <= std::chrono::nanoseconds::zero())
    throw Exception({Errc::invalid_argument, "timer of node '" + name() + "': the period must be positive, got " +
                                                 std::to_string(period.count()) + " ns"});
  if (!callback) throw Exception({Errc::invalid_argument, "timer of node '" + name() + "': the callback is empty"});
  detail::MadeTimer made = detail::make_timer(group ? std::move(group) : default_group(), period, std::move(callback),
                                              clock ? std::move(clock) : steady_clock());
  return Timer(add(made.executable), std::move(made.control));
}

void Executor::add(Node& node) { add_core(node.core_); }
void Executor::remove(Node& node) { remove_core(node.core_); }

}  // namespace baton
