// SPDX-License-Identifier: Apache-2.0
#include "baton/message/cdr_codec.hpp"

#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "baton/message/builder.hpp"
#include "baton/message/gathered.hpp"
#include "wire_plan.hpp"

namespace baton::message {

namespace {
constexpr std::size_t kEncapsulationBytes = 4;
}

Result<CdrCodec> CdrCodec::compile(const Type& type) {
  auto native = wire::compile_program(type, wire::Format::kCdr, false);
  if (!native) return native.error();
  auto swapped = wire::compile_program(type, wire::Format::kCdr, true);
  if (!swapped) return swapped.error();
  return CdrCodec(std::make_shared<const wire::Program>(std::move(*native)),
                  std::make_shared<const wire::Program>(std::move(*swapped)));
}

const Type& CdrCodec::type() const noexcept { return *native_->type; }

Result<std::size_t> CdrCodec::encoded_size(Bytes message) const {
  auto size = wire::encoded_size(*native_, message);
  if (size) *size += kEncapsulationBytes;
  return size;
}

Result<std::size_t> CdrCodec::encode(Bytes message, MutableBytes out, memory::ByteOrder order) const {
  if (out.size < kEncapsulationBytes)
    return Error{Errc::message_too_large,
                 "the output buffer is too short for CDR's four bytes in front; ask encoded_size() first"};
  const std::byte encapsulation[kEncapsulationBytes] = {
      std::byte{0}, order == memory::ByteOrder::kLittle ? std::byte{1} : std::byte{0}};
  std::memcpy(out.data, encapsulation, kEncapsulationBytes);
  const auto& program = order == memory::kNativeByteOrder ? *native_ : *swapped_;
  auto size = wire::encode(program, message, {out.data + kEncapsulationBytes, out.size - kEncapsulationBytes});
  if (size) *size += kEncapsulationBytes;
  return size;
}

Result<std::size_t> CdrCodec::gather(Bytes message, Gathered& out, std::size_t least_referred) const {
  const Gathered::Mark before = out.mark();
  const std::byte encapsulation[kEncapsulationBytes] = {
      std::byte{0}, memory::kNativeByteOrder == memory::ByteOrder::kLittle ? std::byte{1} : std::byte{0}};
  out.append(encapsulation, kEncapsulationBytes);
  auto size = wire::gather(*native_, message, out, least_referred);
  if (size)
    *size += kEncapsulationBytes;
  else
    out.rewind(before);
  return size;
}

Result<std::size_t> CdrCodec::decode(Bytes wire, Builder& builder) const {
  if (wire.size < kEncapsulationBytes)
    return Error{Errc::malformed_message, std::string("cannot decode ") + type().name +
                                              ": CDR needs four bytes in front, " + std::to_string(wire.size) +
                                              " are there"};
  const auto kind = std::to_integer<unsigned>(wire.data[0]) << 8 | std::to_integer<unsigned>(wire.data[1]);
  if (kind > 1) {
    char text[8];
    std::snprintf(text, sizeof text, "0x%04x", kind);
    return Error{Errc::unsupported, std::string("cannot decode ") + type().name + ": encapsulation " + text +
                                        ", only plain CDR (0x0000 and 0x0001) is known"};
  }
  const auto order = kind == 1 ? memory::ByteOrder::kLittle : memory::ByteOrder::kBig;
  const auto& program = order == memory::kNativeByteOrder ? *native_ : *swapped_;
  auto used = wire::decode(program, {wire.data + kEncapsulationBytes, wire.size - kEncapsulationBytes}, builder);
  if (used) *used += kEncapsulationBytes;
  return used;
}

}  // namespace baton::message
