// SPDX-License-Identifier: Apache-2.0
#include "baton/os/memory_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "baton/os/process.hpp"
#include "baton/os/shared_memory.hpp"
#include "baton/os/sparse_memory.hpp"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

namespace baton::os {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE;

UniqueFd sealed(unsigned flags, std::size_t bytes, int seals) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING | flags));
  if (!fd || ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return UniqueFd();
  if (::fcntl(fd.get(), F_ADD_SEALS, seals) != 0) return UniqueFd();
  return fd;
}

Errc refused(int fd) {
  const Result<MemoryFile> file = check_memory_file(fd, kSeals, 0, "segment");
  EXPECT_FALSE(file.ok());
  return file.ok() ? Errc::system : file.error().code;
}

/// A sparse file as a publisher makes it, with a reader's mapping beside its maker's.
struct Sparse {
  explicit Sparse(std::size_t bytes) {
    fd = UniqueFd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(::ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
    write = static_cast<std::byte*>(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0));
    EXPECT_EQ(::fcntl(fd.get(), F_ADD_SEALS, kSeals), 0);
    read = static_cast<std::byte*>(::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd.get(), 0));
    size = bytes;
    file = *check_memory_file(fd.get(), kSeals, 0, "segment");
  }
  ~Sparse() {
    ::munmap(write, size);
    ::munmap(read, size);
  }
  std::size_t allocated_pages() const {
    struct stat status {};
    ::fstat(fd.get(), &status);
    return static_cast<std::size_t>(status.st_blocks) * 512 / page_bytes();
  }
  UniqueFd fd;
  std::byte *write = nullptr, *read = nullptr;
  std::size_t size = 0;
  MemoryFile file;
};

TEST(MemoryFile, OrdinarySealedMemoryIsAccepted) {
  const UniqueFd fd = sealed(0, kMiB, kSeals | F_SEAL_SEAL);
  const Result<MemoryFile> file = check_memory_file(fd.get(), kSeals, 0, "segment");
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->bytes, kMiB);
  EXPECT_TRUE(file->ours);
}

TEST(MemoryFile, HugePagesAreRefusedWhoeverSealedThem) {
  const UniqueFd fd = sealed(MFD_HUGETLB, 2 * kMiB, kSeals);
  if (!fd) GTEST_SKIP() << "no memfd of huge pages here";
  EXPECT_EQ(refused(fd.get()), Errc::protocol_violation);
  for (const Writers writers : {Writers::kOnlyCreator, Writers::kBothEnds})
    EXPECT_EQ(map_segment(fd, 2 * kMiB, writers).error().code, Errc::protocol_violation);
  EXPECT_EQ(common_sparse_bytes(fd.get()).error().code, Errc::protocol_violation);
}

TEST(MemoryFile, WhatIsNoMemoryIsRefused) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const UniqueFd left(ends[0]), right(ends[1]);
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd out(ends[0]), in(ends[1]);
  const UniqueFd directory(::open("/", O_RDONLY | O_CLOEXEC)), null(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {left.get(), out.get(), directory.get(), null.get(), -1})
    EXPECT_EQ(refused(fd), Errc::protocol_violation);
  // A file of a disk, and one of a tmpfs, which nobody can seal.
  for (const char* place : {"/tmp", "/dev/shm"}) {
    std::string name = std::string(place) + "/baton-test-XXXXXX";
    const UniqueFd file(::mkstemp(name.data()));
    if (!file) continue;
    ::unlink(name.c_str());
    EXPECT_EQ(refused(file.get()), Errc::protocol_violation) << place;
  }
}

TEST(MemoryFile, ADescriptorThatWasOpenedAnewForLessIsRefused) {
  const UniqueFd fd = sealed(0, kMiB, F_SEAL_SHRINK | F_SEAL_GROW);
  const std::string path = "/proc/self/fd/" + std::to_string(fd.get());
  for (const int mode : {O_RDONLY, O_WRONLY, O_PATH}) {
    const UniqueFd again(::open(path.c_str(), mode | O_CLOEXEC));
    if (!again) GTEST_SKIP() << "no /proc";
    EXPECT_EQ(check_memory_file(again.get(), F_SEAL_SHRINK | F_SEAL_GROW, 0, "segment").error().code,
              Errc::protocol_violation);
  }
}

TEST(MemoryFile, MissingAndForbiddenSealsAreRefused) {
  for (const int missing : {F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_FUTURE_WRITE}) {
    const UniqueFd fd = sealed(0, kMiB, kSeals & ~missing);
    EXPECT_EQ(refused(fd.get()), Errc::protocol_violation) << missing;
  }
  const UniqueFd fd = sealed(0, kMiB, kSeals);
  EXPECT_EQ(check_memory_file(fd.get(), F_SEAL_SHRINK, F_SEAL_FUTURE_WRITE, "segment").error().code,
            Errc::protocol_violation);
  EXPECT_EQ(map_segment(fd, kMiB, Writers::kBothEnds).error().code, Errc::protocol_violation)
      << "cannot be mapped writable";
}

