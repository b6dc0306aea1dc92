// SPDX-License-Identifier: Apache-2.0
#include "baton/os/process.hpp"

#include <fcntl.h>
#include <grp.h>
#include <malloc.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <system_error>
#include <vector>

#include "baton/os/clock.hpp"
#include "baton/os/environment.hpp"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

namespace baton::os {

Result<std::array<std::uint8_t, 16>> random_id() {
  std::array<std::uint8_t, 16> id{};
  std::size_t have = 0;
  while (have < id.size()) {
    const ssize_t got = ::getrandom(id.data() + have, id.size() - have, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_error("getrandom", errno);
    have += static_cast<std::size_t>(got);
  }
  return id;
}

std::string host_name() {
  char name[256] = "";
  static_cast<void>(::gethostname(name, sizeof name - 1));
  return name;
}

std::size_t machine_memory_bytes() noexcept {
  const long pages = ::sysconf(_SC_PHYS_PAGES), bytes = ::sysconf(_SC_PAGESIZE);
  return pages > 0 && bytes > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(bytes) : SIZE_MAX;
}

std::string program_name() {
  std::array<char, 64> text{};
  const UniqueFd file(::open("/proc/self/comm", O_RDONLY | O_CLOEXEC));
  const ssize_t size = file ? ::read(file.get(), text.data(), text.size()) : -1;
  std::string name(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0U);
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return name.empty() ? "process" : name;
}

std::int32_t process_id() { return ::getpid(); }
std::uint32_t effective_user_id() { return ::geteuid(); }

bool in_group(std::uint32_t gid) {
  if (::getegid() == gid) return true;
  const int count = ::getgroups(0, nullptr);
  if (count <= 0) return false;
  std::vector<gid_t> groups(static_cast<std::size_t>(count));
  const int got = ::getgroups(count, groups.data());
  if (got < 0) return false;
  groups.resize(static_cast<std::size_t>(got));
  return std::find(groups.begin(), groups.end(), static_cast<gid_t>(gid)) != groups.end();
}

std::string home_directory() {
  std::vector<char> buffer(16384);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(::geteuid(), &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr &&
      found->pw_dir != nullptr && found->pw_dir[0] == '/') {
    return found->pw_dir;
  }
  const char* home = environment("HOME");
  return home != nullptr && home[0] == '/' ? home : "";
}

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  return cpus;
}

int current_cpu() noexcept { return ::sched_getcpu(); }

Result<void> stay_on_cpus(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) {
    if (cpu < 0 || cpu >= CPU_SETSIZE) return system_error("sched_setaffinity: CPU " + std::to_string(cpu), EINVAL);
    CPU_SET(cpu, &set);
  }
  if (::sched_setaffinity(0, sizeof set, &set) != 0) return system_error("sched_setaffinity", errno);
  return {};
}

UniqueFd watch_process(std::int32_t pid) {
  if (pid <= 0) return UniqueFd();
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)));
}

bool process_ended(std::int32_t pid) {
  if (pid <= 0) return false;
  const UniqueFd watch = watch_process(pid);
  if (!watch) return errno == ESRCH;  // not EMFILE
  pollfd state{watch.get(), POLLIN, 0};
  return ::poll(&state, 1, 0) > 0;
}

UniqueFd watch_socket_peer(int socket) {
  int fd = -1;
  socklen_t size = sizeof fd;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &fd, &size) == 0) return UniqueFd(fd);
  // A kernel that knows the option fails for a process that is gone; another process may have its number by now.
  if (errno != ENOPROTOOPT) return UniqueFd();
  ucred credentials{};
  size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return UniqueFd();
  return watch_process(credentials.pid);
}

std::uint64_t process_identity(const UniqueFd& pidfd) {
  constexpr auto kPidfsMagic = 0x50494446;  // PID_FS_MAGIC of linux/magic.h
  static std::atomic<int> known{-1};        // whether this kernel has it; orders nothing: relaxed
  if (!pidfd) return 0;
  int has_it = known.load(std::memory_order_relaxed);
  if (has_it < 0) {
    struct statfs filesystem {};
    if (::fstatfs(pidfd.get(), &filesystem) != 0) return 0;
    has_it = filesystem.f_type == kPidfsMagic ? 1 : 0;
    known.store(has_it, std::memory_order_relaxed);
  }
  struct stat status {};
  return has_it == 1 && ::fstat(pidfd.get(), &status) == 0 ? status.st_ino : 0;
}

bool socket_peer_gone(int socket) {
  const UniqueFd watch = watch_socket_peer(socket);
  if (watch) {
    pollfd state{watch.get(), POLLIN, 0};
    return ::poll(&state, 1, 0) > 0;
  }
  if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) return false;
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0 || credentials.pid <= 0) return false;
  return ::kill(credentials.pid, 0) != 0 && errno == ESRCH;
}

void return_free_memory() noexcept {
#if defined(__GLIBC__)
  (void)::malloc_trim(0);
#endif
}

