// SPDX-License-Identifier: Apache-2.0
#include "carrier.hpp"

#include <algorithm>
#include <cstring>

#include "baton/os/process.hpp"

namespace baton::link {
namespace {

using Level = Saying::Level;

constexpr std::chrono::milliseconds kAnswer{1000};
constexpr std::chrono::seconds kAskAgain{10};
constexpr std::size_t kMostSilent = 1000;
/// How long a subscription of the link waits for all hosts that want its channel: a host that has just died still counts.
constexpr std::chrono::milliseconds kMatch{1000};
/// Samples that may be under way, beyond a history that is kept.
constexpr std::uint32_t kUnderWay = 8;
constexpr std::uint8_t kWordsTag[8] = {'b', 't', 'n', 'w', 'o', 'r', 'd', '1'};

/// This host's words, as a chunk.
struct WordsChunk final : Outgoing {
  WordsChunk(const Gid& host, std::uint64_t sequence, const std::vector<std::byte>& words)
      : memory(new std::byte[sizeof(memory::ChunkHeader) + words.size() + 3]) {
    memory::ChunkHeader header{};
    header.magic = memory::kChunkMagic;
    header.version = memory::kChunkVersion;
    header.byte_order = memory::kNativeByteOrder;
    header.size_bytes = static_cast<std::uint32_t>(words.size());
    header.sequence = sequence;
    std::memcpy(header.publisher_id, host.data(), host.size());
    std::memcpy(header.type_hash, kWordsTag, sizeof kWordsTag);
    std::memcpy(memory.get(), &header, sizeof header);
    std::memcpy(memory.get() + sizeof header, words.data(), words.size());
    bytes = memory.get();
    size_bytes = sizeof header + words.size();
    publisher = host;
  }
  const std::unique_ptr<std::byte[]> memory;
};

struct ArrivingWords final : Arriving {
  explicit ArrivingWords(std::size_t size) : bytes(size) {
    message = bytes.data();
    size_bytes = size;
  }
  std::vector<std::byte> bytes;
};

}  // namespace

/// What the other hosts say.
class Carrier::Listener final : public Receiver {
 public:
  Listener(std::shared_ptr<Saying> saying, std::function<void()> changed)
      : saying_(std::move(saying)), changed_(std::move(changed)) {}
  std::unique_ptr<Arriving> begin(const memory::ChunkHeader& header, std::size_t arriving_bytes) override {
    const Result<ArrivedHeader> arrived = read_header(header, arriving_bytes);
    if (!arrived || arriving_bytes > kMaxWordsBytes ||
        std::memcmp(header.type_hash, kWordsTag, sizeof kWordsTag) != 0) {
      saying_->say_rarely("words", Level::kError, Errc::protocol_violation, "another host says words that are none");
      return nullptr;
    }
    return std::make_unique<ArrivingWords>(arrived->header.size_bytes);
  }
  void deliver(std::unique_ptr<Arriving> arriving) override {
    Result<Words> words = decode(arriving->message, arriving->size_bytes);
    if (!words || std::memcmp(words->host.data(), arriving->header.publisher_id, words->host.size()) != 0) {
      saying_->say_rarely("words", Level::kError, Errc::protocol_violation, "another host says words that are none");
      return;
    }
    bool first = false;
    const std::string name = words->host_name;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const Gid host = words->host;
      if (hosts_.size() >= kMostHosts && hosts_.count(host) == 0) return;
      first = hosts_.insert_or_assign(host, std::move(*words)).second;
    }
    if (first) saying_->say(Level::kInfo, Errc{}, "host " + name + " is connected");
    changed_();
  }
  void gone(const Gid& host) override {
    std::string name;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const auto found = hosts_.find(host);
      if (found == hosts_.end()) return;
      name = found->second.host_name;
      hosts_.erase(found);
    }
    saying_->say(Level::kWarning, Errc{}, "host " + name + " has left, or is not reached any more");
    changed_();
  }
  std::vector<Words> hosts() const {
    std::vector<Words> out;
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [id, words] : hosts_) out.push_back(words);
    return out;
  }

 private:
  static constexpr std::size_t kMostHosts = 256;
  const std::shared_ptr<Saying> saying_;
  const std::function<void()> changed_;
  mutable std::mutex mutex_;
  std::map<Gid, Words> hosts_;
};

