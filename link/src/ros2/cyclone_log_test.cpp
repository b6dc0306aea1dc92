// SPDX-License-Identifier: Apache-2.0
// Lines as Cyclone DDS 0.10.2 writes them (ddsi_handshake.c, ddsi_security_omg.c, ddsi_entity_match.c, ddsi_proxy_participant.c).
#include "ros2/cyclone_log.hpp"

#include <gtest/gtest.h>

namespace baton::link::ros2 {
namespace {

TEST(CycloneLog, AFailedHandshakeNamesTheParticipant) {
  const auto late = refused_participant(
      "handshake (lguid=1104a1b:2c3:d4e5f607:1c1 rguid=110ffee:17:a0b1c2d3:1c1) failed: (4) Timed out", true);
  ASSERT_TRUE(late);
  EXPECT_EQ(late->participant, "0110ffee00000017a0b1c2d3000001c1");
  EXPECT_EQ(late->address, "");
  EXPECT_EQ(late->why, "it does not finish the handshake; its own log may say why");
  const auto failed = refused_participant("handshake (lguid=1:2:3:1c1 rguid=4:5:6:1c1) failed: (1) Failed", true);
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->participant, "000000040000000500000006000001c1");
  EXPECT_EQ(failed->why, "the handshake with it has failed");
}

TEST(CycloneLog, ARefusedCertificateHasItsSubjectAsName) {
  const auto refused = refused_participant(
      "Begin handshake reply failed: Certificate not valid: error: unable to get local issuer certificate; subject: "
      "/CN=\\/viewer(code: 200)",
      false);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->participant, "");
  EXPECT_EQ(refused->name, "/CN=/viewer");
  EXPECT_EQ(refused->why,
            "Certificate not valid: error: unable to get local issuer certificate; subject: /CN=\\/viewer");
  const auto nameless = refused_participant("Process handshake failed: (code: 0)", false);
  ASSERT_TRUE(nameless);
  EXPECT_EQ(nameless->name, "");
  EXPECT_EQ(nameless->why, "the handshake with it has failed");
}

TEST(CycloneLog, AnEndpointStandsForItsParticipant) {
  const auto refused = refused_participant("Non secure remote writer 110ffee:17:a0b1c2d3:403 is not allowed.", false);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->participant, "0110ffee00000017a0b1c2d3000001c1");
  EXPECT_EQ(refused->why, "it has no security");
  const std::string denied =
      "Could not get remote participant 110ffee:17:a0b1c2d3:1c1 permissions from plugin: Subject name is not the "
      "same(code: 136)";
  EXPECT_FALSE(refused_participant(denied, false)) << "no access control: it is let in";
  const auto permissions = refused_participant(denied, true);
  ASSERT_TRUE(permissions);
  EXPECT_EQ(permissions->why, "its permissions.p7s is refused: Subject name is not the same");
  const auto identity = refused_participant(
      "validate remote identity failed: remote participant (110ffee:17:a0b1c2d3:1c1) identity token missing", true);
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->participant, "0110ffee00000017a0b1c2d3000001c1");
}

TEST(CycloneLog, OtherLinesRefuseNobody) {
  for (const char* const line :
       {"", "handshake", "handshake (lguid=1:2:3:1c1 rguid=4:5:6:1c1) succeeded",
        "handshake (lguid= rguid=) failed: ", "handshake (lguid=1:2:3:1c1 rguid=4:5) failed: (1) Failed",
        "Non secure remote writer is not allowed.", "Non secure remote writer 111111111:2:3:4 is not allowed.",
        "Remote secure participant ", "Failed to register participant with crypto key factory: no memory(code: 1)",
        "writer 1:2:3:4: WHC is full (Begin handshake reply failed: no)"}) {
    EXPECT_FALSE(refused_participant(line, true)) << line;
  }
}

}  // namespace
}  // namespace baton::link::ros2
