// SPDX-License-Identifier: Apache-2.0
// Decodes hostile ROS 1 bytes. Checked besides memory safety: accepted bytes are a valid message, and decoding its
// encoding gives the message again.
#include "baton/message/ros1_codec.hpp"
#include "codec_input.hpp"

using namespace baton::message;
using namespace baton::message::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = Input::read(data, size);
  if (!input) return 0;
  const Type& type = input->definition.type();
  const auto codec = Ros1Codec::compile(type);
  if (!codec) return 0;
  FlatBuffer first;
  FlatBuilder builder(first, kMaxMessageBytes);
  if (!codec->decode(input->bytes, builder).ok()) return 0;
  require(valid(type, first.bytes()));
  const auto wire = encode(*codec, first.bytes());
  require(wire.size() == input->bytes.size);
  FlatBuffer second;
  FlatBuilder again(second, kMaxMessageBytes);
  require(codec->decode(bytes_of(wire), again).ok());
  require(equal(first.bytes(), second.bytes()));
  return 0;
}
