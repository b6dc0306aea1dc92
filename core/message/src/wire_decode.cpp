// SPDX-License-Identifier: Apache-2.0
// Wire -> SFM message in a Builder. The wire is untrusted: every length is checked against the bytes that are left
// before anything is allocated for it.
#include <cstring>

#include "baton/message/builder.hpp"
#include "baton/message/partial.hpp"
#include "failure.hpp"
#include "swap_scalars.hpp"
#include "wire_plan.hpp"

namespace baton::message::wire {

namespace {

class Decoder {
 public:
  Decoder(const Program& program, Bytes wire, Builder& builder, Failure& failure, std::vector<DataSlot>* slots)
      : program_(program),
        wire_(wire),
        builder_(builder),
        failure_(failure),
        slots_(slots),
        cdr_(program.format == Format::kCdr) {}

  bool run(std::uint32_t plan, std::size_t base) {
    for (const Op& op : program_.plans[plan].ops) {
      // A step that fails inside a run of fields has already named the field.
      if (!step(op, base)) return failure_.in(op.code == Op::Code::kScalars ? "" : program_.names[op.name]);
    }
    return true;
  }

  std::size_t position() const { return position_; }

 private:
  std::size_t left() const { return wire_.size - position_; }

  bool need(std::size_t bytes, const char* what) {
    if (bytes <= left()) return true;
    return failure_.malformed(std::string(what) + " needs " + std::to_string(bytes) + " bytes, " +
                              std::to_string(left()) + " are left");
  }

  bool align(std::size_t width) {
    if (!cdr_) return true;
    const std::size_t aligned = (position_ + width - 1) & ~(width - 1);
    if (aligned > wire_.size) return need(aligned - position_, "alignment");
    position_ = aligned;
    return true;
  }

  bool word(std::uint32_t& value, const char* what) {
    if (!align(4) || !need(4, what)) return false;
    std::memcpy(&value, wire_.data + position_, 4);
    if (program_.swap) value = __builtin_bswap32(value);
    position_ += 4;
    return true;
  }

  void copy(std::byte* to, std::size_t bytes, std::size_t width) {
    if (program_.swap && width > 1) {
      copy_swapped(to, wire_.data + position_, bytes, width);
    } else if (bytes != 0) {
      std::memcpy(to, wire_.data + position_, bytes);
    }
    position_ += bytes;
  }

  bool step(const Op& op, std::size_t base) {
    const std::size_t place = base + op.offset;
    switch (op.code) {
      case Op::Code::kScalars:
        if (!align(op.width) || op.count > left()) return cut_run(op);
        copy(builder_.base() + place, op.count, op.width);
        return true;
      case Op::Code::kBools:
        if (!need(op.count, "bool")) return false;
        copy_bools(builder_.base() + place, wire_.data + position_, op.count);
        position_ += op.count;
        return true;
      case Op::Code::kString:
        return string(op, place);
      case Op::Code::kWString:
        return wide_string(op, place);
      case Op::Code::kSequence:
        return sequence(op, place);
      case Op::Code::kArray:
        return elements(op, place, op.count);
      case Op::Code::kDummyByte:
        if (!need(1, "the dummy byte of an empty message")) return false;
        ++position_;
        return true;
    }
    return false;
  }

  /// The wire ends inside a run of fields: names the field that is cut.
  bool cut_run(const Op& op) {
    if (failure_.failed()) return failure_.in(program_.names[op.name]);
    std::uint32_t name = op.name;
    for (const auto& [begin, field] : program_.runs[op.plan]) {
      if (begin <= left()) name = field;
    }
    failure_.malformed("the wire ends inside it, " + std::to_string(left()) + " bytes were left of " +
                       std::to_string(op.count));
    return failure_.in(program_.names[name]);
  }

  bool over_bound(std::size_t length, std::size_t bound) {
    return failure_.malformed("length " + std::to_string(length) + " is above the bound " + std::to_string(bound));
  }

