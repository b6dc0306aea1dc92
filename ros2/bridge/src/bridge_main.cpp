// SPDX-License-Identifier: Apache-2.0
// The program baton_bridge: joins Baton with the nodes of another RMW of this ROS 2. `baton bridge` starts it.
//
//   baton_bridge RMW [--domain N] [--ros2-domain N] [--enclave NAME]
//
// One process of a domain works; the others wait for its end, and one of them takes over.
#include <getopt.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>

#include "baton/os/directory.hpp"
#include "baton/os/environment.hpp"
#include "baton/os/file_lock.hpp"
#include "baton/os/termination.hpp"
#include "baton/transport/runtime_directory.hpp"
#include "bridge.hpp"
#include "log.hpp"

namespace {

using namespace baton;
using namespace baton::bridge;

constexpr const char* kLockFile = "bridge.lock";
constexpr auto kLockPause = std::chrono::milliseconds(100);

struct BridgeArguments {
  std::string rmw, enclave = "/";
  int domain = -1, ros2_domain = -1;
};

int number(const char* text, const char* option, int most) {
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*text == '\0' || *end != '\0' || value < 0 || value > most)
    throw BridgeError(std::string(option) + " " + text + ": expected a number from 0 to " + std::to_string(most));
  return static_cast<int>(value);
}

BridgeArguments parse(int argc, char** argv) {
  BridgeArguments arguments;
  const option options[] = {{"domain", required_argument, nullptr, 'd'},
                            {"ros2-domain", required_argument, nullptr, 'r'},
                            {"enclave", required_argument, nullptr, 'e'},
                            {nullptr, 0, nullptr, 0}};
  for (int found; (found = getopt_long(argc, argv, "", options, nullptr)) != -1;) {
    switch (found) {
      case 'd':
        arguments.domain = number(optarg, "--domain", transport::kMaxDomain);
        break;
      case 'r':
        arguments.ros2_domain = number(optarg, "--ros2-domain", 232);
        break;
      case 'e':
        arguments.enclave = optarg;
        break;
      default:
        throw BridgeError("see baton bridge --help");
    }
  }
  if (optind + 1 != argc) throw BridgeError("expected the name of one RMW, such as rmw_fastrtps_cpp");
  arguments.rmw = argv[optind];
  return arguments;
}

const char* variable(const char* name) {
  const char* value = os::environment(name);
  return value != nullptr ? value : "";
}

/// As rcl reads it.
rmw_automatic_discovery_range_t discovery_range() {
  const std::string range = variable("ROS_AUTOMATIC_DISCOVERY_RANGE");
  if (range == "OFF") return RMW_AUTOMATIC_DISCOVERY_RANGE_OFF;
  if (range == "LOCALHOST" || (range.empty() && std::string(variable("ROS_LOCALHOST_ONLY")) == "1"))
    return RMW_AUTOMATIC_DISCOVERY_RANGE_LOCALHOST;
  return range == "SYSTEM_DEFAULT" ? RMW_AUTOMATIC_DISCOVERY_RANGE_SYSTEM_DEFAULT
                                   : RMW_AUTOMATIC_DISCOVERY_RANGE_SUBNET;
}

SideOptions other_options(const BridgeArguments& arguments, int domain) {
  SideOptions options;
  options.label = arguments.rmw;
  const std::string named = variable("ROS_DOMAIN_ID");
  options.domain = static_cast<std::size_t>(arguments.ros2_domain >= 0 ? arguments.ros2_domain
                                            : !named.empty()           ? number(named.c_str(), "ROS_DOMAIN_ID", 232)
                                                                       : domain);
  options.enclave = arguments.enclave;
  options.range = discovery_range();
  if (std::string(variable("ROS_SECURITY_ENABLE")) == "true") {
    options.security_root = std::string(variable("ROS_SECURITY_KEYSTORE")) + "/enclaves" + arguments.enclave;
    options.enforce_security = std::string(variable("ROS_SECURITY_STRATEGY")) == "Enforce";
  }
  return options;
}

/// Waits until this process is the bridge of the domain. The kernel gives the lock back when the process ends, however it ends.
os::UniqueFd take_role(const transport::DomainDirectory& directory) {
  auto file = os::open_file_at(directory.fd.get(), kLockFile, directory.socket_mode, directory.gid);
  if (!file) throw BridgeError(file.error().message);
  if (!os::try_lock_byte(file->get(), 0)) {
    log_line("another bridge serves " + directory.path + "; this one is on standby");
    while (!os::try_lock_byte(file->get(), 0)) std::this_thread::sleep_for(kLockPause);
  }
  return std::move(*file);
}

int run(int argc, char** argv) {
  const BridgeArguments arguments = parse(argc, argv);
  const auto domain = transport::resolve_domain(arguments.domain);
  if (!domain) throw BridgeError(domain.error().message);
  auto directory = transport::open_domain_directory(*domain);
  if (!directory) throw BridgeError(directory.error().message);
  const os::UniqueFd role = take_role(*directory);
  // Libraries first: what is missing is named before anything is joined.
  RmwLibrary baton = load_rmw("rmw_baton_cpp");
  RmwLibrary other = load_rmw(arguments.rmw);
  if (other.identifier == baton.identifier) throw BridgeError(arguments.rmw + " is Baton itself: name another RMW");
  SideOptions baton_options;
  baton_options.label = "Baton";
  baton_options.domain = static_cast<std::size_t>(*domain);
  baton_options.enclave = arguments.enclave;
  Bridge bridge(std::move(baton), baton_options, std::move(other), other_options(arguments, *domain));
  if (const auto handled = os::on_termination([&] { bridge.stop(); }); !handled)
    throw BridgeError(handled.error().message);
  log_line("joins Baton, domain " + std::to_string(*domain) + ", with " + arguments.rmw);
  bridge.run();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "baton_bridge: %s\n", error.what());
    return 2;
  }
}
