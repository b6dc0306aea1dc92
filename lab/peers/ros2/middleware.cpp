// SPDX-License-Identifier: Apache-2.0
#include "middleware.hpp"

#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <mutex>

#include "keeper.hpp"
#include "restart.hpp"

namespace baton::perf {
namespace {

/// Shared memory only, with room for all messages that may be unread; each message in one piece, written by the
/// publisher's thread.
void write_profile(const RunPlan& plan, const std::string& path) {
  const std::size_t message = plan.bytes + 4096;
  const std::size_t segment =
      std::min<std::size_t>(std::max<std::size_t>(64 << 20, message * (plan.depth + 6)), 3U << 30);
  std::ofstream(path) << R"(<?xml version="1.0" encoding="UTF-8" ?>
<dds xmlns="http://www.eprosima.com"><profiles>
  <transport_descriptors><transport_descriptor>
    <transport_id>large</transport_id><type>SHM</type>
    <segment_size>)" << segment
                      << "</segment_size><maxMessageSize>" << segment << R"(</maxMessageSize>
  </transport_descriptor></transport_descriptors>
  <participant profile_name="large" is_default_profile="true"><rtps>
    <userTransports><transport_id>large</transport_id></userTransports>
    <useBuiltinTransports>false</useBuiltinTransports>
  </rtps></participant>
</profiles></dds>
)";
}

void set(const std::string& name, const std::string& value) { ::setenv(name.c_str(), value.c_str(), 1); }

void set_environment(const RunPlan& plan, const Middleware& middleware) {
  for (const char* name :
       {"FASTDDS_DEFAULT_PROFILES_FILE", "FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_BUILTIN_TRANSPORTS",
        "RMW_IMPLEMENTATION", "RMW_FASTRTPS_USE_QOS_FROM_XML", "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_STATIC_PEERS",
        "BATON_DOMAIN", "BATON_HEAP", "BATON_ACCELERATE"})
    ::unsetenv(name);
  set("ROS_LOG_DIR", plan.directory);
  prepend("LD_LIBRARY_PATH", BATON_ROS2_LIBRARIES);  // as the wheels' Python does
  for (const std::string& each : middleware.environment)
    set(each.substr(0, each.find('=')), each.substr(each.find('=') + 1));
  if (middleware.setting == "tuned") {
    const std::string path = plan.directory + "/fastdds_" + std::to_string(::getpid()) + ".xml";
    write_profile(plan, path);
    set("FASTDDS_DEFAULT_PROFILES_FILE", path);
    set("FASTRTPS_DEFAULT_PROFILES_FILE", path);  // its name in older versions
  }
  if (middleware.setting == "large_data") set("FASTDDS_BUILTIN_TRANSPORTS", "LARGE_DATA");
  const bool heap = middleware.setting == "heap";
  if (!heap && middleware.setting != "baton") return;
  set("RMW_IMPLEMENTATION", "rmw_baton_cpp");
  set("BATON_RUNTIME_DIR", plan.directory);
  // The wheels' librcl.so names librmw_fastrtps_cpp.so itself (docs/guides/ros2.md).
  prepend("LD_PRELOAD", BATON_RMW_LIBRARY);
  if (heap) prepend("LD_PRELOAD", BATON_HEAP_LIBRARY);  // before all others
}

/// The functions given to at_the_end(); run with the statics' destructors, before those of the libraries.
class Ends {
 public:
  ~Ends() {
    std::signal(SIGPROF, [](int) { ::_exit(0); });
    const itimerval limit{{0, 0}, {2, 0}};
    ::setitimer(ITIMER_PROF, &limit, nullptr);
    while (!ends_.empty()) {
      ends_.back()();
      ends_.pop_back();
    }
  }
  void add(std::function<void()> end) {
    const std::lock_guard<std::mutex> lock(mutex_);
    ends_.push_back(std::move(end));
  }

 private:
  std::mutex mutex_;
  std::vector<std::function<void()>> ends_;
};

}  // namespace

void at_the_end(std::function<void()> end) {
  static Ends ends;
  ends.add(std::move(end));
}

void use_middleware(const RunPlan& plan, const Middleware& middleware) {
  restart_once(plan, [&] { set_environment(plan, middleware); });
}

unsigned ros_domain(const RunPlan& plan) { return 1 + run_number(plan, 99); }

/// A name of ROS may not begin with a digit, nor contain two underscores in a row.
std::string ros_namespace(const RunPlan& plan) {
  std::string name = "run_" + run_id(plan);
  for (std::size_t at; (at = name.find("__")) != std::string::npos;) name.erase(at, 1);
  return "/" + name;
}

}  // namespace baton::perf
