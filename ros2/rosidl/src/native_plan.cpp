// SPDX-License-Identifier: Apache-2.0
#include "baton/rosidl/native_plan.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
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
struct NativePlan::Step {
  const Member* member;
  const message::Field* field;
  const Steps* nested;        // kMessage only
  std::size_t element_bytes;  // of the native element
  bool c;
};

/// The fields of one type, and of the types nested in it.
struct NativePlan::Steps {
  std::size_t native_bytes = 0;
  os::HotVector<Step> steps;
  std::vector<std::shared_ptr<const Steps>> owned;
};

namespace {

using Step = NativePlan::Step;
using Steps = NativePlan::Steps;
using message::Kind;
using message::Shape;

std::shared_ptr<const Steps> steps_of(const Introspection& source, const message::Type& type) {
  auto made = os::make_hot_shared<Steps>();
  made->native_bytes = source.members->size_of_;
  if (is_placeholder(*source.members)) return made;
  const std::uint32_t first = type.field_count - source.members->member_count_;  // 1 for Header's seq, else 0
  for (std::uint32_t i = 0; i < source.members->member_count_; ++i) {
    const Member& member = source.members->members_[i];
    const message::Field& field = type.fields[first + i];
    Step step{&member, &field, nullptr, message::element_size(field), source.c};
    if (field.kind == Kind::kMessage) {
      made->owned.push_back(steps_of(introspect(member.members_).value(), *field.type));
      step.nested = made->owned.back().get();
      step.element_bytes = step.nested->native_bytes;
    } else if (field.kind == Kind::kString) {
      step.element_bytes = source.c ? sizeof(rosidl_runtime_c__String) : sizeof(std::string);
    } else if (field.kind == Kind::kWString) {
      step.element_bytes = source.c ? sizeof(rosidl_runtime_c__U16String) : sizeof(std::u16string);
    }
    made->steps.push_back(step);
  }
  return made;
}

bool is_scalar(Kind kind) { return kind < Kind::kString; }

bool is_packed(const Step& step) { return rosidl::is_packed(*step.member, step.c); }

/// The most bytes that Builder needs for a content of `bytes`: from 4 KiB on it is aligned to 64.
std::size_t room(std::size_t bytes, std::size_t alignment) { return bytes + (bytes >= 4096 ? 64 : alignment) - 1; }

class Sizer {
 public:
  [[gnu::hot]] std::size_t message(const Steps& steps, const std::byte* native) const {
    std::size_t bytes = 0;
    for (const Step& step : steps.steps) bytes += field(step, native + step.member->offset_);
    return bytes;
  }

 private:
  std::size_t field(const Step& step, const std::byte* native) const {
    std::size_t count = step.field->shape == Shape::kArray ? step.field->count : 1;
    std::size_t bytes = 0;
    if (step.field->shape == Shape::kSequence) {
      count = step.member->size_function(native);
      if (count == 0) return 0;
      const message::ElementLayout layout = element_layout(*step.field);
      bytes = room(count * layout.size, layout.alignment);
      if (is_scalar(step.field->kind)) return bytes;
      native = static_cast<const std::byte*>(step.member->get_const_function(native, 0));
    } else if (is_scalar(step.field->kind)) {
      return 0;
    }
    for (std::size_t i = 0; i < count; ++i, native += step.element_bytes) bytes += element(step, native);
    return bytes;
  }

  std::size_t element(const Step& step, const std::byte* native) const {
    if (step.field->kind == Kind::kMessage) return message(*step.nested, native);
    if (step.field->kind == Kind::kWString) {
      return room(2 * (step.c ? reinterpret_cast<const rosidl_runtime_c__U16String*>(native)->size
                              : reinterpret_cast<const std::u16string*>(native)->size()),
                  2);
    }
    const std::size_t length = step.c ? reinterpret_cast<const rosidl_runtime_c__String*>(native)->size
                                      : reinterpret_cast<const std::string*>(native)->size();
    return length == 0 ? 0 : room(length + 4, 4);  // a terminating zero, up to 3 of padding
  }
};

class Writer {
 public:
  explicit Writer(message::Builder& builder) : builder_(builder) {}

