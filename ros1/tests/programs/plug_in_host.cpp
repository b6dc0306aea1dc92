// SPDX-License-Identifier: Apache-2.0
// A stock program that loads two libraries of plug_in.cpp, its arguments. The first one publishes five images; both subscribe, and print
// them. Each line of its input lets it wait for more.
#include <dlfcn.h>
#include <ros/callback_queue.h>
#include <ros/ros.h>

#include <iostream>
#include <string>

namespace {

template <class... Arguments>
void call(void* library, const char* function, Arguments... arguments) {
  reinterpret_cast<void (*)(Arguments...)>(::dlsym(library, function))(arguments...);
}

}  // namespace

int main(int argc, char** argv) {
  ros::init(argc, argv, "host", ros::init_options::AnonymousName);
  if (argc != 3) return 2;
  const ros::NodeHandle node;
  void* libraries[2];
  for (int i = 0; i < 2; ++i) {
    libraries[i] = ::dlopen(argv[1 + i], RTLD_NOW | RTLD_LOCAL);
    if (libraries[i] == nullptr) {
      std::cerr << ::dlerror() << std::endl;
      return 1;
    }
  }
  call(libraries[0], "advertise");
  call(libraries[0], "subscribe", "first");
  call(libraries[1], "subscribe", "second");
  const auto spin = [](double seconds) {
    const ros::WallTime end = ros::WallTime::now() + ros::WallDuration(seconds);
    while (ros::WallTime::now() < end) ros::getGlobalCallbackQueue()->callAvailable(ros::WallDuration(0.01));
  };
  // roscpp counts both as one subscriber, so nothing says when the second one is there.
  spin(1);
  for (unsigned i = 1; i <= 5; ++i) {
    call(libraries[0], "publish", i);
    spin(0.05);
  }
  for (std::string line; std::getline(std::cin, line);) {
    spin(0.5);
    std::cout << "done " << line << std::endl;
  }
  for (void* library : libraries) call(library, "stop");
}
