// SPDX-License-Identifier: Apache-2.0
// Walks Python objects of any world (dicts, rclpy, rospy, rosbags and baton messages, NumPy arrays, lists) and writes
// them directly into a message. The places of a class's fields are looked up once per class. Entries of __slots__,
// which rclpy and rospy classes have, are then read without an attribute look-up.
#include <cmath>
#include <limits>
#include <type_traits>

#include "baton/sfm/string.hpp"
#include "core.hpp"
#include "plan.hpp"

namespace baton::python {
namespace {

using message::Field;
using message::Kind;
using message::Shape;
using sfm::detail::StringCell;

[[noreturn]] void type_error(const Field& field, const char* wanted, PyObject* value) {
  PyErr_Format(PyExc_TypeError, "field '%s' takes %s, not %s", field.name, wanted, Py_TYPE(value)->tp_name);
  throw PythonError();
}

[[noreturn]] void range_error(const Field& field, PyObject* value) {
  PyErr_Clear();
  Ref text(PyObject_Repr(value));
  if (text) {
    PyErr_Format(PyExc_OverflowError, "field '%s': %.100U is outside its range", field.name, text.get());
  } else {  // more digits than Python writes
    PyErr_Clear();
    PyErr_Format(PyExc_OverflowError, "field '%s': a number of so many digits is outside its range", field.name);
  }
  throw PythonError();
}

template <class T>
void store(std::byte* at, T value) noexcept {
  std::memcpy(at, &value, sizeof value);
}

template <class T>
void store_integer(const Field& field, std::byte* at, PyObject* value) {
  Ref index;
  if (!PyLong_Check(value)) {
    if constexpr (sizeof(T) == 1) {
      // rclpy's `byte` is a bytes object of length 1.
      if (PyBytes_Check(value) && PyBytes_GET_SIZE(value) == 1)
        return store(at, static_cast<T>(PyBytes_AS_STRING(value)[0]));
    }
    if (!PyIndex_Check(value)) type_error(field, "an integer", value);
    index = Ref(checked(PyNumber_Index(value)));
    value = index.get();
  }
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    const unsigned long long number = PyLong_AsUnsignedLongLong(value);
    if (number == static_cast<unsigned long long>(-1) && PyErr_Occurred()) {
      if (PyErr_ExceptionMatches(PyExc_OverflowError)) range_error(field, value);
      throw PythonError();
    }
    store(at, static_cast<T>(number));
  } else {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (number == -1 && overflow == 0 && PyErr_Occurred()) throw PythonError();
    if (overflow != 0 || number < static_cast<long long>(std::numeric_limits<T>::min()) ||
        number > static_cast<long long>(std::numeric_limits<T>::max()))
      range_error(field, value);
    store(at, static_cast<T>(number));
  }
}

double as_double(const Field& field, PyObject* value) {
  if (PyFloat_CheckExact(value)) return PyFloat_AS_DOUBLE(value);
  const double number = PyFloat_AsDouble(value);
  if (number == -1.0 && PyErr_Occurred()) {
    if (PyErr_ExceptionMatches(PyExc_TypeError)) type_error(field, "a number", value);
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) range_error(field, value);
    throw PythonError();
  }
  return number;
}

}  // namespace