Carrier::Carrier(std::shared_ptr<transport::Participant> participant, std::string host_name,
                 std::shared_ptr<Saying> saying, std::function<void()> changed)
    : participant_(std::move(participant)), saying_(std::move(saying)), changed_(std::move(changed)) {
  own_.host_name = std::move(host_name);
}

Carrier::~Carrier() {
  outbound_.reset();
  in_.clear();
  out_.clear();
  words_in_.reset();
  words_out_.reset();
  engine_.reset();
  proxies_.clear();
}

Result<void> Carrier::open(const EngineOptions& options) {
  Result<std::array<std::uint8_t, 16>> id = os::random_id();
  if (!id) return id.error();
  own_.host = *id;
  Result<std::unique_ptr<Engine>> engine = make_engine(options);
  if (!engine) return engine.error();
  engine_ = std::move(*engine);
  engine_->on_change(changed_);
  outbound_ = std::make_unique<Outbound>(saying_);
  if (Result<void> started = outbound_->start(); !started) return started;
  listener_ = std::make_shared<Listener>(saying_, changed_);
  ChannelQos qos;
  qos.transient_local = true;
  Result<std::unique_ptr<Outlet>> out = engine_->open_outlet(kWordsChannel, qos);
  if (!out) return out.error();
  words_out_ = std::move(*out);
  Result<std::shared_ptr<void>> in = engine_->open_receiver(kWordsChannel, qos, listener_);
  if (!in) return in.error();
  words_in_ = std::move(*in);
  return {};
}

/// The endpoints of the domain but for those that the link has made itself.
std::vector<End> Carrier::ends_here() const {
  std::set<Gid> own;
  for (const auto& [channel, out] : out_) {
    if (out.reader) own.insert(out.reader->gid());
  }
  for (const auto& [gid, proxy] : proxies_) own.insert(gid);
  std::vector<End> ends;
  for (const transport::EndpointInfo& info : participant_->endpoints()) {
    if (own.count(info.gid) != 0) continue;
    End end;
    end.gid = info.gid;
    end.is_writer = info.is_writer;
    end.topic = info.topic;
    end.type_name = info.type_name;
    end.node = info.node;
    end.hash = info.type_hash;
    end.qos = info.qos;
    ends.push_back(std::move(end));
  }
  return ends;
}

/// Null if no process says it, or if what it says is no definition.
std::shared_ptr<const CarriedType> Carrier::type_of(const Gid& endpoint, const std::string& name,
                                                    const TypeHash& hash) {
  const auto known = types_.find({name, hash});
  if (known != types_.end()) return known->second;
  // A process that is stopped does not answer, and must not hold the others up.
  const auto now = std::chrono::steady_clock::now();
  const auto silent = silent_.find(endpoint);
  if (silent != silent_.end() && now - silent->second < kAskAgain) return nullptr;
  Result<transport::TypeInfo> info = participant_->type_of(endpoint, kAnswer);
  if (!info) {
    if (silent_.size() >= kMostSilent) silent_.clear();
    silent_[endpoint] = now;
    saying_->say_rarely("type " + name, Level::kWarning, info.error().code, info.error().message + "; trying again");
    return nullptr;
  }
  Result<message::Definition> definition = message::Definition::parse(info->definition, hash);
  if (!definition || definition->type().size != info->skeleton_bytes) {
    saying_->say_rarely("type " + name, Level::kError, Errc::malformed_message,
                        "messages of " + name + " are not carried: its process does not say how it is defined" +
                            (definition ? std::string() : " (" + definition.error().message + ")"));
    return nullptr;
  }
  info->fixed_size = definition->type().fixed;
  auto type = std::make_shared<const CarriedType>(CarriedType{std::move(*info), std::move(*definition)});
  types_[{name, hash}] = type;
  return type;
}

void Carrier::complain(const std::set<std::string>& complaints) {
  for (const std::string& complaint : complaints) {
    if (complaints_.count(complaint) == 0) saying_->say(Level::kWarning, Errc::unsupported, complaint);
  }
  complaints_ = complaints;
}

