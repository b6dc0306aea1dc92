// SPDX-License-Identifier: Apache-2.0
#include "id_owners.hpp"

#include <gtest/gtest.h>

namespace baton::transport {
namespace {

constexpr Gid kId{7, 1}, kOtherId{8, 1};

AnnounceFrame announcement(const Gid& gid) {
  AnnounceFrame frame;
  frame.gid = gid;
  return frame;
}

TEST(IdOwners, AnIdIsOfThePeerWhoseIdsBeginLikeIt) {
  IdOwners owners;
  EXPECT_EQ(owners.owner(kId), std::nullopt);
  owners.add(1, prefix_of(kId));
  owners.add(2, prefix_of(kOtherId));
  EXPECT_EQ(owners.owner(kId), PeerId{1});
  Gid same = kId;
  same.back() = 9;
  EXPECT_EQ(owners.owner(same), PeerId{1}) << "the last bytes number the endpoints of a process";
  owners.remove(1);
  EXPECT_EQ(owners.owner(kId), std::nullopt);
  EXPECT_EQ(owners.owner(kOtherId), PeerId{2});
}

TEST(IdOwners, AProcessThatIsBackKeepsItsIdsWhenItsFormerConnectionIsRemoved) {
  IdOwners owners;
  owners.add(1, prefix_of(kId));
  owners.add(2, prefix_of(kId));
  owners.remove(1);
  EXPECT_EQ(owners.owner(kId), PeerId{2});
}

TEST(IdOwners, AClaimIsGrantedToTheOwnerOrWithoutOneToAnybody) {
  IdOwners owners;
  EXPECT_EQ(owners.next_claim(kId, std::nullopt), std::nullopt);
  owners.claim(1, announcement(kId), {});
  owners.claim(2, announcement(kId), {});
  EXPECT_TRUE(owners.is_claimed(kId));
  EXPECT_EQ(owners.next_claim(kId, std::nullopt)->first, PeerId{1});
  EXPECT_EQ(owners.next_claim(kId, PeerId{2})->first, PeerId{2});
  EXPECT_EQ(owners.next_claim(kId, PeerId{2})->second->gid, kId);
  EXPECT_EQ(owners.next_claim(kId, PeerId{3}), std::nullopt) << "the owner does not want it";
}

TEST(IdOwners, AClaimEndsWhenItIsDroppedAndWithItsPeer) {
  IdOwners owners;
  for (const Gid& gid : {kId, kOtherId}) owners.claim(1, announcement(gid), {});
  owners.claim(2, announcement(kId), {});
  owners.drop_claim(1, kId);
  owners.drop_claim(3, kId);
  EXPECT_FALSE(owners.has_claim(1, kId));
  EXPECT_TRUE(owners.has_claim(1, kOtherId) && owners.has_claim(2, kId));
  owners.remove(2);
  EXPECT_FALSE(owners.is_claimed(kId));
  EXPECT_TRUE(owners.is_claimed(kOtherId));
}

}  // namespace
}  // namespace baton::transport
