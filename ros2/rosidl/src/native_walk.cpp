// SPDX-License-Identifier: Apache-2.0
// The walks over the steps of a NativePlan: one asks for room, one writes a message, one reads it.
#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "baton/os/hot_path.hpp"
#include "baton/rosidl/introspection.hpp"
#include "baton/rosidl/native_plan.hpp"
#include "native_steps.hpp"
#include "rosidl_runtime_c/primitives_sequence.h"
#include "rosidl_runtime_c/string_functions.h"
#include "rosidl_runtime_c/u16string_functions.h"
#include "rosidl_typesupport_introspection_c/message_introspection.h"

namespace baton::rosidl {
namespace {

using message::Kind;
using message::Shape;

bool is_scalar(Kind kind) { return kind < Kind::kString; }

Error malformed(const char* what) {
  return {Errc::malformed_message,
          std::string("field '") + what + "' is longer than its bound, or lies outside the message"};
}

bool is_packed(const NativeField& field) { return rosidl::is_packed(*field.member, field.c); }

/// A native string, or sequence of scalars.
struct Elements {
  const void* data;
  std::size_t count;
};

Elements text_of(const std::byte* native, bool c) {
  if (c) {
    const auto& string = *reinterpret_cast<const rosidl_runtime_c__String*>(native);
    return {string.data, string.size};
  }
  const auto& string = *reinterpret_cast<const std::string*>(native);
  return {string.data(), string.size()};
}

Elements wide_text_of(const std::byte* native, bool c) {
  if (c) {
    const auto& string = *reinterpret_cast<const rosidl_runtime_c__U16String*>(native);
    return {string.data, string.size};
  }
  const auto& string = *reinterpret_cast<const std::u16string*>(native);
  return {string.data(), string.size()};
}

Elements scalars_of(const std::byte* native, bool c, std::size_t element_bytes) {
  if (c) {  // all are {pointer, size, capacity}
    const auto& sequence = *reinterpret_cast<const rosidl_runtime_c__uint8__Sequence*>(native);
    return {sequence.data, sequence.size};
  }
  std::array<const std::byte*, 2> ends;  // of a vector of any element: check_layout() has tried it
  std::memcpy(ends.data(), native, sizeof ends);
  return {ends[0], static_cast<std::size_t>(ends[1] - ends[0]) / element_bytes};
}

/// The most bytes that Builder needs for a content of `bytes`: from 4 KiB on it is aligned to 64.
std::size_t room(std::size_t bytes, std::size_t alignment) { return bytes + (bytes >= 4096 ? 64 : alignment) - 1; }

std::size_t text_room(std::size_t length) {
  return length == 0 ? 0 : room(length + 4, 4);  // a terminating zero, up to 3 of padding
}

class Sizer {
 public:
  BATON_HOT std::size_t message(const Steps& steps, const std::byte* native) const {
    std::size_t bytes = 0;
    for (const Step& step : steps.steps) {
      if (step.kind == Step::Kind::kString) {
        bytes += text_room(text_of(native + step.native, step.c).count);
      } else if (step.kind == Step::Kind::kScalars) {
        const std::size_t count = scalars_of(native + step.native, step.c, step.bytes).count;
        if (count != 0) bytes += room(count * step.bytes, step.bytes);
      } else if (step.kind == Step::Kind::kOther) {
        bytes += other(*step.field, native + step.native);
      }
    }
    return bytes;
  }

 private:
  BATON_COLD std::size_t other(const NativeField& source, const std::byte* native) const {
    const message::Field& field = *source.field;
    std::size_t count = message::inline_count(field);
    std::size_t bytes = 0;
    if (field.shape == Shape::kSequence) {
      count = source.member->size_function(native);
      if (count == 0) return 0;
      const message::ElementLayout layout = element_layout(field);
      bytes = room(count * layout.size, layout.alignment);
      if (is_scalar(field.kind)) return bytes;
      native = static_cast<const std::byte*>(source.member->get_const_function(native, 0));
    }
    for (std::size_t i = 0; i < count; ++i, native += source.element_bytes) bytes += element(source, native);
    return bytes;
  }

