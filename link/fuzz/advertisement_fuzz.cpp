// SPDX-License-Identifier: Apache-2.0
// Reads bytes as the advertisement of another host. Seeds lie in seeds/advertisement; replay_test.cpp runs them.
//
// Checked besides memory safety: an advertisement that was read is within its bounds, has no byte that cannot be
// printed, and is the same after it is encoded and read again.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "advertisement.hpp"
#include "forwarding_plan.hpp"

namespace {

using namespace baton;
using namespace baton::link;

void require(bool condition) {
  if (!condition) std::abort();
}

void require_printable(const std::string& text) {
  require(text.size() <= 1100);
  for (const char c : text) require(c >= ' ' && c <= '~');
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::uint8_t> bytes(data, data + size);  // of exactly this size
  const Result<HostAdvertisement> advertisement =
      decode(reinterpret_cast<const std::byte*>(bytes.data()), bytes.size());
  if (!advertisement) {
    require(advertisement.error().code == Errc::protocol_violation);
    return 0;
  }
  require_printable(advertisement->host_name);
  for (const HostEndpoint& endpoint : advertisement->endpoints) {
    for (const std::string* each : {&endpoint.topic, &endpoint.type_name, &endpoint.node}) require_printable(*each);
    require(endpoint.qos.depth >= 1 && endpoint.qos.depth <= 65536);
    for (const auto time : {endpoint.qos.deadline, endpoint.qos.lifespan, endpoint.qos.lease})
      require(time.count() >= 0);
  }
  for (const std::string& channel : advertisement->wants) require_printable(channel);
  const std::vector<std::byte> said = encode(*advertisement);
  const Result<HostAdvertisement> back = decode(said.data(), said.size());
  require(back.ok() && encode(*back) == said);
  // This host has the same ends under other ids: so all of them meet.
  std::vector<HostEndpoint> here = advertisement->endpoints;
  for (HostEndpoint& endpoint : here) endpoint.gid[0] ^= 0x80;
  const ForwardingPlan made = make_plan(here, {*advertisement});
  for (const auto& [gid, receiving] : made.receiving) require(receiving.publisher.gid == gid);
  for (const auto& [key, sending] : made.sending)
    require(key.first == advertisement->host && !sending.publishers.empty());
  return 0;
}
