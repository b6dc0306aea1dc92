// SPDX-License-Identifier: Apache-2.0
#include "mapping.hpp"

#include <new>

#include "baton/objects/heap.hpp"
#include "baton/os/sparse_memory.hpp"

namespace baton::objects::detail {
namespace {

std::size_t private_bytes(std::size_t limit) noexcept {
  return (limit / 64 * sizeof(LocalCount) + kSpanBytes - 1) / kSpanBytes * kSpanBytes + kPrivateBytes;
}

}  // namespace

Result<std::unique_ptr<Mapping>> Mapping::make(os::UniqueFd descriptor, std::size_t limit) {
  Result<memory::Window*> window = memory::Window::instance();
  if (!window) return window.error();
  const std::size_t beside = private_bytes(limit);
  Result<std::byte*> at = (*window)->allocate(beside + limit);
  if (!at) return at.error();
  std::unique_ptr<Mapping> out(new Mapping);
  out->generation_ = os::fork_generation();
  out->descriptor_ = std::move(descriptor);
  out->limit_ = limit;
  out->window_base_ = *at;
  out->window_bytes_ = beside + limit;
  if (Result<void> mapped = os::map_private_sparse(beside, *at); !mapped) return mapped.error();
  if (Result<void> mapped = os::map_common_sparse(out->descriptor_.get(), limit, *at + beside); !mapped)
    return mapped.error();
  out->base_ = *at + beside;
  out->locals_ = reinterpret_cast<LocalCount*>(*at);
  auto* const here = new (&private_of(out->base_)) HeapPrivate{};
  here->locals = out->locals_;
  here->limit = limit;
  out->record_.base = out->window_base_;
  out->record_.size = out->window_bytes_;
  out->record_.heap = out.get();
  (*window)->publish(&out->record_);
  return out;
}

Mapping::~Mapping() {
  if (!forked()) (*memory::Window::instance())->free(window_base_, window_bytes_);  // else it is the parent's
}

Result<void> Mapping::back(std::size_t offset, std::size_t bytes) noexcept {
  return os::back_sparse(descriptor_.get(), offset, bytes, base_ + offset);
}

void Mapping::prefault(std::size_t bytes) noexcept {
  os::populate(base_, bytes);
  os::populate(reinterpret_cast<std::byte*>(locals_), bytes / 64 * sizeof(LocalCount));
}

std::byte* heap_base_of(const void* address) noexcept {
  const Mapping* const mapping = Mapping::find(address);
  return mapping == nullptr ? nullptr : mapping->base();
}

std::byte* heap_base_or_throw(const void* address) {
  std::byte* const base = heap_base_of(address);
  if (base == nullptr) {
    throw Exception(Error{Errc::invalid_argument,
                          "a shared object was constructed outside every open shared heap: make it with make_shared(), "
                          "make_unique() or Heap::construct()"});
  }
  return base;
}

std::byte* heap_base_or_throw(const Heap& heap) {
  std::byte* const base = heap.base();
  if (base == nullptr) throw Exception(Error{Errc::forked, "a shared heap of the parent; open it anew in the child"});
  return base;
}

}  // namespace baton::objects::detail
