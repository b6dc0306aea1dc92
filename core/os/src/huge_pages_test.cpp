// SPDX-License-Identifier: Apache-2.0
#include "baton/os/huge_pages.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

namespace baton::os {
namespace {

constexpr std::size_t kMebibyte = std::size_t{1} << 20;

/// Whether the kernel notes the wish for the mapping at `address` (proc_pid_smaps(5), VmFlags).
bool wished(const std::byte* address) {
  std::ifstream smaps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  bool inside = false;
  for (std::string line; std::getline(smaps, line);) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) inside = begin <= wanted && wanted < end;
    if (!inside || line.rfind("VmFlags:", 0) != 0) continue;
    std::istringstream flags(line);
    for (std::string flag; flags >> flag;)
      if (flag == "hg") return true;
    return false;
  }
  return false;
}

/// Some sandboxes' kernels keep no flags.
bool kernel_shows_flags() {
  std::ifstream smaps("/proc/self/smaps");
  for (std::string line; std::getline(smaps, line);)
    if (line.rfind("VmFlags:", 0) == 0) return true;
  return false;
}

class HugePages : public testing::Test {
 protected:
  void SetUp() override {
    if (!kernel_shows_flags()) GTEST_SKIP() << "/proc/self/smaps has no VmFlags";
    void* mapped = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    memory_ = static_cast<std::byte*>(mapped);
    const auto address = reinterpret_cast<std::uintptr_t>(mapped);
    aligned_ = memory_ + ((2 * kMebibyte - address % (2 * kMebibyte)) % (2 * kMebibyte));
  }
  void TearDown() override {
    if (memory_ != nullptr) ::munmap(memory_, kBytes);
  }

  static constexpr std::size_t kBytes = 12 * kMebibyte;
  std::byte* memory_ = nullptr;
  std::byte* aligned_ = nullptr;  // of 10 MiB at least
};

TEST_F(HugePages, AreAskedForInsideAnArrayAndNotBesideIt) {
  const bool heard = ask_for_huge_pages(aligned_ + 64, 8 * kMebibyte);
  // Without transparent huge pages in the kernel nothing happens, and nothing may go wrong.
  EXPECT_EQ(wished(aligned_ + 2 * kMebibyte), heard);
  EXPECT_EQ(wished(aligned_ + 8 * kMebibyte - 1), heard);
  EXPECT_FALSE(wished(aligned_));
  EXPECT_FALSE(wished(aligned_ + 8 * kMebibyte));
}

TEST_F(HugePages, AreNotAskedForWhereNoWholeOneFits) {
  EXPECT_FALSE(ask_for_huge_pages(aligned_, 2 * kMebibyte - 1));
  EXPECT_FALSE(ask_for_huge_pages(aligned_ + 1, 4 * kMebibyte - 2));
  EXPECT_FALSE(ask_for_huge_pages(nullptr, 0));
  EXPECT_FALSE(wished(aligned_));
}

TEST_F(HugePages, LeaveContentsAndErrnoAlone) {
  std::memset(aligned_, 0x5a, 8 * kMebibyte);
  errno = EDOM;
  static_cast<void>(ask_for_huge_pages(aligned_, 8 * kMebibyte));
  // Not mapped at all, at an address that no process has: refused.
  EXPECT_FALSE(ask_for_huge_pages(reinterpret_cast<void*>(~std::uintptr_t{0} << 30), 8 * kMebibyte));
  EXPECT_EQ(errno, EDOM);
  for (std::size_t at = 0; at < 8 * kMebibyte; at += 4096) ASSERT_EQ(aligned_[at], std::byte{0x5a}) << at;
}

}  // namespace
}  // namespace baton::os
