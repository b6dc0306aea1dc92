// SPDX-License-Identifier: Apache-2.0
// This process and others: identity, whether a process lives, random identifiers, the start of the background thread.
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
/// The machine's own name (gethostname(2)); empty if it has none.
std::string host_name();
std::int32_t process_id();
std::uint32_t effective_user_id();
/// True if the calling process belongs to group `gid` (effective or supplementary).
bool in_group(std::uint32_t gid);
/// The home directory from the user database, else $HOME, else empty. $HOME is not first, because two processes of one
/// user must agree.
std::string home_directory();

/// The machine's memory (sysconf(3)); SIZE_MAX if the system does not say.
std::size_t machine_memory_bytes() noexcept;

/// The CPUs that the calling thread may run on, ascending (sched_getaffinity(2)); empty if the kernel does not say.
std::vector<int> allowed_cpus();
/// Keeps the calling thread, and the threads that it starts from now on, on `cpus`. Error system_error for a CPU that
/// does not exist or is forbidden; the CPUs of the thread are then unchanged.
Result<void> stay_on_cpus(const std::vector<int>& cpus);

/// The CPU that the calling thread runs on at this moment, without a system call; -1 if that is not known.
int current_cpu() noexcept;

/// A descriptor that becomes readable when process `pid` ends (pidfd, Linux 5.3). Empty if the kernel lacks pidfds, the
/// process is gone or no descriptor is left: so it is an additional signal of the end, not the main one.
UniqueFd watch_process(std::int32_t pid);
/// Whether process `pid` of this PID namespace has ended (a zombie has). False if this is not known, and for 0.
bool process_ended(std::int32_t pid);
/// A watch_process() for the process at the other end of a connected Unix socket, without the race of a reused pid
/// (Linux 6.5; else watch_process() on its pid).
UniqueFd watch_socket_peer(int socket);

/// A number that identifies this process among all processes, also of other PID namespaces, and is never reused: the
/// inode of its pidfd (Linux 6.9, pidfs). 0 if `pidfd` is empty or the kernel's pidfds have no inode of their own.
std::uint64_t process_identity(const UniqueFd& pidfd);

/// True if the process at the other end of a connected Unix socket is certainly dead, although another descriptor holds
/// the socket open.
bool socket_peer_gone(int socket);

/// Gives pages of freed heap memory back to the system, if the C library can (malloc_trim(3)). Takes milliseconds when
/// much is free. Meanwhile other threads that allocate may wait.
void return_free_memory() noexcept;

/// Soft limit of open descriptors.
std::size_t descriptor_limit();

/// At its first call in a process, raises the soft limit of open descriptors as far as the hard limit allows, to 65536
/// at most. BATON_KEEP_NOFILE=1 forbids it. The default of 1024 is for programs that use select(2); Baton leaves the
/// numbers below 1024 to such programs (memory_file.hpp, move_high). Children inherit the limit.
void raise_descriptor_limit();

/// Device and inode of the file, equal for all descriptors of the file; zeros if `fd` is no descriptor.
std::pair<std::uint64_t, std::uint64_t> file_identity(int fd);

/// A spare descriptor: close it when another descriptor is needed. Empty if none is left.
UniqueFd reserve_descriptor();

/// "call: text of errno". The code is out_of_descriptors for EMFILE and ENFILE, out_of_memory for ENOMEM, else system.
/// For ENOMEM of a process that has as many memory areas as vm.max_map_count allows, the text says so.
Error system_error(const std::string& what, int error_number);
/// How many memory areas (mappings) a process may have: vm.max_map_count, read once.
std::size_t most_memory_areas() noexcept;

/// Runs `body` on a new thread that receives no signals, is shown as `name` (at most 15 characters) and has a stack of
/// `stack_bytes`. The caller joins it with pthread_join or detaches it.
Result<pthread_t> start_thread(const char* name, std::size_t stack_bytes, std::function<void()> body);

}  // namespace baton::os
