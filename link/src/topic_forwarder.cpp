// SPDX-License-Identifier: Apache-2.0
#include "topic_forwarder.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "baton/memory/window.hpp"
#include "baton/os/process.hpp"

namespace baton::link {
namespace {

using Level = LinkLog::Level;

constexpr std::size_t kMostComplaints = 1000;
/// Publishers that a step makes and withdraws, and bytes that it announces. Every process of this host is notified of each publisher, and a slow
/// process must not be taken for a stopped one.
constexpr std::size_t kMostMadeInStep = 16;
constexpr std::size_t kMostWithdrawnInStep = 500;
constexpr std::size_t kMostAnnouncedInStep = std::size_t{16} << 10;
/// How often the memory of the hosts' messages is counted.
constexpr std::chrono::seconds kAccountEvery{1};
/// Draining publishers of one process and topic. Messages under way of older ones are lost.
constexpr std::size_t kMostDraining = 64;
/// How long a subscription of the link stays deeper than the other hosts want, so that a subscription that comes and goes causes no work.
constexpr std::chrono::seconds kShallower{3};
/// Signs of life of publishers with manual liveliness are looked for 20 times in their lease, within these limits.
constexpr std::chrono::milliseconds kSoonestSign{1}, kLatestSign{200};

std::size_t window_bytes() {
  const Result<memory::Window*> window = memory::Window::instance();
  return window ? (*window)->size() : SIZE_MAX;  // then no publisher can be made
}

}  // namespace

TopicForwarder::TopicForwarder(std::shared_ptr<transport::Participant> participant, std::string host_name,
                               std::shared_ptr<LinkLog> log, std::function<void()> changed)
    : participant_(std::move(participant)),
      log_(std::move(log)),
      changed_(std::move(changed)),
      types_(participant_, log_),
      budgets_(std::make_shared<HostBudgets>(os::machine_memory_bytes(), window_bytes())) {
  own_.host_name = std::move(host_name);
}

TopicForwarder::~TopicForwarder() {
  if (known_hosts_) known_hosts_->end();
  advertisement_flows_.clear();
  out_.clear();
  in_.clear();
  network_.reset();
  proxies_.clear();
}

Result<void> TopicForwarder::open(HostNetworkOptions options, std::map<std::string, TopicPriority> priorities) {
  priorities_ = std::move(priorities);
  Result<std::array<std::uint8_t, 16>> id = os::random_id();
  if (!id) return id.error();
  options.host = *id;
  options.host_name = own_.host_name;
  known_hosts_ = std::make_shared<Hosts>(own_.host_name, options.absence.time, log_, changed_);
  // An unchanged advertisement is sent once: that of the first connection must not come before its receiver.
  Result<std::unique_ptr<HostNetwork>> network =
      make_host_network(options, known_hosts_, {{kAdvertisementChannel, known_hosts_}});
  if (!network) return network.error();
  network_ = std::move(*network);
  own_.host = network_->id();
  return {};
}

std::uint16_t TopicForwarder::port() const { return network_->port(); }

/// Marks the number of a connection that stands in place of a process id.
constexpr std::uint64_t kNotVisible = std::uint64_t{1} << 63;

/// Whether an endpoint stands for one of another network: "node@host", the link's own way to name them. What has come to this host, by a link or
/// by `baton bridge --zenoh`, is not sent on; so no two ways close a loop.
bool is_far(const std::string& node) { return node.find('@') != std::string::npos; }

/// The endpoints of the domain, without those that stand for others.
std::vector<HostEndpoint> TopicForwarder::local_endpoints() {
  std::set<Gid> own;
  for (const auto& [key, out] : out_) own.merge(out.source->readers());
  for (const auto& [gid, proxy] : proxies_) own.insert(gid);
  std::vector<HostEndpoint> endpoints;
  const std::vector<transport::EndpointInfo> all = participant_->endpoints();
  connections_.clear();
  auto writers = std::make_shared<std::set<Gid>>();
  for (const transport::EndpointInfo& info : all) {
    connections_[info.gid] = info.connection;
    if (info.is_writer) writers->insert(info.gid);
  }
  writers_ = std::move(writers);
  for (const transport::EndpointInfo& info : all) {
    if (own.count(info.gid) != 0 || is_far(info.node)) continue;
    HostEndpoint endpoint;
    // A process whose id is not visible is known only by its connection.
    endpoint.process = info.local_pid != 0 ? static_cast<std::uint64_t>(info.local_pid) : info.connection | kNotVisible;
    endpoint.gid = info.gid;
    endpoint.is_writer = info.is_writer;
    endpoint.topic = info.topic;
    endpoint.type_name = info.type_name;
    endpoint.node = info.node;
    endpoint.hash = info.type_hash;
    endpoint.ros_hash = info.ros_type_hash;
    endpoint.qos = info.qos;
    endpoints.push_back(std::move(endpoint));
  }
  return endpoints;
}

bool TopicForwarder::add_draining(std::vector<HostEndpoint>& here) {
  const auto now = std::chrono::steady_clock::now();
  std::map<Gid, LocalPublisher> publishers;
  for (const HostEndpoint& endpoint : here) {
    if (endpoint.is_writer) publishers.emplace(endpoint.gid, LocalPublisher{endpoint, connections_.at(endpoint.gid)});
  }
  for (auto& [gid, publisher] : publishers_) {
    if (publishers.count(gid) == 0) draining_.emplace(gid, DrainingPublisher{std::move(publisher), now});
  }
  publishers_ = std::move(publishers);
  if (draining_.empty()) return false;
  // For each publisher alone: messages of other publishers of the topic do not keep it.
  std::set<Gid> under_way;
  for (const auto& [key, out] : out_) {
    if (out.flow->ended()) continue;
    const bool has_some = std::any_of(draining_.begin(), draining_.end(),
                                      [&of = out.publishers](const auto& each) { return of.count(each.first) != 0; });
    if (has_some) under_way.merge(out.source->under_way());
  }
  std::map<std::pair<std::uint64_t, std::string>, std::vector<const DrainingPublisher*>> of_process;  // and topic
  for (auto at = draining_.begin(); at != draining_.end();) {
    // Its last messages may take as long as their host is remembered: then its flow ends, and they are under way no longer.
    const bool stays = publishers_.count(at->first) == 0 && under_way.count(at->first) != 0;
    if (stays)
      of_process[{at->second.publisher.connection, at->second.publisher.endpoint.topic}].push_back(&at->second);
    at = stays ? std::next(at) : draining_.erase(at);
  }
  for (auto& [process, draining] : of_process) {
    std::sort(draining.begin(), draining.end(),
              [](const DrainingPublisher* a, const DrainingPublisher* b) { return a->since > b->since; });
    while (draining.size() > kMostDraining) {
      const Gid oldest = draining.back()->publisher.endpoint.gid;
      draining_.erase(oldest);
      draining.pop_back();
    }
  }
  for (const auto& [gid, draining] : draining_) here.push_back(draining.publisher.endpoint);
  return !draining_.empty();
}

/// Null: not known yet.
std::shared_ptr<const LocalType> TopicForwarder::type_of(const Gid& endpoint, const std::string& name,
                                                         const TypeHash& hash) {
  const auto connection = connections_.find(endpoint);
  return types_.of(endpoint, connection == connections_.end() ? 0 : connection->second, name, hash);
}

void TopicForwarder::complain(std::set<std::string> complaints) {
  if (complaints.size() > kMostComplaints)
    complaints.erase(std::next(complaints.begin(), kMostComplaints), complaints.end());
  for (const std::string& complaint : complaints) {  // only this thread writes complaints_
    if (complaints_.count(complaint) == 0) log_->write(About::kMatches, Level::kWarning, Errc::unsupported, complaint);
  }
  const os::Lock lock(mutex_);
  complaints_ = complaints;
}

/// Makes the proxy of a publisher of another host.
Result<std::shared_ptr<transport::Writer>> TopicForwarder::make_proxy(const Gid& gid, const PlannedProxy& wanted,
                                                                      transport::TypeInfo type) {
  transport::Participant::WriterOptions options;
  options.topic = wanted.publisher.topic;
  options.node = wanted.publisher.node + "@" + wanted.host_name;
  options.qos = wanted.publisher.qos;
  options.gid = gid;
  options.relayed = true;
  options.type = std::move(type);
  options.type.ros_hash = wanted.publisher.ros_hash;
  return participant_->create_writer(options);
}

bool TopicForwarder::receive(const ForwardingPlan& plan) {
  bool again = false;
  std::size_t withdrawn = 0, lingering = 0, made = 0, announced_bytes = 0;
  const os::Lock lock(mutex_);
  for (auto at = proxies_.begin(); at != proxies_.end();) {
    const auto wanted = plan.receiving.find(at->first);
    PublisherProxy& proxy = at->second;
    if (wanted != plan.receiving.end() && channel_of(wanted->second.publisher) == proxy.channel) {
      proxy.joined = proxy.joined && plan.channels.count(proxy.channel) != 0 && proxy.host == wanted->second.host;
      proxy.host = wanted->second.host;
      proxy.host_name = wanted->second.host_name;
      ++at;
      continue;
    }
    const auto channel = in_.find(proxy.channel);
    if (wanted == plan.receiving.end() && channel != in_.end() && channel->second.channel->has_pending(at->first) &&
        ++lingering <= kMostLingering) {
      again = true;
      ++at;
      continue;
    }
    if (channel != in_.end()) channel->second.channel->remove(at->first);
    if (wanted == plan.receiving.end() && ++withdrawn > kMostWithdrawnInStep) {
      again = true;
      proxy.joined = false;
      ++at;
      continue;
    }
    at = proxies_.erase(at);
  }
  for (auto at = in_.begin(); at != in_.end();) {
    if (plan.channels.count(at->first) != 0 || (at->second.channel && at->second.channel->has_pending())) {
      ++at;
      continue;
    }
    at->second.open.reset();
    if (at->second.channel) {
      received_before_ += at->second.channel->delivered();
      refused_before_ += at->second.channel->refused();
    }
    at = in_.erase(at);
  }

  for (const Gid& gid : plan.order) {
    const PlannedProxy& wanted = plan.receiving.at(gid);
    const std::string channel = channel_of(wanted.publisher);
    const std::string& topic = wanted.publisher.topic;
    std::shared_ptr<const LocalType> type;
    if (wanted.fits) {
      type = type_of(wanted.subscription, wanted.publisher.type_name, wanted.publisher.hash);
      if (!type) continue;
      InboundTopic& in = in_[channel];
      if (!in.channel) {
        in.name = numbered(channel, ++last_channel_);
        in.channel =
            std::make_shared<InboundChannel>(topic, type, log_, budgets_, is_request(topic) ? answerable_ : nullptr);
      }
      if (!in.open) {
        Result<std::shared_ptr<void>> open = network_->open_receiver(in.name, in.channel);
        if (!open) {
          log_->write(About::kPublishers, Level::kError, open.error().code, open.error().message);
          again = true;
          continue;
        }
        in.open = std::move(*open);
      }
    }
    auto proxy = proxies_.find(gid);
    if (proxy == proxies_.end()) {
      if (!type && !wanted.type) continue;  // the other host advertises its type soon
      announced_bytes += announced_bytes_of(wanted);
      if (++made > kMostMadeInStep || announced_bytes > kMostAnnouncedInStep) {
        again = true;
        continue;
      }
      Result<std::shared_ptr<transport::Writer>> writer = make_proxy(gid, wanted, type ? type->info : *wanted.type);
      if (!writer) {
        log_->write(About::kPublishers, Level::kError, writer.error().code, writer.error().message);
        again = true;
        continue;
      }
      proxy = proxies_.emplace(gid, PublisherProxy{wanted.host, std::move(*writer), channel, wanted.host_name, false})
                  .first;
    }
    if (!wanted.fits || proxy->second.joined) continue;
    in_[channel].channel->add(wanted.host, proxy->second.writer,
                              wanted.publisher.qos.durability == Durability::kVolatile);
    proxy->second.joined = true;
  }
  const auto left_out = std::make_shared<const std::set<std::pair<Gid, Gid>>>(plan.left_out);
  for (const auto& [channel, in] : in_)
    if (in.channel) in.channel->set_others(left_out, plan.advertised);
  return again;
}

/// Counts the memory and addresses of each host's messages. Proxies of a host with more than its share give idle memory back.
void TopicForwarder::account() {
  const auto now = std::chrono::steady_clock::now();
  if (now - accounted_ < kAccountEvery) return;
  accounted_ = now;
  const std::set<Gid> hosts = known_hosts_->all();
  budgets_->keep(hosts);
  for (auto at = copied_.begin(); at != copied_.end();)
    at = hosts.count(at->first) != 0 ? std::next(at) : copied_.erase(at);
  std::map<Gid, HostBudgets::HostUsage> publishers;
  for (const auto& [gid, proxy] : proxies_) {
    const memory::Pool::Account has = proxy.writer->memory_account();
    publishers.emplace(gid, HostBudgets::HostUsage{proxy.host, has.backed_bytes, has.address_bytes});
  }
  const std::set<Gid> over = budgets_->account(publishers);
  for (const auto& [gid, proxy] : proxies_)
    if (over.count(proxy.host) != 0) proxy.writer->trim();
}

/// Null: it cannot be made, which was reported.
std::shared_ptr<transport::Reader> TopicForwarder::subscribe(const LocalType& type, const PlannedFlow& sending,
                                                             bool replaces) {
  transport::Participant::ReaderOptions options;
  options.topic = sending.topic;
  options.node = "link";
  options.type = type.info;
  options.qos = sending.request;
  options.not_relayed = true;
  options.connects_at_once = replaces;
  Result<std::shared_ptr<transport::Reader>> reader = participant_->create_reader(options);
  if (reader) return *reader;
  log_->write(About::kSubscriptions, Level::kError, reader.error().code, reader.error().message);
  return nullptr;
}

/// Replaces the subscription by one with the quality of service that is wanted now. The messages of the old one are sent first.
void TopicForwarder::resubscribe(OutboundTopic& out, const PlannedFlow& sending) {
  const auto now = std::chrono::steady_clock::now();
  const bool deeper = sending.request.depth > out.request.depth || sending.request.history != out.request.history;
  // Not for a transient_local topic: the new subscription would get the whole history once more.
  const bool shallower =
      !deeper && sending.request.depth < out.request.depth && out.request.durability == Durability::kVolatile;
  if (!shallower) out.right_since = now;
  if (!deeper && !(shallower && now - out.right_since >= kShallower)) return;
  if (out.source->is_replacing()) {  // two readers are still read; at the next step
    out.flow->wake();
    return;
  }
  const std::shared_ptr<transport::Reader> reader = subscribe(*out.type, sending, true);
  if (!reader) return;
  if (const Result<void> replaced = out.source->replace(reader); !replaced) {
    log_->write(About::kSubscriptions, Level::kError, replaced.error().code, replaced.error().message);
    return;
  }
  out.reader = reader;
  out.request = sending.request;
  out.right_since = now;
  out.flow->wake();
}

bool TopicForwarder::open_out(const std::pair<Gid, std::string>& key, const PlannedFlow& sending) {
  std::shared_ptr<const LocalType> type;
  for (const transport::EndpointInfo& info : participant_->endpoints()) {
    if (sending.publishers.count(info.gid) != 0) type = type_of(info.gid, info.type_name, info.type_hash);
    if (type) break;
  }
  if (!type) return true;
  const std::shared_ptr<transport::Reader> reader = subscribe(*type, sending);
  if (!reader) return false;
  OutboundTopic out;
  out.topic = sending.topic;
  out.type = type;
  out.request = sending.request;
  out.right_since = std::chrono::steady_clock::now();
  out.lease = sending.lease;
  out.publishers = sending.publishers;
  out.clients = sending.clients;
  out.reader = reader;
  CopiedBytes& copied = copied_[key.first];
  if (!copied) copied = std::make_shared<std::atomic<std::size_t>>(0);
  out.source = std::make_shared<TopicSource>(sending.topic, reader, kUnderWay, copied, log_);
  out.source->set_publishers(sending.publishers, writers_);
  if (is_response(sending.topic)) out.source->set_clients(sending.clients);
  const auto priority = priorities_.find(sending.topic);
  out.flow = network_->open_flow(key.first, key.second, out.source,
                                 priority == priorities_.end() ? TopicPriority::kBySize : priority->second);
  if (!out.flow) return false;
  out_.emplace(key, std::move(out));
  return true;
}

bool TopicForwarder::send(const ForwardingPlan& plan) {
  bool again = false;
  const os::Lock lock(mutex_);
  for (auto at = out_.begin(); at != out_.end();) {
    OutboundTopic& out = at->second;
    const auto wanted = plan.sending.find(at->first);
    if (!out.flow->ended() && wanted != plan.sending.end()) {
      resubscribe(out, wanted->second);
      out.lease = wanted->second.lease;
      out.publishers = wanted->second.publishers;
      // Two readers: the end of a wait for a publisher wakes nobody else.
      if (out.source->set_publishers(out.publishers, writers_) || out.source->is_replacing()) out.flow->wake();
      again = again || out.source->waits();
      if (wanted->second.clients != out.clients) {
        out.clients = wanted->second.clients;
        out.source->set_clients(out.clients);
      }
      ++at;
      continue;
    }
    sent_before_ += out.flow->sent();
    at = out_.erase(at);
  }
  for (const auto& [key, sending] : plan.sending) {
    if (out_.count(key) == 0) again = !open_out(key, sending) || again;
  }
  Answerable::Clients answerable;
  for (const auto& [key, out] : out_) {
    if (out.reader->matched() == 0) continue;
    for (const Gid& client : out.clients) answerable.emplace(key.first, client);
  }
  answerable_->set(std::move(answerable));
  for (const auto& [channel, in] : in_) {
    if (in.channel) again = in.channel->deliver_pending() || again;
  }
  return again;
}

void TopicForwarder::advertise(const std::vector<HostEndpoint>& here) {
  own_.endpoints.clear();
  own_.types.clear();
  own_.wants.clear();
  const std::set<Gid> hosts = known_hosts_->all();
  const bool alone = hosts.empty();  // then no process is asked for its types
  std::vector<HostEndpoint> forwarded;
  for (const HostEndpoint& endpoint : here)
    if (is_forwarded(endpoint.topic) || !endpoint.is_writer) forwarded.push_back(endpoint);
  own_.endpoints = advertisable(forwarded, [&](const HostEndpoint& endpoint) {
    const auto found = connections_.find(endpoint.gid);
    return found == connections_.end() ? 0 : found->second;
  });
  bool too_much = own_.endpoints.size() < forwarded.size();
  std::set<std::pair<std::string, TypeHash>> known;
  std::size_t type_bytes = 0;
  for (const HostEndpoint& endpoint : own_.endpoints) {
    if (alone || !endpoint.is_writer || known.count({endpoint.type_name, endpoint.hash}) != 0) continue;
    if (const std::shared_ptr<const LocalType> type = type_of(endpoint.gid, endpoint.type_name, endpoint.hash)) {
      known.insert({endpoint.type_name, endpoint.hash});
      type_bytes += type->info.name.size() + type->info.definition.size();
      if (own_.types.size() >= kMostTypes || type_bytes > kMostAdvertisedTypeBytes) {
        too_much = true;
        break;
      }
      own_.types.emplace_back(type, &type->info);
    }
  }
  std::map<Gid, std::set<std::string>> wanted;
  std::set<std::string> wants;
  for (const auto& [gid, proxy] : proxies_) {
    const auto in = in_.find(proxy.channel);
    if (in == in_.end() || !in->second.open || proxy.writer->matched() == 0) continue;
    wanted[proxy.host].insert(in->second.name);
    wants.insert(in->second.name);
  }
  own_.wants = advertisable(wanted);
  too_much = too_much || own_.wants.size() < wants.size();
  if (too_much) {
    log_->write(About::kAdvertisements, Level::kError, Errc::limit_reached,
                "this host has too many endpoints, types or wanted topics to tell others all; its processes, and the "
                "other hosts, take turns");
  }
  for (auto at = advertisement_flows_.begin(); at != advertisement_flows_.end();)
    at = hosts.count(at->first) != 0 ? std::next(at) : advertisement_flows_.erase(at);
  std::vector<std::byte> advertisement = encode(own_);
  if (advertisement.size() > kMaxAdvertisementBytes) {
    log_->write(About::kAdvertisements, Level::kError, Errc::limit_reached,
                "this host has too many endpoints to tell others");
    return;
  }
  const bool news = advertisement != advertised_;
  std::shared_ptr<const OutgoingChunk> chunk;
  const auto advertise_to = [&](AdvertisementFlow& out) {
    if (!chunk) chunk = std::make_shared<AdvertisementChunk>(own_.host, ++advertisement_sequence_, advertisement);
    out.source->set(chunk);
    if (out.flow) out.flow->wake();
  };
  for (const Gid& host : hosts) {
    AdvertisementFlow& out = advertisement_flows_[host];
    if (out.flow && out.flow->ended()) out = {};  // it has left and joined again
    if (out.flow) {
      if (news) advertise_to(out);
      continue;
    }
    out.source = std::make_shared<AdvertisementSource>();
    advertise_to(out);
    // Urgent, whatever its size is: the messages of new publishers wait for it.
    out.flow = network_->open_flow(host, kAdvertisementChannel, out.source, TopicPriority::kHigh);
  }
  advertised_ = std::move(advertisement);
}

void TopicForwarder::drain(std::chrono::nanoseconds most) const {
  const auto deadline = std::chrono::steady_clock::now() + most;
  for (;;) {
    std::set<Gid> connected;
    for (const HostState& host : network_->hosts()) {
      if (host.connected) connected.insert(host.id);
    }
    {
      const os::Lock lock(mutex_);
      const bool under_way = std::any_of(out_.begin(), out_.end(), [&](const auto& out) {
        return connected.count(out.first.first) != 0 && !out.second.flow->ended() && !out.second.flow->idle();
      });
      if (!under_way || std::chrono::steady_clock::now() >= deadline) return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

bool TopicForwarder::step() {
  types_.read_answers();
  std::vector<HostEndpoint> here = local_endpoints();
  bool again = add_draining(here);
  account();
  const ForwardingPlan now = make_plan(here, known_hosts_->advertisements(), owners_);
  owners_ = now.owners;
  complain(now.complaints);
  again = receive(now) || again;
  again = send(now) || again;
  advertise(here);
  return again || types_.is_pressing();
}

std::chrono::nanoseconds TopicForwarder::send_signs() {
  std::chrono::nanoseconds soon = std::chrono::hours(1);
  for (const auto& [key, out] : out_) {  // only this thread changes out_
    if (out.lease == kInfinite) continue;
    soon = std::min(soon, std::clamp<std::chrono::nanoseconds>(out.lease / 20, kSoonestSign, kLatestSign));
    if (out.source->look_for_signs()) out.flow->wake();
  }
  return soon;
}

void TopicForwarder::fill_topics(LinkState& state) const {
  std::map<Gid, std::uint64_t> most;  // dropped messages of the topic whose reason is in `dropped_why`, by host
  for (const HostState& host : state.hosts) most[host.id] = host.dropped;
  for (const auto& [key, out] : out_) {
    const Gid& id = key.first;
    const auto host =
        std::find_if(state.hosts.begin(), state.hosts.end(), [&](const HostState& each) { return each.id == id; });
    TopicSource::Lost lost = out.source->lost();
    TopicState& topic = state.topics.emplace_back();
    topic.topic = out.topic;
    topic.type_name = out.type->info.name;
    topic.sending = true;
    topic.messages = out.source->traffic().messages();
    topic.bytes = out.source->traffic().bytes();
    topic.dropped = lost.messages;
    topic.dropped_why = std::move(lost.why);
    if (host == state.hosts.end()) continue;  // it has just gone
    topic.hosts = {host->name};
    host->dropped += topic.dropped;
    if (topic.dropped <= most[id]) continue;
    most[id] = topic.dropped;
    host->dropped_why = topic.dropped_why;
  }
  for (const auto& [channel, in] : in_) {
    if (!in.open) continue;
    TopicState& topic = state.topics.emplace_back();
    topic.topic = in.channel->topic();
    topic.type_name = in.channel->type_name();
    std::set<std::string> hosts;
    for (const auto& [gid, proxy] : proxies_)
      if (proxy.channel == channel) hosts.insert(proxy.host_name);
    topic.hosts.assign(hosts.begin(), hosts.end());
    topic.messages = in.channel->traffic().messages();
    topic.bytes = in.channel->traffic().bytes();
    topic.dropped = in.channel->traffic().dropped();
    topic.dropped_why = in.channel->traffic().why();
  }
}

void TopicForwarder::fill(LinkState& state) const {
  state.id = own_.host;
  state.hosts = network_->hosts();
  state.peers = network_->peers();
  state.refused_hosts = network_->refused();
  for (HostState& host : state.hosts) {
    HostBudgets::HostLosses losses = budgets_->losses(host.id);
    host.dropped = losses.messages;
    host.dropped_why = std::move(losses.why);
  }
  const os::Lock lock(mutex_);
  state.sent = sent_before_;
  for (const auto& [key, out] : out_) state.sent += out.flow->sent();
  state.received = received_before_;
  state.refused = refused_before_;
  for (const auto& [name, in] : in_) {
    state.received += in.channel->delivered();
    state.refused += in.channel->refused();
  }
  fill_topics(state);
  state.notes.assign(complaints_.begin(), complaints_.end());
}

}  // namespace baton::link
