// SPDX-License-Identifier: Apache-2.0
#include "lamp.hpp"

int main() {
  const sensor_msgs::Image image;
  return lamp::Bulb("seven w").watts() - 7 + static_cast<int>(image.width);
}
