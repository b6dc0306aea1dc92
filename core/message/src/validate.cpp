// SPDX-License-Identifier: Apache-2.0
#include "baton/message/validate.hpp"
#include "baton/os/hot_path.hpp"

#include <string>

namespace baton::message {
namespace {

// The writer may change the bytes at any time: one relaxed load per word, and decisions on that value alone.
std::uint32_t fetch(const std::byte* at) noexcept {
  return __atomic_load_n(reinterpret_cast<const std::uint32_t*>(at), __ATOMIC_RELAXED);
}

constexpr std::uint32_t as_little_endian(std::uint32_t word) noexcept {
  return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? word : __builtin_bswap32(word);
}

class Validator {
 public:
  Validator(const std::byte* message, std::uint64_t size) noexcept : base_(message), size_(size), left_(size) {}

  bool take_skeleton(const Type& type) {
    if (type.size > size_)
      return fail([&] {
        return "skeleton of " + std::to_string(type.size) + " bytes in a message of " + std::to_string(size_);
      });
    left_ -= type.size;
    return true;
  }

  bool check_message(const Type& type, std::uint64_t at, int depth) {
    if (type.fixed) return true;
    if (depth > kMaxNesting) return fail([&] { return "messages nested deeper than " + std::to_string(kMaxNesting); });
    for (std::uint32_t i = 0; i < type.field_count; ++i) {
      const Field& field = type.fields[i];
      if (!check_field(field, at + field.offset, depth)) {
        out_of_line([&] { path_.insert(0, std::string(".") + field.name); });
        return false;
      }
    }
    return true;
  }

  Error error(const Type& type) const {
    return {Errc::malformed_message, std::string(type.name) + path_ + ": " + what_};
  }

 private:
  struct Content {
    std::uint64_t length;
    std::uint64_t at;  // from the start of the message
  };

  bool check_field(const Field& field, std::uint64_t at, int depth) {
    if (field.shape == Shape::kSequence) {
      Content content;
      if (!check_words(at, element_size(field), element_alignment(field), field.count, "elements", &content))
        return false;
      return !element_has_contents(field) || check_elements(field, content.at, content.length, depth);
    }
    return !element_has_contents(field) || check_elements(field, at, inline_count(field), depth);
  }

  bool check_elements(const Field& field, std::uint64_t at, std::uint64_t count, int depth) {
    const std::uint32_t stride = element_size(field);
    for (std::uint64_t i = 0; i < count; ++i, at += stride) {
      bool good = true;
      if (field.kind == Kind::kString) {
        good = check_string(at, field.string_bound);
      } else if (field.kind == Kind::kWString) {
        Content content;
        good = check_words(at, 2, 2, field.string_bound, "code units", &content);
      } else {
        good = check_message(*field.type, at, depth + 1);
      }
      if (!good) {
        if (field.shape != Shape::kSingle) out_of_line([&] { path_.insert(0, "[" + std::to_string(i) + "]"); });
        return false;
      }
    }
    return true;
  }

  bool check_string(std::uint64_t at, std::uint32_t bound) {
    Content content;
    if (!check_words(at, 1, 4, 0, "bytes", &content)) return false;
    if (content.length == 0) return true;
    if (content.length % 4 != 0) {
      return fail(
          [&] { return "string of " + std::to_string(content.length) + " padded bytes, must be a multiple of 4"; });
    }
    // The last word holds terminator, padding and the padding's length.
    const std::uint32_t last = fetch(base_ + content.at + content.length - 4);
    unsigned char bytes[4];
    __builtin_memcpy(bytes, &last, 4);
    const std::uint32_t padding = bytes[3];
    if (padding > 3) return fail([&] { return "string padding of " + std::to_string(padding) + " bytes, at most 3"; });
    for (std::uint32_t i = 3 - padding; i < 3; ++i) {
      if (bytes[i] != 0)
        return fail(
            [&] { return "string of " + std::to_string(content.length) + " padded bytes without terminating zero"; });
    }
    const std::uint64_t characters = content.length - 1 - padding;
    if (characters == 0) return fail([&] { return std::string("empty string with content, must have length 0"); });
    if (bound != 0 && characters > bound) {
      return fail([&] { return std::to_string(characters) + " characters, bound " + std::to_string(bound); });
    }
    return true;
  }

  // Checks the two words at `at`: bound, place, alignment, and the sum of visited bytes.
  bool check_words(std::uint64_t at, std::uint32_t stride, std::uint32_t alignment, std::uint32_t bound,
                   const char* unit, Content* out) {
    const std::uint64_t length = fetch(base_ + at);
    out->length = length;
    out->at = 0;
    if (length == 0) return true;  // an offset without length at most names reserved room: it is never followed
    const auto offset = static_cast<std::int32_t>(fetch(base_ + at + 4));
    if (offset == 0) return fail([&] { return "length " + std::to_string(length) + " without content (offset 0)"; });
    if (bound != 0 && length > bound)
      return fail([&] { return std::to_string(length) + " " + unit + ", bound " + std::to_string(bound); });
    const std::uint64_t bytes = length * stride;  // < 2^64: both factors are 32-bit
    const std::int64_t start = static_cast<std::int64_t>(at) + 4 + offset;
    if (start < 0 || static_cast<std::uint64_t>(start) > size_ || bytes > size_ - static_cast<std::uint64_t>(start)) {
      return fail([&] {
        return "length " + std::to_string(length) + " (" + std::to_string(bytes) + " bytes), offset " +
               std::to_string(offset) + " reach from byte " + std::to_string(start) + ", message of " +
               std::to_string(size_) + " bytes";
      });
    }
    if (static_cast<std::uint64_t>(start) % alignment != 0) {
      return fail([&] {
        return "offset " + std::to_string(offset) + " puts the content at byte " + std::to_string(start) +
               ", alignment is " + std::to_string(alignment);
      });
    }
    if (bytes > left_) {
      return fail([&] {
        return "content of " + std::to_string(bytes) + " bytes, but other contents leave only " +
               std::to_string(left_) + " of the message's " + std::to_string(size_) + " (overlap)";
      });
    }
    left_ -= bytes;
    out->at = static_cast<std::uint64_t>(start);
    return true;
  }

