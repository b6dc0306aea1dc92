// SPDX-License-Identifier: Apache-2.0
#include "lamp.hpp"

int main() {
  lamp::show(sensor_msgs::Image());
  return static_cast<int>(lamp::picture()->width);
}
