// SPDX-License-Identifier: Apache-2.0
#include "baton/os/real_time_check.hpp"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "baton/os/hot_memory.hpp"
#include "baton/os/process.hpp"
#include "baton/os/result.hpp"

namespace {

// initial-exec: the other models may call malloc on the first access.
struct Counts {
  bool active;
  std::uint64_t heap_calls, system_calls;
  long first_calls[8];
};
__attribute__((tls_model("initial-exec"))) thread_local Counts t_counts{};

// So that taking hot memory is a call of the heap like any other.
[[maybe_unused]] const bool g_plain = (baton::os::keep_hot_memory_plain(), true);

inline void count_heap_call() noexcept {
  if (t_counts.active) ++t_counts.heap_calls;
}

}  // namespace

// The sanitizers bring their own allocators; under them heap calls are not counted.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t bytes) {
  count_heap_call();
  return __libc_malloc(bytes);
}
void* calloc(std::size_t count, std::size_t bytes) {
  count_heap_call();
  return __libc_calloc(count, bytes);
}
void* realloc(void* old, std::size_t bytes) {
  count_heap_call();
  return __libc_realloc(old, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  count_heap_call();
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  count_heap_call();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t bytes) {
  count_heap_call();
  if (alignment % sizeof(void*) != 0 || alignment == 0 || (alignment & (alignment - 1)) != 0) return EINVAL;
  void* memory = __libc_memalign(alignment, bytes);
  if (!memory) return ENOMEM;
  *out = memory;
  return 0;
}
void free(void* memory) {
  if (memory) count_heap_call();
  __libc_free(memory);
}
}
#endif

// Makes a system call at an address that the filter lets through. Returns what the kernel returns: -errno on errors.
extern "C" long baton_real_time_passed_call(long number, long a, long b, long c, long d, long e, long f);
extern "C" const char baton_real_time_after_passed_call;
#if defined(__x86_64__)
asm(R"(
.pushsection .text
.globl baton_real_time_passed_call
.hidden baton_real_time_passed_call
.type baton_real_time_passed_call, @function
baton_real_time_passed_call:
  mov %rdi, %rax
  mov %rsi, %rdi
  mov %rdx, %rsi
  mov %rcx, %rdx
  mov %r8, %r10
  mov %r9, %r8
  mov 8(%rsp), %r9
  syscall
.globl baton_real_time_after_passed_call
.hidden baton_real_time_after_passed_call
baton_real_time_after_passed_call:
  ret
.size baton_real_time_passed_call, .-baton_real_time_passed_call
.popsection
)");
#define BATON_AUDIT_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
asm(R"(
.pushsection .text
.globl baton_real_time_passed_call
.hidden baton_real_time_passed_call
.type baton_real_time_passed_call, %function
baton_real_time_passed_call:
  mov x8, x0
  mov x0, x1
  mov x1, x2
  mov x2, x3
  mov x3, x4
  mov x4, x5
  mov x5, x6
  svc #0
.globl baton_real_time_after_passed_call
.hidden baton_real_time_after_passed_call
baton_real_time_after_passed_call:
  ret
.size baton_real_time_passed_call, .-baton_real_time_passed_call
.popsection
)");
#define BATON_AUDIT_ARCH AUDIT_ARCH_AARCH64
#endif

