// SPDX-License-Identifier: Apache-2.0
#include "baton/message/print_object.hpp"

#include <algorithm>
#include <cstring>
#include <ostream>

#include "baton/message/builder.hpp"
#include "baton/message/print.hpp"
#include "baton/sfm/string.hpp"

namespace baton::message {

namespace {

/// Copies the beginning of every sequence and string into a flat message, with one element more than print() shows.
class Excerpt {
 public:
  explicit Excerpt(const PrintOptions& options) : options_(options), builder_(buffer_) {}

  bool make(const Type& type, const std::byte* object) { return builder_.begin(type).ok() && copy(type, object, 0); }
  Bytes bytes() const noexcept { return buffer_.bytes(); }

 private:
  bool copy(const Type& type, const std::byte* from, std::size_t place) {
    if (type.fixed) {
      std::memcpy(builder_.base() + place, from, type.size);
      return true;
    }
    for (std::uint32_t i = 0; i < type.field_count; ++i) {
      const Field& field = type.fields[i];
      const bool copied = field.shape == Shape::kSequence ? sequence(field, from + field.offset, place + field.offset)
                                                          : elements(field, from + field.offset, place + field.offset,
                                                                     field.shape == Shape::kArray ? field.count : 1);
      if (!copied) return false;
    }
    return true;
  }

  bool elements(const Field& field, const std::byte* from, std::size_t place, std::size_t count) {
    const std::size_t stride = element_layout(field).size;
    if (field.kind != Kind::kString && field.kind != Kind::kWString && field.kind != Kind::kMessage) {
      if (count != 0) std::memcpy(builder_.base() + place, from, count * stride);
      return true;
    }
    for (std::size_t i = 0; i < count; ++i, from += stride, place += stride) {
      const bool copied = field.kind == Kind::kMessage  ? copy(*field.type, from, place)
                          : field.kind == Kind::kString ? string(from, place)
                                                        : wstring(from, place);
      if (!copied) return false;
    }
    return true;
  }

  bool sequence(const Field& field, const std::byte* from, std::size_t place) {
    const auto* cell = reinterpret_cast<const sfm::detail::Cell*>(from);
    const std::size_t count = std::min<std::size_t>(cell->length(), options_.max_elements + 1);
    const Result<std::size_t> content = builder_.add_zeroed_sequence(place, count, element_layout(field));
    return content.ok() && elements(field, cell->content(), *content, count);
  }

  bool string(const std::byte* from, std::size_t place) {
    const std::string_view text = reinterpret_cast<const sfm::detail::StringCell*>(from)->view();
    return builder_.add_string(place, text.data(), std::min(text.size(), options_.max_string_bytes + 4)).ok();
  }

  bool wstring(const std::byte* from, std::size_t place) {
    const auto* cell = reinterpret_cast<const sfm::detail::Cell*>(from);
    const std::size_t units = std::min<std::size_t>(cell->length(), options_.max_string_bytes + 4);
    const Result<std::size_t> content = builder_.add_sequence(place, units, {2, 2});
    if (content.ok() && units != 0) std::memcpy(builder_.base() + *content, cell->content(), units * 2);
    return content.ok();
  }

  const PrintOptions& options_;
  FlatBuffer buffer_;
  FlatBuilder builder_;
};

}  // namespace

std::ostream& print_object(std::ostream& out, const Type& type, const void* object) {
  return print_object(out, type, object, {});
}

std::ostream& print_object(std::ostream& out, const Type& type, const void* object, const PrintOptions& options) {
  Excerpt excerpt(options);
  if (excerpt.make(type, static_cast<const std::byte*>(object))) {
    if (const Result<std::string> text = print(type, excerpt.bytes(), options); text.ok()) return out << *text;
  }
  out.setstate(std::ios_base::badbit);
  return out;
}

}  // namespace baton::message
