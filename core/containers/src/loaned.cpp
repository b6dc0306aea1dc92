// SPDX-License-Identifier: Apache-2.0
#include "baton/containers/loaned.hpp"
#include "baton/os/hot_path.hpp"

#include <new>
#include <utility>

#include "baton/containers/heap.hpp"
#include "baton/memory/arena.hpp"
#include "registry.hpp"

namespace baton::containers {

BATON_HOT Result<Loaned> Loaned::begin(std::shared_ptr<transport::Writer> writer, const memory::Chunk& chunk) {
  if (!active()) return Error{Errc::unsupported, reason()};
  try {
    Entry* entry = Registry::instance().make();
    entry->writer = std::move(writer);
    entry->loan = chunk;
    return Loaned(entry);
  } catch (const std::bad_alloc&) {
    return Error{Errc::out_of_memory, "no memory for the records of a loan"};
  }
}

BATON_HOT Loaned::Loaned(Loaned&& other) noexcept : entry_(std::exchange(other.entry_, nullptr)) {}

Loaned& Loaned::operator=(Loaned&& other) noexcept {
  std::swap(entry_, other.entry_);
  return *this;
}

BATON_HOT Loaned::~Loaned() {
  if (entry_ != nullptr) Registry::instance().drop(entry_);
}

const memory::Chunk& Loaned::chunk() const noexcept { return entry_->loan; }

BATON_HOT Result<void*> Loaned::buffer(std::size_t bytes, std::size_t alignment) {
  void* const owner = entry_->loan.message();
  void* address = nullptr;
  try {
    address = memory::content_allocate(owner, bytes, alignment);
    if (Registry::instance().add(entry_, address, bytes)) return address;
  } catch (const Exception& refused) {
    return Error{refused.code(), refused.what()};
  } catch (const std::bad_alloc&) {
  }
  if (address != nullptr) memory::content_free(owner, address);
  return Error{Errc::out_of_memory, "no memory for the records of a loan's buffer"};
}

BATON_HOT bool Loaned::owns(const void* begin) const noexcept { return Registry::instance().belongs(entry_, begin); }

BATON_HOT bool Loaned::reclaim(void* begin, std::size_t used_bytes) noexcept {
  const std::size_t bytes = Registry::instance().remove(entry_, begin);
  if (bytes == 0) return false;
  void* const owner = entry_->loan.message();
  if (used_bytes == 0) {
    memory::content_free(owner, begin);
  } else if (used_bytes < bytes) {
    try {
      (void)memory::content_resize_in_place(owner, begin, used_bytes);
    } catch (const Exception&) {  // shrinking needs no memory
    }
  }
  return true;
}

BATON_HOT std::size_t Loaned::outstanding() const noexcept { return Registry::instance().references(entry_) - 1; }

BATON_HOT memory::Chunk Loaned::detach() noexcept {
  const memory::Chunk chunk = std::exchange(entry_->loan, {});
  Registry::instance().drop(std::exchange(entry_, nullptr));
  return chunk;
}

}  // namespace baton::containers
