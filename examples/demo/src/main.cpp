// SPDX-License-Identifier: Apache-2.0
// One process of the demo: camera, detector, recorder or viewer. Prints one JSON object per line, twice a second and at the
// end; `baton demo` starts the processes and shows their output.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "link.hpp"
#include "motion.hpp"
#include "video.hpp"

namespace {

using baton::demo::Image;
using Json = nlohmann::json;
using Steady = std::chrono::steady_clock;

struct Options {
  std::string role, transport = "baton", directory, channel = "camera/image", video;
  double seconds = 5, rate = 30;
  int width = 1280, height = 720;
  int video_width = 640, video_height = 360;
  std::uint32_t receivers = 3;
};

// The stamp is CLOCK_MONOTONIC, the same clock in every process of the machine.
void stamp_now(Image& image) {
  const std::int64_t ns = Steady::now().time_since_epoch() / std::chrono::nanoseconds(1);
  image.header.stamp.sec = static_cast<std::int32_t>(ns / 1'000'000'000);
  image.header.stamp.nanosec = static_cast<std::uint32_t>(ns % 1'000'000'000);
}
double microseconds_since(const Image& image) {
  const std::int64_t ns = std::int64_t{image.header.stamp.sec} * 1'000'000'000 + image.header.stamp.nanosec;
  return static_cast<double>(Steady::now().time_since_epoch() / std::chrono::nanoseconds(1) - ns) / 1000.0;
}

// Rate, latency and CPU of one process, since its first message.
class Meter {
 public:
  void message(std::uint32_t sequence, double latency_us) {
    last_ = Steady::now();
    if (count_++ == 0) {
      start_ = last_;
      cpu_start_ = std::clock();
    }
    sequences_.push_back(sequence);
    latencies_.push_back(latency_us);
  }
  Json report(const Options& options, const baton::demo::LinkCounters& link, bool final) {
    // To the last message: the silence after it, by which a receiver knows the end, is no part of the rate.
    const double seconds = std::chrono::duration<double>(last_ - start_).count();
    const double cpu_us = 1e6 * static_cast<double>(std::clock() - cpu_start_) / CLOCKS_PER_SEC;
    const double after_first = count_ > 1 ? static_cast<double>(count_ - 1) : 0.0;
    std::vector<double> sorted = latencies_;
    std::sort(sorted.begin(), sorted.end());
    auto quantile = [&](double q) {
      return sorted.empty() ? 0.0 : sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1))];
    };
    Json json{{"role", options.role},
              {"transport", options.transport},
              {"width", options.width},
              {"height", options.height},
              {"messages", count_},
              {"rate_hz", seconds > 0 ? after_first / seconds : 0.0},
              {"latency_us", {{"p50", quantile(0.5)}, {"p99", quantile(0.99)}, {"max", quantile(1.0)}}},
              {"cpu_us_per_message", after_first > 0 ? cpu_us / after_first : 0.0},
              {"copies", link.copies},
              {"copied_bytes", link.copied_bytes},
              {"lost", link.lost},
              {"final", final}};
    if (final) {
      json["sequences"] = sequences_;
      json["latencies_us"] = latencies_;
    }
    return json;
  }

 private:
  std::uint64_t count_ = 0;
  Steady::time_point start_ = Steady::now(), last_ = start_;
  std::clock_t cpu_start_ = std::clock();
  std::vector<std::uint32_t> sequences_;
  std::vector<double> latencies_;
};

void print(const Json& json) {
  std::puts(json.dump().c_str());
  std::fflush(stdout);
}

class Reporter {
 public:
  bool due() {
    if (Steady::now() < next_) return false;
    next_ = Steady::now() + std::chrono::milliseconds(500);
    return true;
  }

 private:
  Steady::time_point next_ = Steady::now() + std::chrono::milliseconds(500);
};