/// The publisher that stands for one of another host.
Result<std::shared_ptr<transport::Writer>> Carrier::make_proxy(const Gid& gid, const Receiving& wanted,
                                                               transport::TypeInfo type) {
  transport::Participant::WriterOptions options;
  options.topic = wanted.publisher.topic;
  options.node = wanted.publisher.node + "@" + wanted.host_name;
  options.qos = wanted.publisher.qos;
  options.gid = gid;
  options.relayed = true;
  options.type = std::move(type);
  return participant_->create_writer(options);
}

bool Carrier::receive(const Plan& plan) {
  bool again = false;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto at = proxies_.begin(); at != proxies_.end();) {
    // One whose channel closes is made anew: what it did not get meanwhile is not lost to later subscriptions.
    if (plan.receiving.count(at->first) != 0 && (!at->second.joined || plan.channels.count(at->second.channel) != 0)) {
      ++at;
      continue;
    }
    const auto channel = in_.find(at->second.channel);
    if (channel != in_.end()) channel->second.channel->remove(at->first);
    at = proxies_.erase(at);
  }
  for (auto at = in_.begin(); at != in_.end();)
    at = plan.channels.count(at->first) != 0 ? std::next(at) : in_.erase(at);

  for (const auto& [gid, wanted] : plan.receiving) {
    const std::string channel = channel_of(wanted.publisher);
    const std::string& topic = wanted.publisher.topic;
    std::shared_ptr<const CarriedType> type;
    if (wanted.fits) {
      type = type_of(wanted.subscription, wanted.publisher.type_name, wanted.publisher.hash);
      if (!type) {
        again = true;
        continue;
      }
      In& in = in_[channel];
      if (!in.channel) in.channel = std::make_shared<InboundChannel>(topic, type, saying_);
      if (!in.open) {
        Result<std::shared_ptr<void>> open = engine_->open_receiver(channel, plan.channels.at(channel), in.channel);
        if (!open) {
          saying_->say_rarely("receiver " + channel, Level::kError, open.error().code, open.error().message);
          again = true;
          continue;
        }
        in.open = std::move(*open);
      }
    }
    auto proxy = proxies_.find(gid);
    if (proxy == proxies_.end()) {
      if (!type && !wanted.type) continue;  // the other host says its type soon
      Result<std::shared_ptr<transport::Writer>> writer = make_proxy(gid, wanted, type ? type->info : *wanted.type);
      if (!writer) {
        saying_->say_rarely("publisher " + topic, Level::kError, writer.error().code, writer.error().message);
        again = true;
        continue;
      }
      proxy = proxies_.emplace(gid, Proxy{std::move(*writer), channel, topic, false}).first;
    }
    if (!wanted.fits || proxy->second.joined) continue;
    in_[channel].channel->add(proxy->second.writer);
    proxy->second.joined = true;
  }
  return again;
}

bool Carrier::open_out(const std::string& channel, const Sending& sending) {
  std::shared_ptr<const CarriedType> type;
  for (const transport::EndpointInfo& info : participant_->endpoints()) {
    if (sending.publishers.count(info.gid) != 0) type = type_of(info.gid, info.type_name, info.type_hash);
    if (type) break;
  }
  if (!type) return false;
  Out& out = out_[channel];
  const auto now = std::chrono::steady_clock::now();
  if (!out.outlet) {
    Result<std::unique_ptr<Outlet>> outlet = engine_->open_outlet(channel, sending.qos);
    if (!outlet) {
      saying_->say_rarely("outlet " + channel, Level::kError, outlet.error().code, outlet.error().message);
      return false;
    }
    out.outlet = std::move(*outlet);
    out.since = now;
    out.topic = sending.topic;
    out.request = sending.request;
  }
  const std::size_t matched = out.outlet->matched();
  if (matched == 0 || (matched < sending.hosts && now - out.since < kMatch)) return false;
  transport::Participant::ReaderOptions options;
  options.topic = sending.topic;
  options.node = "link";
  options.type = type->info;
  options.qos = sending.request;
  options.qos.held = kUnderWay + (sending.qos.transient_local ? sending.qos.depth : 0);
  Result<std::shared_ptr<transport::Reader>> reader = participant_->create_reader(options);
  if (!reader) {
    saying_->say_rarely("subscription " + sending.topic, Level::kError, reader.error().code, reader.error().message);
    return false;
  }
  out.reader = *reader;
  if (Result<void> added =
          outbound_->add(channel, sending.topic, *reader, out.outlet, sending.publishers, options.qos.held);
      !added) {
    saying_->say_rarely("subscription " + sending.topic, Level::kError, added.error().code, added.error().message);
    out.reader.reset();
    return false;
  }
  return true;
}

