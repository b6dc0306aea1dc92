// SPDX-License-Identifier: Apache-2.0
// Small packets to all machines of the networks that this one is in: IPv4 multicast (ip(7)), one hop far, not back to this machine.
// Thread rules: one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "baton/os/parent_only_fd.hpp"
#include "baton/os/result.hpp"

namespace baton::os {

class Multicast {
 public:
  /// `group`: an IPv4 multicast address. `interface`: the name or an address of the only interface to use; empty: all that can multicast,
  /// but for the loopback. Errors: invalid_argument (the interface), system.
  static Result<Multicast> open(const std::string& group, std::uint16_t port, const std::string& interface);

  /// Looks for interfaces that have come or gone. The number of those in use.
  std::size_t refresh();
  /// Sends to every interface; one that fails is left out.
  void send(const std::byte* bytes, std::size_t size) noexcept;
  struct Packet {
    std::string address;  ///< of the sender, as text
    std::size_t size = 0;
  };
  /// The next packet, cut off at `size`; empty if none came within `timeout`.
  std::optional<Packet> receive(std::byte* bytes, std::size_t size, std::chrono::milliseconds timeout);

 private:
  std::unique_ptr<ParentOnlyFd> fd_;
  std::uint32_t group_ = 0;  // network order
  std::uint16_t port_ = 0;
  std::string interface_;
  std::vector<int> indexes_;  // of the interfaces that are joined
};

}  // namespace baton::os
