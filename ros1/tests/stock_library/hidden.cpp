// SPDX-License-Identifier: Apache-2.0
// No name that the linker sees says that a message is inside.
#include "lamp.hpp"

struct Own : lamp::Viewer {
  void view(const sensor_msgs::ImageConstPtr&) override {}
};

int main() {
  Own().view(nullptr);
  return static_cast<int>(lamp::Lamp().width() + lamp::width_of(lamp::lit()) - lamp::width_of(lamp::first));
}
