// SPDX-License-Identifier: Apache-2.0
#include "hosts.hpp"

#include <cstring>

#include "inbound.hpp"

namespace baton::link {
namespace {

using Level = LinkLog::Level;

constexpr std::uint8_t kAdvertisementTag[8] = {'b', 't', 'n', 'w', 'o', 'r', 'd', '1'};

struct ArrivingAdvertisement final : ArrivingChunk {
  ArrivingAdvertisement(std::size_t size, std::size_t come_bytes) {
    size_bytes = size;
    static_cast<void>(grow(come_bytes));
  }
  bool grow(std::size_t come_bytes) override {
    bytes.resize(come_bytes + 1);  // never null, also of no bytes
    message = bytes.data();
    return true;
  }
  void come() override {
    advertisement = decode(message, size_bytes);
    bytes = {};
    message = &done;
  }
  std::vector<std::byte> bytes;
  std::byte done{};
  Result<HostAdvertisement> advertisement = Error{Errc::protocol_violation, ""};
};

}  // namespace

AdvertisementChunk::AdvertisementChunk(const Gid& host, std::uint64_t sequence,
                                       const std::vector<std::byte>& advertisement)
    : memory(new std::byte[sizeof(memory::ChunkHeader) + advertisement.size()]) {
  memory::ChunkHeader header{};
  header.magic = memory::kChunkMagic;
  header.version = memory::kChunkVersion;
  header.byte_order = memory::kNativeByteOrder;
  header.size_bytes = static_cast<std::uint32_t>(advertisement.size());
  header.sequence = sequence;
  std::memcpy(header.publisher_id, host.data(), host.size());
  std::memcpy(header.type_hash, kAdvertisementTag, sizeof kAdvertisementTag);
  std::memcpy(memory.get(), &header, sizeof header);
  std::memcpy(memory.get() + sizeof header, advertisement.data(), advertisement.size());
  bytes = memory.get();
  size_bytes = sizeof header + advertisement.size();
}

void Hosts::joined(const Gid& host) {
  {
    const os::Lock lock(mutex_);
    hosts_.emplace(host, std::nullopt);
  }
  changed_();
}

void Hosts::connected(const Gid& host, bool connected) {
  std::string name;
  {
    const os::Lock lock(mutex_);
    const auto found = hosts_.find(host);
    if (found == hosts_.end() || !found->second) return;
    name = found->second->host_name;
    // A second connection may take the place of the first.
    if (connected ? lost_.erase(host) == 0 : !lost_.insert(host).second) return;
  }
  if (ends_.load(std::memory_order_relaxed)) return;
  if (connected) {
    log_->write(About::kHosts, Level::kInfo, Errc{}, "host " + name + " is connected again");
  } else {
    log_->write(About::kHosts, Level::kWarning, Errc{},
                "host " + name + " has ended its link, or is not reached; it is forgotten if that lasts for 20 s");
  }
}

void Hosts::gone(const Gid& host) {
  std::string name;
  {
    const os::Lock lock(mutex_);
    const auto found = hosts_.find(host);
    if (found == hosts_.end()) return;
    if (found->second) name = found->second->host_name;
    hosts_.erase(found);
    lost_.erase(host);
  }
  if (!name.empty() && !ends_.load(std::memory_order_relaxed))
    log_->write(About::kHosts, Level::kWarning, Errc{}, "host " + name + " has left");
  changed_();
}

std::unique_ptr<ArrivingChunk> Hosts::begin(const Gid&, const memory::ChunkHeader& header, std::size_t message_bytes,
                                            std::size_t come_bytes) {
  const Result<ArrivedHeader> arrived = read_header(header, message_bytes);
  if (!arrived || message_bytes > kMaxAdvertisementBytes ||
      std::memcmp(header.type_hash, kAdvertisementTag, sizeof kAdvertisementTag) != 0) {
    no_advertisement();
    return nullptr;
  }
  return std::make_unique<ArrivingAdvertisement>(message_bytes, come_bytes);
}

bool Hosts::deliver(const Gid& host, ArrivingChunk& arriving) {
  Result<HostAdvertisement>& advertisement = dynamic_cast<ArrivingAdvertisement&>(arriving).advertisement;
  if (!advertisement) {
    no_advertisement();
    return true;
  }
  // By its id in this link: another host may have come with the same id before.
  advertisement->host = host;
  bool first = false;
  const std::string name = advertisement->host_name;
  {
    const os::Lock lock(mutex_);
    const auto found = hosts_.find(host);
    if (found == hosts_.end()) return true;
    first = !found->second;
    found->second = std::move(*advertisement);
  }
  if (first) log_->write(About::kHosts, Level::kInfo, Errc{}, "host " + name + " is connected");
  if (first && name == own_name_) {
    log_->write(About::kIdentities, Level::kWarning, Errc::already_exists,
                "another host has the name of this one, " + name + "; give one of them another: --host-name");
  }
  changed_();
  return true;
}

std::set<Gid> Hosts::all() const {
  std::set<Gid> out;
  const os::Lock lock(mutex_);
  for (const auto& [host, advertisement] : hosts_) out.insert(host);
  return out;
}

std::vector<HostAdvertisement> Hosts::advertisements() const {
  std::vector<HostAdvertisement> out;
  const os::Lock lock(mutex_);
  for (const auto& [host, advertisement] : hosts_) {
    if (advertisement) out.push_back(*advertisement);
  }
  return out;
}

void Hosts::no_advertisement() {
  log_->write(About::kAdvertisements, Level::kError, Errc::protocol_violation,
              "the advertisement of another host is malformed");
}

}  // namespace baton::link
