// SPDX-License-Identifier: Apache-2.0
// This process and others: who they are, whether they live; random identifiers; the background thread's start.
// Thread rules: all functions may be called from any thread.
#pragma once

#include <pthread.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "baton/os/result.hpp"
#include "baton/os/unique_fd.hpp"

namespace baton::os {

/// 128 random bits from the kernel. Blocks only in the first seconds of a machine's life, until it has entropy.
Result<std::array<std::uint8_t, 16>> random_id();

/// The program's name as the system shows it (/proc/self/comm), never empty.
std::string program_name();
std::int32_t process_id();
std::uint32_t effective_user_id();
/// True if the calling process belongs to group `gid` (effective or supplementary).
bool in_group(std::uint32_t gid);
/// Home directory by the user database, else $HOME, else empty. Not $HOME first: two processes of one user must agree.
std::string home_directory();

/// The CPUs that the calling thread may run on, ascending (sched_getaffinity(2)); empty if the kernel does not say.
std::vector<int> allowed_cpus();
/// Keeps the calling thread, and threads it starts from now on, on `cpus`. Error system_error for a CPU that does not exist or is
/// forbidden, with the others left as they were.
Result<void> stay_on_cpus(const std::vector<int>& cpus);

/// The CPU that the calling thread runs on at this moment, without a system call; -1 if that is not known.
int current_cpu() noexcept;

/// A descriptor that becomes readable when process `pid` ends (pidfd, Linux 5.3). Empty where the kernel lacks it, the process
/// is gone or no descriptor is left: it is a second signal, not the first.
UniqueFd watch_process(std::int32_t pid);
/// Whether process `pid` of this pid namespace has ended (a zombie has). False when that cannot be told, and for 0.
bool process_ended(std::int32_t pid);
/// The same for the process at the other end of a connected Unix socket, without the race of a reused pid (Linux 6.5; else
/// watch_process on its pid).
UniqueFd watch_socket_peer(int socket);

/// What tells this process from all others, those of other pid namespaces included, and is never used again: the inode of its
/// pidfd (Linux 6.9, pidfs). 0 if `pidfd` is empty or the kernel's pidfds have no inode of their own.
std::uint64_t process_identity(const UniqueFd& pidfd);

/// True if the process at the other end of a connected Unix socket is certainly dead, although something holds the socket open.
bool socket_peer_gone(int socket);

/// Gives pages of freed heap memory back to the system, where the C library can (malloc_trim(3)). Takes milliseconds when much is free,
/// during which other threads that allocate may wait.
void return_free_memory() noexcept;

/// Soft limit of open descriptors.
std::size_t descriptor_limit();

/// Raises the soft limit of open descriptors as far as the hard one allows, to 65536 at most, the first time that it is called in a
/// process; BATON_KEEP_NOFILE=1 forbids it. The default of 1024 is for programs that use select(2); Baton's own long-lived descriptors
/// leave the numbers below 1024 to these (memory_file.hpp, move_high). Children inherit the limit.
void raise_descriptor_limit();

/// Device and inode of the file, equal for all descriptors of it; zeros if `fd` is none.
std::pair<std::uint64_t, std::uint64_t> file_identity(int fd);

/// A descriptor of no use but to be closed when one is needed; empty if none is left.
UniqueFd reserve_descriptor();

/// "call: text of errno", as code out_of_descriptors for EMFILE/ENFILE, out_of_memory for ENOMEM, else system.
Error system_error(const std::string& what, int error_number);

/// Runs `body` on a new thread that receives no signals, is shown as `name` (at most 15 characters) and has a stack of
/// `stack_bytes`. The caller joins it with pthread_join or detaches it.
Result<pthread_t> start_thread(const char* name, std::size_t stack_bytes, std::function<void()> body);

}  // namespace baton::os
