// SPDX-License-Identifier: Apache-2.0
// A sensor_msgs/Image in one serialization format, and ends that send it over one common transport (stream/): a Unix
// socket, or TCP with the setting transport=tcp. One file per format; each builds the message and reads it as its
// documentation advises for speed.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "stream.hpp"

namespace baton::perf {

class Encoder {
 public:
  virtual ~Encoder() = default;
  /// Makes a message with room for `bytes` of pixels; returns the place of the pixels.
  virtual std::byte* begin(std::size_t bytes) = 0;
  /// The parts to send, valid until the next begin().
  virtual void finish(std::vector<iovec>& parts) = 0;
};

class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Reads one message and hands its pixels over. `wire` is aligned to 8.
  virtual void decode(std::byte* wire, std::size_t bytes, Receiver& receiver) = 0;
};

struct Format {
  std::function<std::unique_ptr<Encoder>(const RunPlan&)> encoder;
  std::function<std::unique_ptr<Decoder>(const RunPlan&)> decoder;
};

Format cdr_format();   // ROS 2's, by Baton's codec
Format sfm_format();   // Baton's own: the message is sent with its layout in memory
Format ros1_format();  // roscpp_serialization
Format protobuf_format();
Format flatbuffers_format();
Format capnproto_format();

std::unique_ptr<PublisherEnd> make_encoding_publisher(const RunPlan& plan, unsigned index, const Format& format);
std::unique_ptr<SubscriberEnd> make_decoding_subscriber(const RunPlan& plan, const Format& format, Receiver& receiver);

}  // namespace baton::perf
