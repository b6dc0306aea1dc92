// SPDX-License-Identifier: Apache-2.0
#include "baton/os/disposal.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fuse.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "baton/os/parent_only_fd.hpp"
#include "baton/os/process.hpp"
#include "baton/os/unix_socket.hpp"

namespace baton::os {
namespace {

template <class Predicate>
bool eventually(Predicate&& predicate) {
  for (int i = 0; i < 60000 && !predicate(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return predicate();
}

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

/// A socket whose close waits: its peer reads nothing, bytes are unsent, and SO_LINGER says to wait for them.
struct Lingering {
  UniqueFd listener, reader, socket;
  Lingering() {
    listener = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(listener.get(), 1), 0);
    EXPECT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    socket = UniqueFd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
    reader = UniqueFd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const linger wait{1, 3600};
    EXPECT_EQ(::setsockopt(socket.get(), SOL_SOCKET, SO_LINGER, &wait, sizeof wait), 0);
    const std::array<char, 65536> bytes{};
    while (::send(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT) > 0) {
    }
  }
};

TEST(Disposal, ClosesADescriptorWhoseCloseBlocksWithoutBlockingTheCaller) {
  Lingering lingering;
  dispose(std::move(lingering.socket));
  // Others end although the first one still waits.
  std::atomic<int> ended{0};
  for (int i = 0; i < 10; ++i) dispose([&] { ended.fetch_add(1); });
  EXPECT_TRUE(eventually([&] { return ended.load() == 10; }));
  lingering.reader.reset();  // its peer is gone: the close ends
}

TEST(Disposal, AsManySocketsThatLingerAsThereAreThreadsKeepNothingElseFromEnding) {
  std::array<Lingering, kMostDisposalThreads> lingering;
  for (Lingering& each : lingering) dispose(std::move(each.socket));
  std::atomic<bool> ended{false};
  dispose([&] { ended.store(true); });
  EXPECT_TRUE(eventually([&] { return ended.load(); }));
  for (Lingering& each : lingering) each.reader.reset();  // then they end in any case
}

/// A file of a file system in user space that answers everything but FLUSH (fuse(4), linux/fuse.h): its close does not return
/// until the server ends.
class SilentFile {
 public:
  SilentFile() {
    device_ = UniqueFd(::open("/dev/fuse", O_RDWR | O_CLOEXEC));
    if (!device_) return;
    const std::string options = "rootmode=40000,user_id=0,group_id=0,fd=" + std::to_string(device_.get());
    if (::mkdtemp(directory_.data()) == nullptr ||
        ::mount("baton-test", directory_.c_str(), "fuse", MS_NODEV | MS_NOSUID, options.c_str()) != 0) {
      return;
    }
    mounted_ = true;
    server_ = std::thread([this] { serve(); });
    file = UniqueFd(::open((directory_ + "/file").c_str(), O_RDWR | O_CLOEXEC));
  }
  ~SilentFile() { end(); }
  /// All closes that wait return.
  void end() {
    if (!mounted_) return;
    mounted_ = false;
    (void)::umount2(directory_.c_str(), MNT_FORCE | MNT_DETACH);  // reads of the device fail from now on
    server_.join();
    ::rmdir(directory_.c_str());
  }
  bool was_flushed() const { return flushes_.load() != 0; }
  UniqueFd file;

 private:
  void serve() {
    std::vector<char> request(std::size_t{1} << 18);
    while (::read(device_.get(), request.data(), request.size()) > 0) {
      fuse_in_header in{};
      std::memcpy(&in, request.data(), sizeof in);
      struct {
        fuse_out_header header;
        union {
          fuse_init_out init;
          fuse_entry_out entry;
          fuse_attr_out attributes;
          fuse_open_out open;
        };
      } out{};
      std::size_t size = 0;
      fuse_attr attributes{};
      attributes.ino = in.nodeid;
      attributes.nlink = 1;
      attributes.mode = in.nodeid == FUSE_ROOT_ID && in.opcode != FUSE_LOOKUP ? S_IFDIR | 0755 : S_IFREG | 0644;
      switch (in.opcode) {
        case FUSE_INIT:
          out.init.major = FUSE_KERNEL_VERSION;
          out.init.minor = FUSE_KERNEL_MINOR_VERSION;
          out.init.max_write = 4096;
          size = sizeof out.init;
          break;
        case FUSE_LOOKUP:
          out.entry.nodeid = attributes.ino = 2;
          out.entry.attr = attributes;
          size = sizeof out.entry;
          break;
        case FUSE_GETATTR:
          out.attributes.attr = attributes;
          size = sizeof out.attributes;
          break;
        case FUSE_OPEN:
          size = sizeof out.open;
          break;
        case FUSE_FLUSH:
          flushes_.fetch_add(1);
          continue;
        case FUSE_FORGET:
          continue;
        default:
          out.header.error = -ENOSYS;
      }
      out.header.unique = in.unique;
      out.header.len = static_cast<std::uint32_t>(sizeof out.header + size);
      (void)!::write(device_.get(), &out, out.header.len);
    }
  }

  std::string directory_ = "/tmp/baton-fuse-XXXXXX";
  UniqueFd device_;
  bool mounted_ = false;
  std::atomic<int> flushes_{0};
  std::thread server_;
};

TEST(Disposal, DescriptorsWhoseCloseNeverReturnsKeepNothingElseFromEnding) {
  std::array<SilentFile, kMostDisposalThreads> files;
  for (SilentFile& each : files) {
    if (!each.file) GTEST_SKIP() << "no file system in user space can be mounted (needs /dev/fuse and root)";
    dispose(std::move(each.file));
  }
  EXPECT_TRUE(eventually(
      [&] { return std::all_of(files.begin(), files.end(), [](auto& each) { return each.was_flushed(); }); }));
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const UniqueFd other(ends[1]);
  dispose(UniqueFd(ends[0]));
  std::atomic<bool> ended{false};
  dispose([&] { ended.store(true); });
  EXPECT_TRUE(eventually([&] { return ended.load() && !is_open(ends[0]); }));
}

TEST(Disposal, DescriptorsThatLieUnreadInUnixSocketsKeepNothingElseFromEnding) {
  std::array<Lingering, kMostDisposalThreads> lingering;
  std::array<UniqueFd, kMostDisposalThreads> givers;
  for (std::size_t i = 0; i < lingering.size(); ++i) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, i % 2 == 0 ? SOCK_STREAM : SOCK_SEQPACKET, 0, ends.data()), 0);
    givers[i] = UniqueFd(ends[1]);
    const int fd = lingering[i].socket.get();
    ASSERT_EQ(send_packet(givers[i].get(), "", 1, nullptr, 0, &fd, 1), IoStatus::kDone);
    lingering[i].socket.reset();  // the last one lies in the Unix socket
    dispose(UniqueFd(ends[0]));
  }
  std::atomic<bool> ended{false};
  dispose([&] { ended.store(true); });
  EXPECT_TRUE(eventually([&] { return ended.load(); }));
  for (Lingering& each : lingering) each.reader.reset();
}

