// SPDX-License-Identifier: Apache-2.0
#include "baton/message/partial.hpp"

#include <cstring>
#include <utility>

#include "baton/memory/chunk_header.hpp"
#include "baton/message/builder.hpp"
#include "baton/sfm/cell.hpp"
#include "wire_plan.hpp"

namespace baton::message {

namespace {

constexpr bool kSwap = memory::kNativeByteOrder != memory::ByteOrder::kLittle;

/// Fig. 4's func parse. Its lines are named; Compiler::add_sequence (wire_plan.cpp) numbers the data elements alike.
void parse(const Type& type, const std::string& prefix, PartialSplit& out) {
  for (std::uint32_t i = 0; i < type.field_count; ++i) {
    const Field& element = type.fields[i];
    const std::string path = prefix + element.name;
    if (element.shape == Shape::kArray ||
        (element.shape == Shape::kSingle && element.kind != Kind::kMessage)) {  // line 3
      out.control.push_back({path, &element});
    } else if (element.shape == Shape::kSingle) {  // line 5
      parse(*element.type, path + ".", out);
    } else if (!element_has_contents(element)) {  // line 9
      out.data.push_back({path, &element});
    } else {  // line 11; the array's own length is control
      out.control.push_back({path, &element});
      if (element.kind == Kind::kMessage) parse(*element.type, path + "[].", out);
    }
  }
}

void put_word(std::byte* to, std::uint32_t value) {
  if (kSwap) value = __builtin_bswap32(value);
  std::memcpy(to, &value, sizeof value);
}

std::uint32_t get_word(const std::byte* from) {
  std::uint32_t value;
  std::memcpy(&value, from, sizeof value);
  return kSwap ? __builtin_bswap32(value) : value;
}

}  // namespace

PartialSplit split(const Type& type) {
  PartialSplit out;
  parse(type, "", out);
  return out;
}

Result<PartialSerializer> PartialSerializer::compile(const Type& type) {
  auto program = wire::compile_program(type, wire::Format::kControl, kSwap);
  if (!program) return program.error();
  return PartialSerializer(std::make_shared<const wire::Program>(std::move(*program)),
                           std::make_shared<const PartialSplit>(message::split(type)));
}

const Type& PartialSerializer::type() const noexcept { return *program_->type; }

Result<std::size_t> PartialSerializer::control_size(Bytes message) const {
  std::vector<DataSlot> slots;
  auto size = wire::encoded_size(*program_, message, &slots);
  if (size) *size += 4 * slots.size();
  return size;
}

Result<std::size_t> PartialSerializer::serialize_control(Bytes message, MutableBytes out) const {
  std::vector<DataSlot> slots;
  auto size = wire::encode(*program_, message, out, &slots);
  if (!size) return size;
  if (4 * slots.size() > out.size - *size)
    return Error{Errc::message_too_large, "the output buffer is too short for the lengths; ask control_size() first"};
  for (const DataSlot& slot : slots) {
    put_word(out.data + *size, slot.count);
    *size += 4;
  }
  return size;
}

Result<std::vector<DataSlot>> PartialSerializer::data_in_message(Bytes message) const {
  std::vector<DataSlot> slots;
  const auto size = wire::encoded_size(*program_, message, &slots);
  if (!size) return size.error();
  return slots;
}

Result<std::vector<DataSlot>> PartialSerializer::restore_control(Bytes control, Builder& builder) const {
  std::vector<DataSlot> slots;
  const auto used = wire::decode(*program_, control, builder, &slots);
  if (!used) return used.error();
  if (control.size - *used != 4 * slots.size())
    return Error{Errc::malformed_message, std::string("control part of ") + type().name + ": expected " +
                                              std::to_string(slots.size()) + " lengths at its end, found " +
                                              std::to_string(control.size - *used) + " bytes"};
  const std::byte* lengths = control.data + *used;
  for (DataSlot& slot : slots) {
    const PartialElement& element = split_->data[slot.element];
    slot.count = get_word(lengths);
    lengths += 4;
    if (element.field->count != 0 && slot.count > element.field->count)
      return Error{Errc::malformed_message, std::string("control part of ") + type().name + ": field '" + element.path +
                                                "': length " + std::to_string(slot.count) + " is above the bound " +
                                                std::to_string(element.field->count)};
    slot.bytes = std::size_t{slot.count} * element_layout(*element.field).size;
  }
  return slots;
}

Result<void> PartialSerializer::restore(Bytes control, Bytes data, Builder& builder) const {
  auto slots = restore_control(control, builder);
  if (!slots) return slots.error();
  const DataPart part = organise_data(std::move(*slots));
  if (part.bytes > data.size)
    return Error{Errc::malformed_message, std::string("data part of ") + type().name + ": the lengths need " +
                                              std::to_string(part.bytes) + " bytes, " + std::to_string(data.size) +
                                              " are there"};
  for (const DataSlot& slot : part.data_slots) {
    if (slot.count == 0) continue;
    const auto content =
        builder.add_sequence(slot.words, slot.count, element_layout(*split_->data[slot.element].field));
    if (!content) return content.error();
    std::memcpy(builder.base() + *content, data.data + slot.place, slot.bytes);
  }
  return {};
}

DataPart organise_data(std::vector<DataSlot> slots) {
  DataPart part;
  for (DataSlot& slot : slots) {
    const std::size_t alignment = sfm::detail::content_alignment(slot.alignment, slot.bytes);
    if (slot.count != 0) part.bytes = (part.bytes + alignment - 1) & ~(alignment - 1);
    slot.place = part.bytes;
    part.bytes += slot.bytes;
  }
  part.data_slots = std::move(slots);
  return part;
}

void copy_data(Bytes message, const std::vector<DataSlot>& slots, const DataPart& layout, MutableBytes out) noexcept {
  for (std::size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].bytes != 0)
      std::memcpy(out.data + layout.data_slots[i].place, message.data + slots[i].place, slots[i].bytes);
  }
}

}  // namespace baton::message
