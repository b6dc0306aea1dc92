// SPDX-License-Identifier: Apache-2.0
// The way middleware without shared memory works: every image is serialized (ROS 1 wire format) once, sent through a Unix
// stream socket to each receiver, and deserialized there. Asio does the sockets.
#pragma once

#include "link.hpp"

namespace baton::demo {

std::unique_ptr<ImageSender> make_socket_sender(const std::string& directory, const std::string& channel);
std::unique_ptr<ImageReceiver> make_socket_receiver(const std::string& directory, const std::string& channel);

}  // namespace baton::demo
