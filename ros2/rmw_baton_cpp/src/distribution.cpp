// SPDX-License-Identifier: Apache-2.0
#include "distribution.hpp"

#include <cstddef>
#include <cstring>
#include <new>

#include "rcutils/allocator.h"
#include "rcutils/error_handling.h"
#include "rmw/init.h"

namespace baton::rmw {
namespace {

constexpr unsigned char kPattern = 0xA5;

/// More room than any of the structs needs, filled with a pattern.
struct alignas(std::max_align_t) StructRoom {
  unsigned char bytes[4096];
};

/// The compiler must neither leave out earlier writes to the room, nor assume anything about its contents.
void keep(StructRoom* room) { asm volatile("" : : "r"(room) : "memory"); }

void fill(StructRoom* room) {
  std::memset(room->bytes, kPattern, sizeof room->bytes);
  keep(room);
}

/// How many bytes were written, from the beginning. Each of the structs ends with a pointer, which is null.
std::size_t written(const StructRoom& room) {
  std::size_t size = sizeof room.bytes;
  while (size != 0 && room.bytes[size - 1] == kPattern) --size;
  return size;
}

/// The size of the struct that `make` returns. A struct of this size is returned in memory that the caller provides,
/// on every architecture of Linux: here a StructRoom.
template <class Struct>
std::size_t size_returned_by(Struct (*make)()) {
  const auto call = reinterpret_cast<StructRoom (*)()>(reinterpret_cast<void*>(make));
  StructRoom room;
  fill(&room);
  new (&room) StructRoom(call());
  keep(&room);
  return written(room);
}

struct KnownSize {
  std::size_t init_options;
  const char* name;
};
/// Those of ros2/distributions/.
constexpr KnownSize kSizes[] = {
#include "distribution_sizes.inc"
};

std::string name_of(std::size_t options_bytes) {
  std::string names;
  for (const KnownSize& size : kSizes) {
    if (size.init_options != options_bytes) continue;
    std::string name = size.name;
    name[0] = static_cast<char>(name[0] - 'a' + 'A');
    names += names.empty() ? "ROS 2 " + name : " or " + name;
  }
  return names.empty() ? "a ROS 2 whose rmw_init_options_t has " + std::to_string(options_bytes) + " bytes" : names;
}

}  // namespace

std::string refusal(const std::string& file, const std::string& theirs) {
  const std::string own = name_of(sizeof(rmw_init_options_t));
  return "librmw_baton_cpp.so was built for " + own + ", and this program's " + file + " is of " + theirs +
         ": use the librmw_baton_cpp.so that was built for " + theirs + " (docs/guides/ros2.md)";
}

std::string refusal_of_librmw() {
  const std::size_t options = size_returned_by(rmw_get_zero_initialized_init_options);
  const std::size_t context = size_returned_by(rmw_get_zero_initialized_context);
  if (options == sizeof(rmw_init_options_t) && context == sizeof(rmw_context_t)) return "";
  return refusal("librmw.so", name_of(options));
}

std::string refusal_of(decltype(&rmw_init_options_init) init, decltype(&rmw_init_options_fini) fini,
                       const std::string& file) {
  StructRoom room;
  fill(&room);
  std::memset(room.bytes, 0, sizeof(std::uint64_t) + sizeof(char*));  // as a zero-initialized one begins, in each ROS 2
  auto* options = reinterpret_cast<rmw_init_options_t*>(room.bytes);
  keep(&room);
  if (init(options, rcutils_get_default_allocator()) != RMW_RET_OK) {
    const std::string why = rcutils_get_error_string().str;
    rcutils_reset_error();
    return file + " cannot initialize its options: " + why;
  }
  keep(&room);
  const std::size_t bytes = written(room);
  if (bytes != sizeof(rmw_init_options_t))
    return refusal(file, name_of(bytes));  // the options are leaked: their end has a size, too
  if (fini(options) != RMW_RET_OK) rcutils_reset_error();
  return "";
}

}  // namespace baton::rmw
