// SPDX-License-Identifier: Apache-2.0
// rclpy in this process: an embedded interpreter runs rclpy_ends.py.
#include "embedded.hpp"
#include "keeper.hpp"
#include "middleware.hpp"

namespace baton::perf {
namespace {

const char* setting_of(const RunPlan& plan) { return plan.variant == "accelerated" ? "baton" : plan.variant.c_str(); }

/// The module of rclpy_ends.py. The interpreter lives as long as the process.
PyObject* ends(const RunPlan& plan) {
  use_middleware(plan,
                 {setting_of(plan),
                  {"_ROS_WHEELS_BOOTSTRAP_COMPLETE=1", "PYTHONPATH=" BATON_PERF_RCLPY_FOLDER ":" BATON_PYTHON_FOLDER}});
  static std::once_flag once;
  static PyObject* module = nullptr;
  std::call_once(once, [&] {
    module = python::start(BATON_ROS2_PYTHON, "rclpy_ends", plan.variant == "accelerated" || plan.variant == "heap");
  });
  return module;
}

void join(const RunPlan& plan) {
  KeeperTask task;
  task.leftovers = {"/dev/shm/fast*", "/dev/shm/sem.fast*"};
  join_keeper(plan, task);
}

/// In the order of the arguments of the module's classes.
PyObject* make(const RunPlan& plan, const char* type, unsigned index, Receiver* receiver) {
  PyObject* module = ends(plan);
  join(plan);
  const python::Lock lock;
  const std::string name = (receiver != nullptr ? "subscriber_" : "publisher_") + std::to_string(index);
  const std::string ns = ros_namespace(plan);
  if (receiver == nullptr) {
    return PyObject_CallMethod(module, type, "sssIIi", plan.topic.c_str(), name.c_str(), ns.c_str(), ros_domain(plan),
                               plan.depth, plan.reliable ? 1 : 0);
  }
  PyObject* callback = python::deliver_to(*receiver);
  PyObject* made = PyObject_CallMethod(module, type, "OsssIIi", callback, plan.topic.c_str(), name.c_str(), ns.c_str(),
                                       ros_domain(plan), plan.depth, plan.reliable ? 1 : 0);
  Py_DECREF(callback);
  return made;
}

}  // namespace

PeerInfo peer_info() {
  PeerInfo info{"ROS 2, Python",
                "rclpy " BATON_RCLPY_VERSION,
                "rclpy with sensor_msgs/Image and a SingleThreadedExecutor; settings of rmw_fastrtps_cpp and "
                "rmw_baton_cpp as of peer ros2; "
                "accelerated: rmw_baton_cpp and baton.rclpy.accelerate(); heap: with libbaton_heap.so, too",
                {"default", "tuned", "large_data"}};
  if (*BATON_RMW_LIBRARY != '\0') info.variants.insert(info.variants.end(), {"baton", "accelerated", "heap"});
  info.can_spin = true;
  info.largest = std::size_t{1} << 30;
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned index) {
  return std::make_unique<python::Publisher>(plan, make(plan, "Publisher", index, nullptr), at_the_end);
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned index, Receiver& receiver) {
  return std::make_unique<python::Subscriber>(make(plan, "Subscriber", index, &receiver), at_the_end);
}

}  // namespace baton::perf
