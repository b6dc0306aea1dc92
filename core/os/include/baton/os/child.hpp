// SPDX-License-Identifier: Apache-2.0
// Child processes of tests and benchmarks: the same program again, in another role. Thread rules: one thread per
// object.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "baton/os/result.hpp"
#include "baton/os/unique_fd.hpp"

namespace baton::os {

/// A child process; destruction kills and reaps it.
class Child {
 public:
  /// Starts `program` (a path; "/proc/self/exe" = this program) with `arguments`. Its standard output comes back
  /// through read_line(). Errors: system, out_of_descriptors.
  static Result<Child> start(const std::string& program, const std::vector<std::string>& arguments);
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();

  std::int32_t pid() const noexcept { return pid_; }
  /// The next line that the child printed, without its end; false once the child closed its output. Blocks.
  bool read_line(std::string* line);
  void send_signal(int number) const noexcept;
  /// Waits until the child ends. Returns its exit code, or 128 + the signal that ended the child.
  int wait();

 private:
  Child() = default;
  std::int32_t pid_ = -1;
  UniqueFd output_;
  std::string buffer_;
};

/// Opens descriptor `fd` of process `pid` (through /proc), so that a child can map memory of its parent.
Result<UniqueFd> open_descriptor_of(std::int32_t pid, int fd);

/// Binds the calling thread to one processor; false if there is no such processor.
bool pin_to_processor(unsigned index) noexcept;

}  // namespace baton::os
