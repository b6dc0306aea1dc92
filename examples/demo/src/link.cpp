// SPDX-License-Identifier: Apache-2.0
#include "link.hpp"

#include <stdexcept>

#include "baton_link.hpp"
#include "socket_link.hpp"

namespace baton::demo {

std::unique_ptr<ImageSender> make_sender(const std::string& kind, const std::string& directory,
                                         const std::string& channel) {
  if (kind == "baton") return make_baton_sender(directory, channel);
  if (kind == "socket") return make_socket_sender(directory, channel);
  throw std::runtime_error("unknown transport '" + kind + "': use baton or socket");
}

std::unique_ptr<ImageReceiver> make_receiver(const std::string& kind, const std::string& directory,
                                             const std::string& channel, const std::string& role) {
  if (kind == "baton") return make_baton_receiver(directory, channel, role);
  if (kind == "socket") return make_socket_receiver(directory, channel);
  throw std::runtime_error("unknown transport '" + kind + "': use baton or socket");
}

}  // namespace baton::demo
