// SPDX-License-Identifier: Apache-2.0
#include "baton/os/text_output.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace baton::os {
namespace {

/// A pipe with room takes a whole page (pipe(7)), and a terminal more than this.
constexpr std::size_t kPiece = PIPE_BUF;

enum class Room : std::uint8_t { kNone, kSome, kNoReader };

Room room_of(int fd) noexcept {
  pollfd entry{fd, POLLOUT, 0};
  if (::poll(&entry, 1, 0) != 1) return Room::kNone;
  return (entry.revents & (POLLERR | POLLHUP | POLLNVAL)) != 0 ? Room::kNoReader : Room::kSome;
}

ssize_t write_piece(int fd, Output kind, std::string_view text) noexcept {
  if (kind == Output::kFile) return ::write(fd, text.data(), text.size());
  if (kind == Output::kSocket) return ::send(fd, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  const Room room = room_of(fd);
  if (room == Room::kNoReader) return -1;  // a write would end this process by SIGPIPE
  if (kind == Output::kPipe) {
    // Also without room for poll(2), which looks for a free page: the last page may have room.
    iovec piece{const_cast<char*>(text.data()), text.size()};  // NOLINT(cppcoreguidelines-pro-type-const-cast): read
    const ssize_t written = ::pwritev2(fd, &piece, 1, -1, RWF_NOWAIT);
    if (written >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS)) return written;
  }
  // Before Linux 6.4 pipes do not know RWF_NOWAIT. Between the look and this write, only another process that writes to
  // the same pipe can take the room away.
  return room == Room::kSome ? ::write(fd, text.data(), std::min(text.size(), kPiece)) : -1;
}

}  // namespace

Output output_of(int fd) noexcept {
  const int saved = errno;
  struct stat found {};
  Output kind = Output::kOther;
  if (::fstat(fd, &found) != 0) {
    kind = Output::kNone;
  } else if (S_ISREG(found.st_mode)) {
    kind = Output::kFile;
  } else if (S_ISFIFO(found.st_mode)) {
    kind = Output::kPipe;
  } else if (S_ISSOCK(found.st_mode)) {
    kind = Output::kSocket;
  } else if (S_ISCHR(found.st_mode) && ::isatty(fd) == 1) {
    kind = Output::kTerminal;
  }
  errno = saved;
  return kind;
}

std::size_t write_without_waiting(int fd, Output kind, std::string_view text) noexcept {
  const int saved = errno;
  std::size_t done = 0;
  while (kind != Output::kNone && done < text.size()) {
    const ssize_t written = write_piece(fd, kind, text.substr(done));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  errno = saved;
  return done;
}

}  // namespace baton::os
