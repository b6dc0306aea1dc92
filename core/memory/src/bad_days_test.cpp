// SPDX-License-Identifier: Apache-2.0
// Machines that give little, peers that lie, owners that die. Every body runs in a child of its own: the window is reserved once
// per process, and limits cannot be raised again.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "baton/memory/account.hpp"
#include "baton/memory/arena.hpp"
#include "baton/memory/pool.hpp"
#include "baton/memory/window.hpp"
#include "baton/os/child.hpp"
#include "baton/os/memory_left.hpp"
#include "baton/os/process.hpp"
#include "baton/os/sparse_memory.hpp"

using namespace baton;
using namespace baton::memory;

namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

// Runs `body` in a forked child: what it wrote to its stream comes back, or how it died.
std::string in_child(const std::function<std::string()>& body) {
  int ends[2];
  if (::pipe(ends) != 0) return "pipe failed";
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    ::close(ends[0]);
    std::string said;
    try {
      said = body();
    } catch (const std::exception& e) {
      said = std::string("exception: ") + e.what();
    }
    const bool written = ::write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size());
    ::_exit(written ? 0 : 1);
  }
  ::close(ends[1]);
  std::string said;
  char buffer[4096];
  for (ssize_t n; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) said.append(buffer, static_cast<std::size_t>(n));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? "killed by signal " + std::to_string(WTERMSIG(status)) + " after: " + said : said;
}

// The pool, its first segment's descriptor and size.
struct Publisher {
  std::unique_ptr<Pool> pool;
  int fd = -1;
  std::uint64_t size = 0;

  explicit Publisher(PoolOptions options = {}) {
    pool = std::move(Pool::create(options, {}, [this](std::uint32_t, int made, std::uint64_t bytes) {
             fd = made;
             size = bytes;
           })).or_throw();
  }
  Chunk publish(std::size_t content_bytes, int fill) {
    Chunk chunk = pool->loan_growing(16).or_throw();
    void* content = content_allocate(chunk.message(), content_bytes, 64);
    std::memset(content, fill, content_bytes);
    pool->publish(chunk);
    return chunk;
  }
};

PoolOptions small() {
  PoolOptions options;
  options.max_message_bytes = kMiB;
  options.memory_limit_bytes = 4 * kMiB;
  options.slot_count = 4;
  return options;
}

bool names(const Error& error, Errc code, const char* thing) {
  return error.code == code && error.message.find(thing) != std::string::npos;
}
std::string show(const Error& error) { return std::string(errc_name(error.code)) + ": " + error.message; }

// Lowers the soft and hard limit.
void limit(int resource, std::size_t value) {
  rlimit both{};
  ::getrlimit(static_cast<__rlimit_resource_t>(resource), &both);
  both.rlim_cur = both.rlim_max = std::min<rlim_t>(value, both.rlim_max);
  ::setrlimit(static_cast<__rlimit_resource_t>(resource), &both);
}

std::size_t address_space_bytes() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * 4096;
}

}  // namespace

