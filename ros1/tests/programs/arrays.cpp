// SPDX-License-Identifier: Apache-2.0
// A stock roscpp program that does with received arrays what programs do. Prints for each image
// "NUMBER good|bad ALIASED": ALIASED is the number of arrays of this process that were not copied so far. Arguments: topic,
// what to do with each image:
//   read    looks at it
//   write   gets a message of its own and overwrites all of it (roscpp gives such a callback the only copy, if it is)
//   resize  grows, shrinks, and moves the array; keeps the moved vectors of 3 messages
//   threads hands each image to another thread, which frees it
//   fork    a child writes to the image, and frees it
// Its input's end ends it.
#include <dlfcn.h>
#include <ros/ros.h>
#include <sensor_msgs/Image.h>
#include <sys/wait.h>
#include <unistd.h>

#include <deque>
#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "pattern.hpp"

#ifdef BATON_TEST_OWN_NEW
#include <cstdlib>
#include <new>
void* operator new(std::size_t bytes) {
  if (void* const place = std::malloc(bytes)) return place;
  throw std::bad_alloc();
}
void operator delete(void* place) noexcept { std::free(place); }
void operator delete(void* place, std::size_t) noexcept { std::free(place); }
#endif

namespace {

struct Counters {  // as in baton/containers/heap.hpp
  std::uint64_t aliased = 0, freed = 0, unknown = 0, discarded_pages = 0;
  std::size_t live_buffers = 0, live_messages = 0;
};

Counters counters() {
  Counters out;
  using Read = void (*)(Counters*);
  if (const auto read = reinterpret_cast<Read>(::dlsym(RTLD_DEFAULT, "baton_heap_counters"))) read(&out);
  return out;
}

bool good(const sensor_msgs::Image& image) {
  return image.header.frame_id == "camera" && pattern::matches(image.data, image.width);
}

void report(const sensor_msgs::Image& image, bool is_good) {
  std::cout << image.width << (is_good ? " good " : " bad ") << counters().aliased << std::endl;
}

void resize(const sensor_msgs::ImagePtr& image) {
  static std::deque<std::vector<std::uint8_t>> kept;
  static std::deque<std::uint32_t> numbers;
  bool all_good = good(*image);
  const std::size_t size = image->data.size();
  std::vector<std::uint8_t> moved = std::move(image->data);
  if (image->width % 2 == 0) {
    moved.resize(size / 2);
    moved.shrink_to_fit();
    all_good = all_good && pattern::matches(moved, image->width);
  } else {
    for (int i = 0; i < 3; ++i) moved.push_back(pattern::at(image->width, moved.size()));
    all_good = all_good && moved.size() == size + 3 && pattern::matches(moved, image->width);
  }
  image->data.assign(100000, 7);  // a fresh array in the same message
  kept.push_back(std::move(moved));
  numbers.push_back(image->width);
  if (kept.size() > 3) {
    all_good = all_good && pattern::matches(kept.front(), numbers.front());
    kept.pop_front();
    numbers.pop_front();
  }
  report(*image, all_good);
}

void overwrite(const sensor_msgs::ImagePtr& image) {
  const bool was_good = good(*image);
  for (auto& byte : image->data) byte = 0xee;
  bool written = true;
  for (const auto byte : image->data) written = written && byte == 0xee;
  report(*image, was_good && written);
}

void fork_child(const sensor_msgs::ImagePtr& image) {
  const pid_t child = ::fork();
  if (child == 0) {
    bool fine = good(*image);
    for (auto& byte : image->data) byte = 1;
    std::vector<std::uint8_t>().swap(image->data);
    ::_exit(fine ? 0 : 1);
  }
  int status = 1;
  ::waitpid(child, &status, 0);
  report(*image, status == 0 && good(*image));
}

void threads(const sensor_msgs::ImageConstPtr& image) {
  std::thread([image] { report(*image, good(*image)); }).detach();
}

}  // namespace

int main(int argc, char** argv) {
  ros::init(argc, argv, "arrays", ros::init_options::AnonymousName | ros::init_options::NoSigintHandler);
  if (argc != 3) return 2;
  const std::string what = argv[2];
  ros::NodeHandle node;
  ros::Subscriber subscriber;
  using Changing = boost::function<void(const sensor_msgs::ImagePtr&)>;
  if (what == "write") {
    subscriber = node.subscribe<sensor_msgs::Image>(argv[1], 100, Changing(overwrite));
  } else if (what == "resize") {
    subscriber = node.subscribe<sensor_msgs::Image>(argv[1], 100, Changing(resize));
  } else if (what == "fork") {
    subscriber = node.subscribe<sensor_msgs::Image>(argv[1], 100, Changing(fork_child));
  } else if (what == "threads") {
    subscriber = node.subscribe(argv[1], 100, threads);
  } else if (what == "read") {
    const boost::function<void(const sensor_msgs::ImageConstPtr&)> callback =
        [](const sensor_msgs::ImageConstPtr& image) { report(*image, good(*image)); };
    subscriber = node.subscribe<sensor_msgs::Image>(argv[1], 100, callback);
  } else {
    return 2;
  }
  ros::AsyncSpinner spinner(2);
  spinner.start();
  for (std::string line; std::getline(std::cin, line);) {
    const Counters now = counters();
    std::cout << "counters " << now.aliased << ' ' << now.live_buffers << ' ' << now.unknown << std::endl;
  }
}