std::size_t descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  return static_cast<std::size_t>(limit.rlim_cur);
}

void raise_descriptor_limit() {
  // Some programs close every possible descriptor before they start another program: allow no more than they can close
  // quickly.
  constexpr rlim_t kEnough = 65536;
  static std::atomic<bool> done{false};  // orders no other memory: relaxed
  if (done.exchange(true, std::memory_order_relaxed)) return;
  const char* const keep = environment("BATON_KEEP_NOFILE");
  if (keep != nullptr && std::strcmp(keep, "1") == 0) return;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  const rlim_t wanted = std::min(kEnough, limit.rlim_max);
  if (limit.rlim_cur >= wanted) return;
  limit.rlim_cur = wanted;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

std::pair<std::uint64_t, std::uint64_t> file_identity(int fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return {};
  return {status.st_dev, status.st_ino};
}

UniqueFd reserve_descriptor() { return UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }

std::size_t most_memory_areas() noexcept {
  constexpr std::size_t kUsual = 65530;
  // Constant-initialized, as a child forked while another thread initialises a static object would wait for it for ever.
  static std::atomic<std::size_t> known{0};
  std::size_t areas = known.load(std::memory_order_relaxed);  // orders nothing
  if (areas == 0) {
    areas = kUsual;
    if (std::FILE* const file = std::fopen("/proc/sys/vm/max_map_count", "re")) {
      std::size_t number = 0;
      if (std::fscanf(file, "%zu", &number) == 1 && number > 0) areas = number;
      std::fclose(file);
    }
    known.store(areas, std::memory_order_relaxed);
  }
  return areas;
}

namespace {

/// A refused call wanted one or two more; other threads may have come and gone meanwhile.
constexpr std::size_t kSpareAreas = 16;

/// To count very many takes 20 ms, and where there are too many, each message of a peer may ask: such a count is good for a second.
std::size_t memory_areas() {
  constexpr std::int64_t kGoodForNs = 1'000'000'000;
  static std::atomic<std::size_t> known{0};  // relaxed, both: an estimate, which orders nothing
  static std::atomic<std::int64_t> until_ns{0};
  const std::size_t before = known.load(std::memory_order_relaxed);
  if (before + kSpareAreas >= most_memory_areas() && monotonic_ns() < until_ns.load(std::memory_order_relaxed))
    return before;
  std::size_t lines = 0;
  if (std::FILE* const file = std::fopen("/proc/self/maps", "re")) {
    for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) lines += c == '\n' ? 1 : 0;
    std::fclose(file);
  }
  known.store(lines, std::memory_order_relaxed);
  until_ns.store(monotonic_ns() + kGoodForNs, std::memory_order_relaxed);
  return lines;
}

}  // namespace

Error system_error(const std::string& what, int error_number) {
  const std::string text = what + ": " + std::system_category().message(error_number);
  switch (error_number) {
    case EMFILE:
      return {Errc::out_of_descriptors, text + " (RLIMIT_NOFILE of this process is " +
                                            std::to_string(descriptor_limit()) + "; raise it with `ulimit -n`)"};
    case ENFILE:
      return {Errc::out_of_descriptors, text + " (the whole machine is out of them; raise fs.file-max)"};
    case ENOMEM:
      if (const std::size_t areas = memory_areas(), most = most_memory_areas(); areas + kSpareAreas >= most) {
        return {Errc::out_of_memory, text + " (this process has " + std::to_string(areas) +
                                         " memory areas, and vm.max_map_count allows " + std::to_string(most) +
                                         "; raise it with `sysctl -w vm.max_map_count=" + std::to_string(4 * most) +
                                         "`)"};
      }
      return {Errc::out_of_memory, text};
    default:
      return {Errc::system, text};
  }
}

Result<pthread_t> start_thread(const char* name, std::size_t stack_bytes, std::function<void()> body) {
  auto run_later =
      std::make_unique<std::function<void()>>(std::move(body));  // before signals are blocked: it may throw
  pthread_attr_t attributes;
  if (const int failed = ::pthread_attr_init(&attributes)) return system_error("pthread_attr_init", failed);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  // Sanitizers need larger stacks and may refuse this size.
  (void)::pthread_attr_setstacksize(&attributes, std::max<std::size_t>(stack_bytes, PTHREAD_STACK_MIN));
#else
  (void)stack_bytes;
#endif
  // A new thread inherits the signal mask of its creator. Blocking all signals around the start leaves no moment in
  // which a signal of the application could reach the new thread.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const int failed = ::pthread_create(
      &thread, &attributes,
      [](void* argument) -> void* {
        const std::unique_ptr<std::function<void()>> run(static_cast<std::function<void()>*>(argument));
        (*run)();
        return nullptr;
      },
      run_later.get());
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  ::pthread_attr_destroy(&attributes);
  if (failed != 0) return system_error("pthread_create", failed);
  (void)run_later.release();  // the new thread owns it now
  (void)::pthread_setname_np(thread, name);
  return thread;
}

}  // namespace baton::os
