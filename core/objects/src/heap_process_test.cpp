// SPDX-License-Identifier: Apache-2.0
// Processes that share objects by smart pointers and are killed: at every crash point of the heap's and the pointers' steps, and at
// random moments. Afterwards nothing may be lost, doubled or stuck: bytes, objects and destructors are counted.
// BATON_OBJECTS_KILLS: how many random kills (default 150).
#include <sys/socket.h>
#include <sys/un.h>

#include <atomic>
#include <boost/container/map.hpp>
#include <boost/container/string.hpp>
#include <boost/container/vector.hpp>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <regex>
#include <set>
#include <thread>

#include "baton/objects/guarded.hpp"
#include "baton/objects/queue.hpp"
#include "baton/objects/shared_ptr.hpp"
#include "crash_points.hpp"
#include "heap_test_support.hpp"

namespace baton::objects {
namespace lot_test {

using namespace std::chrono_literals;

/// Counted in the heap, so by all processes.
struct Tally {
  std::atomic<std::uint64_t> made{0}, ended{0}, doubled{0};
  std::atomic<bool> ready{false};
  std::atomic<std::uint64_t> bytes{0};  // of the heap, with nothing but this
};
/// Its end is counted; it must come once.
struct Witness {
  explicit Witness(const shared_ptr<Tally>& t) : tally(t) {
    ++tally->made;
    alive = 0x600d;
  }
  ~Witness() {
    ++(alive == 0x600d ? tally->ended : tally->doubled);
    alive = 0xdead;
  }
  std::uint64_t alive = 0;
  stored<shared_ptr<Tally>> tally;
};
/// Only pointers and plain data: may be destroyed again from wherever its process died.
struct Node {
  std::uint64_t number = 0;
  stored<shared_ptr<Node>> next;
  stored<weak_ptr<Node>> back;
  stored<unique_ptr<Node>> own;
  stored<shared_ptr<Witness>> witness;
  char large[100] = {};
};
struct Plain {  // nothing to be destroyed
  int numbers[20] = {};
};
struct Large {
  stored<shared_ptr<Node>> node;
  char bytes[150000] = {};
};
/// Containers that processes change and die in.
using Text = boost::container::basic_string<char, std::char_traits<char>, allocator<char>>;
struct Containers {
  explicit Containers(const allocator<std::byte>& memory) : nodes(memory), texts(memory) {}
  boost::container::vector<stored<shared_ptr<Node>>, allocator<stored<shared_ptr<Node>>>> nodes;
  boost::container::map<int, Text, std::less<int>, allocator<std::pair<const int, Text>>> texts;
};
/// What everybody knows by its name.
struct Common {
  explicit Common(Heap& heap) : tally(make_shared<Tally>(heap)), node(make_shared<Node>(heap)) {}
  stored<shared_ptr<Tally>> tally;
  stored<shared_ptr<Node>> node;
  queue<shared_ptr<Node>, 3> there, back;
  queue<unique_ptr<Node>, 2> uniques;
  guarded<Containers> containers;
};
/// Comes and goes with containers that are not empty.
struct Passing {
  guarded<Containers> containers;
};

}  // namespace lot_test

template <>
struct declared_shareable<lot_test::Witness> : std::true_type {};
template <>
struct declared_shareable<lot_test::Node> : recoverable {};
template <>
struct declared_shareable<lot_test::Large> : recoverable {};
template <>
struct declared_shareable<lot_test::Common> : recoverable {};
template <>
struct declared_shareable<lot_test::Passing> : recoverable {};

namespace lot_test {

shared_ptr<Node> new_node(Heap& heap, const shared_ptr<Common>& common) {
  shared_ptr<Node> node = make_shared<Node>(heap);
  node->witness = make_shared<Witness>(heap, common->tally);
  node->next = make_shared<Node>(heap);
  node->next->back = node;
  node->own = make_unique<Node>(heap);
  return node;
}

void change(guarded<Containers>& containers, const shared_ptr<Node>& node) {
  const auto locked = containers.lock();
  for (int i = 0; i < 5; ++i) locked->nodes.push_back(node);
  locked->nodes.insert(locked->nodes.begin() + 1, node);
  locked->nodes.erase(locked->nodes.begin());
  const int key = static_cast<int>(locked->texts.size());
  locked->texts.emplace(key, Text(100, 'x', locked.get_allocator()));
  locked->texts.emplace(-key, Text(70'000, 'y', locked.get_allocator()));
  if (locked->nodes.size() > 30) {
    locked->nodes.clear();
    locked->nodes.shrink_to_fit();
    locked->texts.erase(0);
    locked->texts.clear();
  }
}

/// One turn of everything, in any process and thread.
void turn(Heap& heap, const shared_ptr<Common>& common, queue<shared_ptr<Node>, 3>& out, queue<shared_ptr<Node>, 3>& in,
          bool names) {
  shared_ptr<Node> node = new_node(heap, common);
  (void)out.try_push(node);
  const shared_ptr<Node> copy = node;
  (void)out.try_push(std::move(node));
  for (int i = 0; i < 2; ++i) {
    if (std::optional<shared_ptr<Node>> got = in.try_pop()) {
      if ((*got)->next->back.lock() != *got) ++common->tally->doubled;
    }
  }
  (void)common->uniques.try_push(make_unique<Node>(heap));
  (void)common->uniques.try_pop();
  {
    const shared_ptr<Node> first = common->node;  // the first hold of this process, if it has none
    copy->next->next = first;
  }
  const shared_ptr<Large> large = make_shared<Large>(heap);
  large->node = copy;
  change(common->containers, copy);
  const weak_ptr<Plain> plain = make_shared<Plain>(heap);
  const shared_ptr<Passing> passing = make_shared<Passing>(heap);
  change(passing->containers, copy);
  for (const std::size_t bytes : {100U, 100'000U}) {
    void* const mine = heap.allocate(bytes).or_throw();
    heap.deallocate(mine);
  }
  if (names) {
    find_or_make<Witness>(heap, "by name", common->tally);
    forget(heap, "by name");
  }
}

shared_ptr<Common> new_common(Heap& heap) {
  shared_ptr<Common> common = find_or_make<Common>(heap, "common", heap);
  common->tally->bytes = heap.stats().used_bytes;
  return common;
}

/// With one process left, and nothing but `common` reachable.
void expect_nothing_is_lost(Heap& heap, const shared_ptr<Common>& common, std::uint64_t unfinished) {
  const auto drain = [](auto& queue) {
    while (queue.try_pop()) {
    }
    queue.push({});  // what a dead producer left in the slot
    queue.pop();
  };
  forget(heap, "by name");
  const auto end = std::chrono::steady_clock::now() + 60s;
  do {
    heap.collect();
    common->containers.lock().clear();
    drain(common->there);
    drain(common->back);
    drain(common->uniques);
  } while ((heap.stats().processes != 1 || heap.stats().objects != 3) && std::chrono::steady_clock::now() < end);
  const HeapStats stats = heap.stats();
  EXPECT_EQ(stats.processes, 1U);
  EXPECT_EQ(stats.objects, 3U) << "common, its tally, its node";
  EXPECT_EQ(stats.allocations, 3U);
  EXPECT_EQ(stats.used_bytes, common->tally->bytes) << "to the byte";
  EXPECT_EQ(stats.orphans, 0U);
  EXPECT_EQ(common->tally->doubled, 0U);
  // Objects whose process died in their constructor or destructor may be counted or not.
  EXPECT_LE(common->tally->made - common->tally->ended, unfinished);
  EXPECT_EQ(common->node.use_count(), 1);
}

TEST(SharedHeapProcesses, ADeadProcessesHoldsAreDroppedAndItsObjectsEndOnce) {
  Heap heap = new_heap();
  shared_ptr<Common> common = new_common(heap);
  const pid_t child = in_child(heap, [](Heap& mine) {
    const shared_ptr<Common> there = find<Common>(mine, "common");
    const shared_ptr<Node> node = new_node(mine, there);
    there->back.push(node);
    die();
  });
  status_of(child);
  EXPECT_EQ(heap.collect(), 1U);
  EXPECT_EQ(common->tally->ended, 0U) << "the queue has it";
  shared_ptr<Node> node = common->back.pop();
  EXPECT_EQ(node.use_count(), 1);
  node.reset();
  EXPECT_EQ(common->tally->ended, 1U);
  expect_nothing_is_lost(heap, common, 0);
  status_of(in_child(heap, [](Heap& mine) {
    const shared_ptr<Common> there = find<Common>(mine, "common");
    const shared_ptr<Node> held = new_node(mine, there);
    const weak_ptr<Node> weak = held;
    die();
  }));
  EXPECT_EQ(heap.collect(), 1U);
  EXPECT_EQ(common->tally->ended, 2U);
  expect_nothing_is_lost(heap, common, 0);
}

TEST(SharedHeapProcesses, PointersAndHeapsOfTheParentAreInertInAForkedChild) {
  Heap heap = new_heap();
  shared_ptr<Node> a = make_shared<Node>(heap);
  a->number = 7;
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(250);
    {
      shared_ptr<Node> copy = a;
      a.reset();
    }
    const bool refused = !heap.allocate(10).ok() && heap.allocate(10).error().code == Errc::forked;
    { const Heap ended = std::move(heap); }
    ::_exit(refused ? 0 : 1);
  }
  EXPECT_EQ(status_of(child), 0);
  EXPECT_EQ(a->number, 7U);
  EXPECT_EQ(heap.stats().processes, 1U);
}

TEST(SharedHeapProcesses, AnObjectOfAnUnknownTypeIsKeptAndReported) {
  struct Unknown {  // no pointer to it is named in the parent before the child is gone
    std::uint64_t x;
  };
  std::vector<HeapEvent> events;
  HeapOptions options;
  options.limit_bytes = 64U << 20;
  options.on_event = [&](const HeapEvent& event) { events.push_back(event); };
  Heap heap = Heap::create(options).or_throw();
  const pid_t child = in_child(heap, [](Heap& mine) {
    // A type that only this process knows: registered by hand, at run time.
    static int destroyed = 0;
    detail::TypeInfo info{detail::hash_name("only here"), "only here", [](void*) noexcept { ++destroyed; }, false};
    detail::register_type(info);
    detail::Block* const block = detail::make_block(mine, sizeof(Unknown), &info);
    (void)detail::finish_block(block);
    die();
  });
  status_of(child);
  EXPECT_EQ(heap.collect(), 1U);
  EXPECT_EQ(heap.stats().orphans, 1U);
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0].kind, HeapEvent::Kind::kOrphan);
  EXPECT_EQ(events[1].kind, HeapEvent::Kind::kProcessDied);
  EXPECT_EQ(events[1].pid, child);
  static int ended = 0;
  detail::register_type({detail::hash_name("only here"), "only here", [](void*) noexcept { ++ended; }, false});
  heap.collect();
  EXPECT_EQ(ended, 1) << "once somebody knows it";
  EXPECT_EQ(heap.stats().objects, 0U);
}

TEST(SharedHeapProcesses, RandomKillsUnderLoadLoseDoubleAndBlockNothing) {
  const char* const text = std::getenv("BATON_OBJECTS_KILLS");
  const int kills = text == nullptr ? 150 : std::atoi(text);
  Heap heap = new_heap();
  shared_ptr<Common> common = new_common(heap);
  std::mt19937 random(12345);
  for (int round = 0; round < kills;) {
    std::vector<pid_t> children;
    for (int i = 0; i < 3; ++i, ++round) {
      children.push_back(in_child(heap, [](Heap& mine) {
        const shared_ptr<Common> there = find<Common>(mine, "common");
        std::thread second([&] {
          for (;;) turn(mine, there, there->back, there->there, true);
        });
        for (;;) turn(mine, there, there->there, there->back, true);
      }));
    }
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(random() % 20000);
    for (pid_t child : children) {
      do {
        turn(heap, common, common->there, common->back, false);
      } while (std::chrono::steady_clock::now() < end);
      ::kill(child, SIGKILL);
      status_of(child);
    }
    if (round % 30 == 0 || round >= kills) {
      expect_nothing_is_lost(heap, common, static_cast<std::uint64_t>(round));
      if (testing::Test::HasFailure()) FAIL() << "after " << round << " kills";
    }
  }
  RecordProperty("unfinished", std::to_string(common->tally->made - common->tally->ended));
}

TEST(SharedHeapProcesses, ANamedHeapOutlivesItsMakerAndCollectsByItself) {
  HeapDirectory directory;
  const pid_t maker = ::fork();
  if (maker == 0) {
    ::alarm(250);
    Heap heap = Heap::open(directory.options("h")).or_throw();
    const shared_ptr<Common> common = find_or_make<Common>(heap, "common", heap);
    while (!common->tally->ready) std::this_thread::sleep_for(1ms);
    const shared_ptr<Node> node = new_node(heap, common);
    common->tally->made += 100;
    for (;;) ::pause();
  }
  Heap heap = Heap::open(directory.options("h")).or_throw();
  shared_ptr<Common> common = find_or_make<Common>(heap, "common", heap);
  common->tally->ready = true;
  while (common->tally->made < 101) std::this_thread::sleep_for(1ms);
  ::kill(maker, SIGKILL);
  status_of(maker);
  while (common->tally->ended < 1) std::this_thread::sleep_for(1ms);  // by the background thread
  Heap again = Heap::open(directory.options("h")).or_throw();         // from this process, which did not make it
  EXPECT_EQ(find<Common>(again, "common")->tally->ended, 1U);
}

/// The folder of the heap's domain. A stranger, a process that is no member, makes names in it.
class Stranger {
 public:
  explicit Stranger(const HeapDirectory& directory) {
    for (const auto& each : std::filesystem::recursive_directory_iterator(directory.path()))
      if (each.path().filename().string().rfind("heap-", 0) == 0) folder_ = each.path().parent_path();
  }
  std::filesystem::path member(const std::string& heap) const {
    for (const auto& each : std::filesystem::directory_iterator(folder_))
      if (each.path().filename().string().rfind("heap-" + heap + "@", 0) == 0) return each.path();
    return {};
  }
  const std::filesystem::path& folder() const { return folder_; }
  static sockaddr_un address(const std::filesystem::path& path) {
    sockaddr_un out{};
    out.sun_family = AF_UNIX;
    path.string().copy(out.sun_path, sizeof out.sun_path - 1);
    return out;
  }

