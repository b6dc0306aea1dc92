// SPDX-License-Identifier: Apache-2.0
// A program by which tests/codec/*.py call the codecs, to compare them with independent implementations.
//
// Requests on stdin, replies on stdout, until end of file. A request is a line of words, then a u32 (little-endian) count of
// bytes and the bytes. A reply is one byte, 0 for success or 1 for an error, a u32 count and the bytes or the error's text.
//   define ID            the canonical definition of a type (docs/format/type-hash.md)   -> nothing
//   convert ID FROM TO   a message                                                         -> the message
//                        FROM, TO: ros1, cdr-little, cdr-big, sfm, sfm-other (other byte order), control (+ data part);
//                        FROM: cdr (either order); TO: yaml
//   split ID             nothing                                       -> lines "control PATH" and "data PATH"
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "baton/message/builder.hpp"
#include "baton/message/byte_order.hpp"
#include "baton/message/cdr_codec.hpp"
#include "baton/message/definition.hpp"
#include "baton/message/partial.hpp"
#include "baton/message/print.hpp"
#include "baton/message/ros1_codec.hpp"

namespace {

using namespace baton::message;
using baton::Result;

Result<std::string> encode_with(Result<std::size_t> size, Result<std::size_t> (*run)(const void*, Bytes, MutableBytes),
                                const void* codec, Bytes message) {
  if (!size) return size.error();
  std::string out(*size, '\xAA');
  const auto written = run(codec, message, {out.data(), out.size()});
  if (!written) return written.error();
  if (*written != *size) return baton::Error{baton::Errc::invalid_argument, "encoded_size and encode disagree"};
  return out;
}

class Converter {
 public:
  Converter(const Type& type, std::string input) : type_(type), input_(std::move(input)) {}

  Result<std::string> run(const std::string& from, const std::string& to) {
    if (auto read = this->read(from); !read) return read.error();
    return write(to);
  }

 private:
  Result<void> read(const std::string& from) {
    FlatBuilder builder(buffer_, std::size_t{64} << 20);
    const Bytes wire{input_.data(), input_.size()};
    if (from == "ros1") {
      auto codec = Ros1Codec::compile(type_);
      if (!codec) return codec.error();
      return codec->decode(wire, builder);
    }
    if (from == "cdr") {
      auto codec = CdrCodec::compile(type_);
      if (!codec) return codec.error();
      auto used = codec->decode(wire, builder);
      if (!used) return used.error();
      return {};
    }
    if (from == "control") {
      // A u32 with the control part's size, the control part, the data part.
      auto partial = PartialSerializer::compile(type_);
      if (!partial) return partial.error();
      std::uint32_t size = 0;
      if (input_.size() < 4) return baton::Error{baton::Errc::malformed_message, "too short"};
      std::memcpy(&size, input_.data(), 4);
      if (size > input_.size() - 4) return baton::Error{baton::Errc::malformed_message, "too short"};
      return partial->restore({input_.data() + 4, size}, {input_.data() + 4 + size, input_.size() - 4 - size}, builder);
    }
    if (from == "sfm" || from == "sfm-other") {
      buffer_.reserve(input_.size() + 1);
      buffer_.set_size(input_.size());
      std::memcpy(buffer_.data(), input_.data(), input_.size());
      if (from == "sfm") return {};
      return repair_byte_order(type_, {buffer_.data(), buffer_.size()});
    }
    return baton::Error{baton::Errc::invalid_argument, "unknown form " + from};
  }

