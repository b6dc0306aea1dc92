// SPDX-License-Identifier: Apache-2.0
// SFM message -> wire. One walk, instantiated for counting, for writing and for gathering.
#include <cstring>

#include "baton/message/gathered.hpp"
#include "baton/message/partial.hpp"
#include "sfm_reader.hpp"
#include "swap_scalars.hpp"
#include "wire_plan.hpp"

namespace baton::message::wire {

namespace {

/// Counts what an EncoderOutput would write.
class Counter {
 public:
  bool align(std::size_t width) {
    position_ = (position_ + width - 1) & ~(width - 1);
    return true;
  }
  bool copy(const std::byte*, std::size_t bytes) { return skip(bytes); }
  bool swap(const std::byte*, std::size_t bytes, std::size_t) { return skip(bytes); }
  bool bools(const std::byte*, std::size_t count) { return skip(count); }
  bool wide(const std::byte*, std::size_t count) { return skip(count * 4); }
  bool word(std::uint32_t) { return skip(4); }
  bool zero() { return skip(1); }
  std::size_t position() const { return position_; }

 private:
  bool skip(std::size_t bytes) {
    position_ += bytes;
    return true;
  }
  std::size_t position_ = 0;
};

class EncoderOutput {
 public:
  EncoderOutput(MutableBytes out, bool swapped, Failure& failure) : out_(out), swapped_(swapped), failure_(failure) {}

  bool align(std::size_t width) {
    const std::size_t aligned = (position_ + width - 1) & ~(width - 1);
    if (aligned == position_) return true;
    if (!room(aligned - position_)) return false;
    std::memset(out_.data + position_, 0, aligned - position_);
    position_ = aligned;
    return true;
  }
  bool copy(const std::byte* from, std::size_t bytes) {
    if (!room(bytes)) return false;
    if (bytes != 0) std::memcpy(out_.data + position_, from, bytes);
    position_ += bytes;
    return true;
  }
  bool swap(const std::byte* from, std::size_t bytes, std::size_t width) {
    if (!room(bytes)) return false;
    copy_swapped(out_.data + position_, from, bytes, width);
    position_ += bytes;
    return true;
  }
  bool bools(const std::byte* from, std::size_t count) {
    if (!room(count)) return false;
    copy_bools(out_.data + position_, from, count);
    position_ += count;
    return true;
  }
  bool wide(const std::byte* from, std::size_t count) {
    if (!room(count * 4)) return false;
    for (std::size_t i = 0; i < count; ++i) {
      std::uint16_t unit;
      std::memcpy(&unit, from + i * 2, 2);
      if (!word(unit)) return false;
    }
    return true;
  }
  bool word(std::uint32_t value) {
    if (!room(4)) return false;
    if (swapped_) value = __builtin_bswap32(value);
    std::memcpy(out_.data + position_, &value, 4);
    position_ += 4;
    return true;
  }
  bool zero() {
    if (!room(1)) return false;
    out_.data[position_++] = std::byte{0};
    return true;
  }
  std::size_t position() const { return position_; }

 private:
  bool room(std::size_t bytes) {
    if (bytes <= out_.size - position_) return true;
    return failure_.set(Errc::message_too_large, "the output buffer of " + std::to_string(out_.size) +
                                                     " bytes is too short; ask encoded_size() first");
  }
  MutableBytes out_;
  bool swapped_;
  Failure& failure_;
  std::size_t position_ = 0;
};

/// Copies what is short or has another form on the wire, and refers to the rest. REQUIRES: the wire has this machine's byte order.
class Gatherer {
 public:
  Gatherer(Gathered& out, std::size_t least_referred)
      : out_(out), begin_(out.size()), least_referred_(least_referred) {}

  bool align(std::size_t width) {
    out_.append_zeros(-position() & (width - 1));
    return true;
  }
  bool copy(const std::byte* from, std::size_t bytes) {
    if (bytes >= least_referred_)
      out_.refer(from, bytes);
    else
      out_.append(from, bytes);
    return true;
  }
  bool swap(const std::byte*, std::size_t, std::size_t) { return false; }  // never: see above
  bool bools(const std::byte* from, std::size_t count) {
    const std::size_t at = out_.copied();
    out_.append_zeros(count);
    copy_bools(out_.copied_at(at), from, count);
    return true;
  }
  bool wide(const std::byte* from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      std::uint16_t unit;
      std::memcpy(&unit, from + i * 2, 2);
      word(unit);
    }
    return true;
  }
  bool word(std::uint32_t value) {
    out_.append_number(value);
    return true;
  }
  bool zero() {
    out_.append_zeros(1);
    return true;
  }
  std::size_t position() const { return out_.size() - begin_; }