void store_scalar(const Field& field, std::byte* at, PyObject* value) {
  switch (field.kind) {
    case Kind::kBool: {
      if (value == Py_True || value == Py_False) return store(at, static_cast<std::uint8_t>(value == Py_True));
      if (PyObject_TypeCheck(value, reinterpret_cast<PyTypeObject*>(imports.bool_type))) {
        const int truth = PyObject_IsTrue(value);
        checked(truth);
        return store(at, static_cast<std::uint8_t>(truth));
      }
      if (!PyLong_Check(value) && !PyIndex_Check(value)) type_error(field, "a bool", value);
      std::uint8_t number;
      store_integer<std::uint8_t>(field, reinterpret_cast<std::byte*>(&number), value);
      if (number > 1) {
        PyErr_Format(PyExc_OverflowError, "field '%s' takes a bool (or 0 or 1), not %S", field.name, value);
        throw PythonError();
      }
      return store(at, number);
    }
    case Kind::kInt8:
      return store_integer<std::int8_t>(field, at, value);
    case Kind::kUint8:
      return store_integer<std::uint8_t>(field, at, value);
    case Kind::kInt16:
      return store_integer<std::int16_t>(field, at, value);
    case Kind::kUint16:
      return store_integer<std::uint16_t>(field, at, value);
    case Kind::kInt32:
      return store_integer<std::int32_t>(field, at, value);
    case Kind::kUint32:
      return store_integer<std::uint32_t>(field, at, value);
    case Kind::kInt64:
      return store_integer<std::int64_t>(field, at, value);
    case Kind::kUint64:
      return store_integer<std::uint64_t>(field, at, value);
    case Kind::kFloat32:
      return store(at, static_cast<float>(as_double(field, value)));
    case Kind::kFloat64:
      return store(at, as_double(field, value));
    default:
      throw std::logic_error("no scalar");
  }
}

/// True if the buffer holds elements of this kind, in native byte order.
bool same_format(Kind kind, const Py_buffer& buffer) noexcept {
  const char* format = buffer.format != nullptr ? buffer.format : "B";
  if (*format == '@' || *format == '=' || (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ && *format == '<')) ++format;
  if (format[0] == '\0' || format[1] != '\0') return false;
  const auto is_signed = [&] { return std::strchr("bhilqn", *format) != nullptr; };
  const auto is_unsigned = [&] { return std::strchr("BHILQN", *format) != nullptr; };
  const Py_ssize_t size = buffer.itemsize;
  switch (kind) {
    case Kind::kBool:
      return *format == '?';
    case Kind::kInt8:
      return size == 1 && (is_signed() || *format == 'c');
    case Kind::kUint8:
      return size == 1 && (is_unsigned() || *format == 'c');
    case Kind::kInt16:
      return size == 2 && is_signed();
    case Kind::kUint16:
      return size == 2 && is_unsigned();
    case Kind::kInt32:
      return size == 4 && is_signed();
    case Kind::kUint32:
      return size == 4 && is_unsigned();
    case Kind::kInt64:
      return size == 8 && is_signed();
    case Kind::kUint64:
      return size == 8 && is_unsigned();
    case Kind::kFloat32:
      return *format == 'f';
    case Kind::kFloat64:
      return *format == 'd';
    default:
      return false;
  }
}

namespace {

void check_bound(const Field& field, const char* unit, Py_ssize_t given) {
  if (field.string_bound == 0 || static_cast<std::size_t>(given) <= field.string_bound) return;
  PyErr_Format(PyExc_ValueError, "field '%s' takes a string of %u %s at most, not %zd", field.name,
               static_cast<unsigned>(field.string_bound), unit, given);
  throw PythonError();
}

void store_text(const Field& field, StringCell& cell, const char* text, Py_ssize_t bytes) {
  check_bound(field, "bytes", bytes);
  cell.assign({text, static_cast<std::size_t>(bytes)}, field.string_bound);
}

void store_string(const Field& field, std::byte* at, PyObject* value) {
  auto& cell = *reinterpret_cast<StringCell*>(at);
  if (PyUnicode_Check(value)) {
    Py_ssize_t bytes;
    const char* text = PyUnicode_AsUTF8AndSize(value, &bytes);
    if (text != nullptr) return store_text(field, cell, text, bytes);
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) throw PythonError();
    PyErr_Clear();
    Ref encoded(checked(PyUnicode_AsEncodedString(value, "utf-8", "surrogateescape")));
    return store_text(field, cell, PyBytes_AS_STRING(encoded.get()), PyBytes_GET_SIZE(encoded.get()));
  }
  if (!PyBytes_Check(value)) type_error(field, "a string", value);
  store_text(field, cell, PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value));
}