  [[gnu::hot]] Result<void> message(const Steps& steps, const std::byte* native, std::size_t place) {
    for (const Step& step : steps.steps) {
      if (Result<void> written = field(step, native + step.member->offset_, place + step.field->offset); !written)
        return written;
    }
    return {};
  }

 private:
  Result<void> field(const Step& step, const std::byte* native, std::size_t place) {
    switch (step.field->shape) {
      case Shape::kSingle:
        return elements(step, native, 1, place);
      case Shape::kArray:
        return elements(step, native, step.field->count, place);
      case Shape::kSequence:
        break;
    }
    const std::size_t count = step.member->size_function(native);
    if (step.field->count != 0 && count > step.field->count) return malformed(step.field->name);
    const bool scalar = is_scalar(step.field->kind);
    Result<std::size_t> content = scalar ? builder_.add_sequence(place, count, element_layout(*step.field))
                                         : builder_.add_zeroed_sequence(place, count, element_layout(*step.field));
    if (!content) return content.error();
    if (count == 0) return {};
    if (is_packed(step)) {
      for (std::size_t i = 0; i < count; ++i) {
        bool value = false;
        step.member->fetch_function(native, i, &value);
        builder_.base()[*content + i] = std::byte{value};
      }
      return {};
    }
    return elements(step, static_cast<const std::byte*>(step.member->get_const_function(native, 0)), count, *content);
  }

  Result<void> elements(const Step& step, const std::byte* native, std::size_t count, std::size_t place) {
    const std::size_t bytes = message::element_size(*step.field);
    if (is_scalar(step.field->kind)) {
      if (count != 0) std::memcpy(builder_.base() + place, native, count * bytes);
      return {};
    }
    for (std::size_t i = 0; i < count; ++i, native += step.element_bytes, place += bytes) {
      if (Result<void> written = element(step, native, place); !written) return written;
    }
    return {};
  }

  Result<void> element(const Step& step, const std::byte* native, std::size_t place) {
    if (step.field->kind == Kind::kMessage) return message(*step.nested, native, place);
    const void* text = nullptr;
    std::size_t length = 0;
    const bool wide = step.field->kind == Kind::kWString;
    if (step.c) {
      // String and U16String: {pointer, size, capacity}.
      const auto& string = *reinterpret_cast<const rosidl_runtime_c__String*>(native);
      text = string.data;
      length = string.size;
    } else if (wide) {
      const auto& string = *reinterpret_cast<const std::u16string*>(native);
      text = string.data();
      length = string.size();
    } else {
      const auto& string = *reinterpret_cast<const std::string*>(native);
      text = string.data();
      length = string.size();
    }
    if (step.field->string_bound != 0 && length > step.field->string_bound) return malformed(step.field->name);
    if (!wide) return builder_.add_string(place, text, length);
    Result<std::size_t> content = builder_.add_sequence(place, length, {2, 2});
    if (!content) return content.error();
    if (length != 0) std::memcpy(builder_.base() + *content, text, length * 2);
    return {};
  }

  message::Builder& builder_;
};

class Reader {
 public:
  Reader(message::Bytes message, ArrayTaker& arrays) : message_(message), unvisited_(message.size), arrays_(arrays) {}

  [[gnu::hot]] Result<void> message(const Steps& steps, std::size_t place, std::byte* native) {
    for (const Step& step : steps.steps) {
      if (Result<void> read = field(step, place + step.field->offset, native + step.member->offset_); !read)
        return read;
    }
    return {};
  }

 private:
  /// A content: its `bytes` are inside the message, and are charged to the message's size once.
  struct Content {
    std::size_t count;
    std::size_t place;
  };

