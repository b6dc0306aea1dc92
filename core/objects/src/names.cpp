// SPDX-License-Identifier: Apache-2.0
#include "names.hpp"

#include <cstring>

#include "baton/objects/shared_ptr.hpp"
#include "baton/os/crash_point.hpp"
#include "mapping.hpp"

namespace baton::objects {
namespace detail {
namespace {

void put_first(NamedObject& named, char c) noexcept { __atomic_store_n(&named.name[0], c, __ATOMIC_RELEASE); }

void check_name(const char* name) {
  const std::size_t length = std::strlen(name);
  if (length == 0 || length >= kNameBytes) {
    throw Exception(
        Error{Errc::invalid_argument, std::string("'") + name + "' is no name for a shared object: 1 to 47 bytes"});
  }
}

}  // namespace

Names::Names(Heap& heap) : words_(*private_of(heap_base_or_throw(heap)).names) {
  if (words_.lock.lock() != Locked::kOwnerDied) return;
  for (NamedObject& named : words_.objects) {  // at most one: each next owner repairs what one owner left
    if (named.name[0] == 0 && named.object.block != 0) left_ = take_out(&named.object, Strength::kStrong);
  }
  words_.lock.make_consistent();
}

Names::~Names() {
  words_.lock.unlock();
  for (const Held& held : {left_, dropped_}) {
    if (held.local != nullptr && count_down(held.local->strong)) drop_hold(held.local, Strength::kStrong);
  }
}

StoredWords* Names::find(const char* name, std::uint64_t type) {
  check_name(name);
  for (NamedObject& named : words_.objects) {
    if (named.name[0] == 0 || std::strcmp(named.name, name) != 0) continue;
    if (type != 0 && named.type != type) {
      throw Exception(Error{Errc::type_mismatch,
                            std::string("the shared object '") + name +
                                "' was made with a type of another name, size or alignment than is asked for: "
                                "use the definition of the program that made it, or forget() it and make it anew"});
    }
    return &named.object;
  }
  return nullptr;
}

void Names::add(const char* name, std::uint64_t type, const Held& object) {
  for (NamedObject& named : words_.objects) {
    if (named.name[0] != 0) continue;
    store(&named.object, object, Strength::kStrong);
    named.type = type;
    std::strncpy(named.name + 1, name + 1, kNameBytes - 1);
    BATON_CRASH_POINT("shared.name.adding");
    put_first(named, name[0]);
    return;
  }
  throw Exception(Error{Errc::limit_reached, "the shared heap has " + std::to_string(kMaxNames) +
                                                 " names already; remove names with forget()"});
}

bool Names::remove(const char* name) {
  StoredWords* const object = find(name, 0);
  if (object == nullptr) return false;
  dropped_ = hold(*object, Strength::kStrong);
  put_first(*reinterpret_cast<NamedObject*>(reinterpret_cast<char*>(object) - offsetof(NamedObject, object)), 0);
  BATON_CRASH_POINT("shared.name.removing");
  clear_stored(object, Strength::kStrong);
  return true;
}

}  // namespace detail

bool forget(Heap& heap, const char* name) { return detail::Names(heap).remove(name); }

}  // namespace baton::objects
