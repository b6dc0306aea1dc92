// SPDX-License-Identifier: Apache-2.0
#include "link_arguments.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace baton::link {
namespace {

Result<LinkArguments> read(std::vector<std::string> words) {
  words.insert(words.begin(), "baton_link");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return read_arguments(static_cast<int>(words.size()), argv.data());
}

TEST(LinkArguments, EveryOptionReachesTheLink) {
  const Result<LinkArguments> read_ones =
      read({"--peer", "hostb", "--peer=10.0.0.3:22701", "--interface", "eth0", "--port", "22801", "--domain", "7",
            "--host-name", "robot one", "--no-multicast", "--security", "/enclave", "--absence-time", "90",
            "--absence-mib", "512"});
  ASSERT_TRUE(read_ones) << read_ones.error().message;
  const Options& options = read_ones->options;
  EXPECT_EQ(options.peers, (std::vector<std::string>{"hostb", "10.0.0.3:22701"}));
  EXPECT_EQ(options.interface, "eth0");
  EXPECT_EQ(options.port, 22801);
  EXPECT_EQ(options.domain, 7);
  EXPECT_EQ(options.host_name, "robot one");
  EXPECT_FALSE(options.multicast);
  EXPECT_EQ(options.security, "/enclave");
  EXPECT_EQ(options.absence.time, std::chrono::seconds(90));
  EXPECT_EQ(options.absence.bytes, std::size_t{512} << 20);
  EXPECT_FALSE(read_ones->help);
}

TEST(LinkArguments, ATopicHasThePriorityThatWasNamedLast) {
  const Result<LinkArguments> some = read({"--priority", "/a=high", "--priority=/b=low", "--priority", "/a=low"});
  ASSERT_TRUE(some) << some.error().message;
  const std::map<std::string, TopicPriority> wanted{{"/a", TopicPriority::kLow}, {"/b", TopicPriority::kLow}};
  EXPECT_EQ(some->options.priorities, wanted);
}

TEST(LinkArguments, WithoutOptionsTheLinkHasItsDefaults) {
  const Result<LinkArguments> none = read({});
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->options.peers.empty());
  EXPECT_EQ(none->options.port, 0);
  EXPECT_EQ(none->options.domain, -1);
  EXPECT_TRUE(none->options.multicast);
  EXPECT_TRUE(none->options.security.empty());
}

TEST(LinkArguments, HelpIsAskedForWhateverElseIsThere) {
  const Result<LinkArguments> help = read({"--domain", "3", "--help"});
  ASSERT_TRUE(help);
  EXPECT_TRUE(help->help);
  for (const char* name : {"--peer", "--interface", "--port", "--domain", "--host-name", "--no-multicast", "--security",
                           "--priority", "--absence-time", "--absence-mib"})
    EXPECT_NE(std::string(kUsage).find(name), std::string::npos) << name;
}

TEST(LinkArguments, WhatCannotBeUsedIsNamed) {
  const struct {
    std::vector<std::string> words;
    std::string said;
  } cases[] = {
      {{"--port", "0"}, "--port is a number from 1 to 65535, not '0'"},
      {{"--port", "65536"}, "not '65536'"},
      {{"--port", "22x"}, "not '22x'"},
      {{"--domain", "-1"}, "--domain is a number from 0 to 9999, not '-1'"},
      {{"--domain", "10000"}, "not '10000'"},
      {{"--ros2"}, "run `baton bridge` beside it"},
      {{"--ros2-domain", "1"}, "run `baton bridge` beside it"},
      {{"--peer", ""}, "--peer has an empty value"},
      {{"--priority", "/a"}, "--priority is TOPIC=high or TOPIC=low, not '/a'"},
      {{"--priority", "/a=middle"}, "not '/a=middle'"},
      {{"--priority", "=high"}, "not '=high'"},
      {{"--absence-time", "0"}, "--absence-time is a number from 1 to 86400, not '0'"},
      {{"--absence-mib", "many"}, "--absence-mib is a number from 1 to 1048576, not 'many'"},
      {{"--security="}, "--security has an empty value"},
      {{"--domain", "1", "--peer"}, "--peer needs a value"},
      {{"--domain", "1", "--pear", "b"}, "unknown option '--pear'"},
      {{"-x"}, "unknown option '-x'"},
      {{"hostb"}, "'hostb' is no option; another host is named by --peer HOST"},
  };
  for (const auto& each : cases) {
    const Result<LinkArguments> refused = read(each.words);
    ASSERT_FALSE(refused) << each.said;
    EXPECT_EQ(refused.error().code, Errc::invalid_argument);
    EXPECT_NE(refused.error().message.find(each.said), std::string::npos) << refused.error().message;
  }
}

}  // namespace
}  // namespace baton::link