  /// Reads the words at `place` (docs/format/sfm.md), each fetched once: the memory may be another process's.
  Result<Content> content(const Step& step, std::size_t place, std::size_t element_bytes) {
    std::uint32_t count = 0;
    std::int32_t offset = 0;
    std::memcpy(&count, message_.data + place, sizeof count);
    std::memcpy(&offset, message_.data + place + 4, sizeof offset);
    if (count == 0) return Content{0, 0};
    const std::int64_t at = static_cast<std::int64_t>(place) + 4 + offset;
    const std::uint64_t bytes = std::uint64_t{count} * element_bytes;
    if (at < 0 || static_cast<std::uint64_t>(at) > message_.size ||
        bytes > message_.size - static_cast<std::uint64_t>(at) || bytes > unvisited_) {
      return malformed(step.field->name);
    }
    unvisited_ -= bytes;
    return Content{count, static_cast<std::size_t>(at)};
  }

  Result<void> field(const Step& step, std::size_t place, std::byte* native) {
    switch (step.field->shape) {
      case Shape::kSingle:
        return elements(step, place, 1, native);
      case Shape::kArray:
        return elements(step, place, step.field->count, native);
      case Shape::kSequence:
        break;
    }
    Result<Content> found = content(step, place, message::element_size(*step.field));
    if (!found) return found.error();
    if (step.field->count != 0 && found->count > step.field->count) return malformed(step.field->name);
    if (found->count != 0 && is_scalar(step.field->kind) && step.field->kind != Kind::kBool) {
      if (found->place % step.element_bytes != 0) return malformed(step.field->name);
      if (arrays_.take(native, step.c, message_.data + found->place, found->count, step.element_bytes)) return {};
      return Error{Errc::out_of_memory, std::string("no memory for field '") + step.field->name + "'"};
    }
    if (step.c) {
      const auto resize =
          reinterpret_cast<const rosidl_typesupport_introspection_c__MessageMember*>(step.member)->resize_function;
      if (!resize(native, found->count))
        return Error{Errc::out_of_memory, std::string("no memory for field '") + step.field->name + "'"};
    } else {
      step.member->resize_function(native, found->count);
    }
    if (found->count == 0) return {};
    if (is_packed(step)) {
      for (std::size_t i = 0; i < found->count; ++i) {
        const bool value = message_.data[found->place + i] != std::byte{0};
        step.member->assign_function(native, i, &value);
      }
      return {};
    }
    return elements(step, found->place, found->count, static_cast<std::byte*>(step.member->get_function(native, 0)));
  }

  Result<void> elements(const Step& step, std::size_t place, std::size_t count, std::byte* native) {
    const std::size_t bytes = message::element_size(*step.field);
    if (step.field->kind == Kind::kBool) {  // a message's byte means "not 0"; a native bool is 0 or 1
      for (std::size_t i = 0; i < count; ++i) native[i] = std::byte{message_.data[place + i] != std::byte{0}};
      return {};
    }
    if (is_scalar(step.field->kind)) {
      if (count != 0) std::memcpy(native, message_.data + place, count * bytes);
      return {};
    }
    for (std::size_t i = 0; i < count; ++i, native += step.element_bytes, place += bytes) {
      if (Result<void> read = element(step, place, native); !read) return read;
    }
    return {};
  }

  Result<void> element(const Step& step, std::size_t place, std::byte* native) {
    if (step.field->kind == Kind::kMessage) return message(*step.nested, place, native);
    const bool wide = step.field->kind == Kind::kWString;
    Result<Content> found = content(step, place, wide ? 2 : 1);
    if (!found) return found.error();
    std::size_t length = found->count;
    if (!wide && length != 0) {  // content, a zero, padding; the last byte counts the padding
      const auto padding = std::to_integer<std::size_t>(message_.data[found->place + length - 1]);
      if (padding > 3 || padding + 1 > length) return malformed(step.field->name);
      length -= padding + 1;
    }
    if (step.field->string_bound != 0 && length > step.field->string_bound) return malformed(step.field->name);
    return assign(step, wide, message_.data + found->place, length, native);
  }

