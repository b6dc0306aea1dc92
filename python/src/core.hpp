// SPDX-License-Identifier: Apache-2.0
// The objects behind Python's messages: the owners of memory, and the record that a class has of its type.
//
// Thread rules: everything in this file is used with the GIL held, except where a line says otherwise.
// Invariants: (1) every view of a message (MessageView, SequenceView, NumPy array) owns a reference to its OwnedChunk, directly or
// through a KeptContent, so memory outlives every array made from it; (2) a ClassRecord is immortal: validators and samples
// refer to it from threads that do not know Python; (3) words of a received message are fetched once and checked at
// every access, because its publisher may rewrite them; (4) contents of a loan or of a private message that a view
// still uses are never freed or moved: they are retired, and freed with the last view; (5) a copy out of a received
// message is one MessageReading, so its contents together are at most the message's bytes, as at the take.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "baton/memory/pool.hpp"
#include "baton/message/definition.hpp"
#include "baton/message/type.hpp"
#include "baton/node/publisher.hpp"
#include "baton/node/sample.hpp"
#include "baton/os/shortage.hpp"
#include "baton/sfm/cell.hpp"
#include "baton/transport/transport.hpp"
#include "interpreter_end.hpp"

namespace baton::python {

/// An owned reference.
class Ref {
 public:
  Ref() = default;
  explicit Ref(PyObject* owned) noexcept : object_(owned) {}
  Ref(Ref&& other) noexcept : object_(other.release()) {}
  Ref& operator=(Ref&& other) noexcept {
    PyObject* old = object_;
    object_ = other.release();
    Py_XDECREF(old);
    return *this;
  }
  ~Ref() { Py_XDECREF(object_); }
  static Ref of(PyObject* borrowed) noexcept {
    Py_XINCREF(borrowed);
    return Ref(borrowed);
  }
  PyObject* get() const noexcept { return object_; }
  PyObject* release() noexcept {
    PyObject* o = object_;
    object_ = nullptr;
    return o;
  }
  explicit operator bool() const noexcept { return object_ != nullptr; }

 private:
  PyObject* object_ = nullptr;
};

/// Thrown when a Python error is set already.
struct PythonError {};

/// Throws PythonError if `result` is null.
inline PyObject* checked(PyObject* result) {
  if (result == nullptr) throw PythonError();
  return result;
}
inline void checked(int status) {
  if (status < 0) throw PythonError();
}

/// Sets the Python error that belongs to the C++ exception being handled.
void translate_current_exception() noexcept;
/// The exception class of an error code. Borrowed.
PyObject* exception_of(Errc code) noexcept;
/// A text of the core, with Python's names of functions and classes. Any thread, without the GIL too.
std::string in_python(std::string_view text);
/// Whether a Python exception reports Baton's own shortage of memory.
bool of_shortage(PyObject* error) noexcept;
/// {"held_limit": "limit", ...} of transport::whose(). A new reference.
PyObject* whose_errors();
/// Adds BatonError and its subclasses to the module.
void add_exceptions(PyObject* module);

/// Runs `body`; turns exceptions into a Python error and `failure`.
template <class R, class F>
R guarded(R failure, F&& body) noexcept {
  try {
    return endable(body);
  } catch (...) {
    translate_current_exception();
    return failure;
  }
}

struct ClassRecord;

struct FieldRecord {
  const message::Field* field = nullptr;
  const ClassRecord* nested = nullptr;  ///< kMessage
  PyObject* dtype = nullptr;            ///< NumPy's dtype of one element; null if an element has contents
  std::vector<PyObject*> names;         ///< interned: the field's name, then the names that classes of other worlds use
                                        ///< for it
  bool optional = false;                ///< objects of other worlds may lack it (Header.seq)

  bool has_contents() const noexcept { return message::element_has_contents(*field); }
};

/// The places of a type's field values in a foreign Python class.
struct ForeignLayout {
  PyTypeObject* type;  ///< strong: its address is never reused for another class
  struct Place {
    Py_ssize_t slot = 0;       ///< offset of a __slots__ entry, or 0
    PyObject* name = nullptr;  ///< else this attribute; null: the class lacks it
  };
  std::vector<Place> places;
  bool signed_bytes = false;  ///< the class is of genpy or rosbags, whose `byte` is signed
};

/// A message class's knowledge of its type. Immortal.
struct ClassRecord {
  explicit ClassRecord(message::Definition parsed) : definition(std::move(parsed)), type(&definition.type()) {}
  message::Definition definition;
  const message::Type* type;
  PyTypeObject* cls = nullptr;
  PyObject* dtype = nullptr;             ///< if the type is of fixed size
  std::vector<std::byte> prototype;      ///< a skeleton with its default scalars; empty: zeros
  PyObject* content_defaults = nullptr;  ///< dict of default strings and sequences, or null
  bool nested_defaults = false;          ///< some inline nested message has content_defaults
  std::vector<FieldRecord> fields;
  mutable std::deque<ForeignLayout> foreign;  // a deque: references stay valid

