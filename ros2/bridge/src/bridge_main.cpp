// SPDX-License-Identifier: Apache-2.0
// The program baton_bridge: joins Baton with the nodes of another RMW of this ROS 2. `baton bridge` starts it.
//
//   baton_bridge RMW
//
// The rest is said by the environment, as to any program of ROS 2 (docs/guides/environment.md). One process of a domain works; the others wait
// for its end, and one of them takes over.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <memory>
#include <thread>

#include "baton/os/directory.hpp"
#include "baton/os/environment.hpp"
#include "baton/os/file_lock.hpp"
#include "baton/os/hexadecimal.hpp"
#include "baton/os/process.hpp"
#include "baton/os/termination.hpp"
#include "baton/transport/runtime_directory.hpp"
#include "bridge.hpp"
#include "discovery.hpp"
#include "log.hpp"

namespace {

using namespace baton;
using namespace baton::bridge;

constexpr const char* kLockFile = "bridge.lock";
constexpr auto kLockPause = std::chrono::milliseconds(100);
constexpr int kMostRos2Domain = 232;

int ros2_domain(int domain) {
  const std::string named = variable("ROS_DOMAIN_ID");
  const int number = named.empty() ? domain : std::atoi(named.c_str());
  if (number > kMostRos2Domain || (!named.empty() && named != std::to_string(number)))
    throw BridgeError("a domain of ROS 2 is a number from 0 to " + std::to_string(kMostRos2Domain) + ", not '" +
                      (named.empty() ? std::to_string(domain) : named) + "': set ROS_DOMAIN_ID");
  return number;
}

/// As rcl reads it: the folder of the enclave's files; empty without SROS 2.
std::string security_root(const std::string& enclave, bool enforce) {
  if (variable("ROS_SECURITY_ENABLE") != "true") return "";
  const std::string root = variable("ROS_SECURITY_KEYSTORE") + "/enclaves" + enclave;
  std::error_code error;
  if (std::filesystem::is_directory(root, error)) return root;
  const std::string missing = "SROS 2 is on, and there is no enclave " + root;
  if (enforce) throw BridgeError(missing);
  log_line(missing + ": this bridge is without security, as ROS_SECURITY_STRATEGY allows");
  return "";
}

/// The bridge that began first has the smallest name, so that a later one stands by.
std::string bridge_name() {
  const auto id = os::random_id();
  if (!id) throw BridgeError(id.error().message);
  char text[64];
  std::snprintf(text, sizeof text, "%s_%016llx_%s", kBridge, static_cast<unsigned long long>(std::time(nullptr)),
                os::hexadecimal(*id).c_str());
  return text;
}

SideOptions side_options(std::string label, int domain) {
  SideOptions options;
  options.label = std::move(label);
  options.domain = static_cast<std::size_t>(domain);
  if (const std::string enclave = variable("ROS_SECURITY_ENCLAVE_OVERRIDE"); !enclave.empty())
    options.enclave = enclave;
  return options;
}

SideOptions other_options(const std::string& rmw, int domain) {
  SideOptions options = side_options(rmw, ros2_domain(domain));
  options.discovers = true;
  options.enforce_security = variable("ROS_SECURITY_STRATEGY") == "Enforce";
  options.security_root = security_root(options.enclave, options.enforce_security);
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
  if (argc != 2) throw BridgeError("expected the name of one RMW, such as rmw_fastrtps_cpp");
  const std::string rmw = argv[1];
  const auto domain = transport::resolve_domain(-1);
  if (!domain) throw BridgeError(domain.error().message);
  SideOptions baton_options = side_options("Baton", *domain);
  baton_options.before_service = "";
  baton_options.behind_service = "/_request";
  SideOptions options = other_options(rmw, *domain);
  baton_options.ignores_own = true;
  options.announces = true;
  auto directory = transport::open_domain_directory(*domain);
  if (!directory) throw BridgeError(directory.error().message);
  const os::UniqueFd role = take_role(*directory);
  baton_options.bridge = options.bridge = bridge_name();
  // Libraries first: what is missing is named before anything is joined.
  RmwLibrary baton = load_rmw("rmw_baton_cpp");
  RmwLibrary other = load_rmw(rmw);
  if (other.identifier == baton.identifier) throw BridgeError(rmw + " is Baton itself: name another RMW");
  Bridge bridge(std::move(baton), baton_options, std::move(other), options);
  if (const auto handled = os::on_termination([&] { bridge.stop(); }); !handled)
    throw BridgeError(handled.error().message);
  log_line("joins Baton, domain " + std::to_string(*domain) + ", with " + rmw);
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
