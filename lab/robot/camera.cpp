// SPDX-License-Identifier: Apache-2.0
// The camera's driver: draws what the camera sees at 30 Hz, into the message, and publishes it.
// Arguments: world file, task, picture's width, queue size. Prints "ready"; at its end, for each frame,
// "frame TAKEN DRAWN PUBLISHED TRAVELLED LIT".
#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "middleware.hpp"
#include "picture.hpp"
#include "world_file.hpp"

using namespace baton::robot;

namespace {

struct Frame {
  Nanoseconds taken, drawn, published;
  double travelled;
  bool lit;
};

}  // namespace

int main(int argc, char** argv) {
  ros::init(argc, argv, "camera", ros::init_options::NoRosout);
  if (argc != 5) return 2;
  const WorldFile world(argv[1]);
  const Task task = task_of(argv[2]);
  const Size size(static_cast<std::uint32_t>(std::stoul(argv[3])));
  ros::NodeHandle node;
  ImagePublisher publisher(node, static_cast<std::uint32_t>(std::stoul(argv[4])));
  ros::AsyncSpinner spinner(1);
  spinner.start();
  std::vector<Frame> frames;
  frames.reserve(10'000);
  std::cout << "ready" << std::endl;
  // A frame that could not be taken in time is left out, as by a camera.
  for (Nanoseconds next = now(); ros::ok(); next = std::max(next + kFramePeriod, now())) {
    std::this_thread::sleep_for(std::chrono::nanoseconds(next - now()));
    Frame frame{};
    publisher.publish(size.bytes(), [&](Image& image) {
      frame.taken = now();
      const Nanoseconds start = world.start(), brake = world.brake();
      frame.travelled = scene(task).motion.travelled(frame.taken, start, brake);
      frame.lit = frame.taken >= light_on(task, start, brake);
      image.header.stamp = stamp_of(frame.taken);
      image.header.frame_id = "camera";
      image.width = size.width;
      image.height = size.height;
      image.step = size.step();
      image.encoding = "rgb8";
      draw({task, frame.travelled, frame.lit ? Lamp::red : Lamp::none}, size, image.data.data());
      frame.drawn = now();
    });
    frame.published = now();
    frames.push_back(frame);
  }
  for (const Frame& frame : frames)
    std::cout << "frame " << frame.taken << ' ' << frame.drawn << ' ' << frame.published << ' ' << frame.travelled
              << ' ' << frame.lit << '\n';
}
