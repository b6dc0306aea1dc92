// SPDX-License-Identifier: Apache-2.0
#include "baton/os/private_mapping.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "baton/os/sparse_memory.hpp"

namespace baton::os {
namespace {

/// A file as a publisher has it, sealed, and a private copy of it.
struct Copied {
  explicit Copied(std::size_t page_count) : bytes(page_count * page_bytes()) {
    theirs = reserve_addresses(bytes, page_bytes());
    UniqueFd fd = create_sparse("private-mapping-test", bytes, theirs).or_throw();
    back_sparse(fd.get(), 0, bytes, theirs).or_throw();
    std::memset(theirs, 1, bytes);
    ours = reserve_addresses(bytes, page_bytes());
    map_private_copy(fd.get(), bytes, ours).or_throw();
  }
  ~Copied() {
    release_addresses(theirs, bytes);
    release_addresses(ours, bytes);
  }
  std::byte& page(std::size_t i) const { return ours[i * page_bytes()]; }
  std::byte& their_page(std::size_t i) const { return theirs[i * page_bytes()]; }
  std::size_t bytes;
  std::byte *theirs = nullptr, *ours = nullptr;
};

class PrivateMapping : public testing::TestWithParam<ChangeFinder> {
 protected:
  void SetUp() override { force_change_finder(GetParam()); }
  void TearDown() override { force_change_finder(ChangeFinder::kUnknown); }
  std::size_t counted(std::size_t pages) const { return GetParam() == ChangeFinder::kNone ? 0 : pages; }
};

TEST_P(PrivateMapping, unwritten_pages_are_the_files_and_written_ones_are_again_after_the_discard) {
  const Copied copied(700);  // more than one call's worth of entries
  EXPECT_EQ(discard_private_changes(copied.ours, copied.bytes), 0U);
  for (std::size_t i = 0; i < 700; ++i) ASSERT_EQ(copied.page(i), std::byte{1});
  std::size_t written = 0;
  for (std::size_t i = 0; i < 700; i += 3) copied.page(i) = std::byte{9}, ++written;  // more runs than one scan returns
  copied.page(1) = std::byte{9}, copied.page(699) = std::byte{9}, written += 1;       // 699 was written before
  for (std::size_t i = 0; i < 700; ++i) copied.their_page(i) = std::byte{2};
  EXPECT_EQ(copied.page(0), std::byte{9});
  EXPECT_EQ(copied.page(2), std::byte{2}) << "an unwritten page is shared";
  errno = 77;
  EXPECT_EQ(discard_private_changes(copied.ours, copied.bytes), counted(written));
  EXPECT_EQ(errno, 77);
  for (std::size_t i = 0; i < 700; ++i) ASSERT_EQ(copied.page(i), std::byte{2}) << i;
  EXPECT_EQ(copied.their_page(0), std::byte{2}) << "nothing reached the file";
  EXPECT_EQ(discard_private_changes(copied.ours, copied.bytes), 0U);
}

TEST_P(PrivateMapping, only_the_given_range_is_discarded) {
  const Copied copied(8);
  for (std::size_t i = 0; i < 8; ++i) copied.page(i) = std::byte{5};
  EXPECT_EQ(discard_private_changes(copied.ours + 2 * page_bytes(), 3 * page_bytes()), counted(3));
  for (std::size_t i = 0; i < 8; ++i) EXPECT_EQ(copied.page(i), i >= 2 && i < 5 ? std::byte{1} : std::byte{5}) << i;
}

TEST_P(PrivateMapping, a_forked_child_has_its_own_changes) {
  const Copied copied(8);
  copied.page(3) = std::byte{5};
  discard_private_changes(copied.ours + 7 * page_bytes(), page_bytes());  // the page map of this process is open now
  const pid_t child = ::fork();
  if (child == 0) {
    copied.page(4) = std::byte{6};
    discard_private_changes(copied.ours, copied.bytes);
    ::_exit(copied.page(3) == std::byte{1} && copied.page(4) == std::byte{1} ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(copied.page(3), std::byte{5});
  EXPECT_EQ(copied.page(4), std::byte{1});
}

TEST_P(PrivateMapping, locked_pages_are_discarded_too) {
  const Copied copied(4);
  copied.page(2) = std::byte{5};
  if (::mlock(copied.ours, copied.bytes) != 0) GTEST_SKIP() << "this process may not lock memory";
  copied.page(1) = std::byte{5};
  discard_private_changes(copied.ours, copied.bytes);
  EXPECT_EQ(copied.page(1), std::byte{1});
  EXPECT_EQ(copied.page(2), std::byte{1});
}

std::size_t areas_of_this_process() {
  std::ifstream maps("/proc/self/maps");
  return static_cast<std::size_t>(std::count(std::istreambuf_iterator<char>(maps), {}, '\n'));
}

/// Some pages of a file as a publisher has it, set aside.
class SharedAside : public testing::Test {
 protected:
  void SetUp() override {
    theirs_ = reserve_addresses(bytes_, page_bytes());
    fd_ = create_sparse("aside-test", bytes_, theirs_).or_throw();
    back_sparse(fd_.get(), 0, bytes_, theirs_).or_throw();
    std::memset(theirs_, 1, bytes_);
    Result<std::byte*> aside = set_shared_aside(fd_.get(), offset_, place(), part_);
    if (!aside && aside.error().code == Errc::unsupported) GTEST_SKIP() << aside.error().message;
    aside_ = std::move(aside).or_throw();
  }
  void TearDown() override {
    if (theirs_ != nullptr) release_addresses(theirs_, bytes_);
  }
  std::byte* place() const { return theirs_ + offset_; }
  std::byte in_file(std::size_t where) const {
    std::byte read{};
    EXPECT_EQ(::pread(fd_.get(), &read, 1, static_cast<off_t>(where)), 1);
    return read;
  }
  const std::size_t offset_ = 4 * page_bytes(), part_ = 600 * page_bytes(), bytes_ = 700 * page_bytes();
  std::byte *theirs_ = nullptr, *aside_ = nullptr;
  UniqueFd fd_;
};

TEST_F(SharedAside, pages_show_the_file_and_what_is_written_there_does_not_reach_it) {
  for (std::size_t i = 0; i < part_; i += page_bytes()) ASSERT_EQ(place()[i], std::byte{1});
  place()[7] = std::byte{2};
  EXPECT_EQ(in_file(offset_ + 7), std::byte{1});
  aside_[7] = std::byte{3};
  aside_[page_bytes()] = std::byte{4};
  EXPECT_EQ(in_file(offset_ + 7), std::byte{3});
  EXPECT_EQ(place()[7], std::byte{2}) << "a written page is this process's own";
  EXPECT_EQ(place()[page_bytes()], std::byte{4}) << "any other is the file's";
  theirs_[offset_ - 1] = theirs_[offset_ + part_] = std::byte{5};
  EXPECT_EQ(in_file(offset_ - 1), std::byte{5}) << "the page before";
  EXPECT_EQ(in_file(offset_ + part_), std::byte{5}) << "the page behind";
  EXPECT_TRUE(put_shared_back(place(), aside_, part_));
}

TEST_F(SharedAside, pages_that_were_put_back_are_shared_again_and_keep_no_area) {
  EXPECT_TRUE(put_shared_back(place(), aside_, part_));
  const std::size_t before = areas_of_this_process();
  for (int i = 0; i < 50; ++i) {
    std::byte* const aside = set_shared_aside(fd_.get(), offset_, place(), part_).or_throw();
    place()[9] = std::byte{6};
    ASSERT_TRUE(put_shared_back(place(), aside, part_));
    ASSERT_EQ(place()[9], std::byte{1});
  }
  EXPECT_EQ(areas_of_this_process(), before);
  place()[9] = std::byte{8};
  EXPECT_EQ(in_file(offset_ + 9), std::byte{8});
}

TEST_F(SharedAside, a_thread_that_reads_meanwhile_sees_the_same_bytes) {
  ASSERT_TRUE(put_shared_back(place(), aside_, part_));
  std::atomic<bool> stop{false}, reads{false}, wrong{false};
  std::thread reader([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      for (std::size_t i = 0; i < part_; i += page_bytes()) {
        if (*static_cast<volatile std::byte*>(place() + i) != std::byte{1}) wrong = true;
      }
      reads = true;
    }
  });
  while (!reads) std::this_thread::yield();
  for (int i = 0; i < 200; ++i) {
    std::byte* const aside = set_shared_aside(fd_.get(), offset_, place(), part_).or_throw();
    ASSERT_TRUE(put_shared_back(place(), aside, part_));
  }
  stop = true;
  reader.join();
  EXPECT_FALSE(wrong);
}

std::string name_of(const testing::TestParamInfo<ChangeFinder>& finder) {
  constexpr const char* kNames[] = {"best", "scan", "pagemap", "none"};
  return kNames[static_cast<int>(finder.param)];
}

INSTANTIATE_TEST_SUITE_P(Finders, PrivateMapping,
                         testing::Values(ChangeFinder::kUnknown, ChangeFinder::kScan, ChangeFinder::kPagemap,
                                         ChangeFinder::kNone),
                         name_of);

}  // namespace
}  // namespace baton::os