  std::size_t element(const NativeField& source, const std::byte* native) const {
    if (source.field->kind == Kind::kMessage) return message(*source.nested, native);
    if (source.field->kind == Kind::kWString) return room(2 * wide_text_of(native, source.c).count, 2);
    return text_room(text_of(native, source.c).count);
  }
};

class NativeWriter {
 public:
  explicit NativeWriter(message::Builder& builder) : builder_(builder) {}

  BATON_HOT Result<void> message(const Steps& steps, const std::byte* native, std::size_t place) {
    for (const Step& step : steps.steps) {
      const std::byte* const from = native + step.native;
      const std::size_t to = place + step.place;
      if (step.kind <= Step::Kind::kBools) {
        std::memcpy(builder_.base() + to, from, step.bytes);
        continue;
      }
      Result<void> written = step.kind == Step::Kind::kString    ? string(*step.field, step.bound, from, to)
                             : step.kind == Step::Kind::kScalars ? scalars(step, from, to)
                                                                 : other(*step.field, from, to);
      if (!written) return written;
    }
    return {};
  }

 private:
  Result<void> string(const NativeField& source, std::size_t bound, const std::byte* native, std::size_t place) {
    const Elements text = text_of(native, source.c);
    if (bound != 0 && text.count > bound) return malformed(source);
    return builder_.add_string(place, text.data, text.count);
  }

  Result<void> scalars(const Step& step, const std::byte* native, std::size_t place) {
    const Elements elements = scalars_of(native, step.c, step.bytes);
    if (step.bound != 0 && elements.count > step.bound) return malformed(*step.field);
    const Result<std::size_t> content = builder_.add_sequence(place, elements.count, {step.bytes, step.bytes});
    if (!content) return content.error();
    if (elements.count != 0) std::memcpy(builder_.base() + *content, elements.data, elements.count * step.bytes);
    return {};
  }

  /// Arrays and sequences of messages, strings or bools, and wstrings.
  BATON_COLD Result<void> other(const NativeField& source, const std::byte* native, std::size_t place) {
    const message::Field& field = *source.field;
    if (field.shape != Shape::kSequence) return elements(source, native, message::inline_count(field), place);
    const std::size_t count = source.member->size_function(native);
    if (field.count != 0 && count > field.count) return malformed(source);
    Result<std::size_t> content = is_scalar(field.kind)
                                      ? builder_.add_sequence(place, count, element_layout(field))
                                      : builder_.add_zeroed_sequence(place, count, element_layout(field));
    if (!content) return content.error();
    if (count == 0) return {};
    if (is_packed(source)) {
      for (std::size_t i = 0; i < count; ++i) {
        bool value = false;
        source.member->fetch_function(native, i, &value);
        builder_.base()[*content + i] = std::byte{value};
      }
      return {};
    }
    native = static_cast<const std::byte*>(source.member->get_const_function(native, 0));
    if (is_scalar(field.kind)) {
      std::memcpy(builder_.base() + *content, native, count * source.element_bytes);
      return {};
    }
    return elements(source, native, count, *content);
  }

  Result<void> elements(const NativeField& source, const std::byte* native, std::size_t count, std::size_t place) {
    const std::size_t bytes = message::element_size(*source.field);
    for (std::size_t i = 0; i < count; ++i, native += source.element_bytes, place += bytes) {
      if (Result<void> written = element(source, native, place); !written) return written;
    }
    return {};
  }

  Result<void> element(const NativeField& source, const std::byte* native, std::size_t place) {
    const std::size_t bound = source.field->string_bound;
    if (source.field->kind == Kind::kMessage) return message(*source.nested, native, place);
    if (source.field->kind == Kind::kString) return string(source, bound, native, place);
    const Elements text = wide_text_of(native, source.c);
    if (bound != 0 && text.count > bound) return malformed(source);
    const Result<std::size_t> content = builder_.add_sequence(place, text.count, {2, 2});
    if (!content) return content.error();
    if (text.count != 0) std::memcpy(builder_.base() + *content, text.data, text.count * 2);
    return {};
  }

  static Error malformed(const NativeField& source) {
    return out_of_line([&] { return rosidl::malformed(source.field->name); });
  }

  message::Builder& builder_;
};

class NativeReader {
 public:
  NativeReader(message::Bytes message, ArrayTaker& arrays)
      : message_(message), unvisited_(message.size), arrays_(arrays) {}