void store_wide(const Field& field, std::byte* at, PyObject* value) {
  if (!PyUnicode_Check(value)) type_error(field, "a string", value);
  Ref encoded(checked(PyUnicode_AsEncodedString(
      value, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "utf-16-le" : "utf-16-be", "surrogatepass")));
  const Py_ssize_t units = PyBytes_GET_SIZE(encoded.get()) / 2;
  check_bound(field, "UTF-16 units", units);
  set_wstring(at, PyBytes_AS_STRING(encoded.get()), static_cast<std::size_t>(units), field.string_bound);
}

struct Buffer {
  Py_buffer view{};
  bool held = false;
  ~Buffer() {
    if (held) PyBuffer_Release(&view);
  }
};

/// The place for `count` elements of an array or sequence.
std::byte* room_for(OwnedChunk* chunk, const FieldRecord& record, std::byte* at, std::size_t count) {
  const Field& field = *record.field;
  if (field.shape == Shape::kArray) {
    if (count == field.count) return at;
    PyErr_Format(PyExc_ValueError, "field '%s' has exactly %u elements, not %zu", field.name, field.count, count);
    throw PythonError();
  }
  resize_sequence(chunk, record, at, count);
  return reinterpret_cast<sfm::detail::Cell*>(at)->content();
}

void assign_many(OwnedChunk* chunk, const FieldRecord& record, std::byte* at, PyObject* value);

/// Copies a buffer of the same element type; false if `value` is no such buffer.
bool assign_from_buffer(OwnedChunk* chunk, const FieldRecord& record, std::byte* at, PyObject* value) {
  if (!PyObject_CheckBuffer(value)) return false;
  Buffer buffer;
  if (PyObject_GetBuffer(value, &buffer.view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
    PyErr_Clear();
    return false;
  }
  buffer.held = true;
  if (record.field->kind == Kind::kMessage) {
    // A structured array: the same memory layout if NumPy says that its dtype equals ours.
    if (!PyObject_TypeCheck(value, reinterpret_cast<PyTypeObject*>(imports.ndarray))) return false;
    Ref dtype(checked(PyObject_GetAttrString(value, "dtype")));
    const int same = PyObject_RichCompareBool(dtype.get(), record.dtype, Py_EQ);
    checked(same);
    if (same == 0) return false;
  } else if (!same_format(record.field->kind, buffer.view)) {
    return false;
  }
  const auto bytes = static_cast<std::size_t>(buffer.view.len);
  std::byte* target = room_for(chunk, record, at, bytes / message::element_size(*record.field));
  if (bytes != 0) std::memmove(target, buffer.view.buf, bytes);
  return true;
}

/// Copies a SequenceView of a received message in one MessageReading; false if `value` is none. Of another class with the same fields, each
/// element is copied before its fields are looked up.
bool assign_from_received(OwnedChunk* chunk, const FieldRecord& record, std::byte* at, PyObject* value) {
  if (Py_TYPE(value) != sequence_type) return false;
  const auto* source = reinterpret_cast<const SequenceView*>(value);
  if (!read_only(source->chunk)) return false;
  const FieldRecord& from = *source->field;
  const std::size_t size = message::element_size(*from.field);
  MessageReading walk(source->chunk);
  const ContentSpan elements = elements_of(walk, *from.field, source->address);
  if (from.field->kind == record.field->kind && from.nested == record.nested) {
    copy_elements(walk, elements.data, chunk, room_for(chunk, record, at, elements.count), record, elements.count);
    return true;
  }
  const Ref copies(checked(PyList_New(static_cast<Py_ssize_t>(elements.count))));
  for (std::size_t i = 0; i < elements.count; ++i) {
    std::byte* element = elements.data + i * size;
    PyObject* copy = from.nested != nullptr ? new_root(private_copy(walk, element, *from.nested))
                                            : get_element(source->owner, walk, from, element);
    PyList_SET_ITEM(copies.get(), static_cast<Py_ssize_t>(i), copy);
  }
  assign_many(chunk, record, at, copies.get());
  return true;
}

void assign_many(OwnedChunk* chunk, const FieldRecord& record, std::byte* at, PyObject* value) {
  const Field& field = *record.field;
  if (assign_from_received(chunk, record, at, value)) return;
  const bool listed = PyList_CheckExact(value) || PyTuple_CheckExact(value);
  if (record.dtype != nullptr && !listed) {
    if (assign_from_buffer(chunk, record, at, value)) return;
    if (PyObject_CheckBuffer(value) && (field.kind != Kind::kMessage || PyObject_HasAttrString(value, "dtype"))) {
      // Another element type, byte order, strides or order of fields.
      if (PyUnicode_Check(value)) type_error(field, "numbers", value);
      const Ref converted(checked(PyObject_CallFunction(imports.converted, "OOs", value, record.dtype, field.name)));
      if (assign_from_buffer(chunk, record, at, converted.get())) return;
    }
  }
  if (PyUnicode_Check(value) || PyDict_Check(value)) type_error(field, "a sequence", value);
  Ref items(PySequence_Fast(value, "a message field of several elements takes a sequence"));
  if (!items) {
    if (PyErr_ExceptionMatches(PyExc_TypeError)) type_error(field, "a sequence", value);
    throw PythonError();
  }
  const auto count = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(items.get()));
  std::byte* target = room_for(chunk, record, at, count);
  const std::size_t size = message::element_size(field);
  for (std::size_t i = 0; i < count; ++i) {
    if (static_cast<std::size_t>(PySequence_Fast_GET_SIZE(items.get())) != count) {
      PyErr_SetString(PyExc_RuntimeError, "the list changed while it was read");
      throw PythonError();
    }
    // The elements' own contents are placed behind this content, which therefore stays in place.
    const Ref item = Ref::of(PySequence_Fast_GET_ITEM(items.get(), static_cast<Py_ssize_t>(i)));
    assign_element(chunk, record, target + i * size, item.get());
  }
}