namespace baton {
namespace {

#ifdef BATON_AUDIT_ARCH

void on_trapped_call(int, siginfo_t* info, void* context) {
  if (t_counts.active) {
    if (t_counts.system_calls < 8) t_counts.first_calls[t_counts.system_calls] = info->si_syscall;
    ++t_counts.system_calls;
  }
  auto& registers = static_cast<ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  greg_t* r = registers.gregs;
  r[REG_RAX] = baton_real_time_passed_call(info->si_syscall, r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8],
                                           r[REG_R9]);
#else
  auto* r = registers.regs;
  const auto argument = [r](int i) { return static_cast<long>(r[i]); };
  r[0] = static_cast<unsigned long long>(baton_real_time_passed_call(
      info->si_syscall, argument(0), argument(1), argument(2), argument(3), argument(4), argument(5)));
#endif
}

Result<void> install_filter(std::initializer_list<long> allowed) {
  struct sigaction action {};
  action.sa_sigaction = on_trapped_call;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  if (::sigaction(SIGSYS, &action, nullptr) != 0) return os::system_error("sigaction(SIGSYS)", errno);

  const auto passed = reinterpret_cast<std::uintptr_t>(&baton_real_time_after_passed_call);
  const auto word = [](std::size_t offset) -> sock_filter {
    return BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
  };
  std::vector<sock_filter> filter = {
      word(offsetof(seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, BATON_AUDIT_ARCH, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      // Little-endian on both processors: the lower half first.
      word(offsetof(seccomp_data, instruction_pointer)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(passed), 0, 3),
      word(offsetof(seccomp_data, instruction_pointer) + 4),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(passed >> 32), 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
      word(offsetof(seccomp_data, nr)),
  };
  std::vector<long> passing = allowed;
  // Allowed: returning from the handler, ending, and clone(), which the handler cannot make for its thread (the child
  // would run on the handler's stack).
  passing.insert(passing.end(), {SYS_rt_sigreturn, SYS_exit, SYS_exit_group, SYS_clone, SYS_clone3});
#ifdef SYS_fork
  passing.insert(passing.end(), {SYS_fork, SYS_vfork});
#endif
  for (const long number : passing) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(number), 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
  sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return Error{Errc::unsupported,
                 "the kernel or a sandbox refuses a seccomp filter: " + std::string(std::strerror(errno))};
  return {};
}

#else

Result<void> install_filter(std::initializer_list<long>) {
  return Error{Errc::unsupported, "RealTimeCheck counts system calls on x86-64 and aarch64 only"};
}

#endif

// Goes through the handler uncounted: the check's own calls do not count as the thread's.
rusage thread_usage() noexcept {
  const bool active = t_counts.active;
  t_counts.active = false;
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  t_counts.active = active;
  return usage;
}

std::string counted(std::uint64_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

}  // namespace

// 449: futex_waitv, on every architecture; older headers lack its name.
RealTimeCheck::RealTimeCheck() : RealTimeCheck({SYS_futex, 449, SYS_clock_nanosleep}) {}

RealTimeCheck::RealTimeCheck(std::initializer_list<long> allowed) {
  install_filter(allowed).or_throw();
  (void)thread_usage();  // touches the pages that counting needs, so that they do not fault later
  const rusage usage = thread_usage();
  minor_before_ = static_cast<std::uint64_t>(usage.ru_minflt);
  major_before_ = static_cast<std::uint64_t>(usage.ru_majflt);
  t_counts = Counts{};
  t_counts.active = true;
}

RealTimeCheck::~RealTimeCheck() { t_counts.active = false; }

RealTimeReport RealTimeCheck::report() const noexcept {
  const rusage usage = thread_usage();
  RealTimeReport report;
  report.heap_calls = t_counts.heap_calls;
  report.minor_faults = static_cast<std::uint64_t>(usage.ru_minflt) - minor_before_;
  report.major_faults = static_cast<std::uint64_t>(usage.ru_majflt) - major_before_;
  report.system_calls = t_counts.system_calls;
  std::copy(std::begin(t_counts.first_calls), std::end(t_counts.first_calls), report.first_calls.begin());
  return report;
}

std::string RealTimeReport::text() const {
  std::string out = counted(heap_calls, "heap call") + ", " + counted(minor_faults, "minor fault") + ", " +
                    counted(major_faults, "major fault") + ", " + counted(system_calls, "system call");
  if (system_calls == 0) return out;
  out += " (first:";
  for (std::size_t i = 0; i < std::min<std::uint64_t>(system_calls, first_calls.size()); ++i)
    out += (i == 0 ? " " : ", ") + std::to_string(first_calls[i]);
  return out + ")";
}

}  // namespace baton
