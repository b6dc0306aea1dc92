// SPDX-License-Identifier: Apache-2.0
// High-layer serialization: Python objects to and from CDR (as message/cdr_codec.hpp describes it) and ROS 1's wire, in
// one walk. Wires are untrusted: every length is checked against the remaining bytes.
#include <algorithm>
#include <cstring>

#include "plan.hpp"

namespace baton::python {
namespace {

using message::Kind;
using message::Shape;

PyObject* write_name = nullptr;
PyObject* release_name = nullptr;

// A block of at least this size goes to a sink without a copy.
constexpr std::size_t kLarge = 1 << 16;

class ObjectEncoder {
 public:
  /// `expected`: the size of the last message. Exactly this size is allocated, so that malloc() sees one size
  /// repeatedly and keeps its pages. `sink`: an object with write(), or null: then the bytes stay in this object until
  /// finish().
  ObjectEncoder(bool cdr, std::size_t expected, PyObject* sink) : cdr_(cdr), sink_(sink) {
    bytes_ =
        Ref(checked(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(std::max<std::size_t>(expected, 64)))));
    if (cdr) {
      const char header[4] = {0, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? '\1' : '\0', 0, 0};
      std::memcpy(room(4), header, 4);
    }
  }
  bool cdr() const noexcept { return cdr_; }
  void align(std::size_t alignment) {
    if (!cdr_) return;
    const std::size_t padding = (alignment - (size_ - 4) % alignment) % alignment;
    if (padding != 0) std::memset(room(padding), 0, padding);
  }
  void scalars(const void* data, std::size_t size, std::size_t count) {
    if (count == 0) return;
    align(size);
    if (sink_ != nullptr && size * count >= kLarge) return pass(static_cast<const char*>(data), size * count);
    std::memcpy(room(size * count), data, size * count);
  }
  void length(std::size_t count) {
    if (count > UINT32_MAX) {
      PyErr_SetString(PyExc_OverflowError, "more elements than a wire can carry");
      throw PythonError();
    }
    const auto word = static_cast<std::uint32_t>(count);
    scalars(&word, 4, 1);
  }
  void string(const char* text, std::size_t size) {
    length(size + (cdr_ ? 1 : 0));
    std::memcpy(room(size), text, size);
    if (cdr_) *room(1) = 0;
  }
  std::size_t size() const noexcept { return size_; }  ///< size of the bytes in this object
  PyObject* finish() {
    if (size_ != static_cast<std::size_t>(PyBytes_GET_SIZE(bytes_.get()))) {
      PyObject* bytes = bytes_.release();
      if (_PyBytes_Resize(&bytes, static_cast<Py_ssize_t>(size_)) != 0) throw PythonError();
      bytes_ = Ref(bytes);
    }
    if (sink_ == nullptr) return bytes_.release();
    const Ref done(checked(PyObject_CallMethodOneArg(sink_, write_name, bytes_.get())));
    return Py_NewRef(Py_None);
  }

