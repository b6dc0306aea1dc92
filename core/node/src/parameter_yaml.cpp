// SPDX-License-Identifier: Apache-2.0
#include "parameter_yaml.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <unordered_map>
#include <utility>

#ifdef BATON_HAS_LIBYAML
#include <yaml.h>
#endif

namespace baton::detail {
namespace {

constexpr std::size_t kFileMaxBytes = std::size_t{16} << 20;

[[noreturn]] void refuse(const std::string& where, const std::string& why) {
  throw Exception({Errc::invalid_argument, where + ": " + why});
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

/// An integer as strtoll() with base 0 reads it, which is what ROS 2 calls: 0x is hexadecimal, a leading 0 octal.
std::optional<std::int64_t> integer(std::string_view text) {
  const bool negative = !text.empty() && text.front() == '-';
  std::string_view digits = text;
  if (!digits.empty() && (digits.front() == '-' || digits.front() == '+')) digits.remove_prefix(1);
  int base = 10;
  if (digits.size() > 2 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X')) {
    base = 16;
    digits.remove_prefix(2);
  } else if (digits.size() > 1 && digits[0] == '0') {
    base = 8;
    digits.remove_prefix(1);
  }
  std::uint64_t magnitude = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), magnitude, base);
  if (digits.empty() || end.ptr != digits.data() + digits.size()) return std::nullopt;
  const std::uint64_t most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) + negative;
  if (end.ec != std::errc() || magnitude > most)
    throw Exception({Errc::invalid_argument, "the integer " + std::string(text) + " has more than 64 bits"});
  return static_cast<std::int64_t>(negative ? 0 - magnitude : magnitude);
}

std::optional<double> floating(std::string_view text) {
  std::string_view digits = text;
  const bool negative = !digits.empty() && digits.front() == '-';
  if (!digits.empty() && (digits.front() == '-' || digits.front() == '+')) digits.remove_prefix(1);
  if (is_one_of(digits, {".inf", ".Inf", ".INF"}))
    return negative ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  if (is_one_of(text, {".nan", ".NaN", ".NAN"})) return std::numeric_limits<double>::quiet_NaN();
  if (digits.empty() || !(digits.front() == '.' || (digits.front() >= '0' && digits.front() <= '9')))
    return std::nullopt;  // else from_chars takes "inf" and "nan"
  double value = 0;
  const auto end = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (end.ptr != digits.data() + digits.size()) return std::nullopt;
  if (end.ec == std::errc::result_out_of_range)
    throw Exception({Errc::invalid_argument, "the number " + std::string(text) + " does not fit a double"});
  if (end.ec != std::errc()) return std::nullopt;
  return negative ? -value : value;
}

}  // namespace

ParameterValue plain_scalar(std::string_view text) {
  if (text.empty() || is_one_of(text, {"~", "null", "Null", "NULL"})) return {};
  if (is_one_of(text, {"y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"})) return true;
  if (is_one_of(text, {"n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"})) return false;
  if (const auto number = integer(text)) return *number;
  if (const auto number = floating(text)) return *number;
  return std::string(text);
}

#ifdef BATON_HAS_LIBYAML

namespace {

constexpr int kDepthMax = 64;

/// A document as it stands in the text.
struct Item {
  enum class Kind : std::uint8_t { kScalar, kSequence, kMapping };
  Kind kind = Kind::kScalar;
  std::size_t line = 0;  // from 1
  std::string text;      // of a scalar
  bool plain = false;    // without quotes and without the tag !!str
  std::vector<Item> items;
  std::vector<std::pair<Item, Item>> members;
};

/// The one document of a text as an Item.
class YamlReader {
 public:
  YamlReader(std::string_view yaml, std::string file) : file_(std::move(file)) {
    if (!yaml_parser_initialize(&parser_)) throw Exception(no_memory());
    yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(yaml.data()), yaml.size());
  }
  ~YamlReader() { yaml_parser_delete(&parser_); }
  YamlReader(const YamlReader&) = delete;
  YamlReader& operator=(const YamlReader&) = delete;

  /// None: the text has no document.
  std::optional<Item> document() {
    std::optional<Item> result;
    for (;;) {
      const Event event = next();
      switch (event->type) {
        case YAML_STREAM_END_EVENT:
          return result;
        case YAML_DOCUMENT_START_EVENT:
          if (result) refuse(at(line_of(event)), "there is a second document ('---'); put all into one");
          result = item(next(), 0);
          break;
        default:
          break;
      }
    }
  }

  std::string at(std::size_t line) const { return file_ + ":" + std::to_string(line); }

