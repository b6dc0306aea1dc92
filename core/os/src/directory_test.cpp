// SPDX-License-Identifier: Apache-2.0
#include "baton/os/directory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

namespace baton::os {
namespace {

class DirectoryFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string made = (std::filesystem::temp_directory_path() / "baton-directory-XXXXXX").string();
    ASSERT_NE(::mkdtemp(made.data()), nullptr);
    path_ = made;
    opened_ = open_directory(-1, made);
    ASSERT_TRUE(opened_.fd);
  }
  void TearDown() override { std::filesystem::remove_all(path_); }
  int fd() const { return opened_.fd.get(); }
  std::filesystem::path path_;
  OpenedDirectory opened_;
};

TEST_F(DirectoryFiles, AFileIsReplacedAsAWholeAndNothingElseIsLeft) {
  const std::string longer(100000, 'x');
  ASSERT_TRUE(replace_file_at(fd(), "state", longer, 0640, ~0U));
  ASSERT_TRUE(replace_file_at(fd(), "state", "short", 0640, ~0U));
  const auto read = read_file_at(fd(), "state", 10);
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, "short");
  struct stat status {};
  ASSERT_EQ(::stat((path_ / "state").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0640U);
  EXPECT_EQ(list_directory(fd())->size(), 1U);
}

TEST_F(DirectoryFiles, AReaderThatHasOpenedTheOldFileKeepsItsText) {
  ASSERT_TRUE(replace_file_at(fd(), "state", "old", 0600, ~0U));
  const auto old = open_file_at(fd(), "state", 0600, ~0U);
  ASSERT_TRUE(old);
  ASSERT_TRUE(replace_file_at(fd(), "state", "new", 0600, ~0U));
  char text[3];
  ASSERT_EQ(::read(old->get(), text, sizeof text), 3);
  EXPECT_EQ(std::string(text, 3), "old");
}

TEST_F(DirectoryFiles, WhatAWriterThatDiedHasLeftIsReplaced) {
  ASSERT_TRUE(replace_file_at(fd(), "state.new", "half", 0600, ~0U));
  ASSERT_TRUE(replace_file_at(fd(), "state", "whole", 0600, ~0U));
  EXPECT_EQ(**read_file_at(fd(), "state", 100), "whole");
}

TEST_F(DirectoryFiles, AFileThatIsMissingIsNoErrorAndOneThatIsTooLongIs) {
  const auto missing = read_file_at(fd(), "state", 10);
  ASSERT_TRUE(missing);
  EXPECT_FALSE(missing->has_value());
  ASSERT_TRUE(replace_file_at(fd(), "state", "eleven byte", 0600, ~0U));
  const auto read = read_file_at(fd(), "state", 10);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::limit_reached);
}

TEST_F(DirectoryFiles, ALeaseOfAnotherProcessHoldsNoOpenUp) {
  ASSERT_TRUE(open_file_at(fd(), "lock", 0600, ~0U));
  int come[2];
  ASSERT_EQ(::pipe(come), 0);
  const pid_t other = ::fork();
  if (other == 0) {
    ::signal(SIGIO, SIG_IGN);  // it is asked to give the lease up, and does not
    const int file = ::open((path_ / "lock").c_str(), O_RDWR);
    if (::fcntl(file, F_SETLEASE, F_WRLCK) != 0) ::_exit(1);
    if (::write(come[1], "c", 1) == 1) ::pause();
    ::_exit(0);
  }
  ::close(come[1]);
  char byte = 0;
  const bool has_lease = ::read(come[0], &byte, 1) == 1;
  ::close(come[0]);
  // The kernel would wait for 45 s, and then take the lease away.
  const Result<UniqueFd> opened = open_file_at(fd(), "lock", 0600, ~0U);
  const auto read = read_file_at(fd(), "lock", 10);
  ::kill(other, SIGKILL);
  ::waitpid(other, nullptr, 0);
  if (!has_lease) GTEST_SKIP() << "this file system has no leases";
  EXPECT_FALSE(opened);
  EXPECT_FALSE(read);
  EXPECT_TRUE(open_file_at(fd(), "lock", 0600, ~0U));
}

TEST_F(DirectoryFiles, LinksAndPipesAreNotRead) {
  std::filesystem::create_symlink("/etc/passwd", path_ / "link");
  EXPECT_FALSE(read_file_at(fd(), "link", 100000));
  ASSERT_EQ(::mkfifo((path_ / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(read_file_at(fd(), "pipe", 100000));
}

}  // namespace
}  // namespace baton::os
