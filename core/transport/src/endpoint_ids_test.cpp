// SPDX-License-Identifier: Apache-2.0
// Whose an endpoint id is (docs/format/connection.md, "Whose an id is"): a process that announces ids of others loses these endpoints, and
// nobody else loses anything.
#include "endpoint_test_support.hpp"
#include "raw_peer_test_support.hpp"

namespace baton::transport::test {
namespace {

struct EndpointIds : public OneProcess {
  std::optional<EndpointInfo> find(const Gid& gid) const {
    for (const EndpointInfo& info : participant->endpoints())
      if (info.gid == gid) return info;
    return std::nullopt;
  }
  /// Also that everything that `peer` sent before has been handled.
  ::testing::AssertionResult is_served(RawPeer& peer) {
    const Gid mark = peer.announce(peer.id(++marks_), true);
    marks_of_[&peer] = mark;
    if (eventually([&] { return find(mark).has_value(); })) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "its endpoint did not come";
  }
  /// `peer` has been served.
  bool is_of(const RawPeer& peer, const Gid& gid) const {
    const auto found = find(gid), mark = find(marks_of_.at(&peer));
    return found && mark && found->connection == mark->connection;
  }
  static bool is_gone(RawPeer& peer) {
    const std::lock_guard<std::mutex> lock(peer.mutex);
    return !peer.gone.empty();
  }
  Gid own_id(const Gid& first, std::uint8_t number) const {
    Gid gid = first;
    gid[12] = number;
    return gid;
  }