TEST(MemoryFile, APageIsBackedOnceItsMakerTouchedItAndLookingAllocatesNone) {
  Sparse memory(64 * kMiB);
  const std::size_t page = page_bytes();
  std::memset(memory.write + 10 * page, 1, 5 * page);
  ASSERT_EQ(memory.allocated_pages(), 5U);
  for (const std::byte* mapped : {static_cast<const std::byte*>(memory.read), static_cast<const std::byte*>(nullptr)}) {
    const auto backed = [&](std::uint64_t offset, std::size_t bytes) {
      return is_backed(memory.fd.get(), memory.file, mapped, offset, bytes).or_throw();
    };
    EXPECT_TRUE(backed(10 * page, 5 * page));
    EXPECT_TRUE(backed(10 * page + 64, 1));
    EXPECT_TRUE(backed(14 * page + 64, page - 64));
    EXPECT_TRUE(backed(3 * page, 0));
    EXPECT_FALSE(backed(9 * page + 64, page));
    EXPECT_FALSE(backed(14 * page + 64, page)) << "ends in the next page";
    EXPECT_FALSE(backed(0, 64 * kMiB));
    EXPECT_FALSE(backed(64 * kMiB - page, page));
  }
  EXPECT_EQ(memory.allocated_pages(), 5U);
}

TEST(MemoryFile, APageThatWasOnlyReservedIsNoneSinceItsMakerCanTakeItBack) {
  // fallocate(2) that is interrupted or runs out of memory gives back what nobody has touched.
  Sparse memory(kMiB);
  ASSERT_EQ(::fallocate(memory.fd.get(), 0, 0, static_cast<off_t>(kMiB)), 0);
  EXPECT_FALSE(*is_backed(memory.fd.get(), memory.file, memory.read, 0, kMiB));
  EXPECT_FALSE(*is_backed(memory.fd.get(), memory.file, nullptr, 0, kMiB));
}

TEST(MemoryFile, AReservationWhoseFileCouldNotBeUnmappedIsOrdinaryMemoryWhenItIsUsedAgain) {
  // As when the kernel had no memory area for unmap_to_reservation().
  const std::size_t page = page_bytes();
  Sparse memory(kMiB);
  std::byte* at = reserve_addresses(kMiB, page);
  ASSERT_NE(at, nullptr);
  ASSERT_TRUE(map_sparse(memory.fd.get(), kMiB, at).ok());
  ASSERT_TRUE(use_reservation(at, page).ok());
  EXPECT_EQ(at[0], std::byte{0});
  at[0] = std::byte{7};
  std::byte of_file{1};
  ASSERT_TRUE(copy_out(memory.fd.get(), 0, &of_file, 1).ok());
  EXPECT_EQ(of_file, std::byte{0}) << "not the file's memory";
  release_addresses(at, kMiB);
}

TEST(MemoryFile, WhatBackSparseBacksIsBacked) {
  const std::size_t bytes = 64 * kMiB;
  std::byte* at = reserve_addresses(bytes, page_bytes());
  {
    const UniqueFd fd = *create_sparse("test", bytes, at);
    const MemoryFile file = *check_sparse(fd.get(), bytes);
    back_sparse(fd.get(), kMiB, 3 * kMiB, at + kMiB).or_throw();
    EXPECT_TRUE(*is_backed(fd.get(), file, at, kMiB, 3 * kMiB));
    EXPECT_TRUE(*is_backed(fd.get(), file, nullptr, kMiB, 3 * kMiB));
    EXPECT_FALSE(*is_backed(fd.get(), file, at, kMiB, 3 * kMiB + 1));
  }
  release_addresses(at, bytes);
}

TEST(MemoryFile, NobodyCanMakeAHoleAgainWhereMemoryWas) {
  Sparse memory(kMiB);
  std::memset(memory.write, 1, kMiB);
  EXPECT_NE(::fallocate(memory.fd.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), 0);
  EXPECT_NE(::madvise(memory.write, kMiB, MADV_REMOVE), 0);
  EXPECT_NE(::ftruncate(memory.fd.get(), 0), 0);
  ::madvise(memory.write, kMiB, MADV_DONTNEED);
  ::madvise(memory.write, kMiB, 21);  // MADV_PAGEOUT: to swap, where there is some
  EXPECT_TRUE(*is_backed(memory.fd.get(), memory.file, memory.read, 0, kMiB));
  EXPECT_TRUE(*is_backed(memory.fd.get(), memory.file, nullptr, 0, kMiB));
}

TEST(MemoryFile, LongLivedDescriptorsLeaveTheLowNumbersToTheProgram) {
  if (descriptor_limit() < 4096) GTEST_SKIP() << "few descriptors here";
  UniqueFd fd(::dup(0));
  const int low = fd.get();
  fd = move_high(std::move(fd));
  EXPECT_GE(fd.get(), 1024);
  EXPECT_EQ(::fcntl(low, F_GETFD), -1) << "the low one is closed";
  EXPECT_NE(::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC, 0);
  const int high = fd.get();
  EXPECT_EQ(move_high(std::move(fd)).get(), high);
  EXPECT_FALSE(move_high(UniqueFd()));
}

TEST(MemoryFile, WhereFewDescriptorsAreAllowedTheyStayWhereTheyAre) {
  rlimit before{};
  ::getrlimit(RLIMIT_NOFILE, &before);
  rlimit few = before;
  few.rlim_cur = 256;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  UniqueFd fd(::dup(0));
  const int low = fd.get();
  EXPECT_EQ(move_high(std::move(fd)).get(), low);
  ::setrlimit(RLIMIT_NOFILE, &before);
}

}  // namespace
}  // namespace baton::os
