// SPDX-License-Identifier: Apache-2.0
// The state of a robot's joints, keyed by name, for any reader: each joint has a Latest<Joint> in a shared heap. Processes
// write their joints at their own pace; readers take the newest value of any joint, whole, and never wait. This program is
// the reader; it starts two writers, kills one in the middle of its work, and goes on.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string>
#include <thread>

#include "baton/objects/latest.hpp"
#include "baton/objects/shared_ptr.hpp"

namespace bs = baton::objects;
using namespace std::chrono_literals;

struct Joint {
  double position, velocity, effort;
  std::uint64_t count;  // all four are made from it, so a reader can tell that they belong together
};

bs::HeapOptions options(const std::string& directory) {
  bs::HeapOptions out;
  out.name = "joints";
  out.domain = 0;
  out.runtime_directory = directory;
  out.limit_bytes = 16U << 20;
  out.timeout = 60s;  // on a busy machine, too
  return out;
}

pid_t start_writer(const std::string& directory, const char* key) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  bs::Heap heap = bs::Heap::open(options(directory)).or_throw();
  const auto joint = bs::find_or_make<bs::Latest<Joint>>(heap, key);
  for (std::uint64_t i = 1;; ++i) {
    const auto x = static_cast<double>(i);
    joint->write({x, 2 * x, 3 * x, i});
    std::this_thread::sleep_for(100us);
  }
}

bool whole(const Joint& joint) {
  const auto x = static_cast<double>(joint.count);
  return joint.position == x && joint.velocity == 2 * x && joint.effort == 3 * x;
}

int run(const std::string& directory) {
  const char* const keys[] = {"shoulder", "elbow"};
  const pid_t writers[] = {start_writer(directory, keys[0]), start_writer(directory, keys[1])};
  bs::Heap heap = bs::Heap::open(options(directory)).or_throw();
  for (int round = 0; round < 2; ++round) {
    for (const char* key : keys) {
      const auto joint = bs::find_or_make<bs::Latest<Joint>>(heap, key);
      Joint now{};
      std::uint64_t version = joint->version();
      // The next five values of a joint that is written; of one that is not, the last, at once.
      for (int i = 0; i < 5 && (round == 0 || key == keys[1]); ++i) {
        version = joint->read_newer_for(version, &now, 60s);
        if (version == 0 || !whole(now)) return 1;
      }
      const std::optional<Joint> newest = joint->read();
      if (!newest || !whole(*newest)) return 1;
      std::printf("%s: %.0f %.0f %.0f\n", key, newest->position, newest->velocity, newest->effort);
    }
    ::kill(writers[round], SIGKILL);
    ::waitpid(writers[round], nullptr, 0);
  }
  return 0;
}

int main() {
  std::string directory = "/tmp/baton-latest-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) return 2;
  int status = 2;
  try {
    status = run(directory);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "%s\n", problem.what());
  }
  const std::string domain = directory + "/0";
  ::rmdir(domain.c_str());
  if (::rmdir(directory.c_str()) != 0) {
    std::fprintf(stderr, "something is left in %s\n", directory.c_str());
    return 3;
  }
  return status;
}
