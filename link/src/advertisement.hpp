// SPDX-License-Identifier: Apache-2.0
// What one host advertises to the others: its endpoints, the types of its publishers, and the channels that it wants.
// Thread rules: values, pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "baton/os/result.hpp"
#include "baton/transport/qos.hpp"
#include "baton/transport/transport.hpp"

namespace baton::link {

using transport::Gid;
using transport::IdPrefix;
using transport::prefix_of;
using TypeHash = std::array<std::uint8_t, 16>;

/// A publisher or subscription of some host.
struct HostEndpoint {
  Gid gid{};
  bool is_writer = false;
  std::string topic, type_name, node;
  TypeHash hash{};
  transport::RosTypeHash ros_hash{};  ///< EndpointInfo::ros_type_hash
  QoS qos;
  std::uint64_t process =
      0;  ///< of this host's endpoints: the same for all of a process; 0: not known. Does not travel
};

struct HostAdvertisement {
  Gid host{};  ///< chosen anew by each link
  std::string host_name;
  std::vector<HostEndpoint> endpoints;
  /// Of its publishers, as far as their processes have answered with them. `fixed_size` and `ros_hash` do not travel.
  std::vector<std::shared_ptr<const transport::TypeInfo>> types;
  std::vector<std::string> wants;  ///< names of channels
};

/// In the place of a type's hash: the chunk is no message but a sign of life of its publisher (docs/format/link.md, "Channels").
inline constexpr std::uint8_t kSignTag[8] = {'b', 't', 'n', 'a', 'l', 'i', 'v', 'e'};

/// The channel that carries the advertisements. Its name has the version of everything that the link sends.
inline constexpr const char* kAdvertisementChannel = "baton/1/words";
inline constexpr std::size_t kMaxAdvertisementBytes = std::size_t{16} << 20;
/// The most that one host may advertise: endpoints, endpoints of one topic, types, and channels that it wants.
inline constexpr std::size_t kMostEndpoints = 32768;
inline constexpr std::size_t kMostEndpointsOfTopic = 4096;
inline constexpr std::size_t kMostTypes = 4096;
inline constexpr std::size_t kMostWants = 16384;

/// Bytes of endpoints and of types that a host advertises, and of the channels that it wants: together they are fewer than kMaxAdvertisementBytes.
inline constexpr std::size_t kMostAdvertisedEndpointBytes = std::size_t{9} << 20;
inline constexpr std::size_t kMostAdvertisedTypeBytes = std::size_t{5} << 20;
inline constexpr std::size_t kMostAdvertisedWantBytes = std::size_t{3} << 19;

/// The endpoints that a host advertises: all of them. If that were more than other hosts accept, its processes take turns until there is no
/// room left. `process_of`: a number of the endpoint's process.
std::vector<HostEndpoint> advertisable(const std::vector<HostEndpoint>& endpoints,
                                       const std::function<std::uint64_t(const HostEndpoint&)>& process_of);

/// The channels that a host advertises as wanted: all of them, or the hosts that send them take turns until there is no room left, each with
/// its shortest names first. `wanted`: by host.
std::vector<std::string> advertisable(const std::map<Gid, std::set<std::string>>& wanted);

std::vector<std::byte> encode(const HostAdvertisement& advertisement);
/// Error protocol_violation: the bytes are not the advertisement of a host.
Result<HostAdvertisement> decode(const std::byte* bytes, std::size_t size);

}  // namespace baton::link
