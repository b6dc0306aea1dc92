// SPDX-License-Identifier: Apache-2.0
#include <baton/node/node.hpp>

int main(int argc, char** argv) {
  baton::init(argc, argv);  // --ros-args --log-level debug
  baton::Node node("camera", "left");

  BATON_INFO(node, "%d by %d pixels", 640, 480);
  BATON_WARN_STREAM(node, "exposure " << 0.02 << " s");

  const baton::Logger driver = node.get_logger().get_child("driver");
  driver.set_level(baton::Logger::Level::kDebug);
  BATON_DEBUG(driver, "ready");

  for (int i = 0; i < 1000; ++i) BATON_ERROR_THROTTLE(node, baton::steady_clock(), 60'000, "frame %d is late", i);
}
