// SPDX-License-Identifier: Apache-2.0
// Preloaded beside libbaton_roscpp.so: SIGUSR1 breaks the process's sockets to the other processes of its Baton domain, as
// a lack of memory or a full queue of packets does. TCPROS's sockets stay.
#include <signal.h>
#include <sys/socket.h>

namespace {

void hang_up(int /*signal*/) {
  for (int fd = 3; fd < 1024; ++fd) {
    int type = 0;
    socklen_t size = sizeof type;
    if (::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) != 0 || type != SOCK_SEQPACKET) continue;
    int listens = 0;
    size = sizeof listens;
    if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) == 0 && listens == 0) ::shutdown(fd, SHUT_RDWR);
  }
}

[[gnu::constructor]] void prepare() {
  struct sigaction action {};
  action.sa_handler = hang_up;
  action.sa_flags = SA_RESTART;
  ::sigaction(SIGUSR1, &action, nullptr);
}

}  // namespace