 private:
  std::filesystem::path folder_;
};

TEST(SharedHeapProcesses, NamesOfOtherHeapsWithoutEndAreNotAllLookedAt) {
  const HeapDirectory directory;
  const Heap first = Heap::open(directory.options("first")).or_throw();
  const Stranger stranger(directory);
  const os::UniqueFd listens(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const auto name = [&](int i, const char* end) { return stranger.folder() / ("heap-x" + std::to_string(i) + end); };
  const sockaddr_un at = Stranger::address(name(0, "@0"));
  ASSERT_EQ(::bind(listens.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
  ASSERT_EQ(::listen(listens.get(), 4096), 0);
  for (int i = 0; i < 2000; ++i) {
    std::ofstream(name(i, "")).flush();
    if (i > 0) std::filesystem::create_hard_link(name(0, "@0"), name(i, "@0"));
  }
  const Heap second = Heap::open(directory.options("second")).or_throw();
  int connections = 0;
  while (::accept(listens.get(), nullptr, nullptr) >= 0) ++connections;
  EXPECT_GT(connections, 0);
  EXPECT_LE(connections, 256);  // kMostLookedAt
}

TEST(SharedHeapProcesses, ConnectionsOfStrangersAreBoundedAndMembersComeAfterThem) {
  const HeapDirectory directory;
  const Heap heap = Heap::open(directory.options("mine")).or_throw();
  const auto descriptors = [] {
    const auto all = std::filesystem::directory_iterator("/proc/self/fd");
    return std::distance(begin(all), end(all));
  };
  const auto before = descriptors();
  const sockaddr_un at = Stranger::address(Stranger(directory).member("mine"));
  int come[2], go[2];
  ASSERT_EQ(::pipe(come), 0);
  ASSERT_EQ(::pipe(go), 0);
  const pid_t stranger = forked([&] {
    int connected = 0;
    for (int i = 0; i < 400; ++i) {
      const int one = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0);
      for (int tries = 0; tries < 100; ++tries) {  // its backlog is full for ever, or for a moment
        if (::connect(one, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 && ++connected > 0) break;
        std::this_thread::sleep_for(1ms);
      }
      if (i - connected > 3) break;
    }
    EXPECT_GT(connected, 64);
    EXPECT_EQ(::write(come[1], "c", 1), 1);
    char byte;
    EXPECT_EQ(::read(go[0], &byte, 1), 1);
  });
  char byte;
  ASSERT_EQ(::read(come[0], &byte, 1), 1);
  EXPECT_LE(descriptors() - before, 128 + 5);  // kMostLinks, and the pipes
  ASSERT_EQ(::write(go[1], "g", 1), 1);
  EXPECT_EQ(status_of(stranger), 0);
  EXPECT_EQ(status_of(forked([&] { EXPECT_TRUE(Heap::open(directory.options("mine")).ok()); })), 0);
  for (const int each : {come[0], come[1], go[0], go[1]}) ::close(each);
}

#ifdef BATON_CRASH_POINTS

/// The victim, in a program started anew (crash points read the environment once): does everything until it dies.
TEST(SharedHeapVictim, DISABLED_DoesEverythingUntilItIsKilled) {
  const char* const fd = std::getenv("BATON_SHARED_FD");
  const char* const directory = std::getenv("BATON_SHARED_DIRECTORY");
  if (fd == nullptr && directory == nullptr) GTEST_SKIP();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::alarm(250);
  HeapOptions options;
  options.name = "h";
  options.domain = 0;
  options.runtime_directory = directory == nullptr ? "" : directory;
  options.timeout = 60s;
  {
    Heap heap = fd != nullptr ? Heap::attach(os::UniqueFd(std::atoi(fd))).or_throw() : Heap::open(options).or_throw();
    const shared_ptr<Common> common = find_or_make<Common>(heap, "common", heap);
    heap.collect();
    common->tally->ready = true;
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start < 100ms) turn(heap, common, common->there, common->back, true);
  }
}

/// Fills a heap with small objects, frees them, and needs their memory for a large one.
void fill_small_then_large(Heap& heap) {
  std::vector<void*> all;
  for (;;) {
    Result<void*> memory = heap.allocate(64);
    if (!memory) break;
    all.push_back(*memory);
  }
  EXPECT_GT(all.size(), 10'000U);
  for (void* memory : all) heap.deallocate(memory);
  void* const large = heap.allocate(1U << 20).or_throw();
  heap.deallocate(large);
}

TEST(SharedFullHeapVictim, DISABLED_FillsTheHeapUntilItIsKilled) {
  const char* const fd = std::getenv("BATON_SHARED_FULL_FD");
  if (fd == nullptr) GTEST_SKIP();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::alarm(250);
  Heap heap = Heap::attach(os::UniqueFd(std::atoi(fd))).or_throw();
  fill_small_then_large(heap);
}

pid_t start_victim(const std::string& at, const std::string& where) {
  const std::string crash = "BATON_CRASH_AT=" + at;
  const pid_t victim = ::fork();
  if (victim == 0) {
    const char* const arguments[] = {"victim", "--gtest_also_run_disabled_tests",
                                     "--gtest_filter=SharedHeapVictim.*:SharedFullHeapVictim.*", nullptr};
    const char* const environment[] = {crash.c_str(), where.c_str(), nullptr};
    ::dup2(::open("/dev/null", O_WRONLY), STDOUT_FILENO);
    ::execve("/proc/self/exe", const_cast<char**>(arguments), const_cast<char**>(environment));
    ::_exit(99);
  }
  return victim;
}

class SharedHeapCrash : public testing::TestWithParam<const char*> {};

TEST_P(SharedHeapCrash, LosesDoublesAndBlocksNothing) {
  for (const int pass : {1, 2, 7}) {
    Heap heap = new_heap();
    const os::UniqueFd fd(::dup(heap.descriptor().get()));  // for processes that are started anew
    const std::string where = "BATON_SHARED_FD=" + std::to_string(fd.get());
    shared_ptr<Common> common = new_common(heap);
    // So that the victim meets a dead one, in the middle of a pointer's change to an object that it uses.
    status_of(start_victim("shared.pointer.store_counted:3", where));
    const pid_t victim = start_victim(std::string(GetParam()) + ":" + std::to_string(pass), where);
    std::atomic<bool> ended{false};
    std::thread worker([&] {
      while (!common->tally->ready && !ended)
        std::this_thread::sleep_for(100us);  // the dead one is for the victim to find
      while (!ended) turn(heap, common, common->back, common->there, false);
    });
    const int status = status_of(victim);
    ended = true;
    worker.join();
    if (pass == 1) {
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the point was not reached";
    }
    if (!WIFSIGNALED(status)) {
      EXPECT_EQ(status, 0);
    }
    expect_nothing_is_lost(heap, common, 2);
  }
}
INSTANTIATE_TEST_SUITE_P(AtEveryPoint, SharedHeapCrash, testing::ValuesIn(kHeapCrashPoints), [](const auto& point) {
  std::string name = point.param;
  for (char& c : name) {
    if (c == '.') c = '_';
  }
  return name;
});

class SharedGuardCrash : public testing::TestWithParam<const char*> {};

TEST_P(SharedGuardCrash, AProcessThatStartsOverMayDieToo) {
  for (const char* const first : {"shared.guarded.owned:3", "shared.guarded.released:5", "shared.guarded.owned:7"}) {
    Heap heap = new_heap();
    const os::UniqueFd fd(::dup(heap.descriptor().get()));
    const std::string where = "BATON_SHARED_FD=" + std::to_string(fd.get());
    shared_ptr<Common> common = new_common(heap);
    int killed = 0;
    for (const std::string& at : {std::string(first), std::string(GetParam()), std::string(GetParam()) + ":2"}) {
      const int status = status_of(start_victim(at, where));
      killed += WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL ? 1 : 0;
    }
    EXPECT_GE(killed, 2) << first;
    expect_nothing_is_lost(heap, common, 4);
  }
}
INSTANTIATE_TEST_SUITE_P(AtEveryPoint, SharedGuardCrash, testing::ValuesIn(kGuardCrashPoints), [](const auto& point) {
  std::string name = point.param;
  for (char& c : name) {
    if (c == '.') c = '_';
  }
  return name;
});

TEST(SharedHeapProcesses, AKillWhileSpansAreGivenBackLosesNone) {
  for (const char* const pass : {":1", ":2", ":9"}) {
    for (const char* const point : kFullHeapCrashPoints) {
      Heap heap = new_heap(std::size_t{2} << 20);
      const os::UniqueFd fd(::dup(heap.descriptor().get()));
      const int status =
          status_of(start_victim(std::string(point) + pass, "BATON_SHARED_FULL_FD=" + std::to_string(fd.get())));
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the point was not reached";
      EXPECT_EQ(heap.collect(), 1U);
      EXPECT_EQ(heap.stats().used_bytes, 0U);
      fill_small_then_large(heap);
      EXPECT_EQ(heap.stats().used_bytes, 0U);
    }
  }
}

class SharedNameCrash : public testing::TestWithParam<const char*> {};

TEST_P(SharedNameCrash, LeavesANameThatOthersCanOpenAndLeave) {
  for (const bool alone : {false, true}) {
    HeapDirectory directory;
    {
      std::unique_ptr<Heap> heap;
      if (!alone) heap = std::make_unique<Heap>(Heap::open(directory.options("h")).or_throw());
      const int status = status_of(start_victim(GetParam(), "BATON_SHARED_DIRECTORY=" + directory.path()));
      EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "the point was not reached";
      if (alone) heap = std::make_unique<Heap>(Heap::open(directory.options("h")).or_throw());
      const Heap second = Heap::open(directory.options("h")).or_throw();
      shared_ptr<Common> common = find_or_make<Common>(*heap, "common", *heap);
      const auto end = std::chrono::steady_clock::now() + 60s;
      while (heap->stats().processes != 2 && std::chrono::steady_clock::now() < end) std::this_thread::sleep_for(1ms);
      EXPECT_EQ(heap->stats().processes, 2U);
    }
    EXPECT_TRUE(directory.names().empty());
  }
}
INSTANTIATE_TEST_SUITE_P(AtEveryPoint, SharedNameCrash, testing::ValuesIn(kRendezvousCrashPoints),
                         [](const auto& point) {
                           std::string name = point.param;
                           for (char& c : name) {
                             if (c == '.') c = '_';
                           }
                           return name;
                         });

TEST(SharedCrashPoints, TheListsNameExactlyThoseInTheSources) {
  std::set<std::string> listed, found;
  for (const char* name : kObjectCrashPoints) listed.insert(name);
  for (const char* name : kHeapCrashPoints) listed.insert(name);
  for (const char* name : kGuardCrashPoints) listed.insert(name);
  for (const char* name : kFullHeapCrashPoints) listed.insert(name);
  for (const char* name : kRendezvousCrashPoints) listed.insert(name);
  const std::regex point("BATON_CRASH_POINT\\(\"([^\"]+)\"\\)");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(BATON_OBJECTS_SOURCES)) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
    std::ifstream file(entry.path());
    const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    for (auto at = std::sregex_iterator(text.begin(), text.end(), point); at != std::sregex_iterator(); ++at)
      found.insert((*at)[1]);
  }
  EXPECT_EQ(listed, found);
}

#endif

}  // namespace lot_test
}  // namespace baton::objects
