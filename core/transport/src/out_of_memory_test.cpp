// SPDX-License-Identifier: Apache-2.0
// Every allocation on the background thread fails once, while a peer joins, announces, connects, talks and leaves: the process
// survives, knows the right things afterwards, and the peer gets everything in the end. The same for calls of the user.
// Two participants of one process play the two processes: they reach the domain by two paths.
#include <atomic>
#include <cstdlib>
#include <new>

#include "endpoint_test_support.hpp"
#include "participant.hpp"

namespace {

thread_local bool t_watched = false;
std::atomic<long> g_count{0};       // allocations of watched threads
std::atomic<long> g_fail_from{-1};  // the number of the first one that fails; -1: none
std::atomic<long> g_fail_count{1};

[[maybe_unused]] const bool g_plain = (baton::os::keep_hot_memory_plain(), true);  // hot memory fails, too

void* allocate(std::size_t size) noexcept {
  if (t_watched) {
    const long number = g_count.fetch_add(1);
    const long first = g_fail_from.load();
    if (first >= 0 && number >= first && number < first + g_fail_count.load()) return nullptr;
  }
  return std::malloc(size == 0 ? 1 : size);
}

void* allocate_or_throw(std::size_t size) {
  if (void* memory = allocate(size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return allocate_or_throw(size); }
void* operator new[](std::size_t size) { return allocate_or_throw(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { std::free(memory); }

namespace baton::transport::test {
namespace {

/// From now on the `first`-th allocation of watched threads fails, and `count` in all.
void fail(long first, long count = 1) {
  g_fail_from.store(-1);
  g_fail_count.store(count);
  g_count.store(0);
  g_fail_from.store(first);
}
bool failed() { return g_fail_from.load() >= 0 && g_count.load() > g_fail_from.load(); }

/// The same domain for both, by two paths: else the second participant would be the first.
class TwoPaths {
 public:
  TwoPaths() { std::filesystem::create_directory_symlink(".", domain_.path() + "/again"); }
  std::shared_ptr<Participant> join(bool other) { return Participant::join(options(other)).or_throw(); }
  ParticipantOptions options(bool other) {
    ParticipantOptions out;
    out.domain = 0;
    out.runtime_directory = domain_.path() + (other ? "/again/run" : "/run");
    if (std::getenv("BATON_TEST_VERBOSE") != nullptr) {
      out.on_diagnostic = [other](const Diagnostic& diagnostic) {
        std::fprintf(stderr, "[%s] %s: %s\n", other ? "other" : "own", errc_name(diagnostic.code),
                     diagnostic.text.c_str());
      };
    }
    return out;
  }

 private:
  TestDomain domain_;
};

void watch_background_thread(Participant& participant, bool watched) {
  std::atomic<bool> done{false};
  participant.impl().post([&] {
    t_watched = watched;
    done = true;
  });
  ASSERT_TRUE(eventually([&] { return done.load(); }));
}

/// What lives on through all rounds.
struct Victim {
  Victim(Participant& participant, bool are_seldom)
      : seldom(are_seldom),
        writer(seldom ? make_seldom_writer(participant, "out") : make_writer(participant, "out")),
        reader(make_reader(participant, "in")),
        other_type(make_reader(participant, "type", QoS(), number_type(1))),
        other_qos(make_reader(participant, "qos")) {
    participant.add_node("victim");
    for (const auto& endpoint : {reader, other_type, other_qos}) endpoint->on_event([](Event) {});
    writer->on_event([](Event) {});
  }
  const bool seldom;
  std::shared_ptr<Writer> writer;
  std::shared_ptr<Reader> reader, other_type, other_qos;
};

constexpr std::size_t kOwnEndpoints = 4;

/// Until it arrives, since a connection that is made anew begins with new messages.
void expect_message(Writer& writer, Reader& reader, std::uint64_t value) {
  std::string last;
  ASSERT_TRUE(eventually([&] {
    Result<std::uint64_t> published = publish(writer, value);
    if (!published) last = published.error().message;
    for (Result<TakenSample> got = reader.take();; got = reader.take()) {
      if (!got) last = got.error().message;  // a message may be lost, which is said
      if (!got || !*got) return false;
      if (value_of(*got) == value) return true;
    }
  })) << last
      << "; matched " << writer.matched() << " and " << reader.matched() << ", unread " << reader.unread();
}

/// A peer's life: returns when the victim has forgotten it.
void live(TwoPaths& paths, Participant& own, Victim& victim, std::uint64_t round) {
  {
    const auto peer = paths.join(true);
    peer->add_node("peer");
    const auto reader = make_reader(*peer, "out");
    const auto second = make_reader(*peer, "out");
    const auto writer = victim.seldom ? make_seldom_writer(*peer, "in") : make_writer(*peer, "in");
    const auto other_type = make_writer(*peer, "type", QoS(), number_type(2));
    const auto other_qos = make_writer(*peer, "qos", QoS().best_effort());
    const auto elsewhere = make_writer(*peer, "elsewhere");
    ASSERT_TRUE(eventually([&] {
      return victim.writer->matched() == 2 && victim.reader->matched() == 1 && reader->matched() == 1 &&
             second->matched() == 1 && writer->matched() == 1;
    })) << victim.writer->matched()
        << victim.reader->matched() << reader->matched() << writer->matched();
    expect_message(*victim.writer, *reader, round);
    expect_message(*writer, *victim.reader, round);
    static_cast<void>(peer->holdings(100ms));
    victim.writer->trim();
    expect_message(*victim.writer, *second, round + 1);
    ASSERT_TRUE(eventually([&] { return own.endpoints().size() == kOwnEndpoints + 6; })) << own.endpoints().size();
  }
  ASSERT_TRUE(eventually([&] { return own.endpoints().size() == kOwnEndpoints && own.nodes().size() == 1; }));
  ASSERT_TRUE(eventually([&] { return victim.writer->matched() == 0 && victim.reader->matched() == 0; }));
  for (Result<TakenSample> got = victim.reader->take(); !got || *got;) got = victim.reader->take();
  ASSERT_TRUE(eventually([&] { return victim.writer->memory_account().published_slots == 0; }))
      << "nothing stays pinned";
}

void fail_each_allocation(long at_once, long step, bool seldom = false) {
  TwoPaths paths;
  const auto own = paths.join(false);
  Victim victim(*own, seldom);
  live(paths, *own, victim, 1);
  ASSERT_NO_FATAL_FAILURE(watch_background_thread(*own, true));
  fail(-1);
  live(paths, *own, victim, 1);
  const long all = g_count.load();
  ASSERT_GT(all, 100);
  long rounds = 0;
  for (long first = 0; first < all; first += step, ++rounds) {
    SCOPED_TRACE("allocation " + std::to_string(first) + " of " + std::to_string(all));
    fail(first, at_once);
    ASSERT_NO_FATAL_FAILURE(live(paths, *own, victim, 1000 + 2 * static_cast<std::uint64_t>(first)));
  }
  fail(-1);
  ASSERT_NO_FATAL_FAILURE(live(paths, *own, victim, 2));
  watch_background_thread(*own, false);
  std::printf("%ld allocations in a peer's life, %ld rounds\n", all, rounds);
}

TEST(OutOfMemory, EveryAllocationOfTheBackgroundThreadMayFailOnce) { fail_each_allocation(1, 1); }

TEST(OutOfMemory, EveryAllocationMayFailOnceWhileSeldomMessagesConnect) { fail_each_allocation(1, 1, true); }

TEST(OutOfMemory, ManyAllocationsInARowMayFail) { fail_each_allocation(40, 37); }

// --- calls of the user ---

template <class Call>
long fail_each_allocation_of(Call&& call) {
  for (long first = 0; first < 10000; ++first) {
    fail(first);
    const bool ended = call();
    const bool hit = failed();
    fail(-1);
    if (!hit) return first;  // it needs no more than that
    if (!ended) return -1;
  }
  return -1;
}

TEST(OutOfMemory, JoiningFailsWithAnErrorAndLeavesNothing) {
  TwoPaths paths;
  const auto witness = paths.join(true);
  const long all = fail_each_allocation_of([&] {
    const ParticipantOptions options = paths.options(false);
    t_watched = true;
    Result<std::shared_ptr<Participant>> joined = Participant::join(options);
    t_watched = false;
    if (!joined) {
      EXPECT_EQ(joined.error().code, Errc::out_of_memory);
      return !HasFailure();
    }
    const auto writer = make_writer(**joined, "t");
    EXPECT_TRUE(eventually([&] { return witness->endpoints().size() == 1; }));
    return !HasFailure();
  });
  EXPECT_GT(all, 10);
  EXPECT_TRUE(eventually([&] { return witness->endpoints().empty() && witness->unmet_count() == 0; }));
}

TEST(OutOfMemory, MakingAnEndpointFailsWithAnErrorAndLeavesNothing) {
  TwoPaths paths;
  const auto witness = paths.join(true);
  const auto far_writer = make_writer(*witness, "r");
  const auto far_reader = make_reader(*witness, "w");
  const auto own = paths.join(false);
  const auto near_writer = make_writer(*own, "r");  // what a new reader also meets
  const auto near_reader = make_reader(*own, "w");
  ASSERT_TRUE(eventually([&] { return own->endpoints().size() == 4; }));
  for (const bool is_writer : {true, false}) {
    const long all = fail_each_allocation_of([&] {
      Participant::WriterOptions writer_options;
      writer_options.topic = "w";
      writer_options.type = number_type();
      writer_options.pool = small_pool();
      Participant::ReaderOptions reader_options;
      reader_options.topic = "r";
      reader_options.type = number_type();
      std::shared_ptr<Writer> writer;
      std::shared_ptr<Reader> reader;
      Errc code{};
      t_watched = true;
      if (is_writer) {
        Result<std::shared_ptr<Writer>> made = own->create_writer(writer_options);
        made ? static_cast<void>(writer = *made) : static_cast<void>(code = made.error().code);
      } else {
        Result<std::shared_ptr<Reader>> made = own->create_reader(reader_options);
        made ? static_cast<void>(reader = *made) : static_cast<void>(code = made.error().code);
      }
      t_watched = false;
      if ((writer || reader) && !failed()) {
        EXPECT_TRUE(eventually([&] { return writer ? writer->matched() == 2 : reader->matched() == 2; }));
        fail(0, 1000000);  // ending needs no memory at all
        t_watched = true;
        writer.reset();
        reader.reset();
        t_watched = false;
        fail(1000000000);  // this was the last round
      } else if (!writer && !reader) {
        EXPECT_EQ(code, Errc::out_of_memory);
      }
      writer.reset();
      reader.reset();
      EXPECT_TRUE(eventually([&] { return own->endpoints().size() == 4; })) << own->endpoints().size();
      EXPECT_TRUE(eventually([&] { return witness->endpoints().size() == 4; })) << witness->endpoints().size();
      return !HasFailure();
    });
    EXPECT_GT(all, 5);
  }
}

}  // namespace
}  // namespace baton::transport::test