TEST(Disposal, ASocketIsEmptiedInTwoCallsForEachPacketAndOneForTheEnd) {
  for (const int type : {SOCK_STREAM, SOCK_SEQPACKET, SOCK_DGRAM}) {
    for (const unsigned packets : {0U, 3U}) {
      for (const bool peer_lives : {true, false}) {
        std::array<int, 2> ends{};
        ASSERT_EQ(::socketpair(AF_UNIX, type, 0, ends.data()), 0);
        const UniqueFd taker(ends[0]);
        UniqueFd giver(ends[1]);
        for (unsigned i = 0; i < packets; ++i) {
          const int fd = 2;  // none that closes a circle, which the kernel would empty by itself
          ASSERT_EQ(send_packet(giver.get(), "", 1, nullptr, 0, &fd, 1), IoStatus::kDone);
        }
        if (!peer_lives) giver.reset();
        EXPECT_EQ(take_unread(taker.get()), 2 * packets + 1) << type << (peer_lives ? "" : ", its peer has ended");
      }
    }
  }
}

// A process that parks hundreds of links closes as many, and each would begin a thread.
TEST(Disposal, ASocketInWhichNothingLiesIsClosedOnTheCallingThreadAndAnotherOneElsewhere) {
  struct Case {
    const char* name;
    int type;
    unsigned packets;  // that lie unread
    bool peer_lives, peer_reads, here;
  };
  for (const Case& each :
       {Case{"nothing lies", SOCK_SEQPACKET, 0, true, true, true},
        Case{"nothing lies, the peer has ended", SOCK_SEQPACKET, 0, false, true, true},
        Case{"nothing lies, the peer has left something unread", SOCK_SEQPACKET, 0, false, false, true},
        Case{"a packet lies", SOCK_SEQPACKET, 1, true, true, false},
        Case{"a packet lies, the peer has ended", SOCK_SEQPACKET, 1, false, true, false},
        Case{"a packet lies, the peer has left something", SOCK_SEQPACKET, 1, false, false, false},
        Case{"a stream", SOCK_STREAM, 0, true, true, false}}) {
    const auto busy = std::make_shared<std::mutex>();
    std::unique_lock<std::mutex> all_wait(*busy);
    for (unsigned i = 0; i < kMostDisposalThreads; ++i)
      dispose([busy] { const std::lock_guard<std::mutex> passed(*busy); });
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, each.type | SOCK_CLOEXEC, 0, ends.data()), 0);
    UniqueFd giver(ends[1]);
    if (!each.peer_reads) {
      ASSERT_EQ(::send(ends[0], "x", 1, 0), 1);
    }
    for (unsigned i = 0; i < each.packets; ++i) {
      ASSERT_EQ(::send(giver.get(), "", 0, 0), 0);  // an empty packet looks like the end
    }
    if (!each.peer_lives) giver.reset();
    close_socket(UniqueFd(ends[0]));
    EXPECT_EQ(is_open(ends[0]), !each.here) << each.name;
    all_wait.unlock();
    EXPECT_TRUE(eventually([&] { return !is_open(ends[0]); })) << each.name;
  }
}

