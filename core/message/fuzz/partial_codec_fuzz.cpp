// SPDX-License-Identifier: Apache-2.0
// Restores messages from hostile control and data parts: behind the definition come {u16 size of the control part,
// control part, data part}. Checked besides memory safety: accepted bytes are a valid message that splits into the same
// parts again.
#include "baton/message/partial.hpp"
#include "codec_input.hpp"

using namespace baton::message;
using namespace baton::message::fuzz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = Input::read(data, size);
  if (!input || input->bytes.size < 2) return 0;
  const std::byte* bytes = input->bytes.data;
  const std::size_t control_size = std::to_integer<std::size_t>(bytes[0]) | std::to_integer<std::size_t>(bytes[1]) << 8;
  if (control_size > input->bytes.size - 2) return 0;
  const Bytes control{bytes + 2, control_size};
  const Bytes payload{bytes + 2 + control_size, input->bytes.size - 2 - control_size};

  const Type& type = input->definition.type();
  const auto partial = PartialSerializer::compile(type);
  if (!partial) return 0;
  FlatBuffer message;
  FlatBuilder builder(message, kMaxMessageBytes);
  if (!partial->restore(control, payload, builder).ok()) return 0;
  require(valid(type, message.bytes()));

  const auto slots = partial->data_in_message(message.bytes());
  require(slots.ok());
  const DataPart layout = organise_data(*slots);
  require(layout.bytes <= payload.size);
  std::vector<std::byte> again(*partial->control_size(message.bytes()));
  require(again.size() == control.size);
  require(partial->serialize_control(message.bytes(), {again.data(), again.size()}).ok());
  std::vector<std::byte> data_again(layout.bytes);
  copy_data(message.bytes(), *slots, layout, {data_again.data(), data_again.size()});

  FlatBuffer second;
  FlatBuilder second_builder(second, kMaxMessageBytes);
  require(partial->restore(bytes_of(again), bytes_of(data_again), second_builder).ok());
  require(equal(message.bytes(), second.bytes()));
  return 0;
}