int camera(const Options& options) {
  const baton::demo::FrameSize stored{std::size_t(options.video_width), std::size_t(options.video_height)};
  const baton::demo::FrameSize wanted{std::size_t(options.width), std::size_t(options.height)};
  baton::demo::Video video(options.video, stored, wanted);
  auto sender = baton::demo::make_sender(options.transport, options.directory, options.channel);
  const auto matched_by = Steady::now() + std::chrono::seconds(20);
  while (sender->receivers() < options.receivers) {
    if (Steady::now() > matched_by)
      throw std::runtime_error("camera: only " + std::to_string(sender->receivers()) + " of " +
                               std::to_string(options.receivers) + " receivers came within 20 s");
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  Meter meter;
  Reporter reporter;
  std::uint32_t sequence = 0;
  const auto period = std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(1 / options.rate));
  const auto end =
      Steady::now() + std::chrono::duration_cast<Steady::duration>(std::chrono::duration<double>(options.seconds));
  for (auto next = Steady::now(); next < end; next = std::max(next + period, Steady::now())) {
    std::this_thread::sleep_until(next);
    Steady::time_point before;
    sender->send(
        [&](Image& image) {
          image.header.seq = sequence;
          image.header.frame_id = "camera";
          image.width = static_cast<std::uint32_t>(options.width);
          image.height = static_cast<std::uint32_t>(options.height);
          image.encoding = "rgb8";
          image.step = 3 * image.width;
          // Scaling writes the pixels where they will be read; zero-filling first would be a hidden pass.
          image.data.resize_for_overwrite(wanted.bytes());
          video.next(image.data.data());
        },
        [&](Image& image) {
          stamp_now(image);
          before = Steady::now();
        });
    // Of the camera: how long sending took.
    meter.message(sequence++, std::chrono::duration<double, std::micro>(Steady::now() - before).count());
    if (reporter.due()) print(meter.report(options, sender->counters(), false));
  }
  print(meter.report(options, sender->counters(), true));
  std::this_thread::sleep_for(std::chrono::milliseconds(200));  // sockets: let the last frames leave
  return 0;
}

int receiver(const Options& options) {
  auto link = baton::demo::make_receiver(options.transport, options.directory, options.channel, options.role);
  Meter meter;
  Reporter reporter;
  baton::demo::MotionDetector detector;
  Json boxes = Json::array();
  const auto patience = std::chrono::seconds(25);
  auto last = Steady::now();
  bool started = false;
  // The stream ends when nothing came for a second and for five periods; before the first frame the camera may still be
  // starting.
  const auto silence = std::chrono::duration<double>(std::max(1.0, 5 / options.rate));
  while (Steady::now() - last < (started ? std::chrono::duration_cast<Steady::duration>(silence) : patience)) {
    const bool got = link->receive(std::chrono::milliseconds(250), [&](const Image& image) {
      meter.message(image.header.seq, microseconds_since(image));
      if (options.role == "detector") {
        if (const auto box = detector.detect(image.data.data(), image.width, image.height, image.step))
          boxes.push_back({image.header.seq, box->x, box->y, box->width, box->height});
      }
    });
    if (got) {
      started = true;
      last = Steady::now();
    }
    if (reporter.due()) print(meter.report(options, link->counters(), false));
  }
  Json json = meter.report(options, link->counters(), true);
  if (options.role == "detector") json["boxes"] = boxes;
  print(json);
  if (!started) throw std::runtime_error(options.role + ": no image came within 25 s");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CLI::App app("One process of Baton's demo; `baton demo` starts them all");
  app.add_option("role", options.role)->required()->check(CLI::IsMember({"camera", "detector", "recorder", "viewer"}));
  app.add_option("--transport", options.transport)->check(CLI::IsMember({"baton", "socket"}))->capture_default_str();
  app.add_option("--directory", options.directory, "runtime directory")->required();
  app.add_option("--channel", options.channel)->capture_default_str();
  app.add_option("--video", options.video, "file of RGB24 frames (camera)");
  app.add_option("--video-width", options.video_width, "pixels of a frame of the file")
      ->capture_default_str()
      ->check(CLI::Range(16, 16384));
  app.add_option("--video-height", options.video_height)->capture_default_str()->check(CLI::Range(16, 16384));
  app.add_option("--seconds", options.seconds)->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--rate", options.rate, "frames per second")->capture_default_str()->check(CLI::PositiveNumber);
  app.add_option("--width", options.width)->capture_default_str()->check(CLI::Range(16, 16384));
  app.add_option("--height", options.height)->capture_default_str()->check(CLI::Range(16, 16384));
  app.add_option("--receivers", options.receivers, "the camera starts when so many are there")->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    if (options.role == "camera" && options.video.empty()) throw std::runtime_error("--video is missing");
    if (options.role == "camera") return camera(options);
    return receiver(options);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "baton_demo %s: %s\n", options.role.c_str(), e.what());
    return 1;
  }
}