  const FieldRecord* find(PyObject* name) const noexcept;
};

struct KeptContent;

/// Owns one message: a sample, a loan, or private memory.
struct OwnedChunk {
  PyObject_HEAD enum class Kind : std::uint8_t { kSample, kLoan, kPrivate, kGone } kind;
  std::byte* message;  // the skeleton
  std::size_t size;    // kSample: bytes of the message
  const ClassRecord* record;
  transport::TakenSample sample;
  std::int64_t reception_time_ns;  // kSample: CLOCK_REALTIME at the take
  std::shared_ptr<baton::detail::PublisherCore> publisher;
  memory::Chunk loan;
  std::vector<KeptContent*> exports;  // kLoan, kPrivate: the contents viewed now
  mutable bool changed;               // kSample: its publisher was found to have changed it after its check
  PyObject* weak_references;
};

/// One reading of a message, whole or in part. Its publisher may rewrite a received message after the check, so that contents
/// overlap. Without a budget, copies of contents within contents then take time and memory without end.
struct MessageReading {
  /// How often a copy reads each byte of a received message, on average.
  static constexpr std::uint64_t kReadsPerByte = 1;

  explicit MessageReading(OwnedChunk* of) noexcept
      : chunk(of),
        left(of->kind == OwnedChunk::Kind::kSample ? kReadsPerByte * (of->size - of->record->type->size) : 0) {}
  OwnedChunk* chunk;
  std::uint64_t left;  // bytes of contents; kSample only: other messages are this process's own
};

/// Keeps a part of a message alive and, as a buffer, shows it to NumPy. `owner` is an OwnedChunk or, where the part lies in a
/// content that can move, the KeptContent.
struct KeptContent {
  PyObject_HEAD PyObject* owner;  // strong
  OwnedChunk* chunk;              // borrowed through owner
  std::byte* data;
  std::size_t bytes;
  sfm::PrivateBlock* retired_block;  // kPrivate: to be freed with the last view
  bool retired;                      // the message has left this content behind
  bool shown;                        // an array uses this memory; views of elements do not, since they check before
                                     // each use
};

/// Whether arrays still use memory of this loan, so that it cannot be published or given back yet.
bool has_arrays(const OwnedChunk* chunk) noexcept;

/// A view of a message or of a message inside it. `owner` is an OwnedChunk or a KeptContent.
struct MessageView {
  PyObject_HEAD PyObject* owner;  // strong
  OwnedChunk* chunk;              // borrowed through owner
  const ClassRecord* record;
  std::byte* address;
  PyObject* weak_references;
};

/// A view of an array or sequence whose elements have contents (strings, messages with strings or sequences).
struct SequenceView {
  PyObject_HEAD PyObject* owner;
  OwnedChunk* chunk;
  const FieldRecord* field;
  std::byte* address;  // the sequence's words, or the inline array
};

extern PyTypeObject* chunk_type;
extern PyTypeObject* content_type;
extern PyTypeObject* message_type;
extern PyTypeObject* sequence_type;
extern PyTypeObject* field_type;

/// The objects of NumPy and of baton's Python part that this extension needs. Borrowed for ever.
struct Imports {
  PyObject* frombuffer = nullptr;
  PyObject* bool_type = nullptr;  // of NumPy's scalars
  PyObject* ndarray = nullptr;
  PyObject* array_class = nullptr;  // baton.Array
  PyObject* copy_warning = nullptr;
  PyObject* converted = nullptr;  // baton._array.converted
  PyObject* same = nullptr;       // baton._messages.same
};
extern Imports imports;

// --- chunk.cpp
/// `reception_time_ns`: CLOCK_REALTIME at the take, before the GIL was waited for.
OwnedChunk* new_sample(const ClassRecord* record, transport::TakenSample&& sample, std::int64_t reception_time_ns);
OwnedChunk* new_loan(const ClassRecord* record, std::shared_ptr<baton::detail::PublisherCore> publisher,
                     const memory::Chunk& loan);
OwnedChunk* new_private(const ClassRecord* record);
/// A new reference to a KeptContent over [data, data + bytes) of the chunk of `owner`.
PyObject* new_content(PyObject* owner, OwnedChunk* chunk, std::byte* data, std::size_t bytes);
inline bool read_only(const OwnedChunk* chunk) noexcept { return chunk->kind == OwnedChunk::Kind::kSample; }
/// Throws if the view may not be used: its loan was published, or its content was retired.
void check_live(PyObject* owner, const OwnedChunk* chunk);
void check_writable(PyObject* owner, const OwnedChunk* chunk);
void add_chunk_types(PyObject* module);

// --- contents.cpp: strings and sequences by type model
struct ContentSpan {
  std::byte* data;
  std::size_t count;
};
/// The content that the words at `words` describe. Of a received message it lies inside the chunk, and its bytes are taken from
/// the walk's budget; throws if it does not, or if the budget is spent.
ContentSpan content_of(MessageReading& walk, const std::byte* words, std::size_t element_size, std::size_t alignment);
/// A string's bytes without terminator and padding.
ContentSpan string_of(MessageReading& walk, const std::byte* words);
/// The elements of an array or sequence.
ContentSpan elements_of(MessageReading& walk, const message::Field& field, std::byte* at);
/// Sets the length of the sequence at `words`. Elements that are messages get their defaults, scalars are unspecified.
void resize_sequence(OwnedChunk* chunk, const FieldRecord& field, std::byte* words, std::size_t count);
/// Sets the wstring at `words`.
void set_wstring(std::byte* words, const void* units, std::size_t count, std::size_t bound);
/// A message's default values, at an address that holds zeros or nothing yet.
void initialise(OwnedChunk* chunk, const ClassRecord& record, std::byte* address);
/// Frees the contents of the message at `address`. Views of them stay valid.
void release_contents(OwnedChunk* chunk, const message::Type& type, std::byte* address);
/// Copies a message of the same type between any two places. `to` holds a valid message.
void copy_message(MessageReading& walk, const std::byte* from, OwnedChunk* to_chunk, std::byte* to,
                  const ClassRecord& record);
/// The same of `count` elements of a field.
void copy_elements(MessageReading& walk, const std::byte* from, OwnedChunk* to_chunk, std::byte* to,
                   const FieldRecord& field, std::size_t count);
/// The private copy of a message.
OwnedChunk* private_copy(MessageReading& walk, const std::byte* from, const ClassRecord& record);

// --- view.cpp
PyObject* new_message(const ClassRecord* record, PyObject* owner, OwnedChunk* chunk, std::byte* address);
/// The view of a whole chunk; takes the reference.
PyObject* new_root(OwnedChunk* chunk);
PyObject* get_field(PyObject* owner, OwnedChunk* chunk, const FieldRecord& field, std::byte* address,
                    MessageView* holder, std::size_t index);
PyObject* get_element(PyObject* owner, MessageReading& walk, const FieldRecord& field, std::byte* address);
/// A NumPy array over `elements`, whose dtype is the field's.
PyObject* make_array(PyObject* owner, OwnedChunk* chunk, const FieldRecord& field, const ContentSpan& elements);
/// The object that views of `elements` must keep alive: in memory that can move, the content itself.
Ref owner_of_elements(PyObject* owner, OwnedChunk* chunk, const FieldRecord& field, const ContentSpan& elements);
bool is_message(PyObject* object) noexcept;
const ClassRecord* record_of_class(PyObject* cls);
void add_view_types(PyObject* module);
void add_sequence_type(PyObject* module);

// --- plain.cpp
/// A message as a dict, a Sequence as a list. A new reference; null: a Python error is set.
PyObject* plain(PyObject* value) noexcept;
void add_plain(PyObject* module);

// --- assign.cpp: Python objects of any world into messages
void assign_field(OwnedChunk* chunk, const FieldRecord& field, std::byte* address, PyObject* value);
void assign_element(OwnedChunk* chunk, const FieldRecord& field, std::byte* address, PyObject* value);
void assign_message(OwnedChunk* chunk, const ClassRecord& record, std::byte* address, PyObject* value);

// --- publish.cpp
/// A loan with default values.
OwnedChunk* make_loan(const ClassRecord* record, const std::shared_ptr<baton::detail::PublisherCore>& publisher);
/// Publishes a loan; its views must not be used afterwards. If arrays still use its memory, they keep that memory, and
/// a copy is published.
std::uint64_t publish_loan(OwnedChunk* chunk, const transport::PublishInfo& info);
/// Publishes any object that is a message of the type or can be converted to one.
std::uint64_t publish_object(const ClassRecord* record, const std::shared_ptr<baton::detail::PublisherCore>& publisher,
                             PyObject* object, transport::PublishInfo info);
/// Gives a loan back.
void abandon_loan(OwnedChunk* chunk);

}  // namespace baton::python
