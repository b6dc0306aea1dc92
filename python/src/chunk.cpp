// SPDX-License-Identifier: Apache-2.0
// OwnedChunk and KeptContent: the two objects that own memory. No reference cycle can pass through them, so the collector need
// not know them.
#include <algorithm>
#include <cstdlib>
#include <new>

#include "baton/memory/arena.hpp"
#include "core.hpp"

namespace baton::python {

PyTypeObject* chunk_type = nullptr;
PyTypeObject* content_type = nullptr;
Imports imports;

namespace {

OwnedChunk* make_chunk(const ClassRecord* record, OwnedChunk::Kind kind, std::byte* message, std::size_t size) {
  auto* chunk = PyObject_New(OwnedChunk, chunk_type);
  if (chunk == nullptr) throw PythonError();
  chunk->kind = kind;
  chunk->message = message;
  chunk->size = size;
  chunk->record = record;
  new (&chunk->sample) transport::TakenSample();
  new (&chunk->publisher) std::shared_ptr<baton::detail::PublisherCore>();
  chunk->loan = {};
  new (&chunk->exports) std::vector<KeptContent*>();
  chunk->changed = false;
  chunk->weak_references = nullptr;
  return chunk;
}

void chunk_dealloc(PyObject* self) {
  auto* chunk = reinterpret_cast<OwnedChunk*>(self);
  if (chunk->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  if (chunk->loan.header != nullptr) {
    // The pool's mutex is held for moments only, and never while Python code runs.
    chunk->publisher->writer()->abandon(chunk->loan);
  } else if (chunk->kind == OwnedChunk::Kind::kPrivate) {
    try {
      release_contents(chunk, *chunk->record->type, chunk->message);
    } catch (...) {  // no call of it throws for private memory
    }
    std::free(chunk->message);
  }
  chunk->sample.~TakenSample();
  using Publisher = std::shared_ptr<baton::detail::PublisherCore>;
  chunk->publisher.~Publisher();
  using Exports = std::vector<KeptContent*>;
  chunk->exports.~Exports();
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

void content_dealloc(PyObject* self) {
  auto* content = reinterpret_cast<KeptContent*>(self);
  OwnedChunk* chunk = content->chunk;
  PyObject* owner = content->owner;
  if (chunk->kind != OwnedChunk::Kind::kSample) {
    auto& exports = chunk->exports;
    exports.erase(std::find(exports.begin(), exports.end(), content));
    const bool last = std::none_of(exports.begin(), exports.end(),
                                   [content](const KeptContent* other) { return other->data == content->data; });
    if (content->retired && last) {
      if (content->retired_block != nullptr)
        std::free(content->retired_block);  // made by the cell, without an owner
      else if (chunk->kind == OwnedChunk::Kind::kLoan)
        memory::content_free(chunk->message, content->data);
    }
  }
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
  Py_DECREF(owner);
}

int content_getbuffer(PyObject* self, Py_buffer* view, int flags) {
  auto* content = reinterpret_cast<KeptContent*>(self);
  content->shown = true;
  return PyBuffer_FillInfo(view, self, content->data, static_cast<Py_ssize_t>(content->bytes),
                           read_only(content->chunk) ? 1 : 0, flags);
}

PyMemberDef chunk_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(OwnedChunk, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};

PyType_Slot chunk_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(chunk_dealloc)},
                             {Py_tp_members, chunk_members},
                             {Py_tp_doc, const_cast<char*>("Owns the memory of one message. Not for use by hand.")},
                             {0, nullptr}};
PyType_Spec chunk_spec = {"baton._core.Chunk", sizeof(OwnedChunk), 0,
                          Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, chunk_slots};

PyType_Slot content_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(content_dealloc)},
    {Py_bf_getbuffer, reinterpret_cast<void*>(content_getbuffer)},
    {Py_tp_doc, const_cast<char*>("Keeps a part of a message alive for a NumPy array. Not for use by hand.")},
    {0, nullptr}};
PyType_Spec content_spec = {"baton._core.Content", sizeof(KeptContent), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, content_slots};

}  // namespace

OwnedChunk* new_sample(const ClassRecord* record, transport::TakenSample&& sample, std::int64_t reception_time_ns) {
  auto* message = static_cast<std::byte*>(const_cast<void*>(sample.message()));
  OwnedChunk* chunk = make_chunk(record, OwnedChunk::Kind::kSample, message, sample.size_bytes());
  chunk->sample = std::move(sample);
  chunk->reception_time_ns = reception_time_ns;
  return chunk;
}

OwnedChunk* new_loan(const ClassRecord* record, std::shared_ptr<baton::detail::PublisherCore> publisher,
                     const memory::Chunk& loan) {
  OwnedChunk* chunk = make_chunk(record, OwnedChunk::Kind::kLoan, static_cast<std::byte*>(loan.message()), 0);
  chunk->publisher = std::move(publisher);
  chunk->loan = loan;
  return chunk;
}

OwnedChunk* new_private(const ClassRecord* record) {
  const std::size_t bytes = (record->type->size + 63) & ~std::size_t{63};
  auto* message = static_cast<std::byte*>(std::aligned_alloc(64, bytes));
  if (message == nullptr) throw std::bad_alloc();
  std::memset(message, 0, bytes);
  try {
    return make_chunk(record, OwnedChunk::Kind::kPrivate, message, 0);
  } catch (...) {
    std::free(message);
    throw;
  }
}

PyObject* new_content(PyObject* owner, OwnedChunk* chunk, std::byte* data, std::size_t bytes) {
  auto* content = PyObject_New(KeptContent, content_type);
  if (content == nullptr) throw PythonError();
  content->owner = Py_NewRef(owner);
  content->chunk = chunk;
  content->data = data;
  content->bytes = bytes;
  content->retired_block = nullptr;
  content->retired = false;
  content->shown = false;
  if (chunk->kind != OwnedChunk::Kind::kSample) chunk->exports.push_back(content);
  return reinterpret_cast<PyObject*>(content);
}

bool has_arrays(const OwnedChunk* chunk) noexcept {
  return std::any_of(chunk->exports.begin(), chunk->exports.end(),
                     [](const KeptContent* content) { return content->shown; });
}

void check_live(PyObject* owner, const OwnedChunk* chunk) {
  if (chunk->kind == OwnedChunk::Kind::kGone)
    throw Exception(
        {Errc::invalid_argument,
         "this loan was published or given back; its memory belongs to the readers now. Take another loan"});
  if (Py_TYPE(owner) == content_type && reinterpret_cast<KeptContent*>(owner)->retired)
    throw Exception({Errc::invalid_argument,
                     "this view's sequence was resized and has moved; fetch the element from the message again"});
}

void check_writable(PyObject* owner, const OwnedChunk* chunk) {
  check_live(owner, chunk);
  if (read_only(chunk))
    throw Exception({Errc::invalid_argument, "a received message is read-only; copy it (baton.copy) to change it"});
}

void add_chunk_types(PyObject* module) {
  chunk_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromModuleAndSpec(module, &chunk_spec, nullptr)));
  content_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromModuleAndSpec(module, &content_spec, nullptr)));
}

}  // namespace baton::python
