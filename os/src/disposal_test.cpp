// SPDX-License-Identifier: Apache-2.0
#include "baton/os/disposal.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "baton/os/parent_only_fd.hpp"
#include "baton/os/process.hpp"

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
