// SPDX-License-Identifier: Apache-2.0
// Writers and readers in real processes: hand-over, merging, late joiners, death, stop, fork.
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "baton/os/disposal.hpp"
#include "baton/os/process.hpp"
#include "endpoint_test_support.hpp"

namespace baton::transport::test {
namespace {

/// Waits for the next value with a wait set; kNothing after the patience.
std::uint64_t wait_take(WaitSet& wait_set, Reader& reader) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (std::chrono::steady_clock::now() < end) {
    const std::uint64_t value = take(reader);
    if (value != kNothing) return value;
    wait_set.wait(kPatience).or_throw();
  }
  return kNothing;
}

TEST(EndpointsProcesses, OneWriterOneReader) {
  TestDomain domain;
  Child writer_process([&](Child& self) {
    const auto participant = domain.join();
    const auto writer = make_writer(*participant, "t");
    BATON_CHECK(matched(*writer, 1));
    BATON_CHECK(self.hear() == '.');
    for (std::uint64_t i = 1; i <= 1000; ++i) {
      publish(*writer, i).or_throw();
      if (i % 10 == 0) std::this_thread::sleep_for(100us);
    }
    BATON_CHECK(writer->wait_for_all_acked(kPatience).ok());
  });
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t", QoS(2000));
  WaitSet wait_set;
  wait_set.add(reader).or_throw();
  ASSERT_TRUE(matched(*reader, 1));
  writer_process.say();
  for (std::uint64_t i = 1; i <= 1000; ++i) ASSERT_EQ(wait_take(wait_set, *reader), i);
  EXPECT_EQ(writer_process.wait(), 0);
  EXPECT_EQ(reader->statuses().lost_total, 0U);
  EXPECT_TRUE(matched(*reader, 0));
}

TEST(EndpointsProcesses, ATypeThatWasAskedForIsThereOnceTheGraphHasChanged) {
  TestDomain domain;
  Child stopped([&](Child& self) {
    const auto participant = domain.join();
    const auto writer = make_writer(*participant, "t");
    self.hear();
  });
  const auto participant = domain.join();
  ASSERT_TRUE(eventually([&] { return participant->endpoints().size() == 1; }));
  stopped.stop();
  const Gid writer = participant->endpoints()[0].gid;
  EXPECT_EQ(participant->type_of(writer, 0ns).error().code, Errc::timed_out);
  EXPECT_EQ(participant->type_of(writer, 1ms).error().code, Errc::timed_out);
  std::uint64_t version = participant->graph_version();
  stopped.kill(SIGCONT);
  for (Result<TypeInfo> type = participant->type_of(writer, 0ns);; type = participant->type_of(writer, 0ns)) {
    if (type) {
      EXPECT_EQ(type->definition, number_type().definition);
      break;
    }
    ASSERT_EQ(type.error().code, Errc::timed_out);
    version = participant->wait_graph_change(version, kPatience).or_throw();
  }
  EXPECT_TRUE(participant->type_of(writer, kPatience)) << "asked anew";
  stopped.kill();
  stopped.wait();
  EXPECT_TRUE(eventually([&] { return participant->endpoints().empty(); }));
  EXPECT_EQ(participant->type_of(writer, 0ns).error().code, Errc::not_found);
}

TEST(EndpointsProcesses, HashesOfRos2AndEnclavesReachOtherProcesses) {
  TestDomain domain;
  RosTypeHash hash;
  hash.version = 1;
  for (std::size_t i = 0; i < hash.value.size(); ++i) hash.value[i] = static_cast<std::uint8_t>(i * 7);
  Child other([&](Child& self) {
    const auto participant = domain.join();
    participant->add_node("/talker", "/robot/arm");
    Participant::WriterOptions options;
    options.topic = "of_ros";
    options.type = number_type();
    options.type.ros_hash = hash;
    const auto of_ros = participant->create_writer(options).or_throw();
    const auto reader = make_reader(*participant, "of_baton");
    self.say();
    self.hear();
  });
  ASSERT_EQ(other.hear(), '.');
  const auto participant = domain.join();
  EXPECT_TRUE(eventually([&] { return participant->nodes().size() == 1 && participant->endpoints().size() == 2; }));
  for (const NodeInfo& node : participant->nodes()) {
    EXPECT_EQ(node.name, "/talker");
    EXPECT_EQ(node.enclave, "/robot/arm");
    EXPECT_EQ(node.pid, other.pid());
  }
  for (const EndpointInfo& endpoint : participant->endpoints()) {
    EXPECT_EQ(endpoint.ros_type_hash, endpoint.is_writer ? hash : RosTypeHash());
    if (endpoint.is_writer) {
      EXPECT_EQ(participant->type_of(endpoint.gid, kPatience).or_throw().ros_hash, hash);
    }
  }
  other.say();
  EXPECT_EQ(other.wait(), 0);
}

TEST(EndpointsProcesses, AHundredThousandPingPongsLoseNoWakeUp) {
  TestDomain domain;
  constexpr std::uint64_t kRounds = 100000;
  Child echo([&](Child&) {
    ::alarm(280);
    const auto participant = domain.join();
    const auto reader = make_reader(*participant, "ping");
    const auto writer = make_writer(*participant, "pong");
    WaitSet wait_set;
    wait_set.add(reader).or_throw();
    BATON_CHECK(matched(*reader, 1) && matched(*writer, 1));
    for (std::uint64_t i = 1; i <= kRounds; ++i) {
      BATON_CHECK(wait_take(wait_set, *reader) == i);
      publish(*writer, i).or_throw();
    }
    BATON_CHECK(writer->wait_for_all_acked(kPatience).ok());
  });
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "ping");
  const auto reader = make_reader(*participant, "pong");
  WaitSet wait_set;
  wait_set.add(reader).or_throw();
  ASSERT_TRUE(matched(*reader, 1) && matched(*writer, 1));
  for (std::uint64_t i = 1; i <= kRounds; ++i) {
    publish(*writer, i).or_throw();
    ASSERT_EQ(wait_take(wait_set, *reader), i);
  }
  EXPECT_EQ(echo.wait(), 0);
}

