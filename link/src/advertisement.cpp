// SPDX-License-Identifier: Apache-2.0
#include "advertisement.hpp"

#include <algorithm>
#include <cstring>
#include <map>

#include "baton/os/printable.hpp"

namespace baton::link {
namespace {

constexpr std::size_t kMaxName = 1024;
constexpr std::size_t kMaxChannelName = 1100;
constexpr std::size_t kMaxDefinition = std::size_t{1} << 20;

class ByteWriter {
 public:
  void number(std::uint64_t value, unsigned bytes) {
    for (unsigned i = 0; i < bytes; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
  }
  void id(const std::array<std::uint8_t, 16>& value) {
    for (const std::uint8_t byte : value) bytes_.push_back(static_cast<std::byte>(byte));
  }
  void hash(const transport::RosTypeHash& value) {
    number(value.version, 1);
    if (value.version == 0) return;
    for (const std::uint8_t byte : value.value) bytes_.push_back(static_cast<std::byte>(byte));
  }
  void text(const std::string& value) {
    number(value.size(), 4);
    for (const char c : value) bytes_.push_back(static_cast<std::byte>(c));
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// After the first violation everything reads as 0.
class ByteReader {
 public:
  ByteReader(const std::byte* bytes, std::size_t size) : at_(bytes), left_(size) {}
  std::uint64_t number(unsigned bytes) {
    if (!has(bytes)) return 0;
    std::uint64_t value = 0;
    for (unsigned i = 0; i < bytes; ++i) value |= static_cast<std::uint64_t>(at_[i]) << (8 * i);
    skip(bytes);
    return value;
  }
  std::uint64_t at_most(unsigned bytes, std::uint64_t most) {
    const std::uint64_t value = number(bytes);
    ok_ = ok_ && value <= most;
    return ok_ ? value : 0;
  }
  void id(std::array<std::uint8_t, 16>& out) {
    if (!has(out.size())) return;
    std::memcpy(out.data(), at_, out.size());
    skip(out.size());
  }
  void hash(transport::RosTypeHash& out) {
    out.version = static_cast<std::uint8_t>(number(1));
    if (out.version == 0 || !has(out.value.size())) return;
    std::memcpy(out.value.data(), at_, out.value.size());
    skip(out.value.size());
  }
  std::string raw(std::size_t most) {
    const std::size_t size = at_most(4, most);
    if (!has(size)) return {};
    std::string out(reinterpret_cast<const char*>(at_), size);
    skip(size);
    return out;
  }
  std::string text(std::size_t most) {
    return os::printable(raw(most));  // printed, and names of the local domain
  }
  std::chrono::nanoseconds duration() {
    const std::uint64_t value = number(8);
    ok_ = ok_ && value <= static_cast<std::uint64_t>(INT64_MAX);
    return std::chrono::nanoseconds(ok_ ? static_cast<std::int64_t>(value) : 0);
  }
  bool ok() const { return ok_; }
  bool done() const { return ok_ && left_ == 0; }

 private:
  bool has(std::size_t bytes) { return ok_ = ok_ && bytes <= left_; }
  void skip(std::size_t bytes) {
    at_ += bytes;
    left_ -= bytes;
  }
  const std::byte* at_;
  std::size_t left_;
  bool ok_ = true;
};

void put(ByteWriter& out, const QoS& qos) {
  // Every policy by name: the compiler refuses this line when QoS has one more. `held` is a matter of one host.
  [[maybe_unused]] const auto& [reliability, history, depth, durability, deadline, lifespan, liveliness, lease, held] =
      qos;
  out.number(static_cast<std::uint8_t>(reliability), 1);
  out.number(static_cast<std::uint8_t>(history), 1);
  out.number(static_cast<std::uint8_t>(durability), 1);
  out.number(static_cast<std::uint8_t>(liveliness), 1);
  out.number(depth, 4);
  for (const auto time : {deadline, lifespan, lease}) out.number(static_cast<std::uint64_t>(time.count()), 8);
}

QoS get_qos(ByteReader& in) {
  QoS qos;
  qos.reliability = static_cast<Reliability>(in.at_most(1, 1));
  qos.history = static_cast<History>(in.at_most(1, 1));
  qos.durability = static_cast<Durability>(in.at_most(1, 1));
  qos.liveliness = static_cast<Liveliness>(in.at_most(1, 1));
  qos.depth = static_cast<std::uint32_t>(std::max<std::uint64_t>(in.at_most(4, 65536), 1));
  qos.deadline = in.duration();
  qos.lifespan = in.duration();
  qos.lease = in.duration();
  return qos;
}

}  // namespace

std::vector<HostEndpoint> advertisable(const std::vector<HostEndpoint>& endpoints,
                                       const std::function<std::uint64_t(const HostEndpoint&)>& process_of) {
  constexpr std::size_t kBytesBesidesNames = 128;
  std::map<std::uint64_t, std::size_t> turns;
  std::vector<std::pair<std::size_t, const HostEndpoint*>> order;
  for (const HostEndpoint& endpoint : endpoints) order.emplace_back(turns[process_of(endpoint)]++, &endpoint);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::map<std::string, std::size_t> of_topic;
  std::size_t bytes = 0;
  std::vector<HostEndpoint> out;
  for (const auto& [turn, endpoint] : order) {
    const std::size_t more =
        endpoint->topic.size() + endpoint->type_name.size() + endpoint->node.size() + kBytesBesidesNames;
    if (out.size() >= kMostEndpoints || bytes + more > kMostAdvertisedEndpointBytes) break;
    if (++of_topic[endpoint->topic] > kMostEndpointsOfTopic) continue;
    bytes += more;
    out.push_back(*endpoint);
  }
  return out;
}

std::vector<std::string> advertisable(const std::map<Gid, std::set<std::string>>& wanted) {
  constexpr std::size_t kBytesBesidesName = 4;
  std::vector<std::pair<std::size_t, const std::string*>> order;  // by turn
  for (const auto& [host, names] : wanted) {
    std::vector<const std::string*> shortest;
    for (const std::string& name : names) shortest.push_back(&name);
    std::stable_sort(shortest.begin(), shortest.end(), [](auto* a, auto* b) { return a->size() < b->size(); });
    std::size_t bytes = 0;
    for (const std::string* name : shortest) order.emplace_back(bytes += name->size() + kBytesBesidesName, name);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::set<std::string> out;  // a channel may have publishers of several hosts
  std::size_t bytes = 0;
  for (const auto& [turn, name] : order) {
    if (out.count(*name) != 0) continue;
    bytes += name->size() + kBytesBesidesName;
    if (out.size() >= kMostWants || bytes > kMostAdvertisedWantBytes) break;
    out.insert(*name);
  }
  return {out.begin(), out.end()};
}

std::vector<std::byte> encode(const HostAdvertisement& advertisement) {
  ByteWriter out;
  out.id(advertisement.host);
  out.text(advertisement.host_name);
  out.number(advertisement.endpoints.size(), 4);
  for (const HostEndpoint& endpoint : advertisement.endpoints) {
    out.id(endpoint.gid);
    out.number(endpoint.is_writer ? 1 : 0, 1);
    out.text(endpoint.topic);
    out.text(endpoint.type_name);
    out.text(endpoint.node);
    out.id(endpoint.hash);
    out.hash(endpoint.ros_hash);
    put(out, endpoint.qos);
  }
  out.number(advertisement.types.size(), 4);
  for (const auto& type : advertisement.types) {
    out.text(type->name);
    out.id(type->hash);
    out.number(type->skeleton_bytes, 4);
    out.text(type->definition);
  }
  out.number(advertisement.wants.size(), 4);
  for (const std::string& channel : advertisement.wants) out.text(channel);
  return out.take();
}

Result<HostAdvertisement> decode(const std::byte* bytes, std::size_t size) {
  ByteReader in(bytes, size);
  HostAdvertisement advertisement;
  in.id(advertisement.host);
  advertisement.host_name = in.text(kMaxName);
  std::map<std::string, std::size_t> of_topic;
  for (std::uint64_t i = in.at_most(4, kMostEndpoints); i > 0 && in.ok(); --i) {
    HostEndpoint endpoint;
    in.id(endpoint.gid);
    endpoint.is_writer = in.at_most(1, 1) == 1;
    endpoint.topic = in.text(kMaxName);
    endpoint.type_name = in.text(kMaxName);
    endpoint.node = in.text(kMaxName);
    in.id(endpoint.hash);
    in.hash(endpoint.ros_hash);
    endpoint.qos = get_qos(in);
    // More than one process may have on a topic; the rest would only make the plan slow.
    if (in.ok() && ++of_topic[endpoint.topic] <= kMostEndpointsOfTopic)
      advertisement.endpoints.push_back(std::move(endpoint));
  }
  for (std::uint64_t i = in.at_most(4, kMostTypes); i > 0 && in.ok(); --i) {
    transport::TypeInfo type;
    type.name = in.text(kMaxName);
    in.id(type.hash);
    type.skeleton_bytes = static_cast<std::uint32_t>(in.number(4));
    type.definition = in.raw(kMaxDefinition);
    if (in.ok()) advertisement.types.push_back(std::make_shared<const transport::TypeInfo>(std::move(type)));
  }
  for (std::uint64_t i = in.at_most(4, kMostWants); i > 0 && in.ok(); --i)
    advertisement.wants.push_back(in.text(kMaxChannelName));
  if (!in.done()) return Error{Errc::protocol_violation, "a host's advertisement is cut off, too long or out of range"};
  return advertisement;
}

}  // namespace baton::link