  Result<std::string> write(const std::string& to) {
    const Bytes message = buffer_.bytes();
    if (to == "ros1") {
      auto codec = Ros1Codec::compile(type_);
      if (!codec) return codec.error();
      return encode_with(
          codec->encoded_size(message),
          [](const void* c, Bytes m, MutableBytes o) { return static_cast<const Ros1Codec*>(c)->encode(m, o); },
          &*codec, message);
    }
    if (to == "cdr-little" || to == "cdr-big") {
      auto codec = CdrCodec::compile(type_);
      if (!codec) return codec.error();
      if (to == "cdr-little")
        return encode_with(
            codec->encoded_size(message),
            [](const void* c, Bytes m, MutableBytes o) {
              return static_cast<const CdrCodec*>(c)->encode(m, o, baton::memory::ByteOrder::kLittle);
            },
            &*codec, message);
      return encode_with(
          codec->encoded_size(message),
          [](const void* c, Bytes m, MutableBytes o) {
            return static_cast<const CdrCodec*>(c)->encode(m, o, baton::memory::ByteOrder::kBig);
          },
          &*codec, message);
    }
    if (to == "control") {
      auto partial = PartialSerializer::compile(type_);
      if (!partial) return partial.error();
      auto control = encode_with(
          partial->control_size(message),
          [](const void* c, Bytes m, MutableBytes o) {
            return static_cast<const PartialSerializer*>(c)->serialize_control(m, o);
          },
          &*partial, message);
      if (!control) return control;
      auto slots = partial->data_in_message(message);
      if (!slots) return slots.error();
      const DataPart layout = organise_data(*slots);
      std::string out(4 + control->size() + layout.bytes, '\0');
      const auto size = static_cast<std::uint32_t>(control->size());
      std::memcpy(out.data(), &size, 4);
      std::memcpy(out.data() + 4, control->data(), control->size());
      copy_data(message, *slots, layout, {out.data() + 4 + size, layout.bytes});
      return out;
    }
    if (to == "sfm-other") {
      if (auto done = to_other_byte_order(type_, {buffer_.data(), buffer_.size()}); !done) return done.error();
      return std::string(reinterpret_cast<const char*>(buffer_.data()), buffer_.size());
    }
    if (to == "sfm") return std::string(reinterpret_cast<const char*>(buffer_.data()), buffer_.size());
    if (to == "yaml") return print(type_, message, {0, 0, false, false});
    return baton::Error{baton::Errc::invalid_argument, "unknown form " + to};
  }

  const Type& type_;
  std::string input_;
  FlatBuffer buffer_;
};

bool read_exactly(void* to, std::size_t bytes) { return std::fread(to, 1, bytes, stdin) == bytes; }

bool read_line(std::string& line) {
  line.clear();
  for (int c = std::getchar(); c != EOF; c = std::getchar()) {
    if (c == '\n') return true;
    line.push_back(static_cast<char>(c));
  }
  return false;
}

void reply(bool ok, const std::string& bytes) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  std::putchar(ok ? 0 : 1);
  std::fwrite(&size, 1, 4, stdout);
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  std::fflush(stdout);
}

Result<std::string> answer(std::map<std::string, Definition>& types, const std::string& line, std::string input) {
  std::istringstream words(line);
  std::string verb;
  std::string id;
  std::string from;
  std::string to;
  words >> verb >> id >> from >> to;
  if (verb == "define") {
    auto definition = Definition::parse(input);
    if (!definition) return definition.error();
    types.insert_or_assign(id, std::move(*definition));
    return std::string();
  }
  const auto found = types.find(id);
  if (found == types.end()) return baton::Error{baton::Errc::not_found, "no type " + id};
  if (verb == "convert") return Converter(found->second.type(), std::move(input)).run(from, to);
  if (verb == "split") {
    const PartialSplit parts = split(found->second.type());
    std::string out;
    for (const auto& element : parts.control) out += "control " + element.path + "\n";
    for (const auto& element : parts.data) out += "data " + element.path + "\n";
    return out;
  }
  return baton::Error{baton::Errc::invalid_argument, "unknown request " + verb};
}

}  // namespace

int main() {
  std::map<std::string, Definition> types;
  std::string line;
  while (read_line(line)) {
    std::uint32_t size = 0;
    if (!read_exactly(&size, 4)) return 1;
    std::string input(size, '\0');
    if (!read_exactly(input.data(), size)) return 1;
    const auto result = answer(types, line, std::move(input));
    reply(result.ok(), result.ok() ? *result : result.error().message);
  }
  return 0;
}
