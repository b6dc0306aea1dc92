// SPDX-License-Identifier: Apache-2.0
// A C++ program at the other end of the Python tests. `cpp_peer publish TOPIC COUNT BYTES` publishes images whose data counts
// up from the image's number, and prints for each where its data lies: "image <n> <inode> <offset in the file>".
// `cpp_peer subscribe TOPIC COUNT` takes images and prints "image <n> <inode> <offset> <sum of the data> <ns since publish()>". `cpp_peer serve NAME` and `cpp_peer call NAME` are the ends of a
// std_srvs/SetBool service. `cpp_peer parameters [--ros-args ...]` is the node "camera" with parameters of every type.
#include <baton/msg/sensor_msgs/image.hpp>
#include <baton/srv/std_srvs/set_bool.hpp>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <numeric>
#include <sstream>
#include <string>
#include <thread>

#include "baton/node/node.hpp"

namespace {

using baton::msg::sensor_msgs::Image;
using baton::srv::std_srvs::SetBool;

// The file (a memfd) and the place in it that an address is mapped to: the same in every process that sees the same memory.
std::string place_of(const void* address) {
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0, offset = 0;
    char dash;
    std::string permissions, device, inode;
    std::istringstream(line) >> std::hex >> begin >> dash >> end >> permissions >> offset >> device >> inode;
    if (wanted >= begin && wanted < end) return inode + " " + std::to_string(offset + (wanted - begin));
  }
  return "nowhere 0";
}

int publish(const std::string& topic, int count, std::size_t bytes) {
  baton::Node node("cpp_publisher");
  auto publisher = node.advertise<Image>(topic, baton::QoS(100).reliable());
  if (!node.wait_for([&] { return publisher.matched() > 0; }, std::chrono::seconds(120))) return 1;
  for (int i = 0; i < count; ++i) {
    auto image = publisher.loan();
    image->header.frame_id = "camera " + std::to_string(i);
    image->encoding = "mono8";
    image->width = static_cast<std::uint32_t>(bytes);
    image->height = 1;
    image->data.resize(bytes);
    std::iota(image->data.begin(), image->data.end(), static_cast<std::uint8_t>(i));
    const std::string place = place_of(image->data.data());
    publisher.publish(std::move(image));
    std::cout << "image " << i << " " << place << std::endl;
  }
  publisher.wait_for_all_acked(std::chrono::seconds(120));
  std::string line;
  std::getline(std::cin, line);  // lives until its input ends
  return 0;
}

int subscribe(const std::string& topic, int count) {
  baton::Node node("cpp_subscriber");
  auto subscription = node.subscribe<Image>(topic, baton::QoS(100).reliable());
  baton::transport::WaitSet wait_set;
  wait_set.add(subscription.reader()).or_throw();
  std::cout << "ready" << std::endl;
  for (int i = 0; i < count;) {
    auto image = subscription.take();
    if (!image) {
      (void)wait_set.wait(std::chrono::seconds(120)).or_throw();
      continue;
    }
    const std::int64_t age =
        std::chrono::steady_clock::now().time_since_epoch().count() - image.info().source_monotonic_ns;
    const std::uint64_t sum = std::accumulate(image->data.begin(), image->data.end(), std::uint64_t{0});
    std::cout << "image " << i++ << " " << place_of(image->data.data()) << " " << sum << " " << age << std::endl;
  }
  return 0;
}

int serve(const std::string& name) {
  baton::shutdown_on_signals();
  baton::Node node("cpp_server");
  auto service = node.serve<SetBool>(name, [](const SetBool::Request& request, SetBool::Response& response) {
    response.success = !request.data;
    response.message = "from C++";
  });
  baton::Executor executor;
  executor.add(node);
  std::cout << "ready" << std::endl;
  executor.spin();
  return 0;
}

int call(const std::string& name) {
  baton::Node node("cpp_client");
  auto client = node.client<SetBool>(name);
  if (!client.wait_for_service(std::chrono::seconds(120))) return 1;
  SetBool::Request request;
  request.data = true;
  auto response = client.call(request, std::chrono::seconds(120));
  if (!response) return 1;
  std::cout << (response->success ? "true " : "false ") << response->message.str() << std::endl;
  return 0;
}

int parameters(int argc, char** argv) {
  baton::init(argc, argv);
  baton::Node node("camera");
  baton::ParameterDescriptor rate;
  rate.description = "frames a second";
  rate.integer_range = {1, 100, 1};
  node.declare_parameter("rate", 10, rate);
  baton::ParameterDescriptor constant;
  constant.read_only = true;
  node.declare_parameter("serial", "a b", constant);
  node.declare_parameter("on", true);
  node.declare_parameter("gain", 0.5);
  node.declare_parameter("bytes", std::vector<std::uint8_t>{0, 255});
  node.declare_parameter("flags", std::vector<bool>{true, false});
  node.declare_parameter("roi.size", std::vector<int>{640, 480});
  node.declare_parameter("weights", std::vector<double>{1.0, 2.5});
  node.declare_parameter("names", std::vector<std::string>{"left", ""});
  auto callback = node.add_on_set_parameters_callback([](const std::vector<baton::Parameter>& set) {
    for (const baton::Parameter& parameter : set)
      if (parameter.name() == "on" && !parameter.as_bool()) return baton::SetParametersResult{false, "it stays on"};
    return baton::SetParametersResult{};
  });
  std::cout << "ready" << std::endl;
  baton::spin(node);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 5 && std::string(argv[1]) == "publish")
    return publish(argv[2], std::atoi(argv[3]), std::strtoull(argv[4], nullptr, 10));
  if (argc == 4 && std::string(argv[1]) == "subscribe") return subscribe(argv[2], std::atoi(argv[3]));
  if (argc == 3 && std::string(argv[1]) == "serve") return serve(argv[2]);
  if (argc == 3 && std::string(argv[1]) == "call") return call(argv[2]);
  if (argc >= 2 && std::string(argv[1]) == "parameters") return parameters(argc, argv);
  std::cerr
      << "usage: cpp_peer publish TOPIC COUNT BYTES | subscribe TOPIC COUNT | serve NAME | call NAME | parameters\n";
  return 2;
}
