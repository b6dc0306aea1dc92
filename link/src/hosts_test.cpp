// SPDX-License-Identifier: Apache-2.0
// Advertisements come from other hosts: untrusted.
#include "hosts.hpp"

#include <gtest/gtest.h>

#include <cstring>

namespace baton::link {
namespace {

constexpr Gid kPeer{1}, kOther{2};

HostAdvertisement advertisement_of(const Gid& host, const std::string& name) {
  HostAdvertisement out;
  out.host = host;
  out.host_name = name;
  return out;
}

class HostsOf : public ::testing::Test {
 protected:
  /// As the network does: a place for what stands behind the header, then the whole.
  bool arrives(const Gid& host, const OutgoingChunk& chunk) {
    memory::ChunkHeader header{};
    std::memcpy(&header, chunk.bytes, sizeof header);
    const std::size_t size = chunk.size_bytes - sizeof header;
    std::unique_ptr<ArrivingChunk> arriving = hosts_.begin(host, header, size, size);
    if (!arriving) return false;
    std::memcpy(arriving->message, chunk.bytes + sizeof header, size);
    arriving->come();
    return hosts_.deliver(host, *arriving);
  }
  bool arrives(const Gid& host, const HostAdvertisement& advertisement) {
    return arrives(host, AdvertisementChunk(advertisement.host, 1, encode(advertisement)));
  }
  bool is_said(const std::string& text) const { return said_.find(text) != std::string::npos; }