TEST(BadDays, AProcessWithoutMemoryAreasIsToldWhichLimitToRaise) {
  if (os::most_memory_areas() > 300'000) GTEST_SKIP() << "vm.max_map_count is large here";
  EXPECT_EQ(in_child([]() -> std::string {
              Publisher publisher(small());
              // Every second page readable: each costs two areas.
              const std::size_t pages = os::most_memory_areas() + 10;
              auto* const all = static_cast<std::byte*>(
                  ::mmap(nullptr, pages * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
              if (all == MAP_FAILED) return "no addresses";
              std::size_t used = 0;
              while (used < pages && ::mprotect(all + used * 4096, 4096, PROT_READ) == 0) used += 2;
              if (used >= pages) return "no end of areas";
              // The last one, if there was one: its neighbours have other rights.
              for (const int rights : {PROT_READ, PROT_WRITE, PROT_READ | PROT_WRITE | PROT_EXEC})
                ::mmap(nullptr, 4096, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              const Result<Chunk> refused = publisher.pool->loan_growing(16);
              if (refused.ok() || !names(refused.error(), Errc::out_of_memory, "sysctl -w vm.max_map_count="))
                return refused.ok() ? "not refused" : show(refused.error());
              ::munmap(all, pages * 4096);
              publisher.publish(50'000, 1);
              return "";
            }),
            "");
}

TEST(BadDays, ALimitedAddressSpaceGivesASmallerWindowThatWorks) {
  EXPECT_EQ(in_child([]() -> std::string {
              limit(RLIMIT_AS, address_space_bytes() + 1024 * kMiB);
              Publisher publisher;
              const std::size_t size = (*Window::instance())->size();
              if (size > 512 * kMiB || size < 128 * kMiB) return "window of " + std::to_string(size);
              publisher.publish(50'000, 1);
              std::vector<char> other(256 * kMiB);  // the program keeps its half
              PoolOptions large;
              large.max_message_bytes = 256 * kMiB;
              auto refused = Pool::create(large, {}, {});
              if (refused.ok() || !names(refused.error(), Errc::window_exhausted, "max_message_bytes"))
                return "not refused by name, and when it is made";
              large.max_message_bytes = 8 * kMiB;
              Publisher third(large);
              third.publish(50'000, 1);
              return "";
            }),
            "");
}

TEST(BadDays, DefaultPublishersFitByTheThousandAndAFullWindowRefusesTheNextWhenItIsMade) {
  EXPECT_EQ(in_child([]() -> std::string {
              rlimit descriptors{};
              ::getrlimit(RLIMIT_NOFILE, &descriptors);
              descriptors.rlim_cur = descriptors.rlim_max;
              ::setrlimit(RLIMIT_NOFILE, &descriptors);
              const std::size_t window = (*Window::instance())->size();
              std::vector<std::unique_ptr<Pool>> pools;
              Result<std::unique_ptr<Pool>> made = Pool::create({}, {}, {});
              for (; made.ok(); made = Pool::create({}, {}, {})) pools.push_back(std::move(*made));
              if (!names(made.error(), Errc::window_exhausted, "max_message_bytes")) return show(made.error());
              if (pools.size() < (window < std::size_t{1} << 46 ? 1000 : 10'000))
                return std::to_string(pools.size()) + " publishers";
              // Each that was made can loan.
              const std::size_t count = std::min<std::size_t>(3000, descriptors.rlim_cur - 64);
              for (std::size_t i = 0; i < count; ++i) {
                if (Result<Chunk> chunk = pools[i]->loan_growing(16); !chunk.ok()) return show(chunk.error());
              }
              pools.clear();
              made = Pool::create({}, {}, {});
              return made.ok() ? "" : "what was reserved is not given back: " + show(made.error());
            }),
            "");
}

TEST(BadDays, APublisherWithoutRoomForAnotherSegmentWorksOnWithTheOnesItHas) {
  EXPECT_EQ(in_child([]() -> std::string {
              ::setenv("BATON_WINDOW", "64M", 1);
              PoolOptions options;
              options.max_message_bytes = kMiB;
              Publisher publisher(options);
              std::vector<Handle> alive;
              for (Result<Chunk> chunk = publisher.pool->loan_growing(16);; chunk = publisher.pool->loan_growing(16)) {
                if (!chunk.ok()) {
                  if (!names(chunk.error(), Errc::window_exhausted, "BATON_WINDOW")) return show(chunk.error());
                  break;
                }
                publisher.pool->publish(*chunk);
                alive.push_back(chunk->handle);
              }
              if (alive.size() < 16) return std::to_string(alive.size()) + " messages";
              publisher.pool->release(alive.front());
              Result<Chunk> again = publisher.pool->loan_growing(16);
              return again.ok() && again->handle == alive.front() ? "" : "the slot that came back was not lent";
            }),
            "");
}

TEST(BadDays, NoAddressSpaceForAWindowIsAClearError) {
  EXPECT_EQ(in_child([]() -> std::string {
              limit(RLIMIT_AS, address_space_bytes() + 40 * kMiB);
              auto pool = Pool::create({}, {}, {});
              if (pool.ok()) return "made";
              return names(pool.error(), Errc::window_exhausted, "RLIMIT_AS") ? "" : show(pool.error());
            }),
            "");
}

TEST(BadDays, TheEnvironmentSetsTheWindowAndANonsenseValueIsNamed) {
  EXPECT_EQ(in_child([]() -> std::string {
              ::setenv("BATON_WINDOW", "256M", 1);
              Publisher publisher(small());
              publisher.publish(1000, 1);
              return (*Window::instance())->size() == 256 * kMiB ? "" : "another size";
            }),
            "");
  for (const char* nonsense : {"lots", "", "12Q", "1M", "-1", "99999999999999999999"}) {
    EXPECT_EQ(in_child([nonsense]() -> std::string {
                ::setenv("BATON_WINDOW", nonsense, 1);
                auto pool = Pool::create({}, {}, {});
                if (pool.ok()) return "made";
                return names(pool.error(), Errc::invalid_argument, "BATON_WINDOW") ||
                               names(pool.error(), Errc::window_exhausted, "BATON_WINDOW")
                           ? ""
                           : show(pool.error());
              }),
              "")
        << nonsense;
  }
}

TEST(BadDays, ANonsenseMemoryLimitIsNamedAndNotIgnored) {
  for (const char* nonsense : {"lots", "", "512MB", "10 M", "-1", "99999999999999999999"}) {
    EXPECT_EQ(in_child([nonsense]() -> std::string {
                ::setenv("BATON_PROCESS_MEMORY_LIMIT", nonsense, 1);
                auto pool = Pool::create({}, {}, {});
                if (pool.ok()) return "made";
                return names(pool.error(), Errc::invalid_argument, "BATON_PROCESS_MEMORY_LIMIT") ? ""
                                                                                                 : show(pool.error());
              }),
              "")
        << nonsense;
  }
}

// mlockall(2): every new mapping counts against RLIMIT_MEMLOCK and is populated, which for a sparse segment means all of it.
TEST(BadDays, LockedFutureMappingsPopulateNothing) {
  const std::string said = in_child([]() -> std::string {
    const rlimit room{64 * kMiB, 64 * kMiB};  // the process without a segment has some MiB of mappings
    if (::setrlimit(RLIMIT_MEMLOCK, &room) != 0) return "skip: no right to lock 64 MiB (RLIMIT_MEMLOCK)";
    if (::geteuid() == 0 && ::setuid(65534) != 0) return "cannot drop root";
    if (::mlockall(MCL_CURRENT | MCL_FUTURE) != 0) return "skip: mlockall refused";
    Publisher publisher;
    publisher.publish(3 * kMiB, 1);
    publisher.publish(2 * kMiB, 1);
    auto foreign = ForeignSegment::map(::dup(publisher.fd), publisher.size);
    if (!foreign.ok()) return show(foreign.error());
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      std::size_t kib = 0;
      if (std::sscanf(line.c_str(), "RssShmem: %zu", &kib) == 1 && kib > 16 * 1024) return line;
    }
    return "";
  });
  if (said.rfind("skip", 0) == 0) GTEST_SKIP() << said;
  EXPECT_EQ(said, "");
}

/// As in_child(), in a cgroup of its own that may use 48 MiB. "skip: ...": there is no right to make one.
std::string in_small_cgroup(const std::function<std::string()>& body) {
  // Under whichever memory hierarchy lets us make one.
  std::string group;
  for (const char* mount : {"/sys/fs/cgroup/memory", "/sys/fs/cgroup"}) {
    const std::string path = std::string(mount) + "/baton_test_" + std::to_string(::getpid());
    if (::mkdir(path.c_str(), 0700) != 0) continue;
    for (const char* file : {"/memory.limit_in_bytes", "/memory.max"})
      if (group.empty() && (std::ofstream(path + file) << 48 * kMiB << std::flush)) group = path;
    if (!group.empty()) break;
    ::rmdir(path.c_str());
  }
  if (group.empty()) return "skip: no right to make a cgroup here";
  const std::string said = in_child([&]() -> std::string {
    if (!(std::ofstream(group + "/cgroup.procs") << ::getpid() << std::flush)) return "skip: cannot join the group";
    return body();
  });
  ::rmdir(group.c_str());
  return said;
}

TEST(BadDays, TheLastMemoryOfACgroupIsLeftToTheProcess) {
  const std::string said = in_small_cgroup([]() -> std::string {
    Publisher publisher;
    Chunk chunk = publisher.pool->loan_growing(16).or_throw();
    content_allocate(chunk.message(), 8 * kMiB, 1);
    try {
      content_allocate(chunk.message(), os::memory_left() + kMiB, 1);  // the group has this much, and a little more
      return "got it";
    } catch (const Exception& e) {
      return e.code() == Errc::out_of_memory ? "" : e.what();
    }
  });
  if (said.rfind("skip", 0) == 0) GTEST_SKIP() << said;
  EXPECT_EQ(said, "");
}

TEST(BadDays, AFullCgroupIsAnErrorAndNotTheOomKiller) {
  const std::string said = in_small_cgroup([]() -> std::string {
    Publisher publisher;
    Chunk chunk = publisher.pool->loan_growing(16).or_throw();
    content_allocate(chunk.message(), 8 * kMiB, 1);
    try {
      content_allocate(chunk.message(), 100 * kMiB, 1);
      return "got more than the group has";
    } catch (const Exception& e) {
      if (e.code() != Errc::out_of_memory || std::string(e.what()).find("cgroup") == std::string::npos) return e.what();
    }
    // Step by step it ends the same way.
    auto* data = static_cast<char*>(content_allocate(chunk.message(), kMiB, 1));
    try {
      for (std::size_t bytes = kMiB; bytes < 100 * kMiB; bytes += kMiB) {
        content_resize_in_place(chunk.message(), data, bytes);
        std::memset(data, 1, bytes);
      }
      return "grew beyond the group";
    } catch (const Exception& e) {
      return e.code() == Errc::out_of_memory ? "" : e.what();
    }
  });
  if (said.rfind("skip", 0) == 0) GTEST_SKIP() << said;
  EXPECT_EQ(said, "");
}

TEST(BadDays, TheProcessLimitAndTheDomainsCheckRefuseByName) {
  EXPECT_EQ(in_child([]() -> std::string {
              ::setenv("BATON_PROCESS_MEMORY_LIMIT", "1M", 1);
              Publisher a(small()), b(small());
              a.publish(600'000, 1);
              try {
                b.publish(600'000, 1);
                return "not refused";
              } catch (const Exception& e) {
                if (e.code() != Errc::limit_reached ||
                    std::string(e.what()).find("BATON_PROCESS_MEMORY_LIMIT") == std::string::npos)
                  return e.what();
              }
              const std::size_t before = process_backed_bytes();
              a.pool.reset();
              if (process_backed_bytes() >= before) return "a pool's end gives nothing back";
              std::ptrdiff_t told = 0;
              auto counting =
                  watch_account([&](std::ptrdiff_t bytes) -> Result<void> { return told += bytes, Result<void>(); });
              auto token = watch_account([](std::ptrdiff_t bytes) -> Result<void> {
                if (bytes > 0) return Error{Errc::limit_reached, "the domain is full"};
                return {};
              });
              Publisher c(small());
              Result<Chunk> refused = c.pool->loan_growing(16);
              if (refused.ok() || !names(refused.error(), Errc::limit_reached, "the domain is full"))
                return "the check was not asked";
              if (told != 0) return "a refused growth was counted: " + std::to_string(told);
              token.reset();
              if (!c.pool->loan_growing(16).ok()) return "refused without a watch";
              return told == static_cast<std::ptrdiff_t>(c.pool->account().backed_bytes)
                         ? ""
                         : "told " + std::to_string(told);
            }),
            "");
}

TEST(BadDays, NoDescriptorLeftIsAnErrorAndTheNextLoanWorks) {
  EXPECT_EQ(in_child([]() -> std::string {
              Publisher publisher(small());
              std::vector<int> taken;
              limit(RLIMIT_NOFILE, 64);
              for (int fd; (fd = ::dup(1)) >= 0;) taken.push_back(fd);
              Result<Chunk> refused = publisher.pool->loan_growing(16);
              if (refused.ok() || refused.error().code != Errc::out_of_descriptors) return "not refused";
              for (int fd : taken) ::close(fd);
              publisher.publish(1000, 1);
              return "";
            }),
            "");
}

TEST(BadDays, AFileSizeLimitIsAnErrorAndNotASignal) {
  EXPECT_EQ(in_child([]() -> std::string {
              Publisher publisher(small());
              limit(RLIMIT_FSIZE, kMiB);
              Result<Chunk> refused = publisher.pool->loan_growing(16);
              if (refused.ok()) return "not refused";
              return names(refused.error(), Errc::limit_reached, "RLIMIT_FSIZE") ? "" : show(refused.error());
            }),
            "");
}

TEST(BadDays, AMachineThatCannotBeAskedForItsMemoryIsNoFullMachine) {
  EXPECT_EQ(in_child([]() -> std::string {
              PoolOptions options;
              options.max_message_bytes = options.memory_limit_bytes = 200 * kMiB;
              options.slot_count = 1;
              Publisher publisher(options);
              publisher.pool->abandon(publisher.pool->loan_growing(16).or_throw());
              limit(RLIMIT_NOFILE, 64);
              while (::dup(1) >= 0) {
              }
              // More than may be taken before /proc/meminfo is asked again, for which there is no descriptor.
              Result<Chunk> large = publisher.pool->loan_sized(150 * kMiB, 16);
              return large.ok() ? "" : show(large.error());
            }),
            "");
}

TEST(BadDays, AReaderCannotWriteShrinkOrGrowASegment) {
  EXPECT_EQ(in_child([]() -> std::string {
              Publisher publisher(small());
              publisher.publish(1000, 1);
              // Neither by the descriptor nor by opening it anew, which gives a description of its own.
              for (int fd :
                   {::dup(publisher.fd), ::open(("/proc/self/fd/" + std::to_string(publisher.fd)).c_str(), O_RDWR)}) {
                if (fd < 0) return "no descriptor";
                if (::mmap(nullptr, publisher.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) != MAP_FAILED)
                  return "mapped writable";
                if (::ftruncate(fd, 0) == 0 || ::ftruncate(fd, static_cast<off_t>(publisher.size * 2)) == 0)
                  return "resized";
                if (::pwrite(fd, "x", 1, 0) == 1) return "written";
                if (::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) == 0) return "hole punched";
                void* view = ::mmap(nullptr, publisher.size, PROT_READ, MAP_SHARED, fd, 0);
                if (view == MAP_FAILED) return "not even readable";
                if (::mprotect(view, publisher.size, PROT_READ | PROT_WRITE) == 0) return "opened for writing";
                if (::fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) == 0) return "seals added";
              }
              auto mapped = ForeignSegment::map(::dup(publisher.fd), publisher.size);
              if (!mapped.ok()) return show(mapped.error());
              const auto* own = reinterpret_cast<const void*>((*mapped)->base());
              if (::mprotect(const_cast<void*>(own), 4096, PROT_READ | PROT_WRITE) == 0)
                return "our reader's mapping can be opened";
              return "";
            }),
            "");
}

TEST(BadDays, AMessageOutlivesItsKilledPublisher) {
  EXPECT_EQ(in_child([]() -> std::string {
              int ends[2];
              if (::pipe(ends) != 0) return "pipe";
              struct Word {
                int fd;
                std::uint64_t size;
                Handle handle;
              };
              const pid_t owner = ::fork();
              if (owner == 0) {
                Publisher publisher(small());
                const Word word{publisher.fd, publisher.size, publisher.publish(kMiB / 2, 42).handle};
                Word said{publisher.fd, publisher.size, word.handle};
                if (::write(ends[1], &said, sizeof said) != sizeof said) ::_exit(1);
                for (;;) ::pause();
              }
              Word word{};
              if (::read(ends[0], &word, sizeof word) != sizeof word) return "the owner said nothing";
              Result<os::UniqueFd> fd = os::open_descriptor_of(owner, word.fd);
              if (!fd.ok()) return show(fd.error());
              auto segment = ForeignSegment::map(fd->release(), word.size);
              ::kill(owner, SIGKILL);
              ::waitpid(owner, nullptr, 0);
              if (!segment.ok()) return show(segment.error());
              std::uint32_t size = 0;
              Result<const ChunkHeader*> header = (*segment)->chunk(handle_offset(word.handle), &size);
              if (!header.ok()) return show(header.error());
              const auto* bytes = reinterpret_cast<const char*>(*header + 1);
              for (std::size_t at = 64; at < kMiB / 2; ++at)
                if (bytes[at] != 42) return "byte " + std::to_string(at) + " is lost";
              return size == 64 + kMiB / 2 ? "" : "size " + std::to_string(size);
            }),
            "");
}

TEST(BadDays, SegmentsThatLieAreRefusedAndCostNothing) {
  EXPECT_EQ(in_child([]() -> std::string {
              Publisher publisher(small());
              publisher.publish(1000, 1);
              const auto memfd = [](std::size_t bytes, unsigned seals, unsigned flags = 0) {
                const int fd = ::memfd_create("hostile", MFD_ALLOW_SEALING | MFD_CLOEXEC | flags);
                if (fd < 0 && flags != 0) return fd;  // a kernel without huge pages
                if (::ftruncate(fd, static_cast<off_t>(bytes)) != 0 || (seals && ::fcntl(fd, F_ADD_SEALS, seals) != 0))
                  ::abort();
                return fd;
              };
              constexpr unsigned kAll = F_SEAL_SHRINK | F_SEAL_GROW | 0x10;  // F_SEAL_FUTURE_WRITE
              struct Lie {
                const char* name;
                int fd;
                std::uint64_t size;
                Errc expected;
              };
              int pair[2];
              if (::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) return "socketpair";
              ::close(pair[1]);
              const Lie lies[] = {
                  {"unsealed", memfd(kMiB, 0), kMiB, Errc::protocol_violation},
                  {"may shrink", memfd(kMiB, kAll & ~F_SEAL_SHRINK), kMiB, Errc::protocol_violation},
                  {"may grow", memfd(kMiB, kAll & ~F_SEAL_GROW), kMiB, Errc::protocol_violation},
                  {"others may write", memfd(kMiB, F_SEAL_SHRINK | F_SEAL_GROW), kMiB, Errc::protocol_violation},
                  {"truncated", memfd(kMiB / 2, kAll), kMiB, Errc::protocol_violation},
                  {"larger than announced", memfd(2 * kMiB, kAll), kMiB, Errc::protocol_violation},
                  {"empty", memfd(0, kAll), 0, Errc::protocol_violation},
                  {"absurd", memfd(kMiB, kAll), std::uint64_t{1} << 62, Errc::protocol_violation},
                  {"all of 64 bits", memfd(kMiB, kAll), ~std::uint64_t{0}, Errc::protocol_violation},
                  {"huge pages, which the machine may not have", memfd(2 * kMiB, kAll, MFD_HUGETLB), 2 * kMiB,
                   Errc::protocol_violation},
                  {"no memfd", ::open("/proc/self/exe", O_RDONLY), kMiB, Errc::protocol_violation},
                  {"a socket", pair[0], kMiB, Errc::protocol_violation},
                  {"no descriptor", -1, kMiB, Errc::protocol_violation},
              };
              const int before = ::dup(0);
              ::close(before);
              std::byte* free_before = (*Window::instance())->allocate(1).or_throw();
              (*Window::instance())->free(free_before, 1);
              for (const Lie& lie : lies) {
                auto mapped = ForeignSegment::map(lie.fd, lie.size);
                if (mapped.ok()) return std::string(lie.name) + ": accepted";
                if (mapped.error().code != lie.expected) return std::string(lie.name) + ": " + show(mapped.error());
                if (lie.fd >= 0 && ::fcntl(lie.fd, F_GETFD) >= 0) return std::string(lie.name) + ": descriptor kept";
              }
              std::byte* free_after = (*Window::instance())->allocate(1).or_throw();
              return free_after == free_before ? "" : "addresses leaked";
            }),
            "");
}

TEST(BadDays, ASizeThatChangesWhileItIsCheckedIsUsedAsChecked) {
  EXPECT_EQ(in_child([]() -> std::string {
              Publisher publisher(small());
              Chunk chunk = publisher.publish(1000, 1);
              auto segment = ForeignSegment::map(::dup(publisher.fd), publisher.size).or_throw();
              std::atomic<bool> stop{false};
              std::thread hostile([&] {
                auto* word = const_cast<volatile std::uint32_t*>(&chunk.header->size_bytes);
                while (!stop.load(std::memory_order_relaxed)) {
                  *word = 0xffffffffu;
                  *word = 1064;  // what it was
                }
              });
              std::string said;
              for (int i = 0; i < 200'000 && said.empty(); ++i) {
                std::uint32_t size = 0;
                if (segment->chunk(handle_offset(chunk.handle), &size).ok() && size != 1064)
                  said = "size " + std::to_string(size);
              }
              stop = true;
              hostile.join();
              return said;
            }),
            "");
}

TEST(BadDays, AForkedChildCannotChangeItsParentsLoan) {
  EXPECT_EQ(in_child([]() -> std::string {
              Publisher publisher(small());
              Chunk chunk = publisher.pool->loan_growing(16).or_throw();
              void* content = content_allocate(chunk.message(), 100, 1);
              const std::string said = in_child([&]() -> std::string {
                content_free(chunk.message(), content);  // a destructor in the child
                try {
                  content_allocate(chunk.message(), 100, 1);
                } catch (const Exception& e) {
                  return errc_name(e.code());
                }
                return "allocated";
              });
              if (said != "forked") return said;
              return content_capacity(chunk.message(), content) == 100 ? "" : "changed";
            }),
            "");
}

TEST(BadDays, AChildForkedWhileOtherThreadsTakeMemoryCanTakeSome) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's allocator may stay locked in a child forked from several threads";
#endif
  // Each round is a new process, in which the first fork meets everything that is made at first use.
  for (int round = 0; round < 20; ++round)
    ASSERT_EQ(in_child([]() -> std::string {
                std::atomic<bool> stop{false};
                std::atomic<int> watched{0};
                const std::shared_ptr<void> watch = watch_account([&](std::ptrdiff_t) -> Result<void> {
                  ++watched;
                  return {};
                });
                const auto take = [] {
                  Publisher publisher(small());
                  publisher.publish(1000, 1);
                };
                std::vector<std::thread> threads;
                for (int i = 0; i < 2; ++i)
                  threads.emplace_back([&] {
                    while (!stop) take();
                  });
                std::string said;
                for (int i = 0; i < 10 && said.empty(); ++i)
                  said = in_child([&]() -> std::string {
                    const int before = watched;
                    take();
                    return watched == before ? "" : "the parent's watch was called";
                  });
                stop = true;
                for (std::thread& thread : threads) thread.join();
                return said;
              }),
              "");
}

TEST(BadDays, AThousandRetiredSegmentsLeaveNothingBehind) {
  EXPECT_EQ(in_child([]() -> std::string {
              limit(RLIMIT_NOFILE, 64);
              Publisher publisher(small());
              std::uint32_t expected = 0, wrong = 0;
              for (int i = 0; i < 1000; ++i) {
                Chunk chunk = publisher.publish(5000, 1);
                if (handle_segment(chunk.handle) != static_cast<std::uint32_t>(i))
                  ++wrong;  // an index is never used again
                publisher.pool->retire_segment([&](std::uint32_t index) { wrong += index != expected++; });
                publisher.pool->release(chunk.handle);
              }
              if (wrong || expected != 1000)
                return std::to_string(wrong) + " wrong, " + std::to_string(expected) + " retired";
              if (publisher.pool->account().backed_bytes != 0 || process_backed_bytes() != 0)
                return "backed bytes left";
              return publisher.pool->account().segments == 0 ? "" : "segments left";
            }),
            "");
}
