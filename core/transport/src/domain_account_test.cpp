// SPDX-License-Identifier: Apache-2.0
#include "domain_account.hpp"

#include "raw_peer_test_support.hpp"

namespace baton::transport::test {
namespace {

constexpr std::uint64_t kGiB = 1 << 30, kLate = DomainAccount::kUncounted;

TEST(DomainAccount, BelievesPeersAsFarAsTheKernelCountsMemoryOfOthers) {
  EXPECT_EQ(DomainAccount::believed_bytes(kGiB, 8 * kGiB, 2 * kGiB), kGiB);
  EXPECT_EQ(DomainAccount::believed_bytes(6 * kGiB + kLate, 8 * kGiB, 2 * kGiB), 6 * kGiB + kLate);
  EXPECT_EQ(DomainAccount::believed_bytes(6 * kGiB + kLate + 1, 8 * kGiB, 2 * kGiB), 6 * kGiB + kLate);
  EXPECT_EQ(DomainAccount::believed_bytes(UINT64_MAX, 0, kGiB), kLate) << "the kernel counts late";
  EXPECT_EQ(DomainAccount::believed_bytes(UINT64_MAX - 1, UINT64_MAX, 0), UINT64_MAX - 1) << "the kernel does not say";
}

TEST(DomainAccount, OfAPeerThatClaimsMoreThanThereIsCountsWhatThereIs) {
  TestDomain domain;
  const auto participant = domain.join();
  RawPeer liar(domain.path());
  ASSERT_TRUE(liar.await_peers(1));
  AccountFrame claim;
  claim.backed_bytes = std::uint64_t{1} << 63;
  for (const PeerId peer : liar.peers) liar.send(peer, FrameType::kAccount, encode(claim));
  EXPECT_TRUE(eventually([&] { return participant->memory_account().domain_backed_bytes > 0; }));
  EXPECT_LT(participant->memory_account().domain_backed_bytes, std::uint64_t{1} << 47);
}

}  // namespace
}  // namespace baton::transport::test