  static Result<void> assign(const Step& step, bool wide, const std::byte* text, std::size_t length,
                             std::byte* native) {
    if (step.c) {
      const bool done = wide ? assign_wide(text, length, native)
                             : rosidl_runtime_c__String__assignn(reinterpret_cast<rosidl_runtime_c__String*>(native),
                                                                 reinterpret_cast<const char*>(text), length);
      if (!done) return Error{Errc::out_of_memory, std::string("no memory for field '") + step.field->name + "'"};
      return {};
    }
    if (wide) {
      auto& string = *reinterpret_cast<std::u16string*>(native);
      string.resize(length);
      if (length != 0) std::memcpy(string.data(), text, length * 2);
    } else {
      reinterpret_cast<std::string*>(native)->assign(reinterpret_cast<const char*>(text), length);
    }
    return {};
  }

  static bool assign_wide(const std::byte* text, std::size_t length, std::byte* native) {
    auto* string = reinterpret_cast<rosidl_runtime_c__U16String*>(native);
    if (!rosidl_runtime_c__U16String__resize(string, length)) return false;
    if (length != 0) std::memcpy(string->data, text, length * 2);
    return true;
  }

  message::Bytes message_;
  std::uint64_t unvisited_;
  ArrayTaker& arrays_;
};

/// Whether all of `steps` have the same places in the native struct (from `native`) and in the message (from `place`).
/// Adds the places of bools.
bool same_places(const Steps& steps, const message::Type& type, std::size_t native, std::size_t place,
                 std::vector<NativePlan::Places>& bools) {
  if (steps.native_bytes != type.size || type.field_count != steps.steps.size()) return false;
  for (const Step& step : steps.steps) {
    const message::Field& field = *step.field;
    if (field.shape == Shape::kSequence || field.kind == Kind::kString || field.kind == Kind::kWString) return false;
    const std::size_t from = native + step.member->offset_, to = place + field.offset;
    if (from != to) return false;
    const std::size_t count = field.shape == Shape::kArray ? field.count : 1, bytes = message::element_size(field);
    if (field.kind == Kind::kBool) bools.push_back({to, to + count});
    for (std::size_t i = 0; field.kind == Kind::kMessage && i < count; ++i) {
      if (!same_places(*step.nested, *field.type, from + i * step.element_bytes, to + i * bytes, bools)) return false;
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
    vector = {};
    vector.reserve(count);
    prepare_large(vector.data(), count * sizeof(Scalar));
  }
  const auto* begin = reinterpret_cast<const Scalar*>(content);
  vector.assign(begin, begin + count);
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
  return std::shared_ptr<const NativePlan>(new NativePlan(std::move(*definition), std::move(text), std::move(steps)));
}

NativePlan::NativePlan(message::Definition definition, std::string text, std::shared_ptr<const Steps> steps)
    : definition_(std::move(definition)),
      text_(std::move(text)),
      steps_(std::move(steps)),
      same_layout_(type().fixed && same_places(*steps_, type(), 0, 0, bools_)) {
  if (!same_layout_) bools_.clear();
}

[[gnu::hot]] bool NativePlan::is_native(message::Bytes message) const noexcept {
  if (!same_layout_ || message.size < type().size) return false;
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
  return type().size + Sizer().message(*steps_, static_cast<const std::byte*>(native));
}

void ArrayCopier::use_huge_pages(bool wanted) noexcept { g_huge_pages.store(wanted, std::memory_order_relaxed); }

[[gnu::hot]] bool ArrayCopier::take(void* native, bool c, const std::byte* content, std::size_t count,
                                    std::size_t element_bytes) {
  copied_bytes_ += count * element_bytes;
  if (c) {
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
  if (message.size < type().size) return malformed("(skeleton)");
  try {
    return Reader(message, arrays).message(*steps_, 0, static_cast<std::byte*>(native));
  } catch (const std::bad_alloc&) {
    return Error{Errc::out_of_memory, std::string("no memory for a ") + type().name};
  }
}

}  // namespace baton::rosidl
