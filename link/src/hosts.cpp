// SPDX-License-Identifier: Apache-2.0
#include "hosts.hpp"

#include <cstring>

#include "inbound.hpp"

namespace baton::link {
namespace {

using Level = LinkLog::Level;

constexpr std::uint8_t kAdvertisementTag[8] = {'b', 't', 'n', 'w', 'o', 'r', 'd', '1'};

struct ArrivingAdvertisement final : ArrivingChunk {
  ArrivingAdvertisement(const Gid& of, std::size_t size, std::shared_ptr<AdvertisementBudget> counted,
                        std::shared_ptr<LinkLog> to)
      : host(of), budget(std::move(counted)), log(std::move(to)) {
    size_bytes = size;
  }
  ~ArrivingAdvertisement() override { budget->end(host, come_bytes); }
  bool grow(std::size_t come) override {
    if (!budget->arrive(host, come - come_bytes)) {
      log->write(About::kAdvertisements, Level::kError, Errc::limit_reached,
                 "an advertisement of another host is lost: those of its host, or of all hosts, take too much memory");
      return false;
    }
    come_bytes = come;
    bytes.resize(come + 1);  // never null, also of no bytes
    message = bytes.data();
    return true;
  }
  void come() override {
    advertisement = decode(message, size_bytes);
    bytes = {};
    message = &done;
  }
  const Gid host;
  const std::shared_ptr<AdvertisementBudget> budget;
  const std::shared_ptr<LinkLog> log;
  std::size_t come_bytes = 0;  ///< counted
  std::vector<std::byte> bytes;
  std::byte done{};
  Result<HostAdvertisement> advertisement = Error{Errc::protocol_violation, ""};
};

}  // namespace

bool AdvertisementBudget::arrive(const Gid& host, std::size_t bytes) {
  const os::Lock lock(mutex_);
  const auto of = hosts_.try_emplace(host).first;
  const std::size_t before = of->second.greater(), arriving = of->second.arriving + bytes;
  const std::size_t others = all_ - before, left = others < kMostBytesOfAll ? kMostBytesOfAll - others : 0;
  const bool has_room = arriving <= kMaxAdvertisementBytes && arriving <= std::max(left / 2, kBytesForEach);
  if (has_room) of->second.arriving = arriving;
  settle(of, before);
  return has_room;
}

void AdvertisementBudget::end(const Gid& host, std::size_t bytes) noexcept {
  const os::Lock lock(mutex_);
  const auto of = hosts_.find(host);
  if (of == hosts_.end()) return;  // nothing has come
  const std::size_t before = of->second.greater();
  of->second.arriving -= bytes;
  settle(of, before);
}

void AdvertisementBudget::keep(const Gid& host, std::size_t bytes) {
  const os::Lock lock(mutex_);
  const auto of = hosts_.try_emplace(host).first;
  const std::size_t before = of->second.greater();
  of->second.kept = bytes;
  settle(of, before);
}

void AdvertisementBudget::settle(std::map<Gid, Bytes>::iterator of, std::size_t before) noexcept {
  all_ += of->second.greater() - before;
  if (of->second.greater() == 0) hosts_.erase(of);
}

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
                "host " + name + " has ended its link, or is not reached; it is forgotten if that lasts for " +
                    std::to_string(std::chrono::ceil<std::chrono::seconds>(remembered_).count()) + " s");
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
    budget_->keep(host, 0);
  }
  if (!name.empty() && !ends_.load(std::memory_order_relaxed))
    log_->write(About::kHosts, Level::kWarning, Errc{}, "host " + name + " has left");
  changed_();
}

std::unique_ptr<ArrivingChunk> Hosts::begin(const Gid& host, const memory::ChunkHeader& header,
                                            std::size_t message_bytes, std::size_t come_bytes) {
  const Result<ArrivedHeader> arrived = read_header(header, message_bytes);
  if (!arrived || message_bytes > kMaxAdvertisementBytes ||
      std::memcmp(header.type_hash, kAdvertisementTag, sizeof kAdvertisementTag) != 0) {
    no_advertisement();
    return nullptr;
  }
  auto arriving = std::make_unique<ArrivingAdvertisement>(host, message_bytes, budget_, log_);
  if (!arriving->grow(come_bytes)) return nullptr;
  return arriving;
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
    budget_->keep(host, arriving.size_bytes);
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
