// SPDX-License-Identifier: Apache-2.0
#include "baton/message/ros1_codec.hpp"

#include <string>
#include <utility>

#include "baton/memory/chunk_header.hpp"
#include "baton/message/builder.hpp"
#include "wire_plan.hpp"

namespace baton::message {

Result<Ros1Codec> Ros1Codec::compile(const Type& type) {
  constexpr bool kSwap = memory::kNativeByteOrder != memory::ByteOrder::kLittle;
  auto program = wire::compile_program(type, wire::Format::kRos1, kSwap);
  if (!program) return program.error();
  return Ros1Codec(std::make_shared<const wire::Program>(std::move(*program)));
}

const Type& Ros1Codec::type() const noexcept { return *program_->type; }

Result<std::size_t> Ros1Codec::encoded_size(Bytes message) const { return wire::encoded_size(*program_, message); }

Result<std::size_t> Ros1Codec::encode(Bytes message, MutableBytes out) const {
  return wire::encode(*program_, message, out);
}

Result<void> Ros1Codec::decode(Bytes wire, Builder& builder) const {
  const auto used = wire::decode(*program_, wire, builder);
  if (!used) return used.error();
  if (*used != wire.size)
    return Error{Errc::malformed_message, std::string("cannot decode ") + program_->type->name +
                                              ": the message ends after " + std::to_string(*used) + " of " +
                                              std::to_string(wire.size) + " bytes"};
  return {};
}

}  // namespace baton::message