  std::string said_;
  int changes_ = 0;
  Hosts hosts_{"near", std::chrono::seconds(20),
               std::make_shared<LinkLog>([this](const transport::Diagnostic& said) { said_ += said.text; }),
               [this] { ++changes_; }};
};

TEST_F(HostsOf, AHostIsKnownWhenItJoinsAndNamedWhenItsAdvertisementComes) {
  hosts_.joined(kPeer);
  EXPECT_EQ(hosts_.all(), std::set<Gid>{kPeer});
  EXPECT_TRUE(hosts_.advertisements().empty());
  EXPECT_TRUE(arrives(kPeer, advertisement_of(kPeer, "far")));
  ASSERT_EQ(hosts_.advertisements().size(), 1U);
  EXPECT_EQ(hosts_.advertisements()[0].host_name, "far");
  EXPECT_EQ(changes_, 2);
  EXPECT_EQ(said_, "host far is connected");
  EXPECT_TRUE(arrives(kPeer, advertisement_of(kPeer, "far"))) << "said once";
  hosts_.gone(kPeer);
  EXPECT_TRUE(hosts_.all().empty());
  EXPECT_EQ(said_, "host far is connectedhost far has left");
}

TEST_F(HostsOf, AnAdvertisementIsOfTheHostFromWhichItComesWhateverIdItNames) {
  hosts_.joined(kPeer);
  EXPECT_TRUE(arrives(kPeer, advertisement_of(kOther, "other")));
  ASSERT_EQ(hosts_.advertisements().size(), 1U);
  EXPECT_EQ(hosts_.advertisements()[0].host, kPeer);
}

TEST_F(HostsOf, AMalformedAdvertisementIsRefused) {
  hosts_.joined(kPeer);
  struct NoAdvertisement : OutgoingChunk {
    explicit NoAdvertisement(const AdvertisementChunk& chunk) : copy(chunk.bytes, chunk.bytes + chunk.size_bytes) {
      bytes = copy.data();
      size_bytes = copy.size();
    }
    std::vector<std::byte> copy;
  };
  const AdvertisementChunk chunk(kPeer, 1, encode(advertisement_of(kPeer, "far")));
  NoAdvertisement another(chunk);
  another.copy[offsetof(memory::ChunkHeader, type_hash)] = std::byte{0};
  EXPECT_FALSE(arrives(kPeer, another)) << "a message of a type";
  NoAdvertisement cut(chunk);
  --cut.size_bytes;
  EXPECT_FALSE(arrives(kPeer, cut));
  EXPECT_TRUE(is_said("advertisement of another host is malformed"));
  EXPECT_TRUE(arrives(kOther, advertisement_of(kOther, "other"))) << "it has left meanwhile";
  EXPECT_TRUE(hosts_.advertisements().empty());
}

TEST_F(HostsOf, AdvertisementsThatAHostSendsAtOnceTakeTheMemoryOfOne) {
  hosts_.joined(kPeer);
  HostAdvertisement large = advertisement_of(kPeer, "far");
  large.wants.assign(10'000, std::string(1000, 'w'));
  const AdvertisementChunk chunk(kPeer, 1, encode(large));
  memory::ChunkHeader header{};
  std::memcpy(&header, chunk.bytes, sizeof header);
  const std::size_t size = chunk.size_bytes - sizeof header;
  std::unique_ptr<ArrivingChunk> first = hosts_.begin(kPeer, header, size, 32);
  std::unique_ptr<ArrivingChunk> second = hosts_.begin(kPeer, header, size, 32);
  ASSERT_TRUE(first && second);
  EXPECT_TRUE(first->grow(size - 1));
  EXPECT_FALSE(second->grow(size - 1));
  EXPECT_TRUE(is_said("take too much memory"));
  first.reset();
  second.reset();
  EXPECT_TRUE(arrives(kPeer, chunk)) << "what has ended takes none";
  EXPECT_TRUE(arrives(kPeer, chunk)) << "a new one takes the place of the one before";
}

TEST(AdvertisementBudgetOf, AllHostsHasABoundAndEachMayHaveSome) {
  AdvertisementBudget budget;
  std::size_t all = 0;
  for (int i = 0; i < 256; ++i) {
    const Gid host{static_cast<std::uint8_t>(i), 1};
    std::size_t own = kMaxAdvertisementBytes;
    while (!budget.arrive(host, own)) own /= 2;
    budget.keep(host, own);
    budget.end(host, own);
    EXPECT_GE(own, AdvertisementBudget::kBytesForEach) << "host " << i;
    all += own;
  }
  EXPECT_LT(all, 2 * AdvertisementBudget::kMostBytesOfAll);
  budget.keep(Gid{0, 1}, 0);
  budget.keep(Gid{1, 1}, 0);
  EXPECT_TRUE(budget.arrive(Gid{9, 9}, AdvertisementBudget::kBytesForEach));
}

TEST_F(HostsOf, ABrokenConnectionIsSaidOnceAndSoIsTheNextOne) {
  hosts_.joined(kPeer);
  hosts_.connected(kPeer, false);
  EXPECT_EQ(said_, "") << "it has no name yet";
  EXPECT_TRUE(arrives(kPeer, advertisement_of(kPeer, "far")));
  said_.clear();
  hosts_.connected(kPeer, true);  // a second connection beside the first
  EXPECT_EQ(said_, "");
  hosts_.connected(kPeer, false);
  hosts_.connected(kPeer, false);
  hosts_.connected(kPeer, true);
  EXPECT_EQ(said_,
            "host far has ended its link, or is not reached; it is forgotten if that lasts for 20 shost far is "
            "connected again");
  said_.clear();
  hosts_.end();
  hosts_.connected(kPeer, false);
  hosts_.gone(kPeer);
  EXPECT_EQ(said_, "") << "this link ends, the other hosts have not";
}

TEST_F(HostsOf, AHostOfThisHostsNameIsSaid) {
  hosts_.joined(kPeer);
  EXPECT_TRUE(arrives(kPeer, advertisement_of(kPeer, "near")));
  EXPECT_TRUE(is_said("another host has the name of this one, near"));
}

TEST(AdvertisementSource, GivesTheNewestAdvertisementOnce) {
  AdvertisementSource source;
  std::shared_ptr<const OutgoingChunk> chunk;
  EXPECT_EQ(source.next(chunk), ChunkSource::NextChunk::kNothing);
  source.set(std::make_shared<AdvertisementChunk>(kPeer, 1, encode(advertisement_of(kPeer, "one"))));
  const auto newest = std::make_shared<AdvertisementChunk>(kPeer, 2, encode(advertisement_of(kPeer, "two")));
  source.set(newest);
  EXPECT_FALSE(source.empty());
  EXPECT_EQ(source.next(chunk), ChunkSource::NextChunk::kChunk);
  EXPECT_EQ(chunk, newest);
  EXPECT_TRUE(source.empty());
  EXPECT_EQ(source.next(chunk), ChunkSource::NextChunk::kNothing);
}

}  // namespace
}  // namespace baton::link