 private:
  char* room(std::size_t count) {
    const auto capacity = static_cast<std::size_t>(PyBytes_GET_SIZE(bytes_.get()));
    if (count > capacity - size_) {
      PyObject* bytes = bytes_.release();
      const std::size_t wanted = size_ + count + 64 + std::min<std::size_t>(capacity, 1 << 20);
      if (_PyBytes_Resize(&bytes, static_cast<Py_ssize_t>(wanted)) != 0) throw PythonError();
      bytes_ = Ref(bytes);
    }
    char* at = PyBytes_AS_STRING(bytes_.get()) + size_;
    size_ += count;
    return at;
  }
  void send(const char* data, std::size_t size) {
    const Ref memory(
        checked(PyMemoryView_FromMemory(const_cast<char*>(data), static_cast<Py_ssize_t>(size), PyBUF_READ)));
    const Ref done(checked(PyObject_CallMethodOneArg(sink_, write_name, memory.get())));
    const Ref released(checked(PyObject_CallMethodNoArgs(memory.get(), release_name)));
  }
  void pass(const char* data, std::size_t size) {
    send(PyBytes_AS_STRING(bytes_.get()), size_);
    size_ = 0;
    send(data, size);
  }
  const bool cdr_;
  PyObject* const sink_;
  Ref bytes_;
  std::size_t size_ = 0;
};

void write_message(ObjectEncoder& writer, const ConversionPlan& plan, PyObject* object);

void write_string(ObjectEncoder& writer, const PlanField& field, PyObject* value) {
  Ref encoded;
  const char* text;
  Py_ssize_t size;
  if (PyBytes_Check(value)) {
    text = PyBytes_AS_STRING(value);
    size = PyBytes_GET_SIZE(value);
  } else if (!PyUnicode_Check(value)) {
    PyErr_Format(PyExc_TypeError, "field '%U' takes a string, not %s", field.name, Py_TYPE(value)->tp_name);
    throw PythonError();
  } else if ((text = PyUnicode_AsUTF8AndSize(value, &size)) == nullptr) {
    PyErr_Clear();
    encoded = Ref(checked(PyUnicode_AsEncodedString(value, "utf-8", "surrogateescape")));
    text = PyBytes_AS_STRING(encoded.get());
    size = PyBytes_GET_SIZE(encoded.get());
  }
  if (field.field.string_bound != 0 && static_cast<std::size_t>(size) > field.field.string_bound) {
    PyErr_Format(PyExc_ValueError, "field '%U' takes at most %u characters", field.name, field.field.string_bound);
    throw PythonError();
  }
  writer.string(text, static_cast<std::size_t>(size));
}

void write_wide(ObjectEncoder& writer, const PlanField& field, PyObject* value) {
  if (!PyUnicode_Check(value)) {
    PyErr_Format(PyExc_TypeError, "field '%U' takes a string, not %s", field.name, Py_TYPE(value)->tp_name);
    throw PythonError();
  }
  Ref encoded(checked(PyUnicode_AsEncodedString(
      value, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "utf-16-le" : "utf-16-be", "surrogatepass")));
  const auto count = static_cast<std::size_t>(PyBytes_GET_SIZE(encoded.get())) / 2;
  writer.length(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint16_t unit;
    std::memcpy(&unit, PyBytes_AS_STRING(encoded.get()) + 2 * i, 2);
    const std::uint32_t word = unit;
    writer.scalars(&word, 4, 1);
  }
}

void write_element(ObjectEncoder& writer, const PlanField& field, PyObject* value) {
  switch (field.field.kind) {
    case Kind::kString:
      return write_string(writer, field, value);
    case Kind::kWString:
      return write_wide(writer, field, value);
    case Kind::kMessage:
      return write_message(writer, *field.nested, value);
    default: {
      std::byte scalar[8];
      store_scalar(field.field, scalar, value);
      return writer.scalars(scalar, message::element_size(field.field), 1);
    }
  }
}

void write_message(ObjectEncoder& writer, const ConversionPlan& plan, PyObject* object) {
  plan_check_class(plan, object);
  for (const PlanField& field : plan.fields) {
    const Ref value(plan_get(field, object));
    if (field.field.shape == Shape::kSingle) {
      write_element(writer, field, value.get());
      continue;
    }
    const bool sequence = field.field.shape == Shape::kSequence;
    if (field.field.kind < Kind::kString) {
      ScalarBlock block;
      plan_scalars(field, value.get(), &block);
      if (sequence) writer.length(block.count);
      writer.scalars(block.data, message::element_size(field.field), block.count);
      continue;
    }
    const Ref items(plan_items(field, value.get()));
    const Py_ssize_t count = PySequence_Fast_GET_SIZE(items.get());
    plan_check_count(field, static_cast<std::size_t>(count));
    if (sequence) writer.length(static_cast<std::size_t>(count));
    for (Py_ssize_t i = 0; i < count; ++i) {
      if (PySequence_Fast_GET_SIZE(items.get()) != count) {
        PyErr_SetString(PyExc_RuntimeError, "the list changed while it was read");
        throw PythonError();
      }
      const Ref item = Ref::of(PySequence_Fast_GET_ITEM(items.get(), i));
      write_element(writer, field, item.get());
    }
  }
  if (plan.fields.empty() && writer.cdr()) writer.scalars("", 1, 1);  // rosidl's dummy byte
}

class ObjectDecoder {
 public:
  ObjectDecoder(const void* data, std::size_t size, bool cdr)
      : data_(static_cast<const char*>(data)), size_(size), cdr_(cdr) {
    if (!cdr) return;
    const char* header = take(4, 1);
    const char native = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? 1 : 0;
    if (header[0] != 0 || header[1] != native) {
      PyErr_SetString(exception_of(Errc::unsupported), "not plain CDR in this machine's byte order");
      throw PythonError();
    }
  }
  bool cdr() const noexcept { return cdr_; }
  std::size_t left() const noexcept { return size_ - at_; }
  const char* scalars(std::size_t size, std::size_t count) {
    if (cdr_ && count != 0) {
      const std::size_t padding = (size - (at_ - 4) % size) % size;
      take(padding, 1);
    }
    return take(count, size);
  }
  /// A length whose elements take at least `least` bytes each.
  std::size_t length(std::size_t least) {
    std::uint32_t count;
    std::memcpy(&count, scalars(4, 1), 4);
    if (least != 0 ? count > left() / least : count > (1U << 20)) malformed();
    return count;
  }
  const char* take(std::size_t count, std::size_t size) {
    if (count > left() / size) malformed();
    const char* at = data_ + at_;
    at_ += count * size;
    return at;
  }
  [[noreturn]] void malformed() const {
    PyErr_Format(exception_of(Errc::malformed_message), "the wire of %zu bytes ends before its message does", size_);
    throw PythonError();
  }