  template <class Text>
  bool fail(Text&& text) {
    out_of_line([&] { what_ = text(); });
    return false;
  }

  const std::byte* base_;
  std::uint64_t size_;
  std::uint64_t left_;
  std::string path_;
  std::string what_;
};

}  // namespace

Result<void> validate(const Type& type, const std::byte* message, std::uint32_t size_bytes) {
  if (reinterpret_cast<std::uintptr_t>(message) % 8 != 0) {
    return out_of_line([&] {
      return Error{Errc::invalid_argument, std::string(type.name) + ": the message is not aligned to 8"};
    });
  }
  Validator validator(message, size_bytes);
  if (!validator.take_skeleton(type) || !validator.check_message(type, 0, 1))
    return out_of_line([&] { return validator.error(type); });
  return {};
}

namespace {

constexpr std::uint32_t bound_of(std::uint32_t bound) noexcept { return bound != 0 ? bound : UINT32_MAX; }

BATON_HOT_SELDOM bool is_message(const Type& type, const std::byte* message, std::uint32_t size_bytes) {
  return validate(type, message, size_bytes).ok();
}

}  // namespace

Validation::Validation(const Type& type) : skeleton_bytes_(type.size), flat_(add(type, 0, 1)), type_(type) {
  cells_.shrink_to_fit();
}

/// False: the type has contents with contents of their own, or too many.
bool Validation::add(const Type& type, std::uint32_t at, int depth) {
  if (type.fixed) return true;
  if (depth > kMaxNesting) return false;
  for (std::uint32_t i = 0; i < type.field_count; ++i) {
    const Field& field = type.fields[i];
    const std::uint32_t stride = element_size(field), here = at + field.offset;
    if (field.shape == Shape::kSequence) {
      if (element_has_contents(field)) return false;
      cells_.push_back(
          {here, stride, bound_of(field.count), static_cast<std::uint8_t>(element_alignment(field) - 1), Text::kNone});
    } else if (element_has_contents(field)) {
      const std::uint32_t count = inline_count(field);
      if (count > kMostCells) return false;
      for (std::uint32_t k = 0; k < count; ++k) {
        if (field.kind == Kind::kMessage) {
          if (!add(*field.type, here + k * stride, depth + 1)) return false;
        } else if (field.kind == Kind::kString) {
          cells_.push_back({here + k * stride, 1, bound_of(field.string_bound), 3, Text::kString});
        } else {
          cells_.push_back({here + k * stride, 2, bound_of(field.string_bound), 1, Text::kNone});
        }
      }
    }
    if (cells_.size() > kMostCells) return false;
  }
  return true;
}

/// The same conditions as those of Validator. Each word is fetched once.
inline bool Validation::is_valid(const std::byte* message, std::uint32_t size_bytes) const {
  if (unlikely(!flat_ || reinterpret_cast<std::uintptr_t>(message) % 8 != 0))
    return is_message(type_, message, size_bytes);
  if (unlikely(size_bytes < skeleton_bytes_)) return false;
  std::uint64_t left = size_bytes - skeleton_bytes_;
  for (const Cell& cell : cells_) {
    const std::uint64_t length = fetch(message + cell.at);
    if (length == 0) continue;
    const auto offset = static_cast<std::int32_t>(fetch(message + cell.at + 4));
    // A place before the message is one far behind it.
    const auto start = static_cast<std::uint64_t>(static_cast<std::int64_t>(cell.at) + 4 + offset);
    const std::uint64_t bytes = length * cell.stride;  // < 2^64: both factors are 32-bit
    // What is left is at most size_bytes.
    if (unlikely(offset == 0 || bytes > left || start > size_bytes - bytes || (start & cell.misalignment) != 0))
      return false;
    left -= bytes;
    std::uint64_t count = length;
    if (cell.text == Text::kString) {
      if (unlikely(length % 4 != 0)) return false;
      // Terminator and padding are zero, up to the byte with the padding's length.
      const std::uint32_t last = as_little_endian(fetch(message + start + length - 4));
      const std::uint32_t padding = last >> 24;
      if (unlikely(padding > 3 || (last & 0xffffffU) >> (24 - 8 * padding) != 0)) return false;
      count = length - 1 - padding;
      if (unlikely(count == 0)) return false;
    }
    if (unlikely(count > cell.bound)) return false;
  }
  return true;
}

bool Validation::check(const void* validation, const std::byte* message, std::uint32_t size_bytes, Error* why) {
  const auto& self = *static_cast<const Validation*>(validation);
  if (unlikely(why != nullptr)) return self.explain(message, size_bytes, why);
  return self.is_valid(message, size_bytes);
}

BATON_COLD bool Validation::explain(const std::byte* message, std::uint32_t size_bytes, Error* why) const {
  const Result<void> valid = (*this)(message, size_bytes);
  if (!valid) *why = valid.error();
  return valid.ok();
}

Result<void> Validation::operator()(const std::byte* message, std::uint32_t size_bytes) const {
  if (flat_ && is_valid(message, size_bytes)) return {};
  return validate(type_, message, size_bytes);
}

}  // namespace baton::message