TEST(EndpointsProcesses, ManyReadersGetEveryMessage) {
  TestDomain domain;
  constexpr std::uint64_t kMessages = 500;
  const auto body = [&](Child& self) {
    const auto participant = domain.join();
    const auto reader = make_reader(*participant, "t", QoS(1000));
    WaitSet wait_set;
    wait_set.add(reader).or_throw();
    BATON_CHECK(matched(*reader, 1));
    self.say();
    for (std::uint64_t i = 1; i <= kMessages; ++i) BATON_CHECK(wait_take(wait_set, *reader) == i);
  };
  std::vector<std::unique_ptr<Child>> children;
  for (int i = 0; i < 8; ++i) children.push_back(std::make_unique<Child>(body));
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t");
  for (const auto& child : children) ASSERT_EQ(child->hear(), '.');
  for (std::uint64_t i = 1; i <= kMessages; ++i) publish(*writer, i).or_throw();
  for (const auto& child : children) EXPECT_EQ(child->wait(), 0);
  EXPECT_TRUE(matched(*writer, 0));
  EXPECT_EQ(domain.sockets(), 1U);
}

TEST(EndpointsProcesses, SeveralWritersAreMergedByTheirSourceTime) {
  TestDomain domain;
  const auto body = [&](Child& self) {
    const auto participant = domain.join();
    const auto writer = make_writer(*participant, "t");
    BATON_CHECK(matched(*writer, 1));
    for (int round = 0; round < 2; ++round) {
      self.say();
      BATON_CHECK(self.hear() == '.');
      for (std::uint64_t i = 1; i <= 200; ++i) publish(*writer, i).or_throw();
    }
    self.say();
    BATON_CHECK(writer->wait_for_all_acked(kPatience).ok());
  };
  Child a(body), b(body), c(body);
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t", QoS(1000));
  // A publisher's messages wait for its data segment, and do not delay those of the others. So the first round brings
  // the segments, in any order; in the second round all 600 are there, and their order is fixed.
  for (const bool ordered : {false, true}) {
    for (Child* child : {&a, &b, &c}) {
      ASSERT_EQ(child->hear(), '.');
      child->say();
    }
    if (ordered) {
      for (Child* child : {&a, &b, &c}) ASSERT_EQ(child->hear(), '.');
    }
    ASSERT_TRUE(matched(*reader, 3));
    std::int64_t last = 0;
    int count = 0;
    EXPECT_TRUE(eventually([&] {
      const TakenSample sample = reader->take().or_throw();
      if (!sample) return count == 600;
      if (ordered) {
        EXPECT_GE(sample.header().source_monotonic_ns, last);
      }
      last = sample.header().source_monotonic_ns;
      ++count;
      return false;
    }));
    EXPECT_EQ(count, 600);
  }
  for (Child* child : {&a, &b, &c}) EXPECT_EQ(child->wait(), 0);
}