  bool string(const Op& op, std::size_t place) {
    std::uint32_t length = 0;
    if (!word(length, "a string's length") || !need(length, "a string")) return false;
    const std::byte* text = wire_.data + position_;
    position_ += length;
    if (cdr_) {
      if (length == 0) return failure_.malformed("a CDR string of length 0: its length counts the terminating zero");
      if (text[--length] != std::byte{0}) return failure_.malformed("a CDR string is not ended by a zero");
    }
    if (op.count != 0 && length > op.count) return over_bound(length, op.count);
    const auto done = builder_.add_string(place, text, length);
    return done.ok() || failure_.set(done.error());
  }

  bool wide_string(const Op& op, std::size_t place) {
    std::uint32_t count = 0;
    if (!word(count, "a wstring's length")) return false;
    const std::size_t width = cdr_ ? 4 : 2;
    if (!need(std::size_t{count} * width, "a wstring")) return false;
    if (op.count != 0 && count > op.count) return over_bound(count, op.count);
    const auto content = builder_.add_sequence(place, count, {2, 2});
    if (!content) return failure_.set(content.error());
    std::byte* to = builder_.base() + *content;
    if (!cdr_) {
      copy(to, std::size_t{count} * 2, 2);
      return true;
    }
    for (std::uint32_t i = 0; i < count; ++i) {
      std::uint32_t value = 0;
      if (!word(value, "a wide character")) return false;
      if (value > 0xFFFF)
        return failure_.malformed("wide character " + std::to_string(i) + " is " + std::to_string(value) +
                                  ", no UTF-16 code unit");
      const auto unit = static_cast<std::uint16_t>(value);
      std::memcpy(to + std::size_t{i} * 2, &unit, 2);
    }
    return true;
  }

  bool sequence(const Op& op, std::size_t place) {
    if (slots_ != nullptr && op.data) {
      slots_->push_back({op.element, 0, place, 0, 0, op.alignment});
      return true;
    }
    std::uint32_t count = 0;
    if (!word(count, "a sequence's length")) return false;
    if (op.count != 0 && count > op.count) return over_bound(count, op.count);
    if (count == 0) return true;
    const std::size_t least = program_.plans[op.plan].least_bytes;
    if (least != 0 && count > left() / least)
      return failure_.malformed(std::to_string(count) + " elements of at least " + std::to_string(least) + " bytes, " +
                                std::to_string(left()) + " bytes are left");
    const ElementLayout element{op.stride, op.alignment};
    if (op.dense || op.bools) {
      const std::size_t bytes = std::size_t{count} * op.stride;
      if (op.dense && (!align(op.width) || !need(bytes, "the sequence"))) return false;
      const auto content = builder_.add_sequence(place, count, element);
      if (!content) return failure_.set(content.error());
      if (op.dense) {
        copy(builder_.base() + *content, bytes, op.width);
      } else {
        copy_bools(builder_.base() + *content, wire_.data + position_, count);
        position_ += count;
      }
      return true;
    }
    const auto content = builder_.add_zeroed_sequence(place, count, element);
    if (!content) return failure_.set(content.error());
    return elements(op, *content, count);
  }

  bool elements(const Op& op, std::size_t place, std::size_t count) {
    if (program_.plans[op.plan].ops.empty()) return true;
    for (std::size_t i = 0; i < count; ++i) {
      if (!run(op.plan, place + i * op.stride)) return failure_.in("", i);
    }
    return true;
  }

  const Program& program_;
  Bytes wire_;
  Builder& builder_;
  Failure& failure_;
  std::vector<DataSlot>* slots_;
  bool cdr_;
  std::size_t position_ = 0;
};

}  // namespace

Result<std::size_t> decode(const Program& program, Bytes wire, Builder& builder, std::vector<DataSlot>* slots) {
  if (auto begun = builder.begin(*program.type); !begun) return begun.error();
  Failure failure;
  Decoder decoder(program, wire, builder, failure, slots);
  if (!decoder.run(0, 0)) return failure.error("cannot decode", program.type->name);
  return decoder.position();
}

}  // namespace baton::message::wire
