// SPDX-License-Identifier: Apache-2.0
// `baton_limits`: the best that this machine can do, as JSON: copying, first touches of memory, system calls, the
// clock. The peer `bare` measures waking and cache-line hand-over between processes.
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include "baton/os/clock.hpp"
#include "figures.hpp"

namespace baton::perf {
namespace {

constexpr int kRounds = 21;

/// Median duration of `work` in ns, after `before`, which is not timed.
template <class Before, class Work>
double time_of(Before&& before, Work&& work) {
  std::vector<double> times;
  for (int i = 0; i < kRounds; ++i) {
    before();
    const std::int64_t begin = os::monotonic_ns();
    work();
    times.push_back(static_cast<double>(os::monotonic_ns() - begin));
  }
  return median(times);
}

volatile std::uint64_t g_sink;  // keeps the compiler from removing reads

std::uint64_t touch_pages(const void* memory, std::size_t bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < bytes; i += 4096) sum += static_cast<const volatile unsigned char*>(memory)[i];
  return sum;
}

/// Shared memory whose pages do not exist yet, or a second mapping of it (mmap(2), mremap(2) with an old size of 0).
class Shared {
 public:
  explicit Shared(std::size_t bytes)
      : memory_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)), bytes_(bytes) {
    check();
  }
  Shared(const Shared& other, std::size_t bytes)
      : memory_(::mremap(other.memory_, 0, bytes, MREMAP_MAYMOVE)), bytes_(bytes) {
    check();
  }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  ~Shared() { ::munmap(memory_, bytes_); }
  unsigned char* data() const { return static_cast<unsigned char*>(memory_); }

 private:
  void check() const {
    if (memory_ == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
  }
  void* memory_;
  std::size_t bytes_;
};

}  // namespace

nlohmann::ordered_json measure_limits() {
  nlohmann::ordered_json out;
  for (const std::size_t bytes :
       {std::size_t{4096}, std::size_t{65536}, std::size_t{1} << 20, std::size_t{4} << 20, std::size_t{16} << 20}) {
    std::vector<unsigned char> from(bytes, 1), elsewhere(std::size_t{64} << 20, 1);
    auto to = std::make_unique<Shared>(bytes);
    const auto copy = [&] { std::memcpy(to->data(), from.data(), bytes); };
    const std::string size = std::to_string(bytes);
    out["memcpy_fresh_ns"][size] = time_of([&] { to = std::make_unique<Shared>(bytes); }, copy);
    out["memcpy_warm_ns"][size] = time_of([] {}, copy);
    out["memcpy_cold_ns"][size] = time_of([&] { std::memset(elsewhere.data(), 2, elsewhere.size()); }, copy);
  }
  constexpr std::size_t kPages = 1024, kBytes = kPages * 4096;
  auto pages = std::make_unique<Shared>(kBytes);
  const auto touch = [](unsigned char* at) {
    for (std::size_t i = 0; i < kBytes; i += 4096) static_cast<volatile unsigned char*>(at)[i] = 1;
  };
  out["page_first_write_ns"] =
      time_of([&] { pages = std::make_unique<Shared>(kBytes); }, [&] { touch(pages->data()); }) / kPages;
  std::unique_ptr<Shared> again;
  const auto map = [&] { again = std::make_unique<Shared>(*pages, kBytes); };
  out["page_mapped_anew_write_ns"] = time_of(map, [&] { touch(again->data()); }) / kPages;
  out["page_mapped_anew_read_ns"] = time_of(map, [&] { g_sink = touch_pages(again->data(), kBytes); }) / kPages;
  constexpr int kCalls = 1000;
  out["system_call_ns"] = time_of([] {},
                                  [] {
                                    for (int i = 0; i < kCalls; ++i) ::syscall(SYS_getppid);
                                  }) /
                          kCalls;
  out["clock_ns"] = time_of([] {},
                            [] {
                              for (int i = 0; i < kCalls; ++i) g_sink = static_cast<std::uint64_t>(os::monotonic_ns());
                            }) /
                    kCalls;
  return out;
}

}  // namespace baton::perf

int main() {
  try {
    std::printf("%s\n", baton::perf::measure_limits().dump().c_str());
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "baton_limits: %s\n", e.what());
    return 1;
  }
}
