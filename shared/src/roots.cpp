// SPDX-License-Identifier: Apache-2.0
// The names of a heap's objects. A name exists when its first byte is stored, which is the last step of add() and the first of remove();
// what a dead process left without a name is let go by the next one that takes the lock over.
#include <cstring>

#include "baton/os/crash_point.hpp"
#include "baton/shared/shared_ptr.hpp"
#include "heap_state.hpp"

namespace baton::shared {
namespace detail {
namespace {

void put_first(Root& root, char c) noexcept { __atomic_store_n(&root.name[0], c, __ATOMIC_RELEASE); }

void check_name(const char* name) {
  const std::size_t length = std::strlen(name);
  if (length == 0 || length >= kRootNameBytes) {
    throw Exception(
        Error{Errc::invalid_argument, std::string("'") + name + "' is no name for a shared object: 1 to 47 bytes"});
  }
}

}  // namespace

Roots::Roots(Heap& heap) : state_(HeapAccess::state(heap)) {
  if (state_.forked()) throw Exception(Error{Errc::forked, "a shared heap of the parent; open it anew in the child"});
  if (state_.header().root_lock.lock() != Locked::kOwnerDied) return;
  for (Root& root : state_.header().roots) {  // one at most: who takes the lock over finds what one owner left
    if (root.name[0] == 0 && root.object.block != 0) left_ = take_out(&root.object, Strength::kStrong);
  }
  state_.header().root_lock.make_consistent();
}

Roots::~Roots() {
  state_.header().root_lock.unlock();
  for (const Held& held : {left_, dropped_}) {
    if (held.local != nullptr && count_down(held.local->strong)) drop_hold(held.local, Strength::kStrong);
  }
}

StoredWords* Roots::find(const char* name, std::uint64_t type) {
  check_name(name);
  for (Root& root : state_.header().roots) {
    if (root.name[0] == 0 || std::strcmp(root.name, name) != 0) continue;
    if (type != 0 && root.type != type) {
      throw Exception(Error{Errc::type_mismatch,
                            std::string("the shared object '") + name +
                                "' was made with a type of another name, size or alignment than is asked for: "
                                "use the definition of the program that made it, or forget() it and make it anew"});
    }
    return &root.object;
  }
  return nullptr;
}

void Roots::add(const char* name, std::uint64_t type, const Held& object) {
  for (Root& root : state_.header().roots) {
    if (root.name[0] != 0) continue;
    store(&root.object, object, Strength::kStrong);
    root.type = type;
    std::strncpy(root.name + 1, name + 1, kRootNameBytes - 1);
    BATON_CRASH_POINT("shared.root.adding");
    put_first(root, name[0]);
    return;
  }
  throw Exception(
      Error{Errc::limit_reached, "the shared heap has " + std::to_string(kRoots) + " names already; forget() some"});
}

bool Roots::remove(const char* name) {
  StoredWords* const object = find(name, 0);
  if (object == nullptr) return false;
  dropped_ = hold(*object, Strength::kStrong);
  put_first(*reinterpret_cast<Root*>(reinterpret_cast<char*>(object) - offsetof(Root, object)), 0);
  BATON_CRASH_POINT("shared.root.removing");
  clear_stored(object, Strength::kStrong);
  return true;
}

}  // namespace detail

bool forget(Heap& heap, const char* name) { return detail::Roots(heap).remove(name); }

}  // namespace baton::shared
