// SPDX-License-Identifier: Apache-2.0
// The cost of a received array by size: copied into a vector that is freed, aliased and freed, aliased with one page
// written. Median of many, in microseconds, per message; the message is touched once per page in each case.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

#include "baton/containers/containers.hpp"
#include "baton/containers/heap.hpp"
#include "baton/containers/received.hpp"
#include "baton/memory/arena.hpp"

namespace {

using namespace baton;
using Clock = std::chrono::steady_clock;

struct Ends {
  std::shared_ptr<transport::Writer> writer;
  std::shared_ptr<transport::Reader> reader;
};

transport::TakenSample next(const Ends& ends, std::size_t bytes) {
  const memory::Chunk chunk = ends.writer->loan_growing().or_throw();
  memory::content_allocate(chunk.message(), bytes - 8, 1);
  std::memset(chunk.message(), 1, bytes);
  ends.writer->publish(chunk).or_throw();
  transport::TakenSample sample;
  while (!sample) sample = ends.reader->take().or_throw();
  return sample;
}

enum class Way { kCopy, kAlias, kAliasAndWrite };

double median_us(const Ends& ends, std::size_t bytes, Way way, int rounds) {
  std::vector<double> times;
  volatile std::uint8_t sink = 0;
  for (int i = 0; i < rounds; ++i) {
    transport::TakenSample sample = next(ends, bytes);
    const auto begin = Clock::now();
    {
      std::vector<std::uint8_t> vector;
      if (way == Way::kCopy) {
        const auto* content = static_cast<const std::uint8_t*>(sample.message());
        vector.assign(content, content + bytes);
        sample.release();
      } else {
        containers::Received received = containers::Received::begin(sample).or_throw();
        containers::adopt(vector, received.alias(received.message(), bytes, 1), bytes, bytes);
      }
      for (std::size_t at = 0; at < bytes; at += 4096) sink = vector[at];
      if (way == Way::kAliasAndWrite) vector[bytes / 2] = sink;
    }
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  std::nth_element(times.begin(), times.begin() + rounds / 2, times.end());
  return times[static_cast<std::size_t>(rounds) / 2];
}

}  // namespace

int main() {
  if (!containers::active()) {
    std::fprintf(stderr, "%s\n", containers::reason().c_str());
    return 1;
  }
  std::string directory = (std::filesystem::temp_directory_path() / "baton-bench-XXXXXX").string();
  if (::mkdtemp(directory.data()) == nullptr) return 1;
  transport::ParticipantOptions place;
  place.runtime_directory = directory;
  auto participant = transport::Participant::join(place).or_throw();
  transport::Participant::WriterOptions out;
  out.topic = "t";
  out.type.name = "test/Bytes";
  out.type.skeleton_bytes = 8;
  transport::Participant::ReaderOptions in;
  in.topic = out.topic;
  in.type = out.type;
  Ends ends{participant->create_writer(out).or_throw(), participant->create_reader(in).or_throw()};
  while (ends.writer->matched() == 0 || ends.reader->matched() == 0)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::printf("%10s %10s %10s %10s  us\n", "bytes", "copied", "aliased", "written");
  for (std::size_t bytes = 4096; bytes <= (std::size_t{16} << 20); bytes *= 2) {
    const int rounds = bytes > (1 << 20) ? 200 : 2000;
    std::printf("%10zu %10.2f %10.2f %10.2f\n", bytes, median_us(ends, bytes, Way::kCopy, rounds),
                median_us(ends, bytes, Way::kAlias, rounds), median_us(ends, bytes, Way::kAliasAndWrite, rounds));
  }
  ends = {};
  participant.reset();
  std::filesystem::remove_all(directory);
  return 0;
}
