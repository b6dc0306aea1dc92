// SPDX-License-Identifier: Apache-2.0
// Hosts in one process for tests: each has a runtime directory of its own, and the loopback device joins their links.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "baton/link/link.hpp"
#include "endpoint_test_support.hpp"
#include "stream/loopback_test_support.hpp"

namespace baton::link {

/// A type that a link can carry: its definition is known.
inline transport::TypeInfo text_type() {
  transport::TypeInfo type;
  type.name = "a/Text";
  type.hash.fill(5);
  type.definition = "message a/Text\nstring data\n";
  type.skeleton_bytes = 8;
  return type;
}

/// Of a host that is reached at `port` of the loopback device, and looks for `peers` alone.
inline Options options_of(const transport::test::TestDomain& domain, const std::string& name, std::uint16_t port,
                          std::vector<std::string> peers = {}) {
  Options options;
  options.domain = 0;
  options.runtime_directory = domain.path();
  options.peers = std::move(peers);
  options.interface = "127.0.0.1";
  options.port = port;
  options.multicast = false;
  options.host_name = name;
  return options;
}

}  // namespace baton::link
