// SPDX-License-Identifier: Apache-2.0
#include "baton/sfm/string.hpp"
#include "baton/os/hot_path.hpp"

#include <cstdint>
#include <cstring>

#include "baton/os/result.hpp"
#include "baton/sfm/wstring.hpp"

namespace baton::sfm {
namespace detail {
namespace {

void check(std::size_t count, std::size_t bound) {
  std::size_t limit = kMaxContentBytes - 8;
  if (unlikely(bound != 0)) limit = bound;
  if (unlikely(count > limit)) {
    throw_length_error(bound != 0 ? "sfm::BoundedString: characters" : "sfm::String: characters", count, limit);
  }
}

template <class Word>
void move_ends(std::byte* to, const char* from, std::size_t count) {
  Word first, last;
  std::memcpy(&first, from, sizeof first);
  std::memcpy(&last, from + count - sizeof last, sizeof last);
  std::memcpy(to, &first, sizeof first);
  std::memcpy(to + count - sizeof last, &last, sizeof last);
}

/// memmove(3). Names and encodings are short, and libc's copy would touch two pages of its own (`baton perf touch`). REQUIRES: count > 0.
void move_text(std::byte* to, const char* from, std::size_t count) {
  if (unlikely(count > 16)) {
    std::memmove(to, from, count);
  } else if (count >= 8) {
    move_ends<std::uint64_t>(to, from, count);
  } else if (count >= 4) {
    move_ends<std::uint32_t>(to, from, count);
  } else if (count >= 2) {
    move_ends<std::uint16_t>(to, from, count);
  } else {
    *to = static_cast<std::byte>(*from);
  }
}

}  // namespace

char* StringCell::reserve(std::size_t count, bool append) {
  const std::size_t used = size();
  const std::size_t padded = count + 4 - (count & 3);  // > count, a multiple of 4
  if (in_chunk()) {
    return reinterpret_cast<char*>(reserve_trivial(chunk_length(), padded, 4, append));
  }
  auto* data = reinterpret_cast<char*>(reserve_trivial(used, count + 1, 1, append));
  data[used] = '\0';
  return data;
}

void StringCell::set_size(std::size_t count) noexcept {
  if (!in_chunk()) {
    if (PrivateBlock* b = block()) {
      b->size = static_cast<std::uint32_t>(count);
      b->data[count] = std::byte{0};
    }
    return;
  }
  const std::size_t padded = padded_string_bytes(count);
  if (count != 0) {
    std::byte* const last = content() + padded - 4;
    const std::size_t characters =
        4 - (padded - count);  // of the last four bytes, 0 to 3; no loop, which would become memset(3)
    if (characters < 1) last[0] = std::byte{0};
    if (characters < 2) last[1] = std::byte{0};
    if (characters < 3) last[2] = std::byte{0};
    last[3] = static_cast<std::byte>(3 - characters);
  }
  set_chunk_length(static_cast<std::uint32_t>(padded));
}

void StringCell::assign(std::string_view text, std::size_t bound) {
  check(text.size(), bound);
  if (!in_chunk() || chunk_offset() != 0 || text.empty()) return assign_again(text);
  // The ordinary case of a message that is being built. The padding first: characters take the place of its zeros.
  const std::size_t padded = padded_string_bytes(text.size());
  auto* const to = static_cast<std::byte*>(memory::content_allocate(this, padded, content_alignment(4, padded)));
  set_chunk_content(to);
  std::memset(to + padded - 4, 0, 4);
  to[padded - 1] = static_cast<std::byte>(padded - text.size() - 1);
  move_text(to, text.data(), text.size());
  set_chunk_length(static_cast<std::uint32_t>(padded));
}

BATON_COLD void StringCell::assign_again(std::string_view text) {
  if (text.empty()) return set_size(0);
  if (text.size() > capacity()) {
    // Longer than our capacity, so `text` is not a part of this string.
    reserve(text.size(), false);
  }
  move_text(content(), text.data(), text.size());
  set_size(text.size());
}

void StringCell::append(std::string_view text, std::size_t bound) { replace(size(), 0, text, bound); }

void StringCell::replace(std::size_t position, std::size_t count, std::string_view text, std::size_t bound) {
  const std::size_t old = size();
  const std::size_t after = old - count + text.size();
  check(after, bound);
  if (after == 0) return set_size(0);
  // `text` inside this string is safe to use in place only for a plain append that keeps its bytes.
  const auto at = reinterpret_cast<std::uintptr_t>(text.data()) - reinterpret_cast<std::uintptr_t>(c_str());
  const bool own = at < old;
  if (own && position != old) {
    const std::string copy(text);
    return replace(position, count, copy, bound);
  }
  if (after > capacity()) reserve(after, true);
  char* data = reinterpret_cast<char*>(content());
  if (own) text = {data + at, text.size()};
  std::memmove(data + position + text.size(), data + position + count, old - position - count);
  if (!text.empty()) std::memmove(data + position, text.data(), text.size());
  set_size(after);
}

void StringCell::resize(std::size_t count, char fill, std::size_t bound) {
  check(count, bound);
  const std::size_t old = size();
  if (count > capacity()) reserve(count, old != 0);
  if (count > old) std::memset(content() + old, fill, count - old);
  set_size(count);
}

}  // namespace detail

std::string to_utf8(std::u16string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::uint32_t c = text[i];
    if (c >= 0xD800 && c < 0xDC00 && i + 1 < text.size() && text[i + 1] >= 0xDC00 && text[i + 1] < 0xE000) {
      c = 0x10000 + ((c - 0xD800) << 10) + (text[++i] - 0xDC00u);
    } else if (c >= 0xD800 && c < 0xE000) {
      c = 0xFFFD;
    }
    if (c < 0x80) {
      out += static_cast<char>(c);
      continue;
    }
    if (c < 0x800) {
      out += static_cast<char>(0xC0 | (c >> 6));
    } else {
      if (c < 0x10000) {
        out += static_cast<char>(0xE0 | (c >> 12));
      } else {
        out += static_cast<char>(0xF0 | (c >> 18));
        out += static_cast<char>(0x80 | ((c >> 12) & 0x3F));
      }
      out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    }
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
  return out;
}

std::u16string to_utf16(std::string_view text) {
  std::u16string out;
  out.reserve(text.size());
  std::size_t i = 0;
  while (i < text.size()) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t extra = lead < 0x80 ? 0 : lead >= 0xF0 && lead < 0xF5 ? 3 : lead >= 0xE0 ? 2 : 1;
    std::uint32_t c = extra == 0 ? lead : lead & (0x3Fu >> extra);
    bool good = lead < 0x80 || (lead >= 0xC2 && lead < 0xF5);
    std::size_t used = 1;
    for (; good && used <= extra; ++used) {
      if (i + used >= text.size() || (static_cast<unsigned char>(text[i + used]) & 0xC0) != 0x80) {
        good = false;
        break;
      }
      c = (c << 6) | (static_cast<unsigned char>(text[i + used]) & 0x3Fu);
    }
    if (good) {
      constexpr std::uint32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};
      good = c >= kSmallest[extra] && c < 0x110000 && (c < 0xD800 || c >= 0xE000);
    }
    if (!good) c = 0xFFFD;
    i += used;
    if (c < 0x10000) {
      out += static_cast<char16_t>(c);
    } else {
      out += static_cast<char16_t>(0xD800 + ((c - 0x10000) >> 10));
      out += static_cast<char16_t>(0xDC00 + ((c - 0x10000) & 0x3FF));
    }
  }
  return out;
}

}  // namespace baton::sfm