 private:
  struct Event {
    Event() = default;
    Event(Event&& other) noexcept : event(std::exchange(other.event, {})) {}
    Event& operator=(Event&&) = delete;
    ~Event() { yaml_event_delete(&event); }
    const yaml_event_t* operator->() const { return &event; }
    yaml_event_t event{};
  };

  static std::size_t line_of(const Event& event) { return event->start_mark.line + 1; }

  Event next() {
    Event event;
    if (yaml_parser_parse(&parser_, &event.event)) return event;
    if (parser_.error == YAML_MEMORY_ERROR) throw Exception(no_memory());
    const std::size_t line = (parser_.error == YAML_READER_ERROR ? parser_.mark.line : parser_.problem_mark.line) + 1;
    refuse(at(line), std::string("no YAML: ") + (parser_.context ? std::string(parser_.context) + ", " : "") +
                         (parser_.problem ? parser_.problem : "unknown problem"));
  }

  Item item(const Event& event, int depth) {
    Item made;
    made.line = line_of(event);
    if (depth > kDepthMax)
      refuse(at(made.line), "lists and mappings are nested more than " + std::to_string(kDepthMax) + " deep");
    switch (event->type) {
      case YAML_SCALAR_EVENT: {
        const auto& scalar = event->data.scalar;
        made.text.assign(reinterpret_cast<const char*>(scalar.value), scalar.length);
        made.plain = scalar.style == YAML_PLAIN_SCALAR_STYLE;
        if (scalar.tag) {
          const std::string_view tag = reinterpret_cast<const char*>(scalar.tag);
          if (tag != YAML_STR_TAG)
            refuse(at(made.line),
                   "the tag '" + std::string(tag) + "' is not known; the only one of parameters is !!str");
          made.plain = false;
        }
        return made;
      }
      case YAML_SEQUENCE_START_EVENT:
        made.kind = Item::Kind::kSequence;
        for (;;) {
          const Event inner = next();
          if (inner->type == YAML_SEQUENCE_END_EVENT) return made;
          made.items.push_back(item(inner, depth + 1));
        }
      case YAML_MAPPING_START_EVENT:
        made.kind = Item::Kind::kMapping;
        for (std::unordered_map<std::string, std::size_t> lines;;) {
          const Event key_event = next();
          if (key_event->type == YAML_MAPPING_END_EVENT) return made;
          Item key = item(key_event, depth + 1);
          if (key.kind != Item::Kind::kScalar) refuse(at(key.line), "a list or a mapping is no name");
          if (const auto [first, is_new] = lines.emplace(key.text, key.line); !is_new)
            refuse(at(key.line),
                   "'" + key.text + "' stands there a second time, first in line " + std::to_string(first->second));
          Item value = item(next(), depth + 1);
          made.members.emplace_back(std::move(key), std::move(value));
        }
      case YAML_ALIAS_EVENT:
        refuse(at(made.line), "aliases ('*name') are not supported, as in ROS 2; write the value");
      default:
        refuse(at(made.line), "a value is missing");
    }
  }

  yaml_parser_t parser_{};
  std::string file_;
};

ParameterValue scalar_value(const Item& item, const std::string& where) {
  if (!item.plain) return item.text;
  ParameterValue value;
  try {
    value = plain_scalar(item.text);
  } catch (const Exception& error) {
    refuse(where, error.what());
  }
  if (!value.is_set()) refuse(where, "there is no value; an empty string is ''");
  return value;
}

template <class T>
ParameterValue list_of(const std::vector<ParameterValue>& values) {
  std::vector<T> all;
  for (const ParameterValue& value : values) all.push_back(value.get<T>());
  return all;
}

ParameterValue value_of(const Item& item, const YamlReader& reader, const std::string& name) {
  const std::string where = reader.at(item.line) + (name.empty() ? "" : ": parameter '" + name + "'");
  if (item.kind == Item::Kind::kScalar) return scalar_value(item, where);
  if (item.kind == Item::Kind::kMapping) refuse(where, "a mapping is no value");
  std::vector<ParameterValue> values;
  for (const Item& one : item.items) {
    const std::string place = reader.at(one.line) + (name.empty() ? "" : ": parameter '" + name + "'");
    if (one.kind != Item::Kind::kScalar) refuse(place, "a list of lists or mappings is no value");
    values.push_back(scalar_value(one, place));
    if (values.back().type() != values.front().type())
      refuse(place, std::string("all values of a list have one type; this one is ") + name_of(values.back().type()) +
                        ", the first one " + name_of(values.front().type()));
  }
  if (values.empty()) return std::vector<std::string>();  // fits a parameter of every list type
  switch (values.front().type()) {
    case ParameterType::kBool:
      return list_of<bool>(values);
    case ParameterType::kInteger:
      return list_of<std::int64_t>(values);
    case ParameterType::kDouble:
      return list_of<double>(values);
    default:
      return list_of<std::string>(values);
  }
}