 private:
  Gathered& out_;
  std::size_t begin_, least_referred_;
};

template <class Sink>
class Walk {
 public:
  Walk(const Program& program, SfmReader& reader, Sink& sink, std::vector<DataSlot>* slots)
      : program_(program), reader_(reader), sink_(sink), slots_(slots), cdr_(program.format == Format::kCdr) {}

  bool run(std::uint32_t plan, std::size_t base) {
    for (const Op& op : program_.plans[plan].ops) {
      if (!step(op, base)) return reader_.failure().in(program_.names[op.name]);
    }
    return true;
  }

 private:
  bool align(std::size_t width) { return !cdr_ || sink_.align(width); }

  bool scalars(const std::byte* from, std::size_t bytes, std::size_t width) {
    if (!align(width)) return false;
    return program_.swap && width > 1 ? sink_.swap(from, bytes, width) : sink_.copy(from, bytes);
  }

  bool step(const Op& op, std::size_t base) {
    const std::size_t place = base + op.offset;
    switch (op.code) {
      case Op::Code::kScalars:
        return scalars(reader_.at(place), op.count, op.width);
      case Op::Code::kBools:
        return sink_.bools(reader_.at(place), op.count);
      case Op::Code::kString:
        return string(op, place);
      case Op::Code::kWString:
        return wide_string(op, place);
      case Op::Code::kSequence:
        return sequence(op, place);
      case Op::Code::kArray:
        return elements(op, place, op.count);
      case Op::Code::kDummyByte:
        return sink_.zero();
    }
    return false;
  }

  bool string(const Op& op, std::size_t place) {
    Content text;
    if (!reader_.string(place, op.count, text) || !align(4)) return false;
    if (!sink_.word(static_cast<std::uint32_t>(text.count + (cdr_ ? 1 : 0)))) return false;
    if (!sink_.copy(reader_.at(text.place), text.count)) return false;
    return !cdr_ || sink_.zero();
  }

  bool wide_string(const Op& op, std::size_t place) {
    Content text;
    if (!reader_.sequence(place, 2, 2, op.count, text) || !align(4)) return false;
    if (!sink_.word(static_cast<std::uint32_t>(text.count))) return false;
    if (cdr_) return sink_.wide(reader_.at(text.place), text.count);
    return program_.swap ? sink_.swap(reader_.at(text.place), text.count * 2, 2)
                         : sink_.copy(reader_.at(text.place), text.count * 2);
  }

  bool sequence(const Op& op, std::size_t place) {
    Content content;
    if (!reader_.sequence(place, op.stride, op.alignment, op.count, content)) return false;
    if (slots_ != nullptr && op.data) {
      slots_->push_back(
          {op.element, static_cast<std::uint32_t>(content.count), place, content.place, content.bytes, op.alignment});
      return true;
    }
    if (!align(4) || !sink_.word(static_cast<std::uint32_t>(content.count))) return false;
    if (content.count == 0) return true;  // CDR aligns to the first element only if there is one
    if (op.dense) return scalars(reader_.at(content.place), content.count * op.stride, op.width);
    if (op.bools) return sink_.bools(reader_.at(content.place), content.count);
    return elements(op, content.place, content.count);
  }

  bool elements(const Op& op, std::size_t place, std::size_t count) {
    if (program_.plans[op.plan].ops.empty()) return true;
    for (std::size_t i = 0; i < count; ++i) {
      if (!run(op.plan, place + i * op.stride)) return reader_.failure().in("", i);
    }
    return true;
  }

  const Program& program_;
  SfmReader& reader_;
  Sink& sink_;
  std::vector<DataSlot>* slots_;
  bool cdr_;
};

template <class Sink>
Result<std::size_t> walk(const Program& program, Bytes message, Sink& sink, Failure& failure,
                         std::vector<DataSlot>* slots) {
  SfmReader reader(message, failure);
  if (!reader.begin(program.type->size) || !Walk<Sink>(program, reader, sink, slots).run(0, 0))
    return failure.error("cannot encode", program.type->name);
  return sink.position();
}

}  // namespace

Result<std::size_t> encoded_size(const Program& program, Bytes message, std::vector<DataSlot>* slots) {
  Failure failure;
  Counter counter;
  return walk(program, message, counter, failure, slots);
}

Result<std::size_t> encode(const Program& program, Bytes message, MutableBytes out, std::vector<DataSlot>* slots) {
  Failure failure;
  EncoderOutput writer(out, program.swap, failure);
  return walk(program, message, writer, failure, slots);
}

Result<std::size_t> gather(const Program& program, Bytes message, Gathered& out, std::size_t least_referred) {
  Failure failure;
  Gatherer gatherer(out, least_referred);
  return walk(program, message, gatherer, failure, nullptr);
}

}  // namespace baton::message::wire
