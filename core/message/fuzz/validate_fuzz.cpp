// SPDX-License-Identifier: Apache-2.0
// Every message that the validator accepts can be read to the last byte through the C++ types. An input is {u8 type,
// message}. The message is copied to memory of exactly its size, which is then the whole window, so that a sanitizer
// reports every read outside. Seeds: make_validate_seeds.py from tests/vectors/sfm.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string>

#include "baton/memory/arena.hpp"
#include "baton/message/validate.hpp"
#include "baton/sfm/size.hpp"
#include "set_window_range.hpp"
#include "testing/messages.hpp"

namespace {

using namespace baton;
using namespace baton::message;
using namespace baton::message::testing;

volatile unsigned g_sink;

void touch(const void* data, std::size_t bytes) {
  unsigned sum = 0;
  for (std::size_t i = 0; i < bytes; ++i) sum += static_cast<const unsigned char*>(data)[i];
  g_sink = sum;
}

// Every string and sequence, by the descriptor.
void walk(const Type& type, const std::byte* skeleton) {
  touch(skeleton, type.size);
  for (std::uint32_t i = 0; i < type.field_count; ++i) {
    const Field& field = type.fields[i];
    const std::byte* first = skeleton + field.offset;
    std::size_t count = inline_count(field);
    if (field.shape == Shape::kSequence) {
      const auto& cell = *reinterpret_cast<const sfm::detail::Cell*>(first);
      count = cell.length();
      if (count == 0) continue;
      first = cell.content();
      touch(first, count * element_size(field));
    }
    for (std::size_t k = 0; k < count; ++k, first += element_size(field)) {
      if (field.kind == Kind::kString) {
        const auto& string = *reinterpret_cast<const sfm::String*>(first);
        touch(string.c_str(), string.size() + 1);
        if (string.c_str()[string.size()] != '\0') std::abort();
      } else if (field.kind == Kind::kWString) {
        const auto& string = *reinterpret_cast<const sfm::WString*>(first);
        touch(string.data(), string.size() * 2);
      } else if (field.kind == Kind::kMessage) {
        walk(*field.type, first);
      } else {
        break;  // scalars were touched as a whole
      }
    }
  }
}

// Copies through the typed view: out, and back and forth.
template <class T>
void use(const std::byte* message) {
  const T& view = *reinterpret_cast<const T*>(message);
  T copy = view;
  if (sfm::copy_size(copy) != sfm::copy_size(view)) std::abort();
  const T moved = std::move(copy);
  copy = moved;
  copy = view;  // onto a message that has content already
  if (sfm::copy_size(copy) != sfm::copy_size(view)) std::abort();
  walk(type_of<T>(), reinterpret_cast<const std::byte*>(&copy));
}

struct Entry {
  const Type& (*type)() noexcept;
  void (*use)(const std::byte*);
};
// The order is part of the seeds (make_validate_seeds.py).
constexpr Entry kEntries[] = {
    {type_of<Image>, use<Image>},     {type_of<Header>, use<Header>},   {type_of<PointCloud>, use<PointCloud>},
    {type_of<Scalars>, use<Scalars>}, {type_of<Strings>, use<Strings>}, {type_of<Sequences>, use<Sequences>},
    {type_of<Monster>, use<Monster>}, {type_of<Empty>, use<Empty>},
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const Entry& entry = kEntries[data[0] % std::size(kEntries)];
  const std::size_t bytes = size - 1;
  auto* message = static_cast<std::byte*>(std::malloc(bytes));  // not rounded up: the end is watched
  std::memcpy(message, data + 1, bytes);
  const memory::WindowRange before = memory::g_window_range;
  memory::set_window_range({reinterpret_cast<std::uintptr_t>(message), bytes});
  const Result<void> result = validate(entry.type(), message, static_cast<std::uint32_t>(bytes));
  const Validation validation(entry.type());
  if (validation(message, static_cast<std::uint32_t>(bytes)).ok() != result.ok()) std::abort();
  if (Validation::check(&validation, message, static_cast<std::uint32_t>(bytes), nullptr) != result.ok()) std::abort();
  if (result.ok()) {
    walk(entry.type(), message);
    entry.use(message);
  } else if (result.error().message.find(entry.type().name) != 0) {
    std::abort();
  }
  memory::set_window_range(before);
  std::free(message);
  return 0;
}
