// SPDX-License-Identifier: Apache-2.0
// A stock program that loads two libraries of plug_in.cpp, its arguments. Both subscribe, and print the images that come. On the lines
// "publish NUMBER" of its input the first one publishes an image, and "spin" lets it wait for more.
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
  for (std::string line; std::getline(std::cin, line);) {
    const std::string verb = line.substr(0, line.find(' '));
    if (verb == "publish") call(libraries[0], "publish", static_cast<unsigned>(std::stoul(line.substr(verb.size()))));
    spin(0.05);
    std::cout << "done " << line << std::endl;
  }
  for (void* library : libraries) call(library, "stop");
}