/// The parameters below `ros__parameters`; names of nested mappings are joined with dots.
void collect_values(const Item& mapping, const YamlReader& reader, const std::string& node, const std::string& prefix,
                    std::vector<ParameterAssignment>& found) {
  for (const auto& [key, value] : mapping.members) {
    if (key.text.empty()) refuse(reader.at(key.line), "a parameter's name is empty");
    const std::string name = prefix + key.text;
    if (value.kind == Item::Kind::kMapping) {
      collect_values(value, reader, node, name + ".", found);
    } else {
      found.push_back({node, name, value_of(value, reader, name), reader.at(key.line)});
    }
  }
}

/// The sections of nodes; `node` is the name above `mapping`.
void collect_nodes(const Item& mapping, const YamlReader& reader, const std::string& node,
                   std::vector<ParameterAssignment>& found) {
  for (const auto& [key, value] : mapping.members) {
    const bool empty = value.kind == Item::Kind::kScalar && value.plain && value.text.empty();
    if (key.text == "ros__parameters") {
      if (node.empty()) refuse(reader.at(key.line), "'ros__parameters' stands below a node's name, e.g. '/**:'");
      if (value.kind != Item::Kind::kMapping && !empty)
        refuse(reader.at(key.line), "below 'ros__parameters' stand lines of the form 'name: value'");
      if (!empty) collect_values(value, reader, node, "", found);
      continue;
    }
    if (value.kind != Item::Kind::kMapping) {
      if (empty) continue;
      refuse(reader.at(key.line), "'" + key.text +
                                      "' is not below 'ros__parameters'; a file of parameters has the form " +
                                      "'node: {ros__parameters: {name: value}}'");
    }
    const std::size_t begin = key.text.find_first_not_of('/');
    if (begin == std::string::npos) {  // "/": the root namespace
      collect_nodes(value, reader, node, found);
    } else {
      std::string part = key.text.substr(begin);
      if (part.back() == '/' || part.find("//") != std::string::npos)
        refuse(reader.at(key.line), "'" + key.text + "' is no name of a node");
      collect_nodes(value, reader, node + "/" + part, found);
    }
  }
}

}  // namespace

ParameterValue value_of_text(const std::string& text, const std::string& where) {
  YamlReader reader(text, where);
  const std::optional<Item> document = reader.document();
  if (!document) refuse(where, "there is no value; an empty string is ''");
  return value_of(*document, reader, "");
}

std::vector<ParameterAssignment> parse_parameters(std::string_view yaml, const std::string& file) {
  YamlReader reader(yaml, file);
  const std::optional<Item> document = reader.document();
  std::vector<ParameterAssignment> found;
  if (!document || (document->kind == Item::Kind::kScalar && document->text.empty())) return found;
  if (document->kind != Item::Kind::kMapping)
    refuse(reader.at(document->line),
           "a file of parameters has the form 'node: {ros__parameters: {name: value}}'; this is none");
  collect_nodes(*document, reader, "", found);
  return found;
}

#else

namespace {
constexpr char kWithout[] = "this build of Baton has no libyaml, so it reads no ";
}

ParameterValue value_of_text(const std::string& text, const std::string& where) {
  if (text.find_first_of("[]{}\"'#&*!|>%@`\n") != std::string::npos || text.find(": ") != std::string::npos)
    throw Exception({Errc::unsupported, where + ": " + kWithout + "YAML but plain scalars (Debian's libyaml-dev)"});
  const ParameterValue value = plain_scalar(text);
  if (!value.is_set()) refuse(where, "there is no value");
  return value;
}

std::vector<ParameterAssignment> parse_parameters(std::string_view, const std::string& file) {
  throw Exception({Errc::unsupported, file + ": " + kWithout + "files of parameters (Debian's libyaml-dev)"});
}

#endif

}  // namespace baton::detail

namespace baton {

ParameterValue parse_parameter_value(const std::string& text, const std::string& where) {
  return detail::value_of_text(text, where);
}

std::vector<ParameterAssignment> read_parameter_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const auto refuse_unread = [&] {
    throw Exception({Errc::not_found, "the file of parameters '" + path + "' cannot be read: " + std::strerror(errno)});
  };
  if (!file.is_open()) refuse_unread();
  std::string text(detail::kFileMaxBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) refuse_unread();
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > detail::kFileMaxBytes) detail::refuse(path, "a file of parameters has 16 MiB at most");
  return detail::parse_parameters(text, path);
}

}  // namespace baton
