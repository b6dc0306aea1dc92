// SPDX-License-Identifier: Apache-2.0
#include "baton/rosidl/native_plan.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <map>
#include <new>
#include <stdexcept>

#include "baton/os/hot_memory.hpp"
#include "baton/os/huge_pages.hpp"
#include "baton/rosidl/introspection.hpp"
#include "rcutils/allocator.h"
#include "rcutils/sha256.h"
#include "rosidl_runtime_c/primitives_sequence.h"
#include "rosidl_runtime_c/string_functions.h"
#include "rosidl_runtime_c/u16string_functions.h"
#include "rosidl_typesupport_introspection_c/field_types.h"
#include "rosidl_typesupport_introspection_c/message_introspection.h"

namespace baton::rosidl {
namespace {

const char* primitive(std::uint8_t id) {
  switch (id) {
    case rosidl_typesupport_introspection_c__ROS_TYPE_FLOAT:
      return "float32";
    case rosidl_typesupport_introspection_c__ROS_TYPE_DOUBLE:
      return "float64";
    case rosidl_typesupport_introspection_c__ROS_TYPE_CHAR:
      return "uint8";
    case rosidl_typesupport_introspection_c__ROS_TYPE_OCTET:
      return "uint8";
    case rosidl_typesupport_introspection_c__ROS_TYPE_UINT8:
      return "uint8";
    case rosidl_typesupport_introspection_c__ROS_TYPE_BOOLEAN:
      return "bool";
    case rosidl_typesupport_introspection_c__ROS_TYPE_INT8:
      return "int8";
    case rosidl_typesupport_introspection_c__ROS_TYPE_UINT16:
      return "uint16";
    case rosidl_typesupport_introspection_c__ROS_TYPE_INT16:
      return "int16";
    case rosidl_typesupport_introspection_c__ROS_TYPE_UINT32:
      return "uint32";
    case rosidl_typesupport_introspection_c__ROS_TYPE_INT32:
      return "int32";
    case rosidl_typesupport_introspection_c__ROS_TYPE_UINT64:
      return "uint64";
    case rosidl_typesupport_introspection_c__ROS_TYPE_INT64:
      return "int64";
    case rosidl_typesupport_introspection_c__ROS_TYPE_STRING:
      return "string";
    case rosidl_typesupport_introspection_c__ROS_TYPE_WSTRING:
      return "wstring";
    default:
      return nullptr;
  }
}

/// Writes the section of every reachable type, by name. check_layout() has accepted the introspection.
Result<void> describe(const Members& members, std::map<std::string, std::string>& sections) {
  const std::string name = type_name(members);
  if (sections.count(name) != 0) return {};
  std::string& section = sections[name];
  std::string text = "message " + name + "\n";
  if (name == "std_msgs/Header") text += "uint32 seq\n";
  for (std::uint32_t i = 0; i < members.member_count_ && !is_placeholder(members); ++i) {
    const Member& member = members.members_[i];
    if (member.type_id_ == rosidl_typesupport_introspection_c__ROS_TYPE_MESSAGE) {
      Result<Introspection> nested = introspect(member.members_);
      if (!nested) return nested.error();
      if (Result<void> described = describe(*nested->members, sections); !described) return described;
      text += type_name(*nested->members);
    } else if (const char* base = primitive(member.type_id_)) {
      text += base;
      if (member.string_upper_bound_ != 0) text += "<=" + std::to_string(member.string_upper_bound_);
    } else {
      return Error{Errc::unsupported, name + "." + member.name_ + " is of a kind that SFM does not have"};
    }
    if (member.is_array_) {
      if (member.array_size_ == 0)
        text += "[]";
      else
        text += (member.is_upper_bound_ ? "[<=" : "[") + std::to_string(member.array_size_) + "]";
    }
    text += std::string(" ") + member.name_ + "\n";
  }
  section = std::move(text);
  return {};
}

Error malformed(const char* what) {
  return {Errc::malformed_message,
          std::string("field '") + what + "' is longer than its bound, or lies outside the message"};
}

}  // namespace

/// One field of a type.
struct NativePlan::NativeField {
  const Member* member;
  const message::Field* field;
  const Steps* nested;        // kMessage only
  std::size_t element_bytes;  // of the native element
  bool c;
};

/// What is done with a field, or with several that lie side by side in both forms. The usual steps need nothing else:
/// the introspection lies elsewhere, and each message would fetch it, too.
struct NativePlan::Step {
  enum class Kind : std::uint8_t {
    kBytes,    // scalars
    kBools,    // single, or an array
    kString,   // single
    kScalars,  // a sequence, not of bools
    kOther,
  };
  std::uint32_t native;      // where in the native struct,
  std::uint32_t place;       // and where in the message
  std::uint32_t bytes;       // kBytes, kBools: of all; kString, kScalars: of an element
  std::uint32_t bound;       // kString, kScalars: the most elements; 0: any number
  const NativeField* field;  // the first one
  Kind kind;
  bool c;
};

/// The steps of one type, in the order of its fields. A message that is a field is part of it; arrays of messages are
/// not.
struct NativePlan::Steps {
  std::size_t native_bytes = 0;
  os::HotVector<Step> steps;
  std::deque<NativeField> fields;
  std::vector<std::shared_ptr<const Steps>> owned;
};

namespace {

using Step = NativePlan::Step;
using Steps = NativePlan::Steps;
using NativeField = NativePlan::NativeField;
using message::Kind;
using message::Shape;

bool is_scalar(Kind kind) { return kind < Kind::kString; }

std::shared_ptr<const Steps> steps_of(const Introspection& source, const message::Type& type);

/// Adds a step, or makes the last one longer.
void add_step(Steps& made, const Step& step) {
  if (!made.steps.empty() && (step.kind == Step::Kind::kBytes || step.kind == Step::Kind::kBools)) {
    Step& last = made.steps.back();
    if (last.kind == step.kind && last.native + last.bytes == step.native && last.place + last.bytes == step.place) {
      last.bytes += step.bytes;
      return;
    }
  }
  made.steps.push_back(step);
}

/// Adds the steps of a type that lies at `native` and at `place`.
void add_steps(const Introspection& source, const message::Type& type, std::uint32_t native, std::uint32_t place,
               Steps& made) {
  if (is_placeholder(*source.members)) return;
  const std::uint32_t first = type.field_count - source.members->member_count_;  // 1 for Header's seq, else 0
  for (std::uint32_t i = 0; i < source.members->member_count_; ++i) {
    const Member& member = source.members->members_[i];
    const message::Field& field = type.fields[first + i];
    const bool single = field.shape == Shape::kSingle, sequence = field.shape == Shape::kSequence;
    const std::uint32_t from = native + member.offset_, to = place + field.offset;
    if (field.kind == Kind::kMessage && single) {
      add_steps(introspect(member.members_).value(), *field.type, from, to, made);
      continue;
    }
    NativeField& added = made.fields.emplace_back();
    added = {&member, &field, nullptr, message::element_size(field), source.c};
    Step step{from, to, message::element_size(field), field.count, &added, Step::Kind::kOther, source.c};
    if (field.kind == Kind::kMessage) {
      made.owned.push_back(steps_of(introspect(member.members_).value(), *field.type));
      added.nested = made.owned.back().get();
      added.element_bytes = added.nested->native_bytes;
    } else if (field.kind == Kind::kString) {
      added.element_bytes = source.c ? sizeof(rosidl_runtime_c__String) : sizeof(std::string);
      if (single) step = {from, to, 1, field.string_bound, &added, Step::Kind::kString, source.c};
    } else if (field.kind == Kind::kWString) {
      added.element_bytes = source.c ? sizeof(rosidl_runtime_c__U16String) : sizeof(std::u16string);
    } else if (!sequence) {
      step.kind = field.kind == Kind::kBool ? Step::Kind::kBools : Step::Kind::kBytes;
      step.bytes *= message::inline_count(field);
    } else if (field.kind != Kind::kBool) {
      step.kind = Step::Kind::kScalars;
    }
    add_step(made, step);
  }
}

std::shared_ptr<const Steps> steps_of(const Introspection& source, const message::Type& type) {
  auto made = os::make_hot_shared<Steps>();
  made->native_bytes = source.members->size_of_;
  add_steps(source, type, 0, 0, *made);
  return made;
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
  [[gnu::hot]] std::size_t message(const Steps& steps, const std::byte* native) const {
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
  [[gnu::noinline]] std::size_t other(const NativeField& source, const std::byte* native) const {
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

class Writer {
 public:
  explicit Writer(message::Builder& builder) : builder_(builder) {}

  [[gnu::hot]] Result<void> message(const Steps& steps, const std::byte* native, std::size_t place) {
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
  [[gnu::noinline]] Result<void> other(const NativeField& source, const std::byte* native, std::size_t place) {
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

class Reader {
 public:
  Reader(message::Bytes message, ArrayTaker& arrays) : message_(message), unvisited_(message.size), arrays_(arrays) {}

  /// False: error().
  [[gnu::hot]] bool message(const Steps& steps, std::size_t place, std::byte* native) {
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

  [[gnu::noinline]] bool resize(const NativeField& source, std::size_t count, std::byte* native) {
    if (!source.c) {
      source.member->resize_function(native, count);
      return true;
    }
    const auto resize =
        reinterpret_cast<const rosidl_typesupport_introspection_c__MessageMember*>(source.member)->resize_function;
    return resize(native, count) || out_of_memory(source);
  }

  /// Arrays and sequences of messages, strings or bools, and wstrings.
  [[gnu::noinline]] bool other(const NativeField& source, std::size_t place, std::byte* native) {
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

  [[gnu::cold, gnu::noinline]] bool malformed(const NativeField& source) {
    failed_ = &source;
    code_ = Errc::malformed_message;
    return false;
  }
  [[gnu::cold, gnu::noinline]] bool out_of_memory(const NativeField& source) {
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

/// Whether all fields have the same places in the native struct (from `native`) and in the message (from `place`). Adds
/// the places of bools.
bool same_places(const Introspection& source, const message::Type& type, std::size_t native, std::size_t place,
                 std::vector<NativePlan::Places>& bools) {
  const Members& members = *source.members;
  const std::uint32_t member_count = is_placeholder(members) ? 0 : members.member_count_;
  if (members.size_of_ != type.size || type.field_count != member_count) return false;
  for (std::uint32_t n = 0; n < member_count; ++n) {
    const message::Field& field = type.fields[n];
    const Member& member = members.members_[n];
    if (field.shape == Shape::kSequence || field.kind == Kind::kString || field.kind == Kind::kWString) return false;
    const std::size_t from = native + member.offset_, to = place + field.offset;
    if (from != to) return false;
    const std::size_t count = message::inline_count(field), bytes = message::element_size(field);
    if (field.kind == Kind::kBool) bools.push_back({to, to + count});
    for (std::size_t i = 0; field.kind == Kind::kMessage && i < count; ++i) {
      const Introspection nested = introspect(member.members_).value();
      if (!same_places(nested, *field.type, from + i * nested.members->size_of_, to + i * bytes, bools)) return false;
    }
  }
  return true;
}

constexpr std::size_t kLargeArrayBytes = std::size_t{2} << 20;  // a huge page: a smaller array contains none

std::atomic<bool> g_huge_pages{true};  // a switch that orders nothing: relaxed

/// For an array that was just allocated and not touched yet.
void prepare_large(void* array, std::size_t bytes) noexcept {
  if (g_huge_pages.load(std::memory_order_relaxed)) os::ask_for_huge_pages(array, bytes);
}

template <class Scalar>
[[gnu::hot]] void assign_vector(void* native, const std::byte* content, std::size_t count) {
  auto& vector = *static_cast<std::vector<Scalar>*>(native);
  if (count > vector.capacity() && count * sizeof(Scalar) >= kLargeArrayBytes) {
    out_of_line([&] {
      vector = {};
      vector.reserve(count);
      prepare_large(vector.data(), count * sizeof(Scalar));
    });
  }
  const auto* begin = reinterpret_cast<const Scalar*>(content);
  vector.assign(begin, begin + count);
}

[[gnu::hot, gnu::noinline]] bool assign_sequence(void* native, const std::byte* content, std::size_t count,
                                                 std::size_t element_bytes) {
  auto& sequence = *static_cast<rosidl_runtime_c__uint8__Sequence*>(native);  // all are {pointer, size, capacity}
  if (sequence.capacity < count) {
    // rosidl's sequences use this allocator, whichever allocator made the message.
    const rcutils_allocator_t allocator = rcutils_get_default_allocator();
    void* grown = allocator.allocate(count * element_bytes, allocator.state);
    if (grown == nullptr) return false;
    allocator.deallocate(sequence.data, allocator.state);
    sequence.data = static_cast<std::uint8_t*>(grown);
    sequence.capacity = count;
    if (count * element_bytes >= kLargeArrayBytes) prepare_large(grown, count * element_bytes);
  }
  std::memcpy(sequence.data, content, count * element_bytes);
  sequence.size = count;
  return true;
}

}  // namespace

message::TypeHash hash_of_definition(const std::string& text) {
  rcutils_sha256_ctx_t context;
  rcutils_sha256_init(&context);
  rcutils_sha256_update(&context, reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  std::array<std::uint8_t, RCUTILS_SHA256_BLOCK_SIZE> digest{};
  rcutils_sha256_final(&context, digest.data());
  message::TypeHash hash{};
  std::copy_n(digest.begin(), hash.size(), hash.begin());
  return hash;
}

Result<std::shared_ptr<const NativePlan>> NativePlan::compile(const rosidl_message_type_support_t* handle) {
  Result<Introspection> source = introspect(handle);
  if (!source) return source.error();
  if (Result<void> checked = check_layout(*source); !checked) return checked.error();
  std::map<std::string, std::string> sections;
  if (Result<void> described = describe(*source->members, sections); !described) return described.error();
  const std::string name = type_name(*source->members);
  std::string text = sections[name];
  for (const auto& [other, section] : sections) {
    if (other != name) text += section;
  }
  Result<message::Definition> definition = message::Definition::parse(text, hash_of_definition(text));
  if (!definition) return definition.error();
  std::shared_ptr<const Steps> steps = steps_of(*source, definition->type());
  std::vector<Places> bools;
  const bool same = definition->type().fixed && same_places(*source, definition->type(), 0, 0, bools);
  if (!same) bools.clear();
  return std::shared_ptr<const NativePlan>(
      new NativePlan(std::move(*definition), std::move(text), std::move(steps), same, std::move(bools)));
}

NativePlan::NativePlan(message::Definition definition, std::string text, std::shared_ptr<const Steps> steps,
                       bool same_layout, std::vector<Places> bools)
    : steps_(std::move(steps)),
      message_bytes_(definition.type().size),
      same_layout_(same_layout),
      bools_(std::move(bools)),
      definition_(std::move(definition)),
      text_(std::move(text)) {}

[[gnu::hot]] bool NativePlan::is_native(message::Bytes message) const noexcept {
  if (!same_layout_ || message.size < message_bytes_) return false;
  return std::all_of(bools_.begin(), bools_.end(), [&](const Places& bools) {
    return std::all_of(message.data + bools.begin, message.data + bools.end,
                       [](std::byte value) { return value <= std::byte{1}; });
  });
}

std::size_t NativePlan::native_bytes() const noexcept { return steps_->native_bytes; }

[[gnu::hot]] Result<void> NativePlan::write(const void* native, message::Builder& builder) const {
  if (Result<void> begun = builder.begin(type()); !begun) return begun;
  return Writer(builder).message(*steps_, static_cast<const std::byte*>(native), 0);
}

[[gnu::hot]] std::size_t NativePlan::room_for(const void* native) const {
  return message_bytes_ + Sizer().message(*steps_, static_cast<const std::byte*>(native));
}

void ArrayCopier::use_huge_pages(bool wanted) noexcept { g_huge_pages.store(wanted, std::memory_order_relaxed); }

[[gnu::hot]] bool ArrayCopier::take(void* native, bool c, const std::byte* content, std::size_t count,
                                    std::size_t element_bytes) {
  copied_bytes_ += count * element_bytes;
  if (c) return assign_sequence(native, content, count, element_bytes);
  // A vector of scalars is the same for all scalars of one size.
  switch (element_bytes) {
    case 1:
      assign_vector<std::uint8_t>(native, content, count);
      break;
    case 2:
      assign_vector<std::uint16_t>(native, content, count);
      break;
    case 4:
      assign_vector<std::uint32_t>(native, content, count);
      break;
    default:
      assign_vector<std::uint64_t>(native, content, count);
      break;
  }
  return true;
}

[[gnu::hot]] Result<void> NativePlan::read(message::Bytes message, void* native, ArrayTaker& arrays) const {
  if (message.size < message_bytes_) return out_of_line([] { return malformed("(skeleton)"); });
  try {
    Reader reader(message, arrays);
    if (reader.message(*steps_, 0, static_cast<std::byte*>(native))) return {};
    return out_of_line([&] { return reader.error(); });
  } catch (const std::bad_alloc&) {
    return Error{Errc::out_of_memory, std::string("no memory for a ") + type().name};
  }
}

}  // namespace baton::rosidl
