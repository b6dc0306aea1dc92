// SPDX-License-Identifier: Apache-2.0
#include "baton/os/text_output.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "baton/os/unique_fd.hpp"

namespace baton::os {
namespace {

struct Ends {
  UniqueFd read, write;
};
Ends pipe_of(int bytes) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  EXPECT_EQ(::fcntl(ends[1], F_SETPIPE_SZ, bytes), bytes);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

TEST(TextOutput, KnowsWhatADescriptorIs) {
  const Ends pipe = pipe_of(4096);
  EXPECT_EQ(output_of(pipe.write.get()), Output::kPipe);
  int sockets[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
  const UniqueFd a(sockets[0]), b(sockets[1]);
  EXPECT_EQ(output_of(a.get()), Output::kSocket);
  const UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  EXPECT_EQ(output_of(null.get()), Output::kOther);
  const UniqueFd file(::open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_EQ(output_of(file.get()), Output::kFile);
  EXPECT_EQ(output_of(-1), Output::kNone);
}

TEST(TextOutput, APipeTakesWhatItHasRoomFor) {
  const Ends pipe = pipe_of(8192);
  const std::string text(6000, 'x');
  errno = EDOM;
  EXPECT_EQ(write_without_waiting(pipe.write.get(), Output::kPipe, text), 6000U);
  EXPECT_LT(write_without_waiting(pipe.write.get(), Output::kPipe, text), 6000U);
  EXPECT_EQ(write_without_waiting(pipe.write.get(), Output::kPipe, text), 0U);
  EXPECT_EQ(errno, EDOM);
}

TEST(TextOutput, ASocketTakesWhatItHasRoomFor) {
  int sockets[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
  const UniqueFd a(sockets[0]), b(sockets[1]);
  const std::string text(100'000, 'x');
  std::size_t all = 0;
  while (const std::size_t written = write_without_waiting(a.get(), Output::kSocket, text)) all += written;
  EXPECT_GE(all, 1000U);
}

TEST(TextOutput, ADescriptorWithoutAReaderTakesNothingAndSendsNoSignal) {
  Ends pipe = pipe_of(4096);
  pipe.read = UniqueFd();
  EXPECT_EQ(write_without_waiting(pipe.write.get(), Output::kPipe, "text"), 0U);
  int sockets[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
  const UniqueFd a(sockets[0]);
  { const UniqueFd b(sockets[1]); }
  EXPECT_EQ(write_without_waiting(a.get(), Output::kSocket, "text"), 0U);
  EXPECT_EQ(write_without_waiting(-1, Output::kNone, "text"), 0U);
}

}  // namespace
}  // namespace baton::os