TEST(EndpointsProcesses, WhatAKilledWriterPublishedStaysReadable) {
  TestDomain domain;
  Child child([&](Child& self) {
    const auto participant = domain.join();
    const auto writer = make_writer(*participant, "t");
    BATON_CHECK(matched(*writer, 1));
    BATON_CHECK(self.hear() == '.');
    for (std::uint64_t i = 1; i <= 5; ++i) publish(*writer, i).or_throw();
    self.say();
    ::pause();
  });
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t");
  ASSERT_TRUE(matched(*reader, 1));
  child.say();
  ASSERT_EQ(child.hear(), '.');
  const TakenSample held = take_sample(*reader);
  ASSERT_EQ(value_of(held), 1U);
  child.kill();
  EXPECT_EQ(child.wait(), -SIGKILL);
  EXPECT_TRUE(matched(*reader, 0));
  for (std::uint64_t i = 2; i <= 5; ++i) EXPECT_EQ(take(*reader), i);
  EXPECT_EQ(take(*reader), kNothing);
  EXPECT_EQ(value_of(held), 1U);
}

TEST(EndpointsProcesses, AWaiterLearnsThatItsWriterDied) {
  TestDomain domain;
  Child child([&](Child&) {
    const auto participant = domain.join();
    const auto writer = make_writer(*participant, "t");
    BATON_CHECK(matched(*writer, 1));
    ::pause();
  });
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t");
  GuardCondition gone;
  WaitSet wait_set;
  wait_set.add(reader).or_throw();
  wait_set.add(gone).or_throw();
  ASSERT_TRUE(matched(*reader, 1));
  reader->on_event([&](Event event) {
    if (event == Event::kLivelinessChanged) gone.trigger();
  });
  std::thread killer([&] {
    std::this_thread::sleep_for(50ms);
    child.kill();
  });
  EXPECT_TRUE(wait_set.wait(kPatience).value());
  killer.join();
}

TEST(EndpointsProcesses, WhatAKilledReaderHeldComesBackToTheWriter) {
  TestDomain domain;
  Child child([&](Child& self) {
    const auto participant = domain.join();
    const auto reader = make_reader(*participant, "t", QoS(4).hold(4));
    WaitSet wait_set;
    wait_set.add(reader).or_throw();
    BATON_CHECK(matched(*reader, 1));
    self.say();
    std::vector<TakenSample> held;
    while (held.size() < 4) {
      wait_set.wait(kPatience).or_throw();
      while (TakenSample sample = reader->take().or_throw()) held.push_back(std::move(sample));
    }
    self.say();
    ::pause();
  });
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t");
  ASSERT_EQ(child.hear(), '.');
  ASSERT_TRUE(matched(*writer, 1));
  for (std::uint64_t i = 1; i <= 4; ++i) publish(*writer, i).or_throw();
  ASSERT_EQ(child.hear(), '.');
  publish(*writer, 5).or_throw();
  EXPECT_GE(writer->memory_account().published_slots, 5U);
  child.kill();
  EXPECT_TRUE(matched(*writer, 0));
  EXPECT_TRUE(eventually([&] { return writer->memory_account().published_slots == 0; }));
  EXPECT_TRUE(publish(*writer, 6).ok());
}

