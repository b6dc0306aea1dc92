// SPDX-License-Identifier: Apache-2.0
// Decodes hostile CDR. Checked besides memory safety: accepted bytes are a valid message, and decoding its encoding, in
// either byte order, gives the message again.
#include "baton/message/cdr_codec.hpp"
#include "codec_input.hpp"

using namespace baton::message;
using namespace baton::message::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = Input::read(data, size);
  if (!input) return 0;
  const Type& type = input->definition.type();
  const auto codec = CdrCodec::compile(type);
  if (!codec) return 0;
  FlatBuffer first;
  FlatBuilder builder(first, kMaxMessageBytes);
  const auto used = codec->decode(input->bytes, builder);
  if (!used) return 0;
  require(*used <= input->bytes.size);
  require(valid(type, first.bytes()));
  for (const auto order : {baton::memory::ByteOrder::kLittle, baton::memory::ByteOrder::kBig}) {
    const auto wire = encode(*codec, first.bytes(), order);
    require(wire.size() == *used);
    FlatBuffer second;
    FlatBuilder again(second, kMaxMessageBytes);
    const auto reused = codec->decode(bytes_of(wire), again);
    require(reused.ok() && *reused == wire.size());
    require(equal(first.bytes(), second.bytes()));
  }
  return 0;
}
