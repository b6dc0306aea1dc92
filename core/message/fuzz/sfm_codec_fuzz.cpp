// SPDX-License-Identifier: Apache-2.0
// Gives hostile chunks, in this byte order and in the other, to all code that reads them by descriptor. Checked besides
// memory safety: encoders accept exactly what the validator accepts; a repaired chunk is valid and turns back into its
// bytes.
#include "baton/message/byte_order.hpp"
#include "baton/message/cdr_codec.hpp"
#include "baton/message/partial.hpp"
#include "baton/message/print.hpp"
#include "baton/message/ros1_codec.hpp"
#include "codec_input.hpp"

using namespace baton::message;
using namespace baton::message::fuzz;

namespace {

void read_native(const Type& type, Bytes message) {
  const bool accepted = valid(type, message);
  require(print(type, message).ok() || !accepted);
  if (const auto codec = CdrCodec::compile(type); codec.ok()) {
    require(codec->encoded_size(message).ok() == accepted);
    if (accepted) encode(*codec, message, baton::memory::ByteOrder::kBig);
  }
  if (const auto codec = Ros1Codec::compile(type); codec.ok()) {
    require(codec->encoded_size(message).ok() == accepted);
    if (accepted) encode(*codec, message);
  }
  const auto partial = PartialSerializer::compile(type);
  if (!partial) return;
  const auto slots = partial->data_in_message(message);
  require(slots.ok() == accepted);
  if (!slots) return;
  const DataPart layout = organise_data(*slots);
  std::vector<std::byte> data(layout.bytes);
  copy_data(message, *slots, layout, {data.data(), data.size()});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = Input::read(data, size);
  if (!input || input->bytes.size == 0) return 0;
  const Type& type = input->definition.type();
  const Copy original(input->bytes);
  read_native(type, original.bytes());

  Copy repaired(input->bytes);
  const auto done = repair_byte_order(type, repaired.writable());
  if (!done) {
    require(repaired.equals(original.bytes()));
    return 0;
  }
  require(valid(type, repaired.bytes()));
  require(to_other_byte_order(type, repaired.writable()).ok());
  require(repaired.equals(original.bytes()));
  return 0;
}