TEST(EndpointsProcesses, AStoppedReaderCostsOnlyItsOwnMessages) {
  TestDomain domain;
  const auto body = [&](Child& self) {
    const auto participant = domain.join();
    const auto reader = make_reader(*participant, "t", QoS(5));
    WaitSet wait_set;
    wait_set.add(reader).or_throw();
    BATON_CHECK(matched(*reader, 1));
    self.say();
    std::uint64_t last = 0, count = 0;
    while (last != 2000) {
      const std::uint64_t value = wait_take(wait_set, *reader);
      BATON_CHECK(value != kNothing && value > last);
      last = value;
      ++count;
    }
    BATON_CHECK(count + reader->statuses().lost_total == 2000);
  };
  Child stopped(body), running(body);
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t");
  ASSERT_EQ(stopped.hear(), '.');
  ASSERT_EQ(running.hear(), '.');
  ASSERT_TRUE(matched(*writer, 2));
  stopped.stop();
  for (std::uint64_t i = 1; i < 2000; ++i) publish(*writer, i).or_throw();
  stopped.kill(SIGCONT);
  std::this_thread::sleep_for(10ms);
  publish(*writer, 2000).or_throw();
  EXPECT_EQ(stopped.wait(), 0);
  EXPECT_EQ(running.wait(), 0);
}

TEST(EndpointsProcesses, ALateProcessGetsTheHistory) {
  TestDomain domain;
  Child child([&](Child& self) {
    BATON_CHECK(self.hear() == '.');
    const auto participant = domain.join();
    const auto reader = make_reader(*participant, "t", QoS(10).transient_local());
    WaitSet wait_set;
    wait_set.add(reader).or_throw();
    for (std::uint64_t i = 3; i <= 5; ++i) BATON_CHECK(wait_take(wait_set, *reader) == i);
    BATON_CHECK(reader->statuses().lost_total == 0);
  });
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t", QoS(3).transient_local());
  for (std::uint64_t i = 1; i <= 5; ++i) publish(*writer, i).or_throw();
  child.say();
  EXPECT_EQ(child.wait(), 0);
}

TEST(EndpointsProcesses, AForkedChildCanNeitherUseNorSpoilWhatItInherited) {
  TestDomain domain;
  Child partner([&](Child& self) {
    const auto participant = domain.join();
    const auto writer = make_writer(*participant, "t");
    const auto other = make_reader(*participant, "u");
    BATON_CHECK(matched(*writer, 1) && matched(*other, 1));
    self.say();
    BATON_CHECK(self.hear() == '.');
    for (std::uint64_t i = 1; i <= 3; ++i) publish(*writer, i).or_throw();
    self.say();
    BATON_CHECK(self.hear() == '.');
  });
  auto participant = domain.join();
  auto reader = make_reader(*participant, "t");
  auto writer = make_writer(*participant, "u");
  WaitSet wait_set;
  wait_set.add(reader).or_throw();
  ASSERT_EQ(partner.hear(), '.');
  partner.say();
  ASSERT_EQ(partner.hear(), '.');
  TakenSample sample = take_sample(*reader);
  memory::Chunk loan = writer->loan_sized(8).or_throw();
  const pid_t pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    ::alarm(250);
    BATON_CHECK(reader->take().error().code == Errc::forked);
    BATON_CHECK(writer->loan_sized(8).error().code == Errc::forked);
    BATON_CHECK(writer->publish(loan).error().code == Errc::forked);
    BATON_CHECK(wait_set.wait(0ns).error().code == Errc::forked);
    BATON_CHECK(reader->pollable_fd().error().code == Errc::forked);
    BATON_CHECK(participant->create_writer({}).error().code == Errc::forked);
    BATON_CHECK(!reader->has_data());
    BATON_CHECK(reader->matched() == 0);
    writer->abandon(loan);
    sample.release();
    writer.reset();
    reader.reset();
    participant.reset();
    // A participant of its own is welcome.
    const auto own = domain.join();
    const auto own_reader = make_reader(*own, "t");
    BATON_CHECK(matched(*own_reader, 1));
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(value_of(sample), 1U);
  EXPECT_EQ(take(*reader), 2U);
  writer->publish(loan).or_throw();
  sample.release();
  EXPECT_EQ(take(*reader), 3U);
  partner.say();
  EXPECT_EQ(partner.wait(), 0);
}

