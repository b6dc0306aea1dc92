// SPDX-License-Identifier: Apache-2.0
// Two hosts in one process: each has a runtime directory of its own, and the loopback device joins their links.
#include "baton/link/link.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "host_test_support.hpp"

namespace baton::link {
namespace {

using transport::test::eventually;

/// A host whose program reads the link's state whenever the link says something.
class Host {
 public:
  explicit Host(const std::string& name, std::vector<std::string> peers = {})
      : port(free_port()), participant(domain_.join()) {
    Options options = options_of(domain_, name, port, std::move(peers));
    options.on_diagnostic = [this](const transport::Diagnostic& diagnostic) { answer(diagnostic.text); };
    link_ = std::move(Link::start(options)).or_throw();
    started_ = link_.get();
  }
  /// Whether it was said, and the state was read then.
  bool says(const std::string& words) {
    return eventually([&] {
      const std::lock_guard<std::mutex> lock(mutex_);
      return answered_.find(words) != std::string::npos;
    });
  }
  const std::uint16_t port;

 private:
  void answer(const std::string& text) {
    if (const Link* const link = started_) static_cast<void>(link->state());
    const std::lock_guard<std::mutex> lock(mutex_);
    answered_ += text + "\n";
  }
  transport::test::TestDomain domain_;
  std::mutex mutex_;
  std::string answered_;
  std::atomic<const Link*> started_{nullptr};

 public:
  const std::shared_ptr<transport::Participant> participant;

 private:
  std::unique_ptr<Link> link_;  // ends first
};

TEST(Link, ACallbackForDiagnosticsMayReadTheState) {
  Host near("near");
  transport::Participant::ReaderOptions reading;
  reading.topic = "/text";
  reading.type = text_type();
  const auto reader = *near.participant->create_reader(reading);
  Host far("far", {"127.0.0.1:" + std::to_string(near.port)});
  transport::Participant::WriterOptions writing;
  writing.topic = "/text";
  writing.type = text_type();
  writing.node = std::string(1024, 'x');  // with the name of its host it is too long for a node
  const auto writer = *far.participant->create_writer(writing);
  // Said while the tables are being changed from which the state is made.
  EXPECT_TRUE(near.says("the node name is longer than 1024 bytes"));
  EXPECT_TRUE(near.says("host far is connected"));
}

TEST(Link, DiagnosticsThatComeBeforeTheEndAreSaidBeforeIt) {
  std::atomic<int> said{0};
  transport::test::TestDomain domain;
  Options options = options_of(domain, "alone", free_port());
  options.on_diagnostic = [&](const transport::Diagnostic&) { ++said; };
  ASSERT_TRUE(Link::start(options));  // ends at once
  EXPECT_GT(said, 0) << "it says on which port it listens";
}

}  // namespace
}  // namespace baton::link
