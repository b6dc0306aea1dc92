// SPDX-License-Identifier: Apache-2.0
// rospy in this process: an embedded interpreter runs rospy_ends.py. `tcpros`: a stock program. `accelerated`: the same program
// after baton.rospy.accelerate(). `baton`: baton.rospy's own ends, whose messages are views.
#include "embedded.hpp"
#include "master.hpp"

#include <cstdlib>
#include <memory>
#include <string>

namespace baton::perf {
namespace {

/// The module of rospy_ends.py, as a node of the run's master.
PyObject* ends(const RunPlan& plan) {
  static std::once_flag once;
  static PyObject* module = nullptr;
  std::call_once(once, [&] {
    static const RosMaster master(plan);  // ends after the ends
    ::setenv("ROS_MASTER_URI", master.uri().c_str(), 1);
    ::setenv("ROS_IP", plan.address().c_str(), 1);
    ::setenv("ROS_HOME", plan.directory.c_str(), 1);
    ::setenv("ROS_LOG_DIR", plan.directory.c_str(), 1);
    ::setenv("BATON_RUNTIME_DIR", plan.directory.c_str(), 1);
    ::setenv("PYTHONPATH", BATON_PERF_ROSPY_FOLDER ":" BATON_PYTHON_FOLDER, 1);
    for (const char* name : {"BATON_DOMAIN", "BATON_ROS1", "BATON_ACCELERATE"}) ::unsetenv(name);
    module = python::start(BATON_ROSPY_PYTHON, "rospy_ends", plan.variant == "accelerated");
    {
      const python::Lock lock;
      Py_DECREF(python::check(PyObject_CallMethod(module, "start", "s", "perf"), "rospy.init_node"));
    }
  });
  return module;
}

PyObject* make(const RunPlan& plan, const char* type, Receiver* receiver) {
  PyObject* module = ends(plan);
  const python::Lock lock;
  const int views = plan.variant == "baton" ? 1 : 0;
  if (receiver == nullptr) return PyObject_CallMethod(module, type, "sIi", plan.topic.c_str(), plan.depth, views);
  PyObject* callback = python::deliver_to(*receiver);
  PyObject* made = PyObject_CallMethod(module, type, "OsIi", callback, plan.topic.c_str(), plan.depth, views);
  Py_DECREF(callback);
  return made;
}

}  // namespace

PeerInfo peer_info() {
  PeerInfo info{"rospy",
                ROSPY_VERSION_STRING,
                "sensor_msgs/Image, TCP_NODELAY, queues = depth, buffers of 16 MiB; accelerated: the same program with "
                "baton.rospy.accelerate(); baton: baton.rospy's publishers and subscriptions",
                {"tcpros"}};
#ifdef BATON_ROSPY_VIEWS
  info.variants.insert(info.variants.end(), {"accelerated", "baton"});
#endif
  info.largest = std::size_t{1} << 28;
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned) {
  return std::make_unique<python::Publisher>(plan, make(plan, "Publisher", nullptr));
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned, Receiver& receiver) {
  return std::make_unique<python::Subscriber>(make(plan, "Subscriber", &receiver));
}

}  // namespace baton::perf
