// SPDX-License-Identifier: Apache-2.0
#include "baton/message/byte_order.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "sfm_reader.hpp"
#include "swap_scalars.hpp"
#include "wire_plan.hpp"

namespace baton::message {

namespace {

using wire::Op;
using wire::Program;

struct Extent {
  std::size_t begin;
  std::size_t end;
};

/// First walk: checks every word and notes every content; writes nothing.
class Survey {
 public:
  Survey(const Program& program, SfmReader& reader, std::vector<Extent>& extents)
      : program_(program), reader_(reader), extents_(extents) {}

  bool run(std::uint32_t plan, std::size_t base) {
    for (const Op& op : program_.plans[plan].ops) {
      if (!step(op, base + op.offset)) return reader_.failure().in(program_.names[op.name]);
    }
    return true;
  }

 private:
  bool step(const Op& op, std::size_t place) {
    Content content;
    switch (op.code) {
      case Op::Code::kScalars:
      case Op::Code::kBools:
      case Op::Code::kDummyByte:
        return true;
      case Op::Code::kString:
        if (!reader_.string(place, op.count, content)) return false;
        note(content);
        return true;
      case Op::Code::kWString:
        if (!reader_.sequence(place, 2, 2, op.count, content)) return false;
        note(content);
        return true;
      case Op::Code::kSequence:
        if (!reader_.sequence(place, op.stride, op.alignment, op.count, content)) return false;
        note(content);
        if (op.dense || op.bools) return true;
        return elements(op, content.place, content.count);
      case Op::Code::kArray:
        return elements(op, place, op.count);
    }
    return false;
  }

  bool elements(const Op& op, std::size_t place, std::size_t count) {
    for (std::size_t i = 0; i < count && !program_.plans[op.plan].ops.empty(); ++i) {
      if (!run(op.plan, place + i * op.stride)) return reader_.failure().in("", i);
    }
    return true;
  }

  void note(const Content& content) {
    if (content.bytes != 0) extents_.push_back({content.place, content.place + content.bytes});
  }

  const Program& program_;
  SfmReader& reader_;
  std::vector<Extent>& extents_;
};

/// Second walk, over bytes that the survey has accepted.
class Swapper {
 public:
  Swapper(const Program& program, std::byte* message, bool from_other)
      : program_(program), message_(message), from_other_(from_other) {}

  void run(std::uint32_t plan, std::size_t base) {
    for (const Op& op : program_.plans[plan].ops) step(op, base + op.offset);
  }

 private:
  void step(const Op& op, std::size_t place) {
    switch (op.code) {
      case Op::Code::kScalars:
        swap(place, op.count, op.width);
        break;
      case Op::Code::kBools:
      case Op::Code::kDummyByte:
        break;
      case Op::Code::kString:
        words(place);
        break;
      case Op::Code::kWString: {
        const Content content = words(place);
        if (content.count != 0) swap(content.place, content.count * 2, 2);
        break;
      }
      case Op::Code::kSequence: {
        const Content content = words(place);
        if (content.count == 0 || op.bools) break;
        if (op.dense) {
          swap(content.place, content.count * op.stride, op.width);
        } else {
          elements(op, content.place, content.count);
        }
        break;
      }
      case Op::Code::kArray:
        elements(op, place, op.count);
        break;
    }
  }

  void elements(const Op& op, std::size_t place, std::size_t count) {
    for (std::size_t i = 0; i < count && !program_.plans[op.plan].ops.empty(); ++i) run(op.plan, place + i * op.stride);
  }

  void swap(std::size_t place, std::size_t bytes, std::size_t width) {
    copy_swapped(message_ + place, message_ + place, bytes, width);
  }

  /// Swaps the two words at `place`; returns the content that they describe.
  Content words(std::size_t place) {
    std::uint32_t before[2];
    std::uint32_t after[2];
    std::memcpy(before, message_ + place, 8);
    swap(place, 8, 4);
    std::memcpy(after, message_ + place, 8);
    const std::uint32_t* native = from_other_ ? after : before;
    const auto offset = static_cast<std::int32_t>(native[1]);
    return {static_cast<std::size_t>(static_cast<std::int64_t>(place + 4) + offset), native[0], 0};
  }

  const Program& program_;
  std::byte* message_;
  bool from_other_;
};

Result<void> swap_message(const Type& type, MutableBytes message, bool from_other) {
  const auto program = wire::compile_program(type, wire::Format::kMemory, true);
  if (!program) return program.error();
  Failure failure;
  SfmReader reader({message.data, message.size}, failure, from_other);
  std::vector<Extent> extents;
  if (!reader.begin(type.size) || !Survey(*program, reader, extents).run(0, 0))
    return failure.error("cannot change the byte order of", type.name);
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) { return a.begin < b.begin; });
  std::size_t end = type.size;
  for (const Extent& extent : extents) {
    if (extent.begin < end) {
      failure.malformed("the content at byte " + std::to_string(extent.begin) + " overlaps what ends at byte " +
                        std::to_string(end));
      return failure.error("cannot change the byte order of", type.name);
    }
    end = extent.end;
  }
  Swapper(*program, message.data, from_other).run(0, 0);
  return {};
}

}  // namespace

Result<void> repair_byte_order(const Type& type, MutableBytes message) { return swap_message(type, message, true); }

Result<void> to_other_byte_order(const Type& type, MutableBytes message) { return swap_message(type, message, false); }

}  // namespace baton::message