bool has_attribute(PyObject* object, PyObject* name) noexcept {
  Ref value(PyObject_GetAttr(object, name));
  if (!value) PyErr_Clear();
  return static_cast<bool>(value);
}

const ForeignLayout& layout_of(const ClassRecord& record, PyObject* value) {
  PyTypeObject* type = Py_TYPE(value);
  for (const ForeignLayout& known : record.foreign)
    if (known.type == type) return known;
  ForeignLayout layout;
  layout.type = type;
  for (const char* mark : {"_slot_types", "__msgtype__"})
    layout.signed_bytes = layout.signed_bytes || PyObject_HasAttrString(reinterpret_cast<PyObject*>(type), mark) != 0;
  // In a class generated for rclpy, property x only returns the slot _x.
  const bool generated = PyObject_HasAttrString(reinterpret_cast<PyObject*>(type), "_fields_and_field_types") != 0;
  for (const FieldRecord& field : record.fields) {
    ForeignLayout::Place place;
    for (PyObject* name : field.names) {
      place.slot = slot_offset(type, name);
      if (place.slot == 0 && generated) {
        Ref hidden(checked(PyUnicode_FromFormat("_%U", name)));
        place.slot = slot_offset(type, hidden.get());
      }
      if (place.slot != 0 || has_attribute(value, name)) {
        place.name = name;
        break;
      }
    }
    if (place.name == nullptr && !field.optional) {
      PyErr_Format(PyExc_TypeError, "a %s cannot be made of %s, which has no attribute '%U'", record.type->name,
                   type->tp_name, field.names.front());
      throw PythonError();
    }
    layout.places.push_back(place);
  }
  Py_INCREF(type);
  record.foreign.push_back(std::move(layout));
  return record.foreign.back();
}

void assign_from_dict(OwnedChunk* chunk, const ClassRecord& record, std::byte* address, PyObject* dict) {
  Py_ssize_t position = 0;
  PyObject *key, *item;
  while (PyDict_Next(dict, &position, &key, &item) != 0) {
    const FieldRecord* field = record.find(key);
    if (field == nullptr) {
      PyErr_Format(PyExc_TypeError, "%s has no field %R", record.type->name, key);
      throw PythonError();
    }
    const Ref held = Ref::of(item);
    assign_field(chunk, *field, address + field->field->offset, item);
  }
}

}  // namespace