TEST(EndpointsProcesses, AChildThatOutlivesItsKilledParentDoesNotKeepItAlive) {
  TestDomain domain;
  Child parent([&](Child& self) {
    const auto participant = domain.join();
    const auto writer = make_writer(*participant, "t");
    BATON_CHECK(matched(*writer, 1));
    if (::fork() == 0) {
      ::prctl(PR_SET_PDEATHSIG, 0);
      ::alarm(300);
      self.hear();  // the end of the test
      ::_exit(0);
    }
    self.say();
    ::pause();
  });
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t");
  ASSERT_TRUE(matched(*reader, 1));
  ASSERT_EQ(parent.hear(), '.');
  parent.kill();
  EXPECT_TRUE(matched(*reader, 0));
  parent.say();
}

TEST(EndpointsProcesses, AReaderWithoutADescriptorForASegmentSaysSoIsUnmatchedAndReadsOnceItHasOne) {
  TestDomain domain;
  Child writer_process([&](Child& self) {
    const auto participant = domain.join();
    const auto writer = make_writer(*participant, "t");
    BATON_CHECK(matched(*writer, 1));
    BATON_CHECK(self.hear() == '.');
    for (std::uint64_t i = 1;; ++i) {  // until it is killed
      publish(*writer, i).or_throw();
      std::this_thread::sleep_for(1ms);
    }
  });
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t");
  ASSERT_TRUE(matched(*reader, 1));
  NoDescriptors shortage;
  writer_process.say();
  EXPECT_TRUE(eventually([&] { return domain.diagnostics().has(Errc::out_of_descriptors); }));
  EXPECT_TRUE(matched(*reader, 0));
  EXPECT_EQ(take(*reader), kNothing);
  shortage.release();
  std::uint64_t last = value_of(take_sample(*reader));
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t next = value_of(take_sample(*reader));
    EXPECT_GT(next, last);
    last = next;
  }
}

TEST(EndpointsProcesses, OneProcessGetsHalfOfTheDescriptorsForItsSegmentsAndTheRestIsServedWhenSomeAreFree) {
  constexpr std::size_t kTopics = 80;
  constexpr std::size_t kHalf = 64;
  constexpr std::size_t kOfOther = 10;
  TestDomain domain;
  const auto publisher = [&](std::size_t first, std::size_t count) {
    return [&, first, count](Child& self) {
      const auto participant = domain.join();
      std::vector<std::shared_ptr<Writer>> writers;
      for (std::size_t i = first; i < first + count; ++i)
        writers.push_back(make_writer(*participant, "t" + std::to_string(i), QoS().transient_local()));
      for (const auto& writer : writers) publish(*writer, 1).or_throw();
      BATON_CHECK(self.hear() == '.');
      writers.erase(writers.begin(), writers.begin() + static_cast<std::ptrdiff_t>(count / 2));
      self.hear();
    };
  };
  Child many(publisher(0, kTopics));
  Child few(publisher(kTopics, kOfOther));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit low{2 * kHalf, 2 * kHalf};  // the hard limit too: it would be raised
  Child subscriber([&](Child& self) {
    BATON_CHECK(::setrlimit(RLIMIT_NOFILE, &low) == 0);
    const auto participant = domain.join();
    std::vector<std::shared_ptr<Reader>> readers;
    for (std::size_t i = 0; i < kTopics + kOfOther; ++i)
      readers.push_back(make_reader(*participant, "t" + std::to_string(i), QoS().transient_local()));
    std::size_t of_many = 0, of_few = 0;
    const auto look = [&] {
      for (std::size_t i = 0; i < readers.size(); ++i) {
        const TakenSample sample = readers[i]->take().or_throw();
        if (sample) ++(i < kTopics ? of_many : of_few);
      }
    };
    BATON_CHECK(eventually([&] { return look(), of_many >= kHalf && of_few >= kOfOther; }));
    BATON_CHECK(eventually([&] { return domain.diagnostics().has(Errc::limit_reached); }));
    const auto served = [&] {
      return static_cast<std::size_t>(
          std::count_if(readers.begin(), readers.end(), [](const auto& reader) { return reader->matched() > 0; }));
    };
    BATON_CHECK(eventually([&] { return served() == kHalf + kOfOther; }));
    look();
    BATON_CHECK(of_many == kHalf && of_few == kOfOther);
    self.say();
    BATON_CHECK(self.hear() == '.');
    // Of those that remain all are served: those that were before, and those that were not.
    BATON_CHECK(eventually([&] { return served() == kTopics / 2 + kOfOther; }));
    BATON_CHECK(eventually([&] { return look(), of_many > kHalf; }));
    self.say();
    self.hear();
  });
  ASSERT_EQ(subscriber.hear(), '.');
  many.say();
  subscriber.say();
  EXPECT_EQ(subscriber.hear(), '.');
}

