// SPDX-License-Identifier: Apache-2.0
// Peers that break the rules: whatever they write or send ends their own connection with a diagnostic, while an honest pair in
// the same processes goes on. Garbage below the frames (sockets, packets): hub_hostile_test.cpp.
#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>

#include <array>
#include <random>
#include <thread>

#include "baton/memory/window.hpp"
#include "endpoint_test_support.hpp"
#include "raw_peer_test_support.hpp"
#include "reader.hpp"

namespace baton::transport::test {
namespace {

// --- hostile subscriptions: honest until attached, then they write into everything they may write ---

struct HostileReaderCase {
  const char* name;
  void (*act)(const Layout&, std::mt19937_64&);
  bool ends;  ///< the writer notices
};

void PrintTo(const HostileReaderCase& value, std::ostream* out) { *out << value.name; }

const HostileReaderCase kHostileReaders[] = {
    {"CursorBeyondTheHead", [](const Layout& layout, std::mt19937_64&) { layout.cursor->store(1'000'000); }, true},
    {"CursorAtTheEndOfTime", [](const Layout& layout, std::mt19937_64&) { layout.cursor->store(~std::uint64_t{0}); },
     true},
    {"CursorBackwards",
     [](const Layout& layout, std::mt19937_64&) {
       std::this_thread::sleep_for(500ms);  // let the writer see progress first
       layout.cursor->store(0);
     },
     true},
    {"GarbageInTheReleaseTable",
     [](const Layout& layout, std::mt19937_64& random) {
       for (std::uint32_t i = 0; i < layout.entries; ++i) layout.release_words[i].store(random());
     },
     true},
    {"GarbageEverywhere",
     [](const Layout& layout, std::mt19937_64& random) {
       for (int round = 0; round < 1000; ++round) {
         layout.cursor->store(random() % 3 == 0 ? random() % 64 : random());
         layout.sleeping->store(static_cast<std::uint32_t>(random()));
         for (std::uint32_t i = 0; i < layout.entries; ++i) layout.release_words[i].store(random());
       }
     },
     true},
    {"SleepingFlagFlickers",
     [](const Layout& layout, std::mt19937_64& random) {
       for (int round = 0; round < 20000; ++round) layout.sleeping->store(static_cast<std::uint32_t>(random() % 5));
     },
     false},
};

class HostileReader : public ::testing::TestWithParam<HostileReaderCase> {};

TEST_P(HostileReader, SpoilsItsOwnConnectionOnly) {
  TestDomain domain;
  Child honest([&](Child& self) {
    const auto participant = domain.join();
    const auto reader = make_reader(*participant, "t", QoS(5000));
    BATON_CHECK(matched(*reader, 1));
    self.say();
    std::uint64_t next = 1;
    BATON_CHECK(eventually([&] {
      for (std::uint64_t value = take(*reader); value != kNothing; value = take(*reader)) BATON_CHECK(value == next++);
      return next > 3000;
    }));
    self.say();
    self.hear();
  });
  Child hostile([&](Child& self) {
    const auto participant = domain.join();
    const auto reader = make_reader(*participant, "t", QoS(8).hold(4));
    BATON_CHECK(matched(*reader, 1));
    os::HotVector<ConnectionRef> connections;
    reader->impl().append_connections(&connections);
    BATON_CHECK(connections.size() == 1);
    self.say();
    for (int i = 0; i < 4; ++i) static_cast<void>(take_sample(*reader));
    std::mt19937_64 random(7);
    GetParam().act(connections[0]->layout, random);
    self.say();
    self.hear();
  });
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t");
  ASSERT_EQ(honest.hear(), '.');
  ASSERT_EQ(hostile.hear(), '.');
  ASSERT_TRUE(matched(*writer, 2));
  for (std::uint64_t i = 1; i <= 3000; ++i) {
    ASSERT_TRUE(publish(*writer, i).ok()) << i;
    if (i == 1000) {
      ASSERT_EQ(hostile.hear(), '.');
    }
    if (i % 50 == 0) std::this_thread::sleep_for(1ms);
  }
  if (GetParam().ends) {
    EXPECT_TRUE(matched(*writer, 1));
    EXPECT_TRUE(eventually([&] { return domain.diagnostics().has(Errc::protocol_violation); }));
  }
  EXPECT_EQ(honest.hear(), '.');
  honest.say();
  EXPECT_EQ(honest.wait(), 0);
  hostile.say();
  hostile.wait();
  EXPECT_TRUE(matched(*writer, 0));
  EXPECT_TRUE(eventually([&] { return writer->memory_account().published_slots == 0; })) << "nothing stays pinned";
}

INSTANTIATE_TEST_SUITE_P(Hostile, HostileReader, ::testing::ValuesIn(kHostileReaders),
                         [](const auto& test) { return std::string(test.param.name); });

// --- a process that speaks frames as it likes ---

os::SharedFd memory_fd(std::size_t bytes, int seals) {
  os::UniqueFd fd(::memfd_create("hostile", MFD_ALLOW_SEALING | MFD_CLOEXEC));
  BATON_CHECK(::ftruncate(fd.get(), static_cast<off_t>(bytes)) == 0);
  BATON_CHECK(::fcntl(fd.get(), F_ADD_SEALS, seals) == 0);
  return std::make_shared<const os::UniqueFd>(std::move(fd));
}

constexpr int kReadSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE;
constexpr int kBothSeals = F_SEAL_SHRINK | F_SEAL_GROW;
constexpr std::uint32_t kCapacity = 16;  // of QoS(10)
constexpr std::size_t kSegmentBytes = std::size_t{1} << 20;

/// What a writer can get wrong. Defaults: everything right.
struct Lie {
  std::size_t event_bytes = 4096, ring_bytes = 4096, announced_ring_bytes = 4096;
  int event_seals = kReadSeals, ring_seals = kReadSeals, segment_seals = kReadSeals;
  std::uint32_t event_offset = 0, capacity = kCapacity, held = 8;
  bool fds = true;
  std::uint64_t segment_announced = kSegmentBytes;
  std::uint64_t handle = 4096;
  std::uint64_t entry = memory::make_token(0, 0);
  std::uint64_t head = 1;
  std::uint32_t magic = memory::kChunkMagic, size_bytes = 8;
  int segments = 1;
  bool huge_pages = false;  // the segment: of huge pages, of which the machine has none to give
};

struct HostileWriterCase {
  const char* name;
  void (*lie)(Lie&);
  Errc error;  ///< what the reader's process reports
};

void PrintTo(const HostileWriterCase& value, std::ostream* out) { *out << value.name; }

const HostileWriterCase kHostileWriters[] = {
    {"RingWithoutSeals", [](Lie& lie) { lie.ring_seals = 0; }, Errc::protocol_violation},
    {"RingThatCanShrink", [](Lie& lie) { lie.ring_seals = F_SEAL_GROW | F_SEAL_FUTURE_WRITE; },
     Errc::protocol_violation},
    {"EventPageWithoutSeals", [](Lie& lie) { lie.event_seals = 0; }, Errc::protocol_violation},
    {"RingSmallerThanAnnounced", [](Lie& lie) { lie.ring_bytes = 0; }, Errc::protocol_violation},
    {"AbsurdCapacity", [](Lie& lie) { lie.capacity = 1U << 31; }, Errc::protocol_violation},
    {"AbsurdRing", [](Lie& lie) { lie.announced_ring_bytes = std::uint64_t{1} << 60; }, Errc::protocol_violation},
    {"EventLineOutsideItsPage", [](Lie& lie) { lie.event_offset = 4096; }, Errc::protocol_violation},
    {"MisalignedEventLine", [](Lie& lie) { lie.event_offset = 2; }, Errc::protocol_violation},
    {"GrantsMoreThanAsked", [](Lie& lie) { lie.held = 1'000'000; }, Errc::protocol_violation},
    {"NoDescriptors", [](Lie& lie) { lie.fds = false; }, Errc::protocol_violation},
    {"SegmentWithoutSeals", [](Lie& lie) { lie.segment_seals = 0; }, Errc::protocol_violation},
    {"SegmentThatReadersCouldWrite", [](Lie& lie) { lie.segment_seals = kBothSeals; }, Errc::protocol_violation},
    {"SegmentOfAbsurdSize", [](Lie& lie) { lie.segment_announced = std::uint64_t{1} << 60; }, Errc::protocol_violation},
    {"SegmentLargerThanItIs", [](Lie& lie) { lie.segment_announced = 2 * kSegmentBytes; }, Errc::protocol_violation},
    {"TooManySegments", [](Lie& lie) { lie.segments = 400; }, Errc::protocol_violation},
    {"MessageOfAFarPosition", [](Lie& lie) { lie.entry = memory::make_token(1'000'000, 0); }, Errc::protocol_violation},
    {"HandleOutsideItsSegment", [](Lie& lie) { lie.handle = std::uint64_t{1} << 40; }, Errc::protocol_violation},
    {"HandleAtTheVeryEnd", [](Lie& lie) { lie.handle = kSegmentBytes - 64; }, Errc::protocol_violation},
    {"MisalignedHandle", [](Lie& lie) { lie.handle = 4097; }, Errc::protocol_violation},
    {"EntryThatDoesNotExist", [](Lie& lie) { lie.entry = memory::make_token(0, 5000); }, Errc::protocol_violation},
    {"SegmentOfHugePagesThatDoNotExist", [](Lie& lie) { lie.huge_pages = true; }, Errc::protocol_violation},
    {"HandleIntoAHole", [](Lie& lie) { lie.handle = 64 << 10; }, Errc::protocol_violation},
    {"MessageWithAHole", [](Lie& lie) { lie.size_bytes = 500'000; }, Errc::protocol_violation},
    {"NoMagic", [](Lie& lie) { lie.magic = 0; }, Errc::protocol_violation},
    {"MessageLargerThanTheSegment", [](Lie& lie) { lie.size_bytes = ~0U; }, Errc::protocol_violation},
    {"MessageSmallerThanItsSkeleton", [](Lie& lie) { lie.size_bytes = 4; }, Errc::malformed_message},
};

void be_hostile_writer(const std::string& directory, const Lie& lie) {
  RawPeer peer(directory);
  BATON_CHECK(peer.await_peers(2));
  const Gid own = peer.announce(true);
  const auto [victim, attach_frame] = peer.await(FrameType::kAttach);
  const AttachFrame attach = decode_attach(attach_frame.payload).or_throw();
  // The right memory first, written before it is sealed against future writers.
  const auto filled = [](std::size_t bytes, int seals, const std::function<void(std::byte*)>& fill) {
    const os::SharedFd fd = memory_fd(bytes, 0);
    if (bytes > 0) {
      void* at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd->get(), 0);
      BATON_CHECK(at != MAP_FAILED);
      fill(static_cast<std::byte*>(at));
      ::munmap(at, bytes);
    }
    BATON_CHECK(::fcntl(fd->get(), F_ADD_SEALS, seals) == 0);
    return fd;
  };
  const os::SharedFd events = filled(lie.event_bytes, lie.event_seals, [](std::byte*) {});
  const os::SharedFd ring = filled(lie.ring_bytes, lie.ring_seals, [&](std::byte* at) {
    const Ring view = Ring::at(at, kCapacity);
    view.slot_table[0].handle.store(lie.handle);
    view.slot_table[0].entry.store(lie.entry);
    view.slot_table[0].sequence.store(1);
    view.head->store(lie.head);
  });
  os::SharedFd segment = filled(kSegmentBytes, lie.segment_seals, [&](std::byte* at) {
    memory::ChunkHeader header{};
    header.magic = lie.magic;
    header.version = memory::kChunkVersion;
    header.byte_order = memory::kNativeByteOrder;
    header.size_bytes = lie.size_bytes;
    std::memcpy(at + 4096, &header, sizeof header);
  });
  std::uint64_t segment_announced = lie.segment_announced;
  if (lie.huge_pages) {
    os::UniqueFd fd(::memfd_create("hostile", MFD_ALLOW_SEALING | MFD_CLOEXEC | MFD_HUGETLB));
    segment_announced = std::uint64_t{2} << 20;
    // Without huge pages in the kernel there is no such attack: another descriptor that is no memory will do.
    if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(segment_announced)) != 0)
      fd.reset(::open("/proc/self/exe", O_RDONLY));
    (void)::fcntl(fd.get(), F_ADD_SEALS, kReadSeals);
    segment = std::make_shared<const os::UniqueFd>(std::move(fd));
  }
  for (int i = 0; i < lie.segments; ++i) {
    SegmentFrame frame;
    frame.writer = own;
    frame.index = static_cast<std::uint32_t>(i);
    frame.size_bytes = segment_announced;
    peer.send(victim, FrameType::kSegment, encode(frame), {segment});
    if (i % 50 == 49) std::this_thread::sleep_for(5ms);  // stays below the hub's own limit of queued descriptors
  }
  AttachedFrame attached;
  attached.writer = own;
  attached.reader = attach.reader;
  attached.event_offset = lie.event_offset;
  attached.ring_capacity = lie.capacity;
  attached.ring_bytes = lie.announced_ring_bytes;
  attached.held = lie.held;
  attached.first_sequence = 1;
  peer.send(victim, FrameType::kAttached, encode(attached),
            lie.fds ? std::vector<os::SharedFd>{events, ring} : std::vector<os::SharedFd>{});
  // Either the victim ends this process's connection, or the one pair (DETACH).
  BATON_CHECK(eventually([&] {
    const std::lock_guard<std::mutex> lock(peer.mutex);
    if (!peer.gone.empty()) return true;
    for (const auto& entry : peer.frames) {
      if (entry.second.type == static_cast<std::uint16_t>(FrameType::kDetach)) return true;
    }
    return false;
  }));
}

/// A publisher of messages that are right but for their segments, one each, of `segment_bytes` of mostly holes. `late`: the
/// segments come when it is told.
void be_greedy_writer(Child& self, const std::string& directory, std::uint32_t segments, std::size_t segment_bytes,
                      bool late = false) {
  RawPeer peer(directory);
  BATON_CHECK(peer.await_peers(2));
  const Gid own = peer.announce(true);
  const auto [victim, attach_frame] = peer.await(FrameType::kAttach);
  const AttachFrame attach = decode_attach(attach_frame.payload).or_throw();
  const auto part = [](std::size_t bytes, std::size_t at, const void* content, std::size_t content_bytes) {
    const os::SharedFd fd = memory_fd(bytes, 0);
    BATON_CHECK(::pwrite(fd->get(), content, content_bytes, static_cast<off_t>(at)) ==
                static_cast<ssize_t>(content_bytes));
    BATON_CHECK(::fcntl(fd->get(), F_ADD_SEALS, kReadSeals) == 0);
    return fd;
  };
  struct {
    memory::ChunkHeader header{};
    std::uint64_t value = 55;
  } chunk;
  chunk.header.magic = memory::kChunkMagic;
  chunk.header.version = memory::kChunkVersion;
  chunk.header.byte_order = memory::kNativeByteOrder;
  chunk.header.size_bytes = 8;
  std::fill(std::begin(chunk.header.publisher_id), std::end(chunk.header.publisher_id), std::uint8_t{0xEE});  // a lie
  const auto send_segments = [&, victim = victim] {
    for (std::uint32_t i = 0; i < segments; ++i) {
      SegmentFrame frame;
      frame.writer = own;
      frame.index = i;
      frame.size_bytes = segment_bytes;
      peer.send(victim, FrameType::kSegment, encode(frame), {part(segment_bytes, 4096, &chunk, sizeof chunk)});
    }
  };
  if (!late) send_segments();
  std::array<std::byte, 4096> ring{};
  const Ring view = Ring::at(ring.data(), kCapacity);
  for (std::uint32_t i = 0; i < segments; ++i) {
    view.slot_table[i].handle.store(std::uint64_t{i} << 48 | 4096);
    view.slot_table[i].entry.store(memory::make_token(i, i));
    view.slot_table[i].sequence.store(i + 1);
  }
  view.head->store(segments);
  const std::array<std::byte, 4096> events{};
  AttachedFrame attached;
  attached.writer = own;
  attached.reader = attach.reader;
  attached.ring_capacity = kCapacity;
  attached.ring_bytes = 4096;
  attached.held = 8;
  attached.first_sequence = 1;
  peer.send(victim, FrameType::kAttached, encode(attached),
            {part(4096, 0, events.data(), events.size()), part(4096, 0, ring.data(), ring.size())});
  self.say();
  if (late) {
    self.hear();
    send_segments();
  }
  self.hear();
}

TEST(HostileWriters, OfOneProcessHaveOneShareOfTheWindowOverAllItsConnections) {
  constexpr std::uint32_t kEach = 4, kConnections = 2, kMapped = 2;
  TestDomain domain;
  const std::size_t window = (*memory::Window::instance())->size();
  Child greedy([&](Child& self) {
    self.hear();
    const auto connection = [&] { be_greedy_writer(self, domain.path(), kEach, window / 20); };
    std::thread second(connection);
    connection();
    second.join();
  });
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t", QoS(10).hold(8));
  greedy.say();
  for (std::uint32_t i = 0; i < kConnections; ++i) ASSERT_EQ(greedy.hear(), '.');
  ASSERT_TRUE(matched(*reader, kConnections));
  std::vector<TakenSample> held;
  for (std::uint32_t i = 0; i < kConnections * kEach; ++i) held.push_back(take_sample(*reader));
  EXPECT_EQ(reader->statuses().copied_total, kConnections * kEach - kMapped) << "two have room in a share";
}

TEST(HostileWriters, HugeSparseSegmentsTakeNoRoomFromOurPublishersOrFromOthers) {
  constexpr std::uint32_t kSegments = 8;
  TestDomain domain;
  const std::size_t window = (*memory::Window::instance())->size();
  Child honest([&](Child& self) {
    const auto participant = domain.join();
    const auto writer = make_writer(*participant, "t");
    BATON_CHECK(matched(*writer, 1));
    self.say();
    for (char command = self.hear(); command == '.'; command = self.hear()) publish(*writer, 77).or_throw();
  });
  Child greedy([&](Child& self) {
    self.hear();
    be_greedy_writer(self, domain.path(), kSegments, window / 20);
  });
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t", QoS(10).hold(8));
  ASSERT_EQ(honest.hear(), '.');
  greedy.say();
  ASSERT_EQ(greedy.hear(), '.');
  ASSERT_TRUE(matched(*reader, 2));
  std::vector<TakenSample> held;
  for (std::uint32_t i = 0; i < kSegments; ++i) {
    held.push_back(take_sample(*reader));
    EXPECT_EQ(value_of(held.back()), 55U);
    const auto endpoints = participant->endpoints();
    EXPECT_TRUE(std::any_of(endpoints.begin(), endpoints.end(), [&](const EndpointInfo& endpoint) {
      return endpoint.gid == held.back().publisher();
    })) << "whatever the header says";
  }
  EXPECT_GT(reader->statuses().copied_total, 0U) << "beyond its share its messages are copied";
  EXPECT_LT(reader->statuses().copied_total, kSegments) << "within its share they are not";
  EXPECT_TRUE(eventually([&] { return domain.diagnostics().has(Errc::window_exhausted); }));
  // While all of that is held:
  memory::PoolOptions large;
  large.max_message_bytes = window / 64;
  large.slot_count = 16;
  if (large.max_message_bytes > memory::kMaxMessageBytes) large.max_message_bytes = memory::kMaxMessageBytes;
  const auto own = make_writer(*participant, "own", QoS(), number_type(), large);
  EXPECT_TRUE(own->loan_growing().ok());
  const std::uint64_t copied = reader->statuses().copied_total;
  honest.say();
  EXPECT_EQ(value_of(take_sample(*reader)), 77U);
  EXPECT_EQ(reader->statuses().copied_total, copied) << "the honest publisher's segment is mapped";
  held.clear();
  for (Child* child : {&honest, &greedy}) {
    child->say('q');
    EXPECT_EQ(child->wait(), 0);
  }
}

TEST(HostileWriters, MessagesWhoseSegmentIsLateArePassedOverAndDoNotCountUntilItHasCome) {
  TestDomain domain;
  Child late([&](Child& self) {
    self.hear();
    be_greedy_writer(self, domain.path(), 1, std::size_t{1} << 20, true);
  });
  Child second([&](Child& self) {  // be_greedy_writer() waits for two
    const auto participant = domain.join();
    self.say();
    self.hear();
  });
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t", QoS(10));
  ASSERT_EQ(second.hear(), '.');
  late.say();
  ASSERT_EQ(late.hear(), '.');
  ASSERT_TRUE(matched(*reader, 1));
  const Result<TakenSample> none = reader->take();
  ASSERT_TRUE(none) << none.error().message;
  EXPECT_FALSE(*none);
  Gid publisher{};
  for (const EndpointInfo& endpoint : participant->endpoints()) {
    if (endpoint.is_writer && endpoint.topic == "t") publisher = endpoint.gid;
  }
  EXPECT_TRUE(reader->awaits_memory(publisher));
  EXPECT_FALSE(reader->awaits_memory(reader->gid()));
  EXPECT_FALSE(reader->has_data());
  EXPECT_EQ(reader->unread(), 0U);
  late.say();
  EXPECT_TRUE(eventually([&] { return reader->has_data(); }));
  EXPECT_FALSE(reader->awaits_memory(publisher));
  EXPECT_EQ(reader->unread(), 1U);
  EXPECT_EQ(value_of(take_sample(*reader)), 55U);
  for (Child* child : {&late, &second}) {
    child->say('q');
    EXPECT_EQ(child->wait(), 0);
  }
}

TEST(HostileWriters, AMessageWhoseSegmentDiesWithItsPublisherIsLostAndAnEvent) {
  TestDomain domain;
  Child late([&](Child& self) {
    self.hear();
    be_greedy_writer(self, domain.path(), 1, std::size_t{1} << 20, true);
  });
  Child second([&](Child& self) {  // be_greedy_writer() waits for two
    const auto participant = domain.join();
    self.say();
    self.hear();
  });
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t", QoS(10));
  std::atomic<int> events{0};
  reader->on_event([&](Event event) { events += event == Event::kMessageLost; });
  ASSERT_EQ(second.hear(), '.');
  late.say();
  ASSERT_EQ(late.hear(), '.');
  ASSERT_TRUE(matched(*reader, 1));
  late.kill();
  ASSERT_TRUE(matched(*reader, 0));
  EXPECT_FALSE(reader->take().or_throw());
  EXPECT_EQ(reader->losses().interrupted, 1U);
  EXPECT_TRUE(eventually([&] { return events > 0; }));
  second.say('q');
  EXPECT_EQ(second.wait(), 0);
}

TEST(HostileWriters, AMessageBehindAnImpossibleTokenIsMalformedWhateverTheHeadSays) {
  for (const std::uint64_t head : {std::uint64_t{1}, std::uint64_t{1} << 63}) {
    TestDomain domain;
    Child second([&](Child& self) {  // be_hostile_writer() waits for two
      const auto participant = domain.join();
      self.say();
      self.hear();
    });
    Child hostile([&](Child& self) {
      self.hear();
      Lie lie;
      lie.entry = memory::make_token(1'000'000, 0);
      lie.head = head;
      be_hostile_writer(domain.path(), lie);
    });
    const auto participant = domain.join();
    const auto reader = make_reader(*participant, "t", QoS(10));
    ASSERT_EQ(second.hear(), '.');
    hostile.say();
    EXPECT_TRUE(eventually([&] { return !reader->take().ok(); }));
    EXPECT_EQ(reader->losses().malformed, 1U) << head;
    EXPECT_EQ(hostile.wait(), 0);
    second.say();
    EXPECT_EQ(second.wait(), 0);
  }
}

class HostileWriter : public ::testing::TestWithParam<HostileWriterCase> {};

TEST_P(HostileWriter, LosesItsOwnConnectionOnly) {
  TestDomain domain;
  Lie lie;
  GetParam().lie(lie);
  Child honest([&](Child& self) {
    const auto participant = domain.join();
    const auto writer = make_writer(*participant, "t");
    BATON_CHECK(matched(*writer, 1));
    self.say();
    for (char command = self.hear(); command == '.'; command = self.hear()) {
      publish(*writer, 77).or_throw();
    }
  });
  Child hostile([&](Child& self) {
    self.hear();
    be_hostile_writer(domain.path(), lie);
  });
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t", QoS(10));
  ASSERT_EQ(honest.hear(), '.');
  ASSERT_TRUE(matched(*reader, 1));
  hostile.say();
  EXPECT_TRUE(eventually([&] {
    const Result<TakenSample> sample = reader->take();
    if (!sample) {
      EXPECT_EQ(sample.error().code, GetParam().error);
    } else {
      EXPECT_FALSE(*sample);
    }
    return domain.diagnostics().has(GetParam().error);
  }));
  EXPECT_TRUE(matched(*reader, 1)) << "only the honest writer is left";
  honest.say();
  EXPECT_EQ(value_of(take_sample(*reader)), 77U);
  EXPECT_EQ(hostile.wait(), 0);
  honest.say('q');
  EXPECT_EQ(honest.wait(), 0);
}

INSTANTIATE_TEST_SUITE_P(Hostile, HostileWriter, ::testing::ValuesIn(kHostileWriters),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(HostileWriterControl, TheSameFramesWithoutALieAreAccepted) {
  TestDomain domain;
  // Needs a second peer: await_peers(2).
  Child other([&](Child& self) {
    const auto other_participant = domain.join();
    self.hear();
  });
  Child writer([&](Child&) { be_hostile_writer(domain.path(), Lie()); });
  const auto participant = domain.join();
  const auto reader = make_reader(*participant, "t", QoS(10));
  const TakenSample sample = take_sample(*reader);
  EXPECT_EQ(sample.size_bytes(), 8U);
  EXPECT_EQ(reader->matched(), 1U);
}

struct HostileAttachCase {
  const char* name;
  void (*attach)(RawPeer&, PeerId, const Gid& writer, const Gid& reader);
};

void PrintTo(const HostileAttachCase& value, std::ostream* out) { *out << value.name; }

PairFrame pair(const Gid& writer, const Gid& reader) { return {writer, reader}; }

void send_attach(RawPeer& peer, PeerId victim, const Gid& writer, const Gid& reader, std::uint64_t announced,
                 const os::SharedFd& fd) {
  AttachFrame frame;
  static_cast<PairFrame&>(frame) = pair(writer, reader);
  frame.connection_bytes = announced;
  peer.send(victim, FrameType::kAttach, encode(frame),
            fd ? std::vector<os::SharedFd>{fd} : std::vector<os::SharedFd>{});
}

const HostileAttachCase kHostileAttaches[] = {
    {"WithoutADescriptor", [](RawPeer& peer, PeerId victim, const Gid& writer,
                              const Gid& reader) { send_attach(peer, victim, writer, reader, 4096, nullptr); }},
    {"WithAnUnsealedSegment",
     [](RawPeer& peer, PeerId victim, const Gid& writer, const Gid& reader) {
       send_attach(peer, victim, writer, reader, 4096, memory_fd(4096, 0));
     }},
    {"WithASegmentThatIsTooSmall",
     [](RawPeer& peer, PeerId victim, const Gid& writer, const Gid& reader) {
       send_attach(peer, victim, writer, reader, 4096, memory_fd(0, kBothSeals));
     }},
    {"WithAnAbsurdSize",
     [](RawPeer& peer, PeerId victim, const Gid& writer, const Gid& reader) {
       send_attach(peer, victim, writer, reader, std::uint64_t{1} << 62, memory_fd(4096, kBothSeals));
     }},
    {"WithAnOrdinaryFile",
     [](RawPeer& peer, PeerId victim, const Gid& writer, const Gid& reader) {
       send_attach(peer, victim, writer, reader, 4096,
                   std::make_shared<const os::UniqueFd>(::open("/dev/null", O_RDWR)));
     }},
    {"Twice",
     [](RawPeer& peer, PeerId victim, const Gid& writer, const Gid& reader) {
       send_attach(peer, victim, writer, reader, 4096, memory_fd(4096, kBothSeals));
       send_attach(peer, victim, writer, reader, 4096, memory_fd(4096, kBothSeals));
     }},
    {"ForAReaderNobodyAnnounced",
     [](RawPeer& peer, PeerId victim, const Gid& writer, const Gid& reader) {
       Gid other = reader;
       other[0] ^= 1;
       send_attach(peer, victim, writer, other, 4096, memory_fd(4096, kBothSeals));
     }},
    {"ForTheVictimsOwnEndpoint",
     [](RawPeer& peer, PeerId victim, const Gid& writer, const Gid&) {
       send_attach(peer, victim, writer, writer, 4096, memory_fd(4096, kBothSeals));
     }},
    {"WithdrawsTheVictimsWriter", [](RawPeer& peer, PeerId victim, const Gid& writer,
                                     const Gid&) { peer.send(victim, FrameType::kWithdraw, encode_gid(writer)); }},
    {"SendsGarbageFrames",
     [](RawPeer& peer, PeerId victim, const Gid&, const Gid&) {
       std::mt19937 random(3);
       Payload payload(40);
       for (auto& byte : payload) byte = static_cast<std::uint8_t>(random());
       peer.send(victim, static_cast<FrameType>(kFirstUserFrame + 200), payload);
     }},
};

class HostileAttach : public ::testing::TestWithParam<HostileAttachCase> {};

TEST_P(HostileAttach, EndsThatProcessesConnectionOnly) {
  TestDomain domain;
  Child honest([&](Child& self) {
    const auto participant = domain.join();
    const auto reader = make_reader(*participant, "t");
    BATON_CHECK(matched(*reader, 1));
    self.say();
    BATON_CHECK(value_of(take_sample(*reader)) == 5);
  });
  Child hostile([&](Child& self) {
    Gid victim_writer{};
    for (auto& byte : victim_writer) byte = static_cast<std::uint8_t>(self.hear());
    RawPeer peer(domain.path());
    BATON_CHECK(peer.await_peers(2));
    const Gid own = peer.announce(false);
    auto [victim, announced] = peer.await_announcement();
    if (announced.gid != victim_writer) victim = peer.await_announcement().first;
    GetParam().attach(peer, victim, victim_writer, own);
    BATON_CHECK(peer.await_gone());
  });
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t");
  ASSERT_EQ(honest.hear(), '.');
  for (const std::uint8_t byte : writer->gid()) hostile.say(static_cast<char>(byte));
  EXPECT_EQ(hostile.wait(), 0);
  EXPECT_TRUE(eventually([&] { return domain.diagnostics().has(Errc::protocol_violation); }));
  EXPECT_TRUE(matched(*writer, 1));
  publish(*writer, 5).or_throw();
  EXPECT_EQ(honest.wait(), 0);
}

INSTANTIATE_TEST_SUITE_P(Hostile, HostileAttach, ::testing::ValuesIn(kHostileAttaches),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(Hostile, AWakeSocketThatBlocksHoldsNobodyUp) {
  TestDomain domain;
  Child hostile([&](Child& self) {
    RawPeer peer(domain.path());
    BATON_CHECK(peer.await_peers(1));
    const Gid own = peer.announce(false);
    const auto [victim, announced] = peer.await_announcement();
    const Gid writer = announced.gid;
    const os::SharedFd segment = memory_fd(4096, kBothSeals);
    send_attach(peer, victim, writer, own, 4096, segment);
    BATON_CHECK(!peer.await(FrameType::kAttached).second.payload.empty());
    void* at = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, segment->get(), 0);
    Layout::at(at, 18).sleeping->store(2);
    int ends[2];
    BATON_CHECK(::pipe(ends) == 0);
    const std::vector<char> full(1 << 20, 'x');
    ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
    while (::write(ends[1], full.data(), full.size()) > 0) {
    }
    ::fcntl(ends[1], F_SETFL, 0);
    peer.send(victim, FrameType::kWakeSocket, encode(pair(writer, own)),
              {std::make_shared<const os::UniqueFd>(ends[1])});
    self.say();
    self.hear();
  });
  const auto participant = domain.join();
  const auto writer = make_writer(*participant, "t");
  ASSERT_EQ(hostile.hear(), '.');
  std::this_thread::sleep_for(50ms);
  for (std::uint64_t i = 1; i <= 1000; ++i) ASSERT_TRUE(publish(*writer, i).ok());
  SUCCEED();
}

// --- what a process answers about others ---

TEST(HostileAnswers, AboutPublishersOfOtherProcessesAreNotBelieved) {
  TestDomain domain;
  const auto participant = domain.join();
  const auto honest = make_writer(*participant, "t");
  RawPeer liar(domain.path());
  ASSERT_TRUE(liar.await_peers(1));
  const Gid own = liar.announce(true);
  ASSERT_TRUE(eventually([&] { return participant->endpoints().size() == 2; }));
  std::thread answer([&] {
    const auto [asker, asked] = liar.await(FrameType::kHoldingsRequest);
    const std::uint64_t question = decode_question(asked.payload).or_throw();
    Holding row;
    row.reader = own;
    row.held_bytes = 1'000'000'000;
    for (const Gid& writer : {honest->gid(), Gid{77}, own})
      liar.send(asker, FrameType::kHoldings, encode(HoldingsFrame{question, writer, {row}}));
    liar.send(asker, FrameType::kHoldings, encode(HoldingsFrame{question, {}, {}}));
  });
  const Result<std::vector<Holding>> rows = participant->holdings(60s);
  answer.join();
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ(rows->front().writer, own) << "of its own publisher it may say what it likes";
}

}  // namespace
}  // namespace baton::transport::test
