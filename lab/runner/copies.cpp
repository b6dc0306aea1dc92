// SPDX-License-Identifier: Apache-2.0
// libbaton_perf_copies.so, preloaded into a process in a separate pass. It counts every copy that goes through the C
// library, in user space (memcpy, memmove) or through the kernel (read, write, send, receive and related calls). There
// are two counters, because many transports move a message in pieces. One counts the bytes of every copy of at least 1
// KB (less if BATON_PERF_COPY_BYTES is less), from which the copies in units of the payload are computed. The other
// counts single copies of at least BATON_PERF_COPY_BYTES. Copies by a program's own loops or instructions are not
// counted.
// Thread rules: any thread. Built with -fno-builtin, so that the loops below stay loops.
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

// relaxed everywhere: counters and lazily found addresses order nothing.
std::atomic<std::uint64_t> g_copies{0}, g_bytes{0};
std::atomic<std::size_t> g_threshold{SIZE_MAX}, g_least{SIZE_MAX};

void count(std::size_t bytes) {
  if (bytes < g_least.load(std::memory_order_relaxed)) return;
  g_bytes.fetch_add(bytes, std::memory_order_relaxed);
  if (bytes >= g_threshold.load(std::memory_order_relaxed)) g_copies.fetch_add(1, std::memory_order_relaxed);
}
ssize_t counted(ssize_t bytes) {
  if (bytes > 0) count(static_cast<std::size_t>(bytes));
  return bytes;
}
int counted(const mmsghdr* messages, int done) {
  for (int i = 0; i < done; ++i) count(messages[i].msg_len);
  return done;
}

using Copy = void* (*)(void*, const void*, std::size_t);
std::atomic<Copy> g_memmove{nullptr};  // memmove serves memcpy too

void* copy(void* to, const void* from, std::size_t n) {
  count(n);
  if (const Copy real = g_memmove.load(std::memory_order_relaxed)) return real(to, from, n);
  auto* d = static_cast<volatile unsigned char*>(to);  // used by the loader's own copies, before the constructor below
  auto* s = static_cast<const volatile unsigned char*>(from);
  if (d <= s) {
    for (std::size_t i = 0; i < n; ++i) d[i] = s[i];
  } else {
    for (std::size_t i = n; i > 0; --i) d[i - 1] = s[i - 1];
  }
  return to;
}

__attribute__((constructor)) void start() {
  g_memmove.store(reinterpret_cast<Copy>(::dlsym(RTLD_NEXT, "memmove")), std::memory_order_relaxed);
  const char* text = ::getenv("BATON_PERF_COPY_BYTES");
  const std::size_t threshold = text == nullptr ? 4096 : ::strtoull(text, nullptr, 10);
  g_threshold.store(threshold, std::memory_order_relaxed);
  g_least.store(threshold < 1024 ? threshold : 1024, std::memory_order_relaxed);
}

template <class F>
F next(F, const char* name) {
  return reinterpret_cast<F>(::dlsym(RTLD_NEXT, name));
}
#define NEXT(name) static const auto real = next(&::name, #name)

}  // namespace

extern "C" {

std::uint64_t baton_perf_copies() { return g_copies.load(std::memory_order_relaxed); }
std::uint64_t baton_perf_copied_bytes() { return g_bytes.load(std::memory_order_relaxed); }

void* memcpy(void* __restrict to, const void* __restrict from, std::size_t n) noexcept { return copy(to, from, n); }
void* memmove(void* to, const void* from, std::size_t n) noexcept { return copy(to, from, n); }
void* mempcpy(void* __restrict to, const void* __restrict from, std::size_t n) noexcept {
  return static_cast<char*>(copy(to, from, n)) + n;
}
void* __memcpy_chk(void* to, const void* from, std::size_t n, std::size_t) { return copy(to, from, n); }
void* __memmove_chk(void* to, const void* from, std::size_t n, std::size_t) { return copy(to, from, n); }
void* __mempcpy_chk(void* to, const void* from, std::size_t n, std::size_t) {
  return static_cast<char*>(copy(to, from, n)) + n;
}

ssize_t read(int fd, void* data, std::size_t n) {
  NEXT(read);
  return counted(real(fd, data, n));
}
ssize_t write(int fd, const void* data, std::size_t n) {
  NEXT(write);
  return counted(real(fd, data, n));
}
ssize_t readv(int fd, const iovec* parts, int n) {
  NEXT(readv);
  return counted(real(fd, parts, n));
}
ssize_t writev(int fd, const iovec* parts, int n) {
  NEXT(writev);
  return counted(real(fd, parts, n));
}
ssize_t send(int fd, const void* data, std::size_t n, int flags) {
  NEXT(send);
  return counted(real(fd, data, n, flags));
}
ssize_t recv(int fd, void* data, std::size_t n, int flags) {
  NEXT(recv);
  return counted(real(fd, data, n, flags));
}
ssize_t sendto(int fd, const void* data, std::size_t n, int flags, const sockaddr* to, socklen_t to_size) {
  NEXT(sendto);
  return counted(real(fd, data, n, flags, to, to_size));
}
ssize_t recvfrom(int fd, void* __restrict data, std::size_t n, int flags, sockaddr* __restrict from,
                 socklen_t* __restrict from_size) {
  NEXT(recvfrom);
  return counted(real(fd, data, n, flags, from, from_size));
}
ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  NEXT(sendmsg);
  return counted(real(fd, message, flags));
}
ssize_t recvmsg(int fd, msghdr* message, int flags) {
  NEXT(recvmsg);
  return counted(real(fd, message, flags));
}
int sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) {
  NEXT(sendmmsg);
  return counted(messages, real(fd, messages, count, flags));
}
int recvmmsg(int fd, mmsghdr* messages, unsigned count, int flags, timespec* timeout) {
  NEXT(recvmmsg);
  return counted(messages, real(fd, messages, count, flags, timeout));
}

// Called by programs that were built with _FORTIFY_SOURCE; the size of the buffer is not checked again.
ssize_t __read_chk(int fd, void* data, std::size_t n, std::size_t) { return read(fd, data, n); }
ssize_t __recv_chk(int fd, void* data, std::size_t n, std::size_t, int flags) { return recv(fd, data, n, flags); }
ssize_t __recvfrom_chk(int fd, void* __restrict data, std::size_t n, std::size_t, int flags, sockaddr* __restrict from,
                       socklen_t* __restrict from_size) {
  return recvfrom(fd, data, n, flags, from, from_size);
}

}  // extern "C"