  /// False: error().
  BATON_HOT bool message(const Steps& steps, std::size_t place, std::byte* native) {
    for (const Step& step : steps.steps) {
      const std::size_t from = place + step.place;
      std::byte* const to = native + step.native;
      bool read = true;
      if (step.kind == Step::Kind::kBytes) {
        std::memcpy(to, message_.data + from, step.bytes);
      } else if (step.kind == Step::Kind::kBools) {
        bools(from, step.bytes, to);
      } else if (step.kind == Step::Kind::kOther) {
        read = other(*step.field, from, to);
      } else if (Content found; !content(from, step.bytes, &found)) {
        read = malformed(*step.field);
      } else {
        read = step.kind == Step::Kind::kString ? string(*step.field, step.bound, found, to) : scalars(step, found, to);
      }
      if (!read) return false;
    }
    return true;
  }

  Error error() const {
    if (code_ == Errc::malformed_message) return rosidl::malformed(failed_->field->name);
    return {code_, std::string("no memory for field '") + failed_->field->name + "'"};
  }

 private:
  /// A content: its bytes are inside the message, and are charged to the message's size once.
  struct Content {
    std::size_t count;
    std::size_t place;
  };

  /// Reads the words at `place` (docs/format/sfm.md), each fetched once: the memory may be another process's.
  bool content(std::size_t place, std::size_t element_bytes, Content* found) {
    std::uint32_t count = 0;
    std::int32_t offset = 0;
    std::memcpy(&count, message_.data + place, sizeof count);
    std::memcpy(&offset, message_.data + place + 4, sizeof offset);
    *found = {0, 0};
    if (count == 0) return true;
    const std::int64_t at = static_cast<std::int64_t>(place) + 4 + offset;
    const std::uint64_t bytes = std::uint64_t{count} * element_bytes;
    if (at < 0 || static_cast<std::uint64_t>(at) > message_.size ||
        bytes > message_.size - static_cast<std::uint64_t>(at) || bytes > unvisited_) {
      return false;
    }
    unvisited_ -= bytes;
    *found = {count, static_cast<std::size_t>(at)};
    return true;
  }

  /// A message's byte means "not 0"; a native bool is 0 or 1.
  void bools(std::size_t place, std::size_t count, std::byte* native) const {
    for (std::size_t i = 0; i < count; ++i) native[i] = std::byte{message_.data[place + i] != std::byte{0}};
  }

  bool string(const NativeField& source, std::size_t bound, const Content& found, std::byte* native) {
    std::size_t length = found.count;
    if (length != 0) {  // content, a zero, padding; the last byte counts the padding
      const auto padding = std::to_integer<std::size_t>(message_.data[found.place + length - 1]);
      if (padding > 3 || padding + 1 > length) return malformed(source);
      length -= padding + 1;
    }
    if (bound != 0 && length > bound) return malformed(source);
    const auto* const text = reinterpret_cast<const char*>(message_.data + found.place);
    if (source.c) {
      return rosidl_runtime_c__String__assignn(reinterpret_cast<rosidl_runtime_c__String*>(native), text, length) ||
             out_of_memory(source);
    }
    reinterpret_cast<std::string*>(native)->assign(text, length);
    return true;
  }

  bool scalars(const Step& step, const Content& found, std::byte* native) {
    if (step.bound != 0 && found.count > step.bound) return malformed(*step.field);
    if (found.count == 0) return resize(*step.field, 0, native);
    if (found.place % step.bytes != 0) return malformed(*step.field);
    return arrays_.take(native, step.c, message_.data + found.place, found.count, step.bytes) ||
           out_of_memory(*step.field);
  }

  BATON_COLD bool resize(const NativeField& source, std::size_t count, std::byte* native) {
    if (!source.c) {
      source.member->resize_function(native, count);
      return true;
    }
    const auto resize =
        reinterpret_cast<const rosidl_typesupport_introspection_c__MessageMember*>(source.member)->resize_function;
    return resize(native, count) || out_of_memory(source);
  }