const FieldRecord* ClassRecord::find(PyObject* name) const noexcept {
  for (const FieldRecord& field : fields)
    if (field.names.front() == name) return &field;  // interned, nearly always
  if (!PyUnicode_Check(name)) return nullptr;
  for (const FieldRecord& field : fields)
    for (PyObject* known : field.names)
      if (PyUnicode_Compare(known, name) == 0) return &field;
  return nullptr;
}

void assign_element(OwnedChunk* chunk, const FieldRecord& record, std::byte* at, PyObject* value) {
  switch (record.field->kind) {
    case Kind::kString:
      return store_string(*record.field, at, value);
    case Kind::kWString:
      return store_wide(*record.field, at, value);
    case Kind::kMessage:
      return assign_message(chunk, *record.nested, at, value);
    default:
      return store_scalar(*record.field, at, value);
  }
}

void assign_field(OwnedChunk* chunk, const FieldRecord& record, std::byte* at, PyObject* value) {
  if (record.field->shape == Shape::kSingle)
    assign_element(chunk, record, at, value);
  else
    assign_many(chunk, record, at, value);
}

namespace {

/// Times and durations of ROS 1 and ROS 2: the first two fields are seconds and nanoseconds.
bool is_time(const ClassRecord& record) noexcept {
  const std::string_view name = record.type->name;
  const auto is_number = [](const FieldRecord& field) {
    return field.nested == nullptr && field.field->shape == message::Shape::kSingle;
  };
  // The name alone says nothing about a definition that a program brings.
  return (name == "builtin_interfaces/Time" || name == "builtin_interfaces/Duration") && record.fields.size() == 2 &&
         is_number(record.fields[0]) && is_number(record.fields[1]);
}

/// Seconds as Python counts them (time.time()), for a time or duration.
void assign_seconds(OwnedChunk* chunk, const ClassRecord& record, std::byte* address, PyObject* value) {
  const double seconds = PyFloat_AsDouble(value);
  if (seconds == -1.0 && PyErr_Occurred() != nullptr) throw PythonError();
  if (!std::isfinite(seconds)) {
    PyErr_Format(PyExc_ValueError, "%R seconds are no %s", value, record.type->name);
    throw PythonError();
  }
  double whole = std::floor(seconds);
  double nanoseconds = std::round((seconds - whole) * 1e9);
  if (nanoseconds >= 1e9) {
    whole += 1;
    nanoseconds = 0;
  }
  const Ref parts[] = {Ref(checked(PyLong_FromDouble(whole))), Ref(checked(PyLong_FromDouble(nanoseconds)))};
  for (std::size_t i = 0; i < 2; ++i)
    assign_field(chunk, record.fields[i], address + record.fields[i].field->offset, parts[i].get());
}

/// The `byte` of genpy and rosbags is signed, and has the same bits here. The value as an octet or as bytes; empty: it is to be
/// assigned as always.
Ref octets_of(const FieldRecord& field, PyObject* value) {
  if (field.field->kind != Kind::kUint8) return {};
  const auto octet = [](PyObject* number) {
    const long found = PyLong_Check(number) ? PyLong_AsLong(number) : -1000;
    if (PyErr_Occurred() != nullptr) PyErr_Clear();  // the error of an ordinary number says more
    return found >= -128 && found <= 255 ? static_cast<int>(found & 255) : -1;
  };
  if (field.field->shape == Shape::kSingle) {
    const int found = octet(value);
    return found < 0 ? Ref() : Ref(checked(PyLong_FromLong(found)));
  }
  if (PyObject_CheckBuffer(value)) {  // rosbags' int8 arrays
    Buffer buffer;
    buffer.held = PyObject_GetBuffer(value, &buffer.view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) == 0;
    if (!buffer.held) PyErr_Clear();
    if (!buffer.held || !same_format(Kind::kInt8, buffer.view)) return {};
    return Ref(checked(PyBytes_FromStringAndSize(static_cast<const char*>(buffer.view.buf), buffer.view.len)));
  }
  if (!PyList_Check(value) && !PyTuple_Check(value)) return {};
  Ref bytes(checked(PyBytes_FromStringAndSize(nullptr, PySequence_Fast_GET_SIZE(value))));
  for (Py_ssize_t i = 0; i < PyBytes_GET_SIZE(bytes.get()); ++i) {
    const int found = octet(PySequence_Fast_GET_ITEM(value, i));
    if (found < 0) return {};
    PyBytes_AS_STRING(bytes.get())[i] = static_cast<char>(found);
  }
  return bytes;
}

/// genpy's seconds are unsigned, and have these bits in a stamp after 2038 (docs/format/ros1-ros2-equivalence.md). False: `value` is
/// to be assigned as always.
bool assign_late_seconds(const ClassRecord& record, const FieldRecord& field, std::byte* at, PyObject* value) {
  if (field.field->kind != Kind::kInt32 || std::string_view(record.type->name) != "builtin_interfaces/Time")
    return false;
  if (!PyLong_Check(value)) return false;
  const unsigned long seconds = PyLong_AsUnsignedLong(value);
  if (PyErr_Occurred() != nullptr) PyErr_Clear();  // the error of an ordinary number says more
  if (seconds <= std::numeric_limits<std::int32_t>::max() || seconds > std::numeric_limits<std::uint32_t>::max())
    return false;
  store(at, static_cast<std::uint32_t>(seconds));
  return true;
}

}  // namespace