/// Calls act(fd) for each Unix stream socket of this process (standard streams apart): by these it wakes the subscriptions of others.
template <class F>
void for_wake_sockets(F&& act) {
  for (int fd = 3; fd < 1024; ++fd) {
    if (os::kind_of(fd) == os::DescriptorKind::kWakeSocket) act(fd);
  }
}

/// Two publishers of other processes, the second of which misuses its wake socket. The reader sleeps in poll(): by itself, or in a wait set
/// with more publishers than futex_waitv takes.
void a_publisher_that_shuts_its_wake_socket_down(bool in_wait_set) {
  TestDomain domain;
  constexpr int kOthers = 130;
  const auto socket_comes = [] {
    int count = 0;
    for_wake_sockets([&](int) { ++count; });
    return count == 1;
  };
  Child honest([&](Child& self) {
    const auto participant = domain.join();
    const auto writer = make_writer(*participant, "t");
    BATON_CHECK(matched(*writer, 1));
    BATON_CHECK(eventually(socket_comes));
    settle(
        *participant);  // a writer notifies once when it gets the socket: not later, when nothing is to wake the reader
    self.say();
    for (std::uint64_t i = 1; self.hear() == '.'; ++i) publish(*writer, i).or_throw();
  });
  Child hostile([&](Child& self) {
    const auto participant = domain.join();
    const auto writer = make_writer(*participant, "t");
    BATON_CHECK(matched(*writer, 1));
    BATON_CHECK(eventually(socket_comes));
    self.say();
    BATON_CHECK(self.hear() == '.');
    for_wake_sockets([](int fd) { BATON_CHECK(::shutdown(fd, SHUT_RDWR) == 0); });
    self.say();
    self.hear();
  });
  const auto participant = domain.join();
  memory::PoolOptions pool = small_pool();
  pool.max_message_bytes = 4096;
  pool.slot_count = 16;
  std::vector<std::shared_ptr<Writer>> others;
  for (int i = 0; in_wait_set && i < kOthers; ++i)
    others.push_back(make_writer(*participant, "t", QoS(), number_type(), pool));
  const auto reader = make_reader(*participant, "t", QoS().hold(1));
  ASSERT_TRUE(matched(*reader, static_cast<std::uint32_t>(others.size()) + 2));
  WaitSet wait_set;
  if (in_wait_set) wait_set.add(reader).or_throw();
  pollfd entry{in_wait_set ? -1 : reader->pollable_fd().or_throw(), POLLIN, 0};
  // Looks for messages whenever it is woken; true if it was, until `limit` at most.
  const auto woken = [&](std::chrono::milliseconds limit) {
    return in_wait_set ? wait_set.wait(limit).or_throw() : ::poll(&entry, 1, static_cast<int>(limit.count())) > 0;
  };
  const auto next = [&] {
    for (;;) {
      const std::uint64_t value = take(*reader);
      if (value != kNothing || !woken(kPatience)) return value;
    }
  };
  EXPECT_FALSE(woken(1ms) && take(*reader) != kNothing);
  ASSERT_EQ(hostile.hear(), '.');
  ASSERT_EQ(honest.hear(), '.');
  honest.say();
  EXPECT_EQ(next(), 1U);
  hostile.say();
  ASSERT_EQ(hostile.hear(), '.');
  // The misuse may wake once; then all that is left to come is the end of the connection.
  EXPECT_TRUE(eventually(
      [&] { return (void(woken(1ms)), take(*reader)) == kNothing && reader->matched() == others.size() + 1; }));
  EXPECT_TRUE(eventually([&] { return domain.diagnostics().has(Errc::protocol_violation); }));
  EXPECT_TRUE(eventually([&] { return take(*reader) == kNothing && !woken(50ms); })) << "ready without data";
  for (std::uint64_t i = 2; i <= 100; ++i) {
    honest.say();
    ASSERT_EQ(next(), i);
    ASSERT_EQ(take(*reader), kNothing);
    ASSERT_FALSE(woken(0ms)) << i;
  }
}