 private:
  const char* data_;
  std::size_t size_;
  std::size_t at_ = 0;
  const bool cdr_;
};

PyObject* read_message(ObjectDecoder& reader, const ConversionPlan& plan, PyObject* target);

PyObject* read_element(ObjectDecoder& reader, const PlanField& field) {
  switch (field.field.kind) {
    case Kind::kString: {
      std::size_t size = reader.length(1);
      const char* text = reader.take(size, 1);
      if (reader.cdr() && size != 0) --size;  // the terminator
      return checked(PyUnicode_DecodeUTF8(text, static_cast<Py_ssize_t>(size), "surrogateescape"));
    }
    case Kind::kWString: {
      const std::size_t count = reader.length(4);
      std::u16string units(count, u'\0');
      const char* words = reader.scalars(4, count);
      for (std::size_t i = 0; i < count; ++i) {
        std::uint32_t word;
        std::memcpy(&word, words + 4 * i, 4);
        units[i] = static_cast<char16_t>(word);
      }
      int order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? -1 : 1;
      return checked(PyUnicode_DecodeUTF16(reinterpret_cast<const char*>(units.data()),
                                           static_cast<Py_ssize_t>(count * 2), "surrogatepass", &order));
    }
    case Kind::kMessage:
      return read_message(reader, *field.nested, nullptr);
    default:
      return plan_make_scalar(field, reader.scalars(message::element_size(field.field), 1));
  }
}

PyObject* read_message(ObjectDecoder& reader, const ConversionPlan& plan, PyObject* target) {
  Ref object(target != nullptr ? Py_NewRef(target) : plan_new_object(plan));
  for (const PlanField& field : plan.fields) {
    if (field.field.shape == Shape::kSingle) {
      plan_set(field, object.get(), read_element(reader, field));
      continue;
    }
    const bool sequence = field.field.shape == Shape::kSequence;
    const bool scalars = field.field.kind < Kind::kString;
    const std::size_t size = scalars ? message::element_size(field.field) : 1;
    const bool nothing = field.nested != nullptr && !reader.cdr();  // may be empty on ROS 1's wire
    const std::size_t count = sequence ? reader.length(nothing ? 0 : size) : field.field.count;
    if (scalars) {
      const char* data = reader.scalars(size, count);
      plan_set(field, object.get(), plan_make_scalars(field, data, count));
      continue;
    }
    Ref items(checked(PyList_New(static_cast<Py_ssize_t>(count))));
    for (std::size_t i = 0; i < count; ++i)
      PyList_SET_ITEM(items.get(), static_cast<Py_ssize_t>(i), read_element(reader, field));
    plan_set(field, object.get(), items.release());
  }
  if (plan.fields.empty() && reader.cdr()) reader.take(1, 1);
  return object.release();
}

}  // namespace

void add_plan_wire() {
  write_name = checked(PyUnicode_InternFromString("write"));
  release_name = checked(PyUnicode_InternFromString("release"));
}

PyObject* plan_to_wire(const ConversionPlan& plan, PyObject* object, bool cdr, PyObject* sink) {
  ObjectEncoder writer(cdr, plan.wire_bytes, sink);
  write_message(writer, plan, object);
  plan.wire_bytes = writer.size();
  plan_keep_room(plan.wire_bytes);
  return writer.finish();
}

PyObject* plan_from_wire(const ConversionPlan& plan, PyObject* target, const void* data, std::size_t size, bool cdr) {
  plan_keep_room(size);
  const WithoutCollection pause(plan);
  ObjectDecoder reader(data, size, cdr);
  return read_message(reader, plan, target);
}

}  // namespace baton::python