TEST(Disposal, ASocketWhosePeerHasLeftSomethingUnreadIsEmptied) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()), 0);
  const UniqueFd taker(ends[0]);
  UniqueFd giver(ends[1]);
  ASSERT_EQ(::send(taker.get(), "x", 1, 0), 1);
  ASSERT_EQ(::send(giver.get(), "y", 1, 0), 1);
  giver.reset();
  EXPECT_EQ(take_unread(taker.get()), 4U) << "the reset, the packet and the end";
}

TEST(Disposal, DescriptorsThatLieBehindManyEmptyPacketsKeepNothingElseFromEnding) {
  std::array<Lingering, kMostDisposalThreads> lingering;
  std::array<UniqueFd, kMostDisposalThreads> givers;
  for (std::size_t i = 0; i < lingering.size(); ++i) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends.data()), 0);
    givers[i] = UniqueFd(ends[1]);
    UniqueFd taker(ends[0]);
    const int room = 16 << 20;
    if (::setsockopt(ends[1], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room) != 0) {
      GTEST_SKIP() << "a socket takes so many packets for root alone";
    }
    for (int sent = 0; sent < 2000; ++sent) ASSERT_EQ(::send(ends[1], "", 0, MSG_DONTWAIT), 0) << sent;
    const int fd = lingering[i].socket.get();
    ASSERT_EQ(send_packet(givers[i].get(), "", 1, nullptr, 0, &fd, 1), IoStatus::kDone);
    lingering[i].socket.reset();  // the last one lies in the Unix socket
    dispose(std::move(taker));
  }
  std::atomic<bool> ended{false};
  dispose([&] { ended.store(true); });
  EXPECT_TRUE(eventually([&] { return ended.load(); }));
  for (Lingering& each : lingering) each.reader.reset();
}

TEST(Disposal, EndsWhatItIsGivenOnAnotherThread) {
  std::mutex mutex;
  std::condition_variable changed;
  std::thread::id where{};
  dispose([&] {
    const std::lock_guard<std::mutex> lock(mutex);
    where = std::this_thread::get_id();
    changed.notify_all();
  });
  std::unique_lock<std::mutex> lock(mutex);
  ASSERT_TRUE(changed.wait_for(lock, std::chrono::seconds(60), [&] { return where != std::thread::id(); }));
  EXPECT_NE(where, std::this_thread::get_id());
}

TEST(ReceivedFd, ClosesSmallMemoryAtOnceAndEverythingElseElsewhere) {
  const int memory = ::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  { ReceivedFd received{UniqueFd(memory)}; }
  EXPECT_FALSE(is_open(memory));
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const UniqueFd other(ends[1]);
  { ReceivedFd received{UniqueFd(ends[0])}; }
  EXPECT_TRUE(eventually([&] { return !is_open(ends[0]); }));
}

TEST(ReceivedFd, ThatWasReleasedStaysOpen) {
  UniqueFd kept;
  {
    ReceivedFd received{reserve_descriptor()};
    kept = received.release();
    EXPECT_FALSE(received);
  }
  EXPECT_TRUE(is_open(kept.get()));
}

TEST(DescriptorKind, TellsMemoryAndWakeSocketsFromAllElse) {
  const UniqueFd memory(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(kind_of(memory.get()), DescriptorKind::kMemory);
  std::array<int, 2> ends{};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
  const UniqueFd one(ends[0]), other(ends[1]);
  EXPECT_EQ(kind_of(one.get()), DescriptorKind::kWakeSocket);
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const UniqueFd read_end(ends[0]), write_end(ends[1]);
  EXPECT_EQ(kind_of(write_end.get()), DescriptorKind::kOther);
  const UniqueFd datagrams(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(kind_of(datagrams.get()), DescriptorKind::kOther);
  const UniqueFd network(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(kind_of(network.get()), DescriptorKind::kOther);
  const UniqueFd directory(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  EXPECT_EQ(kind_of(directory.get()), DescriptorKind::kOther);
  EXPECT_EQ(kind_of(-1), DescriptorKind::kOther);
}

TEST(ParentOnlyFd, IsClosedInAForkedChildAndStaysOpenInTheParent) {
  ParentOnlyFd first(reserve_descriptor());
  ParentOnlyFd second(reserve_descriptor());
  ParentOnlyFd third(reserve_descriptor());
  const int numbers[] = {first.get(), second.get(), third.get()};
  { const UniqueFd released = second.release(); }
  EXPECT_FALSE(is_open(numbers[1]));
  const pid_t child = ::fork();
  if (child == 0) {
    const bool none = !is_open(numbers[0]) && !is_open(numbers[2]) && first.get() == -1 && third.get() == -1;
    ::_exit(none ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(is_open(numbers[0]) && is_open(numbers[2]));
}

}  // namespace
}  // namespace baton::os