  /// Arrays and sequences of messages, strings or bools, and wstrings.
  BATON_COLD bool other(const NativeField& source, std::size_t place, std::byte* native) {
    const message::Field& field = *source.field;
    if (field.shape != Shape::kSequence) return elements(source, place, message::inline_count(field), native);
    Content found;
    if (!content(place, message::element_size(field), &found)) return malformed(source);
    if (field.count != 0 && found.count > field.count) return malformed(source);
    if (!resize(source, found.count, native)) return false;
    if (found.count == 0) return true;
    if (is_packed(source)) {
      for (std::size_t i = 0; i < found.count; ++i) {
        const bool value = message_.data[found.place + i] != std::byte{0};
        source.member->assign_function(native, i, &value);
      }
      return true;
    }
    native = static_cast<std::byte*>(source.member->get_function(native, 0));
    if (field.kind != Kind::kBool) return elements(source, found.place, found.count, native);
    bools(found.place, found.count, native);
    return true;
  }

  bool elements(const NativeField& source, std::size_t place, std::size_t count, std::byte* native) {
    const std::size_t bytes = message::element_size(*source.field);
    for (std::size_t i = 0; i < count; ++i, native += source.element_bytes, place += bytes) {
      if (!element(source, place, native)) return false;
    }
    return true;
  }

  bool element(const NativeField& source, std::size_t place, std::byte* native) {
    if (source.field->kind == Kind::kMessage) return message(*source.nested, place, native);
    const bool wide = source.field->kind == Kind::kWString;
    const std::size_t bound = source.field->string_bound;
    Content found;
    if (!content(place, wide ? 2 : 1, &found)) return malformed(source);
    if (!wide) return string(source, bound, found, native);
    if (bound != 0 && found.count > bound) return malformed(source);
    return assign_wide(source.c, message_.data + found.place, found.count, native) || out_of_memory(source);
  }

  static bool assign_wide(bool c, const std::byte* text, std::size_t length, std::byte* native) {
    if (!c) {
      auto& string = *reinterpret_cast<std::u16string*>(native);
      string.resize(length);
      if (length != 0) std::memcpy(string.data(), text, length * 2);
      return true;
    }
    auto* string = reinterpret_cast<rosidl_runtime_c__U16String*>(native);
    if (!rosidl_runtime_c__U16String__resize(string, length)) return false;
    if (length != 0) std::memcpy(string->data, text, length * 2);
    return true;
  }

  BATON_COLD bool malformed(const NativeField& source) {
    failed_ = &source;
    code_ = Errc::malformed_message;
    return false;
  }
  BATON_COLD bool out_of_memory(const NativeField& source) {
    failed_ = &source;
    code_ = Errc::out_of_memory;
    return false;
  }

  message::Bytes message_;
  std::uint64_t unvisited_;
  ArrayTaker& arrays_;
  const NativeField* failed_ = nullptr;
  Errc code_{};
};

}  // namespace

BATON_HOT bool NativePlan::is_native(message::Bytes message) const noexcept {
  if (!same_layout_ || message.size < message_bytes_) return false;
  return std::all_of(bools_.begin(), bools_.end(), [&](const Places& bools) {
    return std::all_of(message.data + bools.begin, message.data + bools.end,
                       [](std::byte value) { return value <= std::byte{1}; });
  });
}

BATON_HOT Result<void> NativePlan::write(const void* native, message::Builder& builder) const {
  if (Result<void> begun = builder.begin(type()); !begun) return begun;
  return NativeWriter(builder).message(*steps_, static_cast<const std::byte*>(native), 0);
}

BATON_HOT std::size_t NativePlan::room_for(const void* native) const {
  return message_bytes_ + Sizer().message(*steps_, static_cast<const std::byte*>(native));
}

BATON_HOT Result<void> NativePlan::read(message::Bytes message, void* native, ArrayTaker& arrays) const {
  if (message.size < message_bytes_) return out_of_line([] { return malformed("(skeleton)"); });
  try {
    NativeReader reader(message, arrays);
    if (reader.message(*steps_, 0, static_cast<std::byte*>(native))) return {};
    return out_of_line([&] { return reader.error(); });
  } catch (const std::bad_alloc&) {
    return Error{Errc::out_of_memory, std::string("no memory for a ") + type().name};
  }
}

}  // namespace baton::rosidl