bool Carrier::send(const Plan& plan) {
  bool again = false;
  const std::lock_guard<std::mutex> lock(mutex_);
  for (auto at = out_.begin(); at != out_.end();) {
    const auto wanted = plan.sending.find(at->first);
    const QoS& request = at->second.request;
    const bool same = wanted != plan.sending.end() && wanted->second.request.depth <= request.depth &&
                      wanted->second.request.history == request.history;
    if (same) {
      if (at->second.reader) outbound_->set_publishers(at->first, wanted->second.publishers);
      ++at;
      continue;
    }
    outbound_->remove(at->first);
    at = out_.erase(at);
  }
  for (const auto& [channel, sending] : plan.sending) {
    const auto known = out_.find(channel);
    if (known != out_.end() && known->second.reader) continue;
    again = !open_out(channel, sending) || again;
  }
  return again;
}

bool Carrier::say_words(const std::vector<End>& here) {
  own_.ends.clear();
  own_.types.clear();
  own_.wants.clear();
  bool again = false;
  const bool alone = listener_->hosts().empty();  // then no process is asked for its types
  std::set<std::pair<std::string, TypeHash>> known;
  for (const End& end : here) {
    if (!is_carried(end.topic) && end.is_writer) continue;
    own_.ends.push_back(end);
    if (alone || !end.is_writer || !known.insert({end.type_name, end.hash}).second) continue;
    if (const std::shared_ptr<const CarriedType> type = type_of(end.gid, end.type_name, end.hash)) {
      own_.types.emplace_back(type, &type->info);
    } else {
      again = true;
    }
  }
  std::set<std::string> wants;
  for (const auto& [gid, proxy] : proxies_) {
    const auto in = in_.find(proxy.channel);
    if (in != in_.end() && in->second.open && proxy.writer->matched() > 0) wants.insert(proxy.channel);
  }
  own_.wants.assign(wants.begin(), wants.end());
  std::vector<std::byte> words = encode(own_);
  if (words == said_) return again;
  if (words.size() > kMaxWordsBytes) {
    saying_->say_rarely("words", Level::kError, Errc::limit_reached, "this host has too many endpoints to tell others");
    return again;
  }
  const Result<void> written = words_out_->write(std::make_shared<WordsChunk>(own_.host, ++words_sequence_, words));
  if (written) {
    said_ = std::move(words);
  } else {
    saying_->say_rarely("words", Level::kWarning, written.error().code,
                        "other hosts do not hear from this one: " + written.error().message);
  }
  return again;
}

bool Carrier::step() {
  const std::vector<End> here = ends_here();
  const Plan now = plan(here, listener_->hosts());
  complain(now.complaints);
  bool again = receive(now);
  again = send(now) || again;
  again = say_words(here) || again;
  return again;
}

void Carrier::fill(Link::State& state) const {
  if (listener_) {
    for (const Words& host : listener_->hosts()) state.hosts.push_back(host.host_name);
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto& [channel, out] : out_) {
    if (out.reader) state.sending.push_back(out.topic);
  }
  std::set<std::string> topics;
  for (const auto& [gid, proxy] : proxies_) {
    if (in_.count(proxy.channel) != 0) topics.insert(proxy.topic);
  }
  state.receiving.assign(topics.begin(), topics.end());
  for (const auto& [name, in] : in_) {
    state.received += in.channel->delivered();
    state.refused += in.channel->refused();
  }
  if (outbound_) state.sent = outbound_->sent();
}

}  // namespace baton::link
