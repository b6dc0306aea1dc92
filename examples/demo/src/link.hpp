// SPDX-License-Identifier: Apache-2.0
// The one interface through which the demo's roles send and receive images: Baton, or serialized messages over Unix sockets.
// Thread rules: one thread per object.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "baton/msg/sensor_msgs/image.hpp"

namespace baton::demo {

using Image = baton::msg::sensor_msgs::Image;

/// Counts of a link's work on payloads so far, each counted where the work is done.
struct LinkCounters {
  std::uint64_t messages = 0;  ///< sent or received
  std::uint64_t copies = 0;    ///< passes over a whole payload: serialize, send, receive, deserialize
  std::uint64_t copied_bytes = 0;
  std::uint64_t lost = 0;
};

class ImageSender {
 public:
  virtual ~ImageSender() = default;
  /// Lets `fill` build the next image where the transport wants it, then sends it. `stamp` is called right before the send,
  /// when the payload is complete.
  virtual void send(const std::function<void(Image&)>& fill, const std::function<void(Image&)>& stamp) = 0;
  virtual std::uint32_t receivers() const = 0;
  virtual LinkCounters counters() const = 0;
};

class ImageReceiver {
 public:
  virtual ~ImageReceiver() = default;
  /// Waits for the next image and hands it to `use`; false on timeout. The image lives during the call.
  virtual bool receive(std::chrono::milliseconds timeout, const std::function<void(const Image&)>& use) = 0;
  virtual LinkCounters counters() const = 0;
};

/// `kind`: "baton" or "socket". `channel` names the stream; `directory` is the demo's runtime directory.
std::unique_ptr<ImageSender> make_sender(const std::string& kind, const std::string& directory,
                                         const std::string& channel);
std::unique_ptr<ImageReceiver> make_receiver(const std::string& kind, const std::string& directory,
                                             const std::string& channel, const std::string& role);

}  // namespace baton::demo