TEST(EndpointsProcesses, APublisherThatShutsItsWakeSocketDownDoesNotKeepAPolledReaderAwake) {
  a_publisher_that_shuts_its_wake_socket_down(false);
}

TEST(EndpointsProcesses, APublisherThatShutsItsWakeSocketDownDoesNotKeepAWaitSetAwake) {
  a_publisher_that_shuts_its_wake_socket_down(true);
}

/// This process's children are in a pid namespace of their own, and it is in a mount namespace of its own. False: not permitted.
bool leave_namespaces() {
  if (::unshare(CLONE_NEWPID | CLONE_NEWNS) == 0) return true;
  const std::string user = std::to_string(::getuid()), group = std::to_string(::getgid());
  if (::unshare(CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS) != 0) return false;
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/uid_map") << user + " " + user + " 1";
  std::ofstream("/proc/self/gid_map") << group + " " + group + " 1";
  return ::getuid() == static_cast<uid_t>(std::stoul(user));
}

TEST(EndpointsProcesses, ProcessesOfDifferentNamespacesMeetAndNobodyTakesAStrangersPidForAPeers) {
  TestDomain domain;
  const pid_t outer_pid = ::getpid();
  Child middle([&](Child& self) {
    if (!leave_namespaces()) {
      self.say('s');
      return;
    }
    const pid_t inner = ::fork();
    BATON_CHECK(inner >= 0);
    if (inner > 0) {
      int status = 0;
      BATON_CHECK(::waitpid(inner, &status, 0) == inner);
      BATON_CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
      return;
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::alarm(50);
    BATON_CHECK(::getpid() == 1);
    const auto participant = domain.join();
    const auto reader = make_reader(*participant, "t");
    BATON_CHECK(matched(*reader, 1));
    bool seen = false;
    for (const EndpointInfo& info : participant->endpoints()) {
      if (!info.is_writer) continue;
      seen = info.pid == outer_pid && info.local_pid == 0;
    }
    BATON_CHECK(seen);
    self.say();
    BATON_CHECK(value_of(take_sample(*reader)) == 7);
    self.say();
    for (;;) ::pause();
  });
  const char first = [&] {
    const auto participant = domain.join();
    const auto writer = make_writer(*participant, "t");
    const char heard = middle.hear();
    if (heard != '.') return heard;
    EXPECT_TRUE(matched(*writer, 1));
    std::int32_t inner = 0;
    for (const EndpointInfo& info : participant->endpoints()) {
      if (info.is_writer) {
        EXPECT_EQ(info.local_pid, ::getpid());
      } else {
        inner = info.local_pid;
      }
    }
    EXPECT_GT(inner, 1) << "1 is what it calls itself";
    EXPECT_FALSE(os::process_ended(inner));
    publish(*writer, 7).or_throw();
    EXPECT_EQ(middle.hear(), '.');
    if (inner > 1) ::kill(inner, SIGKILL);
    EXPECT_TRUE(matched(*writer, 0));
    EXPECT_TRUE(eventually([&] { return os::process_ended(inner); }));
    return heard;
  }();
  if (first == 's') GTEST_SKIP() << "namespaces are not permitted here";
  EXPECT_EQ(first, '.');
  EXPECT_EQ(middle.wait(), 0);
  EXPECT_FALSE(os::process_ended(0)) << "what is not visible is not known to have ended";
}

TEST(EndpointsProcesses, NothingIsLeftBehind) {
  const auto shm = [] {
    std::error_code ignored;
    std::size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/dev/shm", ignored)) {
      count += entry.path().filename().string().find("baton") != std::string::npos ? 1 : 0;
    }
    return count;
  };
  TestDomain domain;
  {
    Child killed([&](Child& self) {
      const auto participant = domain.join();
      const auto writer = make_writer(*participant, "t");
      const auto reader = make_reader(*participant, "t");
      BATON_CHECK(matched(*reader, 1));
      publish(*writer, 1).or_throw();
      self.say();
      ::pause();
    });
    ASSERT_EQ(killed.hear(), '.');
    EXPECT_EQ(domain.sockets(), 1U);
    killed.kill();
    killed.wait();
    // The next one that looks into the directory sweeps the dead name.
    const auto participant = domain.join();
    EXPECT_TRUE(eventually([&] { return domain.sockets() == 1; }));
  }
  EXPECT_EQ(domain.sockets(), 0U);
  EXPECT_EQ(shm(), 0U);
}

