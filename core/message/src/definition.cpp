// SPDX-License-Identifier: Apache-2.0
#include "baton/message/definition.hpp"

#include <algorithm>
#include <charconv>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "baton/message/builder.hpp"

namespace baton::message {

namespace {

constexpr std::size_t kMaxTextBytes = std::size_t{1} << 20;
constexpr std::uint64_t kMaxSkeletonBytes = std::uint64_t{1} << 28;
constexpr int kMaxDepth = 64;

constexpr std::pair<std::string_view, Kind> kKinds[] = {
    {"bool", Kind::kBool},      {"int8", Kind::kInt8},       {"uint8", Kind::kUint8},     {"int16", Kind::kInt16},
    {"uint16", Kind::kUint16},  {"int32", Kind::kInt32},     {"uint32", Kind::kUint32},   {"int64", Kind::kInt64},
    {"uint64", Kind::kUint64},  {"float32", Kind::kFloat32}, {"float64", Kind::kFloat64}, {"string", Kind::kString},
    {"wstring", Kind::kWString}};

struct Line {
  std::size_t number;
  std::string_view type;
  std::string_view name;
};

struct Section {
  std::string_view name;
  std::vector<Line> fields;
};

Error wrong(std::size_t line, const std::string& what) {
  return {Errc::malformed_message, "type definition, line " + std::to_string(line) + ": " + what};
}

bool read_number(std::string_view text, std::uint32_t& value) {
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  return code == std::errc{} && end == text.data() + text.size() && !text.empty() &&
         (text[0] != '0' || text.size() == 1);
}

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

bool is_type_name(std::string_view text) {
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos && is_name(text.substr(0, slash)) && is_name(text.substr(slash + 1));
}

Result<std::vector<Section>> split(std::string_view text) {
  if (text.size() > kMaxTextBytes) return wrong(1, "longer than 1 MiB");
  std::vector<Section> sections;
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return wrong(number, "does not end in a newline");
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos) return wrong(number, "expected '<type> <name>'");
    const std::string_view first = line.substr(0, space);
    const std::string_view second = line.substr(space + 1);
    if (first == "message") {
      if (!is_type_name(second)) return wrong(number, "expected 'message package/Name'");
      sections.push_back({second, {}});
    } else {
      if (sections.empty()) return wrong(number, "expected 'message package/Name' first");
      if (!is_name(second)) return wrong(number, "'" + std::string(second) + "' is no field name");
      sections.back().fields.push_back({number, first, second});
    }
  }
  if (sections.empty()) return wrong(1, "is empty");
  return sections;
}

}  // namespace

struct Definition::Storage {
  std::string text;
  TypeHash hash{};
  std::deque<std::string> names;
  std::deque<std::vector<Field>> fields;
  std::deque<Type> types;
  std::map<std::string_view, const Type*> known;
  const Type* root = nullptr;

  const char* keep(std::string_view name) { return names.emplace_back(name).c_str(); }

  Result<const Type*> build(const std::vector<Section>& sections, std::string_view name, std::size_t line, int depth) {
    if (auto found = known.find(name); found != known.end()) {
      if (found->second == nullptr) return wrong(line, "'" + std::string(name) + "' contains itself");
      return found->second;
    }
    if (depth > kMaxDepth) return wrong(line, "nested deeper than " + std::to_string(kMaxDepth));
    const auto section =
        std::find_if(sections.begin(), sections.end(), [&](const Section& s) { return s.name == name; });
    if (section == sections.end()) return wrong(line, "'" + std::string(name) + "' has no section");
    known[section->name] = nullptr;
    std::vector<Field> built;
    std::uint64_t size = 0;
    std::uint32_t alignment = 1;
    bool fixed = true;
    for (const Line& entry : section->fields) {
      Field field{};
      if (auto done = read_type(entry, sections, depth, field); !done) return done.error();
      field.name = keep(entry.name);
      ElementLayout layout = element_layout(field);
      std::uint64_t bytes = layout.size;
      if (field.shape == Shape::kSequence) {
        layout = {8, 4};
        bytes = 8;
      } else if (field.shape == Shape::kArray) {
        bytes *= field.count;
      }
      fixed = fixed && field.shape != Shape::kSequence && !element_has_contents(field);
      size = (size + layout.alignment - 1) & ~std::uint64_t{layout.alignment - 1};
      field.offset = static_cast<std::uint32_t>(size);
      size += bytes;
      if (size > kMaxSkeletonBytes) return wrong(entry.number, "the skeleton is larger than 256 MiB");
      alignment = std::max(alignment, layout.alignment);
      built.push_back(field);
    }
    if (size == 0) size = 1;  // an empty message has one reserved byte
    size = (size + alignment - 1) & ~std::uint64_t{alignment - 1};
    fields.push_back(std::move(built));
    types.push_back({keep(section->name), static_cast<std::uint32_t>(size), alignment, fields.back().data(),
                     static_cast<std::uint32_t>(fields.back().size()), fixed, hash, text.c_str()});
    return known[section->name] = &types.back();
  }

  Result<void> read_type(const Line& line, const std::vector<Section>& sections, int depth, Field& field) {
    std::string_view base = line.type;
    if (const std::size_t bracket = base.find('['); bracket != std::string_view::npos) {
      std::string_view shape = base.substr(bracket + 1);
      base = base.substr(0, bracket);
      if (shape.empty() || shape.back() != ']') return wrong(line.number, "expected ']'");
      shape.remove_suffix(1);
      field.shape = Shape::kArray;
      if (shape.empty() || shape.substr(0, 2) == "<=") {
        field.shape = Shape::kSequence;
        if (!shape.empty() && (!read_number(shape.substr(2), field.count) || field.count == 0))
          return wrong(line.number, "a bound is a number from 1 to 4294967295");
      } else if (!read_number(shape, field.count)) {
        return wrong(line.number, "an array's length is a number up to 4294967295");
      }
    }
    if (const std::size_t bound = base.find("<="); bound != std::string_view::npos) {
      if (!read_number(base.substr(bound + 2), field.string_bound) || field.string_bound == 0)
        return wrong(line.number, "a string's bound is a number from 1 to 4294967295");
      base = base.substr(0, bound);
      if (base != "string" && base != "wstring") return wrong(line.number, "only strings have a bound of their own");
    }
    for (const auto& [name, kind] : kKinds) {
      if (name == base) {
        field.kind = kind;
        return {};
      }
    }
    if (!is_type_name(base)) return wrong(line.number, "'" + std::string(base) + "' is no type");
    auto nested = build(sections, base, line.number, depth + 1);
    if (!nested) return nested.error();
    field.kind = Kind::kMessage;
    field.type = *nested;
    return {};
  }
};

Result<Definition> Definition::parse(std::string_view text, const TypeHash& hash) {
  auto storage = std::make_unique<Storage>();
  storage->text = text;
  storage->hash = hash;
  auto sections = split(storage->text);
  if (!sections) return sections.error();
  auto root = storage->build(*sections, sections->front().name, 1, 0);
  if (!root) return root.error();
  storage->root = *root;
  return Definition(std::move(storage));
}

const Type& Definition::type() const noexcept { return *storage_->root; }

Definition::Definition(std::unique_ptr<Storage> storage) noexcept : storage_(std::move(storage)) {}
Definition::Definition(Definition&&) noexcept = default;
Definition& Definition::operator=(Definition&&) noexcept = default;
Definition::~Definition() = default;

}  // namespace baton::message