 private:
  std::uint16_t marks_ = 1000;
  std::map<const RawPeer*, Gid> marks_of_;
};

TEST_F(EndpointIds, TheNextIdsOfAConnectedProcessAreItsOwnWhoeverAnnouncesThemFirst) {
  RawPeer owner(domain.path()), claimant(domain.path());
  ASSERT_TRUE(owner.await_peers(2));
  ASSERT_TRUE(claimant.await_peers(2));
  for (std::uint16_t i = 0; i < 20; ++i) claimant.announce(owner.id(i), i % 2 == 0);
  ASSERT_TRUE(is_served(claimant));
  EXPECT_FALSE(find(owner.id(3)));
  owner.announce(owner.id(3), true);
  ASSERT_TRUE(is_served(owner));
  ASSERT_TRUE(find(owner.id(3)));
  EXPECT_TRUE(is_of(owner, owner.id(3)));
  for (const PeerId peer : claimant.peers) claimant.send(peer, FrameType::kWithdraw, encode_gid(owner.id(3)));
  ASSERT_TRUE(is_served(claimant)) << "it may repeat what another host said, and does not know";
  EXPECT_TRUE(find(owner.id(3)));
  EXPECT_FALSE(is_gone(owner));
  EXPECT_TRUE(eventually([&] { return domain.diagnostics().has(Errc::already_exists); }));
  EXPECT_FALSE(domain.diagnostics().has(Errc::protocol_violation));
}

TEST_F(EndpointIds, IdsOfOthersWithoutEndCostAFewLines) {
  const auto first = make_writer(*participant, "first");
  RawPeer claimant(domain.path());
  ASSERT_TRUE(claimant.await_peers(1));
  for (int round = 0; round < 20; ++round) {
    for (std::uint8_t i = 0; i < 100; ++i) {
      const Gid id = claimant.announce(own_id(first->gid(), i), false);
      for (const PeerId peer : claimant.peers) claimant.send(peer, FrameType::kWithdraw, encode_gid(id));
    }
  }
  ASSERT_TRUE(is_served(claimant));
  EXPECT_EQ(participant->endpoints().size(), 2U);
  EXPECT_TRUE(eventually([&] { return domain.diagnostics().has(Errc::already_exists); }));
  EXPECT_LT(domain.diagnostics().count(Errc::already_exists), 1000U);
}

TEST_F(EndpointIds, TheOwnNextIdsAreNobodyElses) {
  const auto first = make_writer(*participant, "first");
  RawPeer claimant(domain.path());
  ASSERT_TRUE(claimant.await_peers(1));
  for (std::uint8_t i = 0; i < 64; ++i) claimant.announce(own_id(first->gid(), i), false);
  ASSERT_TRUE(is_served(claimant));
  EXPECT_NO_THROW(make_writer(*participant, "second"));
  EXPECT_NO_THROW(make_reader(*participant, "third"));
}

TEST_F(EndpointIds, AnIdThatWasAnnouncedBeforeItsOwnerCameIsGivenToTheOwner) {
  RawPeer claimant(domain.path());
  ASSERT_TRUE(claimant.await_peers(1));
  RawPeer owner(domain.path(), false);
  const auto reader = make_reader(*participant, "t");
  claimant.announce(owner.id(1), true);
  claimant.announce(owner.id(2), false);
  ASSERT_TRUE(is_served(claimant));
  EXPECT_TRUE(is_of(claimant, owner.id(1)));
  owner.hub->start().or_throw();
  ASSERT_TRUE(owner.await_peers(2));
  owner.announce(owner.id(1), true);
  owner.announce(owner.id(2), true);
  ASSERT_TRUE(is_served(owner));
  for (std::uint16_t number = 1; number <= 2; ++number) {
    ASSERT_TRUE(find(owner.id(number)));
    EXPECT_TRUE(is_of(owner, owner.id(number)));
    EXPECT_TRUE(find(owner.id(number))->is_writer);
  }
  EXPECT_FALSE(is_gone(owner));
  ASSERT_TRUE(is_served(claimant));
}

TEST_F(EndpointIds, AnIdOfNoConnectedProcessBelongsToTheFirstThatAnnouncesIt) {
  RawPeer first(domain.path()), second(domain.path());
  ASSERT_TRUE(first.await_peers(2));
  ASSERT_TRUE(second.await_peers(2));
  Gid id{};
  id.fill(7);
  first.announce(id, true);
  ASSERT_TRUE(is_served(first));
  second.announce(id, false);
  ASSERT_TRUE(is_served(second)) << "an honest process may have the id: who says";
  ASSERT_TRUE(find(id));
  EXPECT_TRUE(is_of(first, id));
  for (const PeerId peer : first.peers) first.send(peer, FrameType::kWithdraw, encode_gid(id));
  EXPECT_TRUE(eventually([&] { return is_of(second, id); })) << "it has the id as soon as it is free";
}

TEST_F(EndpointIds, TheEndOfTheProcessThatHasAnIdGivesItToTheNext) {
  auto first = std::make_unique<RawPeer>(domain.path());
  RawPeer second(domain.path());
  ASSERT_TRUE(first->await_peers(2));
  ASSERT_TRUE(second.await_peers(2));
  Gid id{};
  id.fill(7);
  first->announce(id, true);
  ASSERT_TRUE(is_served(*first));
  second.announce(id, false);
  ASSERT_TRUE(is_served(second));
  EXPECT_TRUE(is_of(*first, id));
  first.reset();
  EXPECT_TRUE(eventually([&] { return is_of(second, id); }));
}

TEST_F(EndpointIds, AProcessThatAnnouncesTheIdOfAnotherTwiceIsDisconnected) {
  const auto writer = make_writer(*participant, "t");
  RawPeer claimant(domain.path());
  ASSERT_TRUE(claimant.await_peers(1));
  claimant.announce(writer->gid(), true);
  claimant.announce(writer->gid(), true);
  EXPECT_TRUE(claimant.await_gone());
}

TEST_F(EndpointIds, AReaderWhoseIdIsAnothersIsToldSo) {
  const auto writer = make_writer(*participant, "t");
  RawPeer first(domain.path()), second(domain.path());
  ASSERT_TRUE(first.await_peers(2));
  ASSERT_TRUE(second.await_peers(2));
  Gid id{};
  id.fill(7);
  first.announce(id, true);
  ASSERT_TRUE(is_served(first));
  second.announce(id, false);
  AttachFrame attach;
  attach.writer = writer->gid();
  attach.reader = id;
  attach.connection_bytes = 4096;
  os::CreatedSegment segment = os::create_segment("test", 4096, os::Writers::kBothEnds).or_throw();
  for (const PeerId peer : second.peers)
    second.send(peer, FrameType::kAttach, encode(attach),
                {std::make_shared<const os::UniqueFd>(os::duplicate(segment.fd.get()))});
  const RefusedFrame refused = decode_refused(second.await(FrameType::kRefused).second.payload).or_throw();
  EXPECT_EQ(refused.code, Errc::limit_reached) << "so it tries again";
  EXPECT_EQ(writer->matched(), 0U);
}

TEST_F(EndpointIds, ANewEndpointPassesOverIdsThatAreTaken) {
  const auto first = make_writer(*participant, "t");
  Participant::WriterOptions options;
  options.topic = "t";
  options.node = "test";
  options.type = number_type();
  options.gid = own_id(first->gid(), static_cast<std::uint8_t>(first->gid()[12] + 1));
  const auto second = participant->create_writer(options).or_throw();
  EXPECT_NO_THROW(make_writer(*participant, "t"));
}

TEST_F(EndpointIds, AnEndpointWithAnotherProcessesIdIsAnError) {
  RawPeer other(domain.path());
  ASSERT_TRUE(other.await_peers(1));
  ASSERT_TRUE(is_served(other));
  Participant::WriterOptions options;
  options.topic = "t";
  options.node = "test";
  options.type = number_type();
  options.gid = other.id(77);
  EXPECT_EQ(participant->create_writer(options).error().code, Errc::already_exists);
}

}  // namespace
}  // namespace baton::transport::test