std::size_t descriptors_of(pid_t pid) {
  const std::filesystem::directory_iterator entries("/proc/" + std::to_string(pid) + "/fd");
  // The parent opens one more while it counts its own.
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries))) - (pid == ::getpid() ? 1 : 0);
}

// What docs/guides/support.md says; prints what it counts.
TEST(EndpointsProcesses, DescriptorsPerProcessPeerPublisherAndSubscriptionAreAsDocumented) {
  constexpr std::size_t kTopics = 20;
  TestDomain domain;
  Child publisher([&](Child& self) {
    BATON_CHECK(self.hear() == '.');
    const auto participant = domain.join();
    std::vector<std::shared_ptr<Writer>> writers;
    for (std::size_t i = 0; i < kTopics; ++i) writers.push_back(make_writer(*participant, "t" + std::to_string(i)));
    for (const auto& writer : writers) BATON_CHECK(matched(*writer, 1));
    self.say();
    BATON_CHECK(self.hear() == '.');
    for (const auto& writer : writers) publish(*writer, 1).or_throw();
    self.say();
    self.hear();
  });
  Child idle([&](Child& self) {
    BATON_CHECK(self.hear() == '.');
    const auto participant = domain.join();
    self.say();
    self.hear();
  });
  const std::size_t without = descriptors_of(::getpid());
  const auto participant = domain.join();
  const std::size_t alone = descriptors_of(::getpid());
  idle.say();
  ASSERT_EQ(idle.hear(), '.');
  // While a peer joins, the process has one descriptor more for a moment.
  std::size_t with_peer = 0;
  EXPECT_TRUE(eventually([&] {
    with_peer = descriptors_of(::getpid());
    return participant->nodes().empty() && with_peer > alone && with_peer <= alone + 2;
  })) << with_peer
      << " with one peer";
  std::vector<std::shared_ptr<Reader>> readers;
  for (std::size_t i = 0; i < kTopics; ++i) readers.push_back(make_reader(*participant, "t" + std::to_string(i)));
  std::size_t unmatched = 0;
  EXPECT_TRUE(eventually([&] { return (unmatched = descriptors_of(::getpid())) <= alone + 2; }))
      << unmatched << " descriptors: subscriptions alone cost none";
  publisher.say();
  ASSERT_EQ(publisher.hear(), '.');
  for (const auto& reader : readers) ASSERT_TRUE(matched(*reader, 1));
  std::size_t now = 0;
  const auto settles = [&](pid_t pid, std::size_t most) {
    return eventually([&] { return (now = descriptors_of(pid)) <= most; });
  };
  // Two for each of the two peers.
  EXPECT_TRUE(settles(::getpid(), alone + 4)) << now << " with matched subscriptions";
  const std::size_t idle_publisher = descriptors_of(publisher.pid());
  publisher.say();
  ASSERT_EQ(publisher.hear(), '.');
  std::vector<TakenSample> samples;
  for (const auto& reader : readers) samples.push_back(take_sample(*reader));
  EXPECT_TRUE(settles(publisher.pid(), idle_publisher + kTopics)) << now << " of a publisher after " << idle_publisher;
  const std::size_t of_publisher = now;
  EXPECT_TRUE(settles(::getpid(), alone + 4 + kTopics)) << now << " after messages of " << kTopics << " publishers";
  std::printf(
      "descriptors: %zu of a process alone in a domain, %zu with one peer, %zu with %zu subscriptions more, %zu when "
      "these have "
      "got messages of %zu publishers of another peer; that peer: %zu before the first loans, %zu after\n",
      alone - without, with_peer - without, unmatched - without, kTopics, now - without, kTopics, idle_publisher,
      of_publisher);
  EXPECT_LE(alone - without, 8U);
  for (Child* child : {&publisher, &idle}) {
    child->say();
    EXPECT_EQ(child->wait(), 0);
  }
}

}  // namespace
}  // namespace baton::transport::test
