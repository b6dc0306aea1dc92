// SPDX-License-Identifier: Apache-2.0
#include <baton/node/node.hpp>
#include <iostream>

int main(int argc, char** argv) {
  baton::init(argc, argv);  // --ros-args -p rate:=60 --params-file camera.yaml
  baton::Node node("camera");

  baton::ParameterDescriptor descriptor;
  descriptor.description = "frames a second";
  descriptor.integer_range = {1, 100};
  int rate = node.declare_parameter("rate", 30, descriptor);
  const std::string device = node.declare_parameter("device", "/dev/video0");
  std::cout << device << " at " << rate << std::endl;

  auto checked = node.add_on_set_parameters_callback([&](const std::vector<baton::Parameter>& parameters) {
    baton::SetParametersResult result;
    for (const baton::Parameter& parameter : parameters)
      if (parameter.name() == "device") result = {false, "the device is open"};
    return result;
  });
  auto followed = node.add_post_set_parameters_callback([&](const auto&) { node.get_parameter("rate", rate); });

  std::cout << node.set_parameter({"rate", 50}).successful << " " << rate << std::endl;  // as `baton param set` does
  std::cout << node.set_parameter({"rate", 500}).reason << std::endl;
  std::cout << node.set_parameter({"device", "/dev/video1"}).reason << std::endl;
}