void assign_message(OwnedChunk* chunk, const ClassRecord& record, std::byte* address, PyObject* value) {
  if (is_message(value)) {
    auto* source = reinterpret_cast<MessageView*>(value);
    check_live(source->owner, source->chunk);
    MessageReading walk(source->chunk);
    if (source->record == &record) return copy_message(walk, source->address, chunk, address, record);
    if (read_only(source->chunk)) {  // of another class with the same fields: their values are looked up in a copy
      const Ref copy(new_root(private_copy(walk, source->address, *source->record)));
      return assign_message(chunk, record, address, copy.get());
    }
  }
  if (PyDict_Check(value)) return assign_from_dict(chunk, record, address, value);
  if ((PyFloat_Check(value) || (PyLong_Check(value) && !PyBool_Check(value))) && is_time(record))
    return assign_seconds(chunk, record, address, value);
  if (record.dtype != nullptr && PyObject_CheckBuffer(value) && PyObject_HasAttrString(value, "dtype") != 0) {
    // An element of a structured array.
    Ref array(checked(PyObject_CallFunction(imports.converted, "OOs", value, record.dtype, record.type->name)));
    Ref bytes(checked(PyObject_CallMethod(array.get(), "tobytes", nullptr)));
    if (static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.get())) != record.type->size) {
      PyErr_Format(PyExc_ValueError, "one %s is wanted, not an array", record.type->name);
      throw PythonError();
    }
    std::memcpy(address, PyBytes_AS_STRING(bytes.get()), record.type->size);
    return;
  }
  const ForeignLayout& layout = layout_of(record, value);
  const std::vector<ForeignLayout::Place>& places = layout.places;
  const bool signed_bytes = layout.signed_bytes;
  for (std::size_t i = 0; i < record.fields.size(); ++i) {
    const FieldRecord& field = record.fields[i];
    const ForeignLayout::Place place = places[i];
    if (place.name == nullptr) continue;
    Ref item;
    if (place.slot != 0) {
      item = Ref::of(*reinterpret_cast<PyObject**>(reinterpret_cast<char*>(value) + place.slot));
      if (!item) {
        PyErr_SetObject(PyExc_AttributeError, place.name);
        throw PythonError();
      }
    } else {
      item = Ref(checked(PyObject_GetAttr(value, place.name)));
    }
    if (place.name != field.names.front() &&
        assign_late_seconds(record, field, address + field.field->offset, item.get()))
      continue;
    if (signed_bytes) {
      if (Ref octets = octets_of(field, item.get())) item = std::move(octets);
    }
    assign_field(chunk, field, address + field.field->offset, item.get());
  }
}

}  // namespace baton::python
