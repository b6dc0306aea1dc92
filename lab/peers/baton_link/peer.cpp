// SPDX-License-Identifier: Apache-2.0
// Baton between two hosts: namespaces, or two domain directories of one machine. The first process of each host is its link.
#include <filesystem>

#include "../baton/ends.hpp"
#include "baton/link/link.hpp"
#include "keeper.hpp"

namespace baton::perf {
namespace {

/// Publishers are on the first host. A run on one machine has two as well, joined by its loopback device.
unsigned host_of(const RunPlan& plan) {
  return plan.hosts.empty() ? (plan.process < plan.publishers ? 0U : 1U) : plan.host;
}
std::string address_of(const RunPlan& plan, unsigned host) {
  return plan.hosts.empty() ? "127.0.0.1" : plan.hosts.at(host);
}
std::uint16_t port_of(const RunPlan& plan, unsigned host) {
  return static_cast<std::uint16_t>(23000 + 2 * run_number(plan, 400) + host);
}

NodeOptions options_of(const RunPlan& plan) {
  return NodeOptions{plan.domain, plan.directory + "/host_" + std::to_string(host_of(plan)), {}};
}

void print(const transport::Diagnostic& diagnostic) {
  if (diagnostic.level != transport::Diagnostic::Level::kInfo)
    std::fprintf(stderr, "link: %s\n", diagnostic.text.c_str());
}

/// Starts this process's link, which ends with the process. The other processes of a host are on standby.
void start_link(const RunPlan& plan) {
  if (plan.live) throw std::runtime_error("the link is no transport of perf_test: baton perf run -p baton_link");
  if (plan.one_process) throw std::runtime_error("one process has one link: the link joins processes of two hosts");
  static const std::unique_ptr<link::Link> started = [&] {
    const NodeOptions ends = options_of(plan);
    std::filesystem::create_directory(ends.runtime_directory);
    std::filesystem::permissions(ends.runtime_directory, std::filesystem::perms::owner_all);
    const unsigned host = host_of(plan), other = 1 - host;
    link::Options options;
    options.domain = ends.domain;
    options.runtime_directory = ends.runtime_directory;
    options.interface = address_of(plan, host);
    options.port = port_of(plan, host);
    options.peers.push_back(address_of(plan, other) + ":" + std::to_string(port_of(plan, other)));
    options.host_name = "host_" + std::to_string(host);
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

std::unique_ptr<PublisherEnd> make_publisher(const RunPlan& plan, unsigned index) {
  start_link(plan);
  return for_type(plan.message, [&](auto* type) -> std::unique_ptr<PublisherEnd> {
    return std::make_unique<BatonPublisher<std::remove_pointer_t<decltype(type)>>>(plan, index, options_of(plan));
  });
}
std::unique_ptr<SubscriberEnd> make_subscriber(const RunPlan& plan, unsigned index, Receiver& receiver) {
  start_link(plan);
  return for_type(plan.message, [&](auto* type) -> std::unique_ptr<SubscriberEnd> {
    using T = std::remove_pointer_t<decltype(type)>;
    return std::make_unique<BatonSubscriber<T>>(plan, index, receiver, options_of(plan));
  });
}

}  // namespace baton::perf
