// SPDX-License-Identifier: Apache-2.0
#include "advertisement.hpp"

#include <gtest/gtest.h>

#include <random>

namespace baton::link {
namespace {

HostAdvertisement some() {
  HostAdvertisement advertisement;
  advertisement.host.fill(7);
  advertisement.host_name = "alpha";
  HostEndpoint endpoint;
  endpoint.gid.fill(1);
  endpoint.is_writer = true;
  endpoint.topic = "/image";
  endpoint.type_name = "sensor_msgs/Image";
  endpoint.node = "camera";
  endpoint.hash.fill(3);
  endpoint.ros_hash.version = 1;
  endpoint.ros_hash.value.fill(4);
  endpoint.qos = QoS(5).best_effort().transient_local();
  endpoint.qos.deadline = std::chrono::milliseconds(20);
  advertisement.endpoints.push_back(endpoint);
  transport::TypeInfo type;
  type.name = "sensor_msgs/Image";
  type.hash.fill(3);
  type.skeleton_bytes = 64;
  type.definition = "message sensor_msgs/Image\nuint8[] data\n";
  advertisement.types.push_back(std::make_shared<const transport::TypeInfo>(type));
  advertisement.wants = {"baton/1/rv/0011223344556677/image"};
  return advertisement;
}

TEST(HostAdvertisement, IsDecodedAsItWasEncoded) {
  const std::vector<std::byte> bytes = encode(some());
  const Result<HostAdvertisement> back = decode(bytes.data(), bytes.size());
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(encode(*back), bytes);
  ASSERT_EQ(back->endpoints.size(), 1U);
  EXPECT_EQ(back->endpoints[0].topic, "/image");
  EXPECT_EQ(back->endpoints[0].ros_hash, some().endpoints[0].ros_hash);
  EXPECT_EQ(back->endpoints[0].qos.deadline, std::chrono::milliseconds(20));
  EXPECT_EQ(back->endpoints[0].qos.lifespan, kInfinite);
  ASSERT_EQ(back->types.size(), 1U);
  EXPECT_EQ(back->types[0]->definition, some().types[0]->definition);
  EXPECT_EQ(back->types[0]->skeleton_bytes, 64U);
  EXPECT_EQ(back->wants, some().wants);
}

TEST(HostAdvertisement, CutOffAnywhereAreRefused) {
  const std::vector<std::byte> bytes = encode(some());
  for (std::size_t size = 0; size < bytes.size(); ++size) EXPECT_FALSE(decode(bytes.data(), size).ok()) << size;
}

TEST(HostAdvertisement, WithAnyChangedByteIsRefusedOrAnotherAdvertisement) {
  const std::vector<std::byte> bytes = encode(some());
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::vector<std::byte> changed = bytes;
    for (int k = 0; k < 3; ++k) changed[random() % changed.size()] = static_cast<std::byte>(random());
    const Result<HostAdvertisement> back = decode(changed.data(), changed.size());
    if (!back) continue;
    for (const HostEndpoint& endpoint : back->endpoints) {
      EXPECT_GE(endpoint.qos.depth, 1U);
      EXPECT_LE(endpoint.qos.depth, 65536U);
      EXPECT_GE(endpoint.qos.deadline.count(), 0);
    }
  }
}

TEST(HostAdvertisement, EveryListIsBounded) {
  HostAdvertisement advertisement;
  HostEndpoint endpoint;
  endpoint.topic = "/t";
  advertisement.endpoints.assign(kMostEndpointsOfTopic + 10, endpoint);
  EXPECT_EQ(decode(encode(advertisement).data(), encode(advertisement).size())->endpoints.size(),
            kMostEndpointsOfTopic);
  endpoint.topic.clear();
  advertisement.endpoints.assign(kMostEndpoints + 1, endpoint);
  EXPECT_FALSE(decode(encode(advertisement).data(), encode(advertisement).size()));
  advertisement.endpoints.clear();
  advertisement.wants.assign(kMostWants + 1, "c");
  EXPECT_FALSE(decode(encode(advertisement).data(), encode(advertisement).size()));
  advertisement.wants.clear();
  advertisement.types.assign(kMostTypes + 1, std::make_shared<const transport::TypeInfo>());
  EXPECT_FALSE(decode(encode(advertisement).data(), encode(advertisement).size()));
  advertisement.types.clear();
  EXPECT_TRUE(decode(encode(advertisement).data(), encode(advertisement).size()));
}

std::uint64_t first_byte_of(const HostEndpoint& endpoint) { return endpoint.gid[0]; }

TEST(AdvertisableEndpoints, AProcessWithMoreEndpointsThanOthersTakeSilencesNoOtherProcess) {
  HostEndpoint endpoint = some().endpoints[0];
  for (const std::string& name : {std::string("/image"), std::string("/"), std::string(1000, 'x')}) {
    std::vector<HostEndpoint> endpoints;
    for (std::size_t i = 0; i < kMostEndpoints + 100; ++i) {
      endpoints.push_back(endpoint);
      endpoints.back().gid = {5};
      endpoints.back().topic = name == "/image" ? name : name + std::to_string(i);
    }
    for (std::uint8_t process : {std::uint8_t{1}, std::uint8_t{9}}) {
      endpoints.push_back(endpoint);
      endpoints.back().gid = {process};
    }
    HostAdvertisement advertisement = some();
    advertisement.endpoints = advertisable(endpoints, first_byte_of);
    const std::vector<std::byte> bytes = encode(advertisement);
    EXPECT_LT(bytes.size(), kMaxAdvertisementBytes - kMostAdvertisedTypeBytes);
    const Result<HostAdvertisement> back = decode(bytes.data(), bytes.size());
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->endpoints.size(), advertisement.endpoints.size());
    EXPECT_GT(back->endpoints.size(), kMostEndpointsOfTopic - 10);
    const auto others = std::count_if(back->endpoints.begin(), back->endpoints.end(),
                                      [](const HostEndpoint& each) { return each.gid[0] != 5; });
    EXPECT_EQ(others, 2) << name.substr(0, 10);
  }
}

TEST(AdvertisableEndpoints, AreAllThatThereAreWhereOthersTakeThem) {
  EXPECT_EQ(advertisable(some().endpoints, first_byte_of).size(), 1U);
}

TEST(AdvertisableWants, AHostWithLongNamesLeavesRoomForThoseOfTheOthers) {
  std::map<Gid, std::set<std::string>> wanted;
  for (int i = 0; i < 8000; ++i) wanted[Gid{1}].insert("baton/1/rv/" + std::string(1000, 'x') + std::to_string(i));
  wanted[Gid{1}].insert("of both");
  for (int i = 0; i < 500; ++i) wanted[Gid{2}].insert("baton/1/rv/0123456789abcdef/topic#" + std::to_string(i));
  wanted[Gid{2}].insert("of both");
  HostAdvertisement advertisement;
  advertisement.wants = advertisable(wanted);
  EXPECT_LT(encode(advertisement).size(),
            kMaxAdvertisementBytes - kMostAdvertisedTypeBytes - kMostAdvertisedEndpointBytes);
  for (const std::string& name : wanted[Gid{2}])
    EXPECT_EQ(std::count(advertisement.wants.begin(), advertisement.wants.end(), name), 1) << name;
  EXPECT_GT(advertisement.wants.size(), 1000U) << "the host with long names has what is left";
}

}  // namespace
}  // namespace baton::link
