// SPDX-License-Identifier: Apache-2.0
#include "baton/sfm/size.hpp"

#include "baton/sfm/string.hpp"

namespace baton::sfm {
namespace {

using message::Field;
using message::Kind;
using message::Shape;
using message::Type;

// Follows the placement of a copy: contents in the order of the fields, the array of a sequence before its elements'
// contents.
class Placement {
 public:
  explicit Placement(std::size_t skeleton) noexcept : end_(skeleton) {}
  std::size_t end() const noexcept { return end_; }

  void add_message(const Type& type, const std::byte* skeleton) noexcept {
    if (type.fixed) return;
    for (std::uint32_t i = 0; i < type.field_count; ++i) {
      const Field& field = type.fields[i];
      const std::byte* at = skeleton + field.offset;
      if (field.shape == Shape::kSequence) {
        const auto& cell = *reinterpret_cast<const detail::Cell*>(at);
        const std::size_t count = cell.length();
        if (count == 0) continue;
        add_content(count * message::element_size(field), message::element_alignment(field));
        if (message::element_has_contents(field)) add_elements(field, cell.content(), count);
      } else if (message::element_has_contents(field)) {
        add_elements(field, at, message::inline_count(field));
      }
    }
  }

 private:
  void add_content(std::size_t bytes, std::size_t element_alignment) noexcept {
    const std::size_t alignment = detail::content_alignment(element_alignment, bytes);
    end_ = ((end_ + alignment - 1) & ~(alignment - 1)) + bytes;
  }

  void add_elements(const Field& field, const std::byte* first, std::size_t count) noexcept {
    switch (field.kind) {
      case Kind::kString:
        for (std::size_t i = 0; i < count; ++i) {
          const auto& cell = reinterpret_cast<const detail::StringCell*>(first)[i];
          const std::size_t bytes = detail::padded_string_bytes(cell.size());
          if (bytes != 0) add_content(bytes, 4);
        }
        return;
      case Kind::kWString:
        for (std::size_t i = 0; i < count; ++i) {
          const std::size_t units = reinterpret_cast<const detail::Cell*>(first)[i].length();
          if (units != 0) add_content(units * 2, 2);
        }
        return;
      case Kind::kMessage:
        for (std::size_t i = 0; i < count; ++i) add_message(*field.type, first + i * field.type->size);
        return;
      default:
        return;
    }
  }

  std::size_t end_;
};

}  // namespace

std::size_t copy_size(const message::Type& type, const void* message) noexcept {
  Placement placement(type.size);
  placement.add_message(type, static_cast<const std::byte*>(message));
  return placement.end();
}

}  // namespace baton::sfm
