// SPDX-License-Identifier: Apache-2.0
#include "baton/message/print.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "baton/message/builder.hpp"
#include "baton/os/printable.hpp"
#include "sfm_reader.hpp"

namespace baton::message {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// Length of the UTF-8 sequence at the beginning of `text`, 0 if there is none (RFC 3629: no overlong forms, no
/// surrogates).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) {
    return i < text.size() && byte(i) >= low && byte(i) <= high;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const unsigned low = first == 0xE0 ? 0xA0 : 0x80;
    const unsigned high = first == 0xED ? 0x9F : 0xBF;
    return follows(1, low, high) && follows(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const unsigned low = first == 0xF0 ? 0x90 : 0x80;
    const unsigned high = first == 0xF4 ? 0x8F : 0xBF;
    return follows(1, low, high) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

void append_utf8(std::string& out, std::uint32_t code) {
  const auto put = [&out](std::uint32_t value) { out.push_back(static_cast<char>(value)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

/// YAML reads some plain words as other types than strings; so any text except a name-like word is quoted.
bool is_plain(std::string_view text) {
  if (text.empty() || text.size() > 64) return false;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto inner = [&](char c) { return letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '/' || c == '.'; };
  if (!letter(text[0])) return text[0] == '/' && text.size() > 1 && is_plain(text.substr(1));
  for (const char c : text) {
    if (!inner(c)) return false;
  }
  std::string lower(text);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  for (const char* word : {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}) {
    if (lower == word) return false;
  }
  return true;
}

void append_quoted(std::string& out, std::string_view text) {
  bool escapes = false;
  for (std::size_t i = 0, length; i < text.size(); i += length) {
    length = utf8_length(text.substr(i));
    const char32_t code = os::code_point(text.substr(i), length);
    // Line separators and the byte order mark cannot stand in single quotes; the others would steer a terminal.
    escapes = escapes || os::is_control_or_format(code) || text[i] == '\xE2' || text[i] == '\xEF';
  }
  if (!escapes) {
    out += '\'';
    for (const char c : text) {
      out += c;
      if (c == '\'') out += c;
    }
    out += '\'';
    return;
  }
  out += '"';
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char32_t code = os::code_point(text, length);
    if (os::is_control_or_format(code)) {
      char escape[16];
      const char* const form = code <= 0xFF ? "\\x%02x" : code <= 0xFFFF ? "\\u%04x" : "\\U%08x";
      std::snprintf(escape, sizeof escape, form, static_cast<unsigned>(code));
      out += escape;
    } else {
      if (code == '"' || code == '\\') out += '\\';
      out += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  out += '"';
}

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void append_number(std::string& out, T value) {
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, value).ptr;
  out.append(text, end);
}

template <class T>
void append_float(std::string& out, T value) {
  if (std::isnan(value)) {
    out += ".nan";
  } else if (std::isinf(value)) {
    out += value < 0 ? "-.inf" : ".inf";
  } else {
    const std::size_t begin = out.size();
    append_number(out, value);
    // YAML 1.1 knows an exponent only behind a fraction, and reads "5" as an integer.
    if (out.find('.', begin) == std::string::npos) {
      const std::size_t exponent = out.find('e', begin);
      out.insert(exponent == std::string::npos ? out.size() : exponent, ".0");
    }
  }
}

class Printer {
 public:
  Printer(SfmReader& reader, const PrintOptions& options, std::string& out)
      : reader_(reader), options_(options), out_(out) {}

  /// Fields of a message, one a line; output continues where the first field's name goes.
  bool message(const Type& type, std::size_t base, std::size_t indent) {
    bool first = true;
    for (std::uint32_t i = 0; i < type.field_count; ++i) {
      const Field& field = type.fields[i];
      if (options_.hide_header_seq && std::strcmp(type.name, "std_msgs/Header") == 0 &&
          std::strcmp(field.name, "seq") == 0)
        continue;
      if (!first) out_.append(indent, ' ');
      first = false;
      out_ += field.name;
      out_ += ':';
      if (!value(field, base + field.offset, indent)) return reader_.failure().in(field.name);
    }
    if (first) out_ += "{}\n";
    return true;
  }

 private:
  bool value(const Field& field, std::size_t place, std::size_t indent) {
    if (field.shape == Shape::kSingle) {
      if (field.kind == Kind::kMessage) return nested(*field.type, place, indent + 2);
      out_ += ' ';
      if (!scalar(field, place)) return false;
      out_ += '\n';
      return true;
    }
    Content content{place, field.count, 0};
    const ElementLayout layout = element_layout(field);
    if (field.shape == Shape::kSequence &&
        !reader_.sequence(place, layout.size, layout.alignment, field.count, content))
      return false;
    if (content.count == 0) {
      out_ += " []\n";
      return true;
    }
    const std::size_t shown =
        options_.max_elements == 0 || content.count <= options_.max_elements ? content.count : options_.max_elements;
    const bool flow = options_.flow_arrays && field.kind != Kind::kMessage;
    out_ += flow ? " [" : "\n";
    for (std::size_t i = 0; i < shown; ++i) {
      if (!element(field, content.place + i * layout.size, indent, flow, i)) return reader_.failure().in("", i);
    }
    if (shown < content.count) {
      if (!flow) out_.append(indent, ' ');
      out_ += flow ? ", '...'" : "- '...'\n";
    }
    if (flow) out_ += "]\n";
    return true;
  }

  bool element(const Field& field, std::size_t place, std::size_t indent, bool flow, std::size_t index) {
    if (flow) {
      if (index != 0) out_ += ", ";
      return scalar(field, place);
    }
    out_.append(indent, ' ');
    out_ += "- ";
    if (field.kind == Kind::kMessage) return message(*field.type, place, indent + 2);
    if (!scalar(field, place)) return false;
    out_ += '\n';
    return true;
  }

  bool nested(const Type& type, std::size_t place, std::size_t indent) {
    if (type.field_count == 0) {
      out_ += " {}\n";
      return true;
    }
    out_ += '\n';
    out_.append(indent, ' ');
    return message(type, place, indent);
  }

  bool scalar(const Field& field, std::size_t place) {
    const std::byte* at = reader_.at(place);
    switch (field.kind) {
      case Kind::kBool:
        out_ += fetch_byte(at) != 0 ? "true" : "false";
        break;
      case Kind::kInt8:
        append_number(out_, static_cast<int>(load<std::int8_t>(at)));
        break;
      case Kind::kUint8:
        append_number(out_, static_cast<int>(load<std::uint8_t>(at)));
        break;
      case Kind::kInt16:
        append_number(out_, load<std::int16_t>(at));
        break;
      case Kind::kUint16:
        append_number(out_, load<std::uint16_t>(at));
        break;
      case Kind::kInt32:
        append_number(out_, load<std::int32_t>(at));
        break;
      case Kind::kUint32:
        append_number(out_, load<std::uint32_t>(at));
        break;
      case Kind::kInt64:
        append_number(out_, load<std::int64_t>(at));
        break;
      case Kind::kUint64:
        append_number(out_, load<std::uint64_t>(at));
        break;
      case Kind::kFloat32:
        append_float(out_, load<float>(at));
        break;
      case Kind::kFloat64:
        append_float(out_, load<double>(at));
        break;
      case Kind::kString:
        return string(field, place);
      case Kind::kWString:
        return wide_string(field, place);
      case Kind::kMessage:
        return false;  // not called for messages
    }
    return true;
  }

  bool string(const Field& field, std::size_t place) {
    Content content;
    if (!reader_.string(place, field.string_bound, content)) return false;
    // A copy first: the bytes may change while they are read more than once.
    const std::string copy(reinterpret_cast<const char*>(reader_.at(content.place)), content.count);
    text(copy);
    return true;
  }

  bool wide_string(const Field& field, std::size_t place) {
    Content content;
    if (!reader_.sequence(place, 2, 2, field.string_bound, content)) return false;
    std::u16string units(content.count, u'\0');
    if (content.count != 0) std::memcpy(units.data(), reader_.at(content.place), content.count * 2);
    std::string copy;
    for (std::size_t i = 0; i < units.size(); ++i) {
      std::uint32_t code = units[i];
      if (code >= 0xD800 && code < 0xDC00 && i + 1 < units.size() && units[i + 1] >= 0xDC00 && units[i + 1] < 0xE000) {
        code = 0x10000 + ((code - 0xD800) << 10) + (units[++i] - 0xDC00U);
      } else if (code >= 0xD800 && code < 0xE000) {
        code = 0xFFFD;
      }
      append_utf8(copy, code);
    }
    text(copy);
    return true;
  }

  void text(std::string_view raw) { out_ += yaml_of(raw, options_.max_string_bytes); }

  SfmReader& reader_;
  const PrintOptions& options_;
  std::string& out_;
};

}  // namespace

std::string yaml_of(std::string_view text, std::size_t max_bytes) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::size_t taken = length == 0 ? 1 : length;
    if (max_bytes != 0 && shown.size() + taken > max_bytes) {
      shown += "...";
      break;
    }
    shown += length == 0 ? kReplacement : text.substr(0, length);
    text.remove_prefix(taken);
  }
  if (is_plain(shown)) return shown;
  std::string quoted;
  append_quoted(quoted, shown);
  return quoted;
}

Result<std::string> print(const Type& type, Bytes message, const PrintOptions& options) {
  Failure failure;
  SfmReader reader(message, failure);
  std::string out;
  if (!reader.begin(type.size) || !Printer(reader, options, out).message(type, 0, 0))
    return failure.error("cannot print", type.name);
  return out;
}

}  // namespace baton::message
