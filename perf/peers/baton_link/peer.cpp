// SPDX-License-Identifier: Apache-2.0
// Baton between two hosts. Each host has a domain directory of its own, and the first of its processes is its link.
#include <filesystem>

#include "../baton/ends.hpp"
#include "baton/link/link.hpp"

namespace baton::perf {
namespace {

NodeOptions options_of(const Plan& plan) {
  return NodeOptions{plan.domain, plan.directory + "/host_" + std::to_string(plan.host), {}};
}

void print(const transport::Diagnostic& diagnostic) {
  if (diagnostic.level != transport::Diagnostic::Level::kInfo)
    std::fprintf(stderr, "link: %s\n", diagnostic.text.c_str());
}

/// Starts this process's link, which ends with the process. The other processes of a host wait for the role.
void start_link(const Plan& plan) {
  if (plan.hosts.empty()) throw std::runtime_error("the link joins two hosts: give --network");
  static const std::unique_ptr<link::Link> started = [&] {
    const NodeOptions ends = options_of(plan);
    std::filesystem::create_directory(ends.runtime_directory);
    std::filesystem::permissions(ends.runtime_directory, std::filesystem::perms::owner_all);
    link::Options options;
    options.domain = ends.domain;
    options.runtime_directory = ends.runtime_directory;
    options.interface = plan.address();
    for (const std::string& host : plan.hosts) {
      if (host != plan.address()) options.peers.push_back(host);
    }
    options.host_name = "host_" + std::to_string(plan.host);
    options.on_diagnostic = print;
    return std::move(link::Link::start(options)).or_throw();
  }();
}

}  // namespace

PeerInfo peer_info() {
  PeerInfo info{"Baton's link",
                BATON_VERSION_STRING,
                "loans of real message types, wait set; the link runs in a process of each host",
                {"link"}};
  info.network_variants = {"link"};
  info.has_qos = true;
  return info;
}

std::unique_ptr<PublisherEnd> make_publisher(const Plan& plan, unsigned index) {
  start_link(plan);
  return for_type(plan.message, [&](auto* type) -> std::unique_ptr<PublisherEnd> {
    return std::make_unique<BatonPublisher<std::remove_pointer_t<decltype(type)>>>(plan, index, options_of(plan));
  });
}
std::unique_ptr<SubscriberEnd> make_subscriber(const Plan& plan, unsigned index, Receiver& receiver) {
  start_link(plan);
  return for_type(plan.message, [&](auto* type) -> std::unique_ptr<SubscriberEnd> {
    using T = std::remove_pointer_t<decltype(type)>;
    return std::make_unique<BatonSubscriber<T>>(plan, index, receiver, options_of(plan));
  });
}

}  // namespace baton::perf
