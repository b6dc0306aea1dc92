// SPDX-License-Identifier: Apache-2.0
// Processes that do not answer, beside others that do.
#include "type_cache.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "endpoint_test_support.hpp"

namespace baton::link {
namespace {

using transport::test::Child;
using transport::test::eventually;

transport::TypeInfo type_of_name(const std::string& name, const std::string& field = "string data") {
  transport::TypeInfo type;
  type.name = name;
  type.hash.fill(static_cast<std::uint8_t>(name.back()));
  type.definition = "message " + name + "\n" + field + "\n";
  type.skeleton_bytes = 8;
  return type;
}

class TypesOf : public ::testing::Test {
 protected:
  /// A process with a publisher of this type. Before participant().
  Child& process(const transport::TypeInfo& type) {
    Child& child = processes_.emplace_back([this, type](Child& self) {
      const auto participant = domain_.join();
      const auto writer = transport::test::make_writer(*participant, "/" + type.name, {}, type);
      self.say();
      self.hear();
    });
    EXPECT_EQ(child.hear(), '.');
    return child;
  }
  /// Knows so many publishers.
  void join(std::size_t publishers) {
    participant_ = domain_.join();
    ASSERT_TRUE(eventually([&] { return participant_->endpoints().size() == publishers; }));
    types_ = std::make_unique<TypeCache>(
        participant_, std::make_shared<LinkLog>([this](const transport::Diagnostic& said) { said_ += said.text; }));
  }
  transport::EndpointInfo publisher(const Child& process) const {
    for (const transport::EndpointInfo& each : participant_->endpoints()) {
      if (each.pid == process.pid()) return each;
    }
    return {};
  }
  std::shared_ptr<const LocalType> of(const transport::EndpointInfo& publisher) {
    return types_->of(publisher.gid, publisher.connection, publisher.type_name, publisher.type_hash);
  }
  /// As the link does, at each change of the graph and once a second.
  bool comes(const std::vector<transport::EndpointInfo>& publishers) {
    return eventually([&] {
      types_->read_answers();
      bool all = true;
      for (const transport::EndpointInfo& each : publishers) all = of(each) && all;
      return all;
    });
  }

  transport::test::TestDomain domain_;
  std::list<Child> processes_;
  std::shared_ptr<transport::Participant> participant_;
  std::string said_;
  std::unique_ptr<TypeCache> types_;
};

TEST_F(TypesOf, AnAnswerChangesTheGraphAndIsThereAtTheNextCall) {
  Child& child = process(type_of_name("a/A"));
  join(1);
  child.stop();
  const transport::EndpointInfo end = publisher(child);
  EXPECT_FALSE(of(end));
  EXPECT_TRUE(types_->is_pressing());
  std::uint64_t version = participant_->graph_version();
  child.kill(SIGCONT);
  while (!of(end)) {
    const Result<std::uint64_t> changed = participant_->wait_graph_change(version, transport::test::kPatience);
    ASSERT_TRUE(changed) << changed.error().message;
    version = *changed;
    types_->read_answers();
  }
  EXPECT_EQ(of(end)->info.definition, "message a/A\nstring data\n");
  EXPECT_FALSE(types_->is_pressing());
}

TEST_F(TypesOf, StoppedProcessesAreAskedAtOnceAndAnswerWhenTheyGoOnWhileOthersAreServed) {
  std::vector<Child*> stopped;
  for (const char* const name : {"a/A", "a/B", "a/C"}) stopped.push_back(&process(type_of_name(name)));
  Child& living = process(type_of_name("a/D"));
  join(4);
  std::vector<transport::EndpointInfo> silent;
  for (const Child* const child : stopped) {
    child->stop();
    silent.push_back(publisher(*child));
  }
  for (const transport::EndpointInfo& each : silent) EXPECT_FALSE(of(each));
  EXPECT_TRUE(comes({publisher(living)}));
  EXPECT_TRUE(eventually([&] {
    types_->read_answers();
    return said_.find("process " + std::to_string(stopped[2]->pid()) + " does not say how it defines a/C") !=
           std::string::npos;
  }));
  EXPECT_FALSE(types_->is_pressing()) << "an answer says when to look again";
  for (const transport::EndpointInfo& each : silent) EXPECT_FALSE(of(each));
  for (Child* const child : stopped) child->kill(SIGCONT);
  EXPECT_TRUE(comes(silent)) << said_;
}

TEST_F(TypesOf, ATypeOfStoppedProcessesIsLearnedFromAnotherOne) {
  std::vector<Child*> stopped;
  for (int i = 0; i < 3; ++i) stopped.push_back(&process(type_of_name("a/A")));
  Child& living = process(type_of_name("a/A"));
  join(4);
  std::vector<transport::EndpointInfo> all;
  for (const Child* const child : stopped) {
    child->stop();
    all.push_back(publisher(*child));
  }
  all.push_back(publisher(living));
  EXPECT_TRUE(comes(all));
}

TEST_F(TypesOf, AnAnswerThatIsNoDefinitionIsSaidAndAnotherProcessIsAsked) {
  Child& lying = process(type_of_name("a/A", "strange data"));
  Child& honest = process(type_of_name("a/A"));
  join(2);
  EXPECT_TRUE(eventually([&] {
    types_->read_answers();
    EXPECT_FALSE(of(publisher(lying)));
    return said_.find("messages of a/A are not carried") != std::string::npos;
  }));
  EXPECT_TRUE(comes({publisher(lying), publisher(honest)}));
}

TEST_F(TypesOf, AProcessThatEndsIsAskedNoMore) {
  Child& child = process(type_of_name("a/A"));
  join(1);
  child.stop();
  const transport::EndpointInfo end = publisher(child);
  EXPECT_FALSE(of(end));
  child.kill();
  child.wait();
  EXPECT_TRUE(eventually([&] { return participant_->endpoints().empty(); }));
  types_->read_answers();
  EXPECT_FALSE(of(end));
  EXPECT_FALSE(types_->is_pressing());
  EXPECT_EQ(said_, "");
}

TEST_F(TypesOf, DefinitionsAreForgottenWhenThereAreTooManyAndAskedForAgain) {
  constexpr std::size_t kMost = 8192;
  join(0);
  transport::EndpointInfo first;
  for (std::size_t i = 0; i <= kMost; ++i) {
    transport::TypeInfo type = type_of_name("a/T" + std::to_string(i));
    std::memcpy(type.hash.data(), &i, sizeof i);
    const auto reader = transport::test::make_reader(*participant_, "/t", {}, type);
    transport::EndpointInfo end;
    end.gid = reader->gid();
    end.type_name = type.name;
    end.type_hash = type.hash;
    ASSERT_TRUE(of(end)) << i << " " << said_;
    if (i == 0) first = end;
    if (i + 1 == kMost) {
      EXPECT_TRUE(of(first)) << "its endpoint is gone, and it is known still";
    }
  }
  EXPECT_FALSE(of(first));
}

}  // namespace
}  // namespace baton::link
