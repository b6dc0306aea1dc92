// SPDX-License-Identifier: Apache-2.0
// MessageView (the base of every message class) and Field (the descriptor of one field): attribute access on shared memory.
#include <cstddef>

#include "baton/message/print.hpp"
#include "baton/message/print_object.hpp"
#include "baton/sfm/string.hpp"
#include "core.hpp"

#include <sstream>

namespace baton::python {

PyTypeObject* message_type = nullptr;
PyTypeObject* field_type = nullptr;

namespace {

using message::Field;
using message::Kind;
using message::Shape;

struct FieldDescriptor {
  PyObject_HEAD const ClassRecord* record;
  std::size_t index;
};

PyObject* record_attribute = nullptr;  // "_record"

template <class T>
T load(const std::byte* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

PyObject* decode(const OwnedChunk* chunk, const ContentSpan& text) {
  const auto* bytes = reinterpret_cast<const char*>(text.data);
  if (!read_only(chunk) || text.count == 0)
    return checked(PyUnicode_DecodeUTF8(bytes, static_cast<Py_ssize_t>(text.count), "surrogateescape"));
  // A copy: the decoder reads twice, and another process may write meanwhile.
  char small[256];
  if (text.count <= sizeof small) {
    std::memcpy(small, bytes, text.count);
    return checked(PyUnicode_DecodeUTF8(small, static_cast<Py_ssize_t>(text.count), "surrogateescape"));
  }
  const std::string copy(bytes, text.count);
  return checked(PyUnicode_DecodeUTF8(copy.data(), static_cast<Py_ssize_t>(copy.size()), "surrogateescape"));
}

PyObject* decode_wide(const ContentSpan& units) {
  const std::u16string copy(reinterpret_cast<const char16_t*>(units.data), units.count);
  int order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? -1 : 1;
  return checked(PyUnicode_DecodeUTF16(reinterpret_cast<const char*>(copy.data()),
                                       static_cast<Py_ssize_t>(copy.size() * 2), "surrogatepass", &order));
}

/// A baton.Array, which can resize the field.
PyObject* make_growing_array(OwnedChunk* chunk, const FieldRecord& field, const ContentSpan& content,
                             MessageView* holder, std::size_t index) {
  Ref plain(make_array(reinterpret_cast<PyObject*>(chunk), chunk, field, content));
  Ref array(checked(PyObject_CallMethod(plain.get(), "view", "O", imports.array_class)));
  Ref position(checked(PyLong_FromSize_t(index)));
  checked(PyObject_SetAttrString(array.get(), "_message", reinterpret_cast<PyObject*>(holder)));
  checked(PyObject_SetAttrString(array.get(), "_field", position.get()));
  return array.release();
}

PyObject* make_sequence(PyObject* owner, OwnedChunk* chunk, const FieldRecord& field, std::byte* address) {
  auto* view = PyObject_New(SequenceView, sequence_type);
  if (view == nullptr) throw PythonError();
  Py_INCREF(owner);
  view->owner = owner;
  view->chunk = chunk;
  view->field = &field;
  view->address = address;
  return reinterpret_cast<PyObject*>(view);
}

const FieldDescriptor* descriptor(PyObject* self) noexcept { return reinterpret_cast<FieldDescriptor*>(self); }

MessageView* message_of(PyObject* self, PyObject* object) {
  if (!is_message(object) || reinterpret_cast<MessageView*>(object)->record != descriptor(self)->record) {
    PyErr_Format(PyExc_TypeError, "this field belongs to messages of type %s", descriptor(self)->record->type->name);
    throw PythonError();
  }
  return reinterpret_cast<MessageView*>(object);
}

PyObject* field_get(PyObject* self, PyObject* object, PyObject* /*type*/) {
  if (object == nullptr) return Py_NewRef(self);
  return guarded<PyObject*>(nullptr, [&] {
    MessageView* message = message_of(self, object);
    check_live(message->owner, message->chunk);
    const FieldRecord& field = message->record->fields[descriptor(self)->index];
    return get_field(message->owner, message->chunk, field, message->address + field.field->offset, message,
                     descriptor(self)->index);
  });
}

int field_set(PyObject* self, PyObject* object, PyObject* value) {
  return guarded<int>(-1, [&] {
    MessageView* message = message_of(self, object);
    const FieldRecord& field = message->record->fields[descriptor(self)->index];
    if (value == nullptr) {
      PyErr_Format(PyExc_AttributeError, "field '%s' of a message cannot be deleted", field.field->name);
      throw PythonError();
    }
    check_writable(message->owner, message->chunk);
    assign_field(message->chunk, field, message->address + field.field->offset, value);
    return 0;
  });
}

PyObject* field_repr(PyObject* self) {
  const FieldDescriptor* d = descriptor(self);
  return PyUnicode_FromFormat("<field '%s' of %s>", d->record->type->fields[d->index].name, d->record->type->name);
}

void field_dealloc(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(type);
}

// Field(record, index)
PyObject* field_new(PyTypeObject* type, PyObject* arguments, PyObject* /*keywords*/) {
  PyObject* capsule;
  Py_ssize_t index;
  if (!PyArg_ParseTuple(arguments, "On", &capsule, &index)) return nullptr;
  auto* record = static_cast<ClassRecord*>(PyCapsule_GetPointer(capsule, "baton.TypeRecord"));
  if (record == nullptr) return nullptr;
  if (index < 0 || static_cast<std::size_t>(index) >= record->fields.size()) {
    PyErr_SetString(PyExc_IndexError, "no such field");
    return nullptr;
  }
  auto* self = reinterpret_cast<FieldDescriptor*>(type->tp_alloc(type, 0));
  if (self == nullptr) return nullptr;
  self->record = record;
  self->index = static_cast<std::size_t>(index);
  return reinterpret_cast<PyObject*>(self);
}

PyObject* message_new(PyTypeObject* type, PyObject* /*arguments*/, PyObject* /*keywords*/) {
  return guarded<PyObject*>(nullptr, [&] {
    const ClassRecord* record = record_of_class(reinterpret_cast<PyObject*>(type));
    OwnedChunk* chunk = new_private(record);
    Ref owner(reinterpret_cast<PyObject*>(chunk));
    initialise(chunk, *record, chunk->message);
    auto* self = reinterpret_cast<MessageView*>(checked(type->tp_alloc(type, 0)));
    self->owner = owner.release();
    self->chunk = chunk;
    self->record = record;
    self->address = chunk->message;
    return reinterpret_cast<PyObject*>(self);
  });
}

// Image(height=2, width=3), or Image(other) with any object that can be published as an Image.
int message_init(PyObject* self, PyObject* arguments, PyObject* keywords) {
  return guarded<int>(-1, [&] {
    auto* message = reinterpret_cast<MessageView*>(self);
    PyObject* source = nullptr;
    if (!PyArg_UnpackTuple(arguments, message->record->type->name, 0, 1, &source)) throw PythonError();
    check_writable(message->owner, message->chunk);
    if (source != nullptr) assign_message(message->chunk, *message->record, message->address, source);
    if (keywords != nullptr) assign_message(message->chunk, *message->record, message->address, keywords);
    return 0;
  });
}

void message_dealloc(PyObject* self) {
  auto* message = reinterpret_cast<MessageView*>(self);
  if (message->weak_references != nullptr) PyObject_ClearWeakRefs(self);
  PyObject* owner = message->owner;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_XDECREF(owner);
  Py_DECREF(type);
}

PyObject* message_str(PyObject* self) {
  return guarded<PyObject*>(nullptr, [&] {
    auto* message = reinterpret_cast<MessageView*>(self);
    check_live(message->owner, message->chunk);
    const std::byte* address = message->address;
    Ref owner;
    if (read_only(message->chunk)) {
      // A private copy: the printer trusts its words.
      MessageReading walk(message->chunk);
      OwnedChunk* copy = private_copy(walk, message->address, *message->record);
      owner = Ref(reinterpret_cast<PyObject*>(copy));
      address = copy->message;
    }
    message::PrintOptions options;
    options.flow_arrays = true;  // as `baton topic echo`
    std::ostringstream text;
    message::print_object(text, *message->record->type, address, options);
    const std::string result = text.str();
    return checked(PyUnicode_FromStringAndSize(result.data(), static_cast<Py_ssize_t>(result.size())));
  });
}

PyObject* message_repr(PyObject* self) {
  auto* message = reinterpret_cast<MessageView*>(self);
  const char* state = "private";
  switch (message->chunk->kind) {
    case OwnedChunk::Kind::kSample:
      state = "received";
      break;
    case OwnedChunk::Kind::kLoan:
      state = "loan";
      break;
    case OwnedChunk::Kind::kGone:
      state = "published";
      break;
    case OwnedChunk::Kind::kPrivate:
      break;
  }
  return PyUnicode_FromFormat("<%s, %s, at %p>", message->record->type->name, state, message->address);
}

// `with publisher.loan() as message:` publishes at the end, or gives the loan back if an exception leaves the block.
PyObject* message_enter(PyObject* self, PyObject* /*none*/) {
  return guarded<PyObject*>(nullptr, [&] {
    auto* message = reinterpret_cast<MessageView*>(self);
    check_live(message->owner, message->chunk);
    if (message->chunk->kind != OwnedChunk::Kind::kLoan || message->address != message->chunk->message) {
      PyErr_SetString(PyExc_TypeError, "only a loan can be used with 'with'");
      throw PythonError();
    }
    return Py_NewRef(self);
  });
}

PyObject* message_exit(PyObject* self, PyObject* arguments) {
  return guarded<PyObject*>(nullptr, [&] {
    OwnedChunk* chunk = reinterpret_cast<MessageView*>(self)->chunk;
    if (chunk->kind == OwnedChunk::Kind::kLoan) {  // otherwise it was published in the block
      if (PyTuple_GET_SIZE(arguments) > 0 && PyTuple_GET_ITEM(arguments, 0) != Py_None)
        abandon_loan(chunk);
      else
        publish_loan(chunk, {});
    }
    return Py_NewRef(Py_False);
  });
}

PyMethodDef message_methods[] = {{"__enter__", message_enter, METH_NOARGS, nullptr},
                                 {"__exit__", message_exit, METH_VARARGS, nullptr},
                                 {nullptr, nullptr, 0, nullptr}};
PyMemberDef message_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(MessageView, weak_references), READONLY, nullptr},
    {nullptr, 0, 0, 0, nullptr}};
PyType_Slot message_slots[] = {
    {Py_tp_new, reinterpret_cast<void*>(message_new)},
    {Py_tp_init, reinterpret_cast<void*>(message_init)},
    {Py_tp_dealloc, reinterpret_cast<void*>(message_dealloc)},
    {Py_tp_str, reinterpret_cast<void*>(message_str)},
    {Py_tp_repr, reinterpret_cast<void*>(message_repr)},
    {Py_tp_members, message_members},
    {Py_tp_methods, message_methods},
    {Py_tp_doc,
     const_cast<char*>("Base of all message classes: a view of one message. Received messages are read-only and lie in "
                       "the publisher's "
                       "memory, which stays valid for as long as the view or any array made from it lives.")},
    {0, nullptr}};
PyType_Spec message_spec = {"baton._core.Message", sizeof(MessageView), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
                            message_slots};

PyType_Slot field_slots[] = {{Py_tp_new, reinterpret_cast<void*>(field_new)},
                             {Py_tp_dealloc, reinterpret_cast<void*>(field_dealloc)},
                             {Py_tp_descr_get, reinterpret_cast<void*>(field_get)},
                             {Py_tp_descr_set, reinterpret_cast<void*>(field_set)},
                             {Py_tp_repr, reinterpret_cast<void*>(field_repr)},
                             {Py_tp_doc, const_cast<char*>("Descriptor of a message's field.")},
                             {0, nullptr}};
PyType_Spec field_spec = {"baton._core.Field", sizeof(FieldDescriptor), 0, Py_TPFLAGS_DEFAULT, field_slots};

}  // namespace

bool is_message(PyObject* object) noexcept { return PyObject_TypeCheck(object, message_type); }

const ClassRecord* record_of_class(PyObject* cls) {
  Ref capsule(PyObject_GetAttr(cls, record_attribute));
  void* record = capsule ? PyCapsule_GetPointer(capsule.get(), "baton.TypeRecord") : nullptr;
  if (record == nullptr) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError,
                 "%R is no message class of baton: use baton.message(\"package/Name\") or baton.msg.package.Name", cls);
    throw PythonError();
  }
  return static_cast<const ClassRecord*>(record);
}

PyObject* new_message(const ClassRecord* record, PyObject* owner, OwnedChunk* chunk, std::byte* address) {
  auto* self = reinterpret_cast<MessageView*>(checked(record->cls->tp_alloc(record->cls, 0)));
  Py_INCREF(owner);
  self->owner = owner;
  self->chunk = chunk;
  self->record = record;
  self->address = address;
  return reinterpret_cast<PyObject*>(self);
}

PyObject* new_root(OwnedChunk* chunk) {
  Ref owner(reinterpret_cast<PyObject*>(chunk));
  return new_message(chunk->record, owner.get(), chunk, chunk->message);
}

PyObject* make_array(PyObject* owner, OwnedChunk* chunk, const FieldRecord& field, const ContentSpan& elements) {
  static std::byte nothing;
  Ref content(new_content(owner, chunk, elements.count == 0 ? &nothing : elements.data,
                          elements.count * message::element_size(*field.field)));
  PyObject* arguments[] = {content.get(), field.dtype};
  return checked(PyObject_Vectorcall(imports.frombuffer, arguments, 2, nullptr));
}

Ref owner_of_elements(PyObject* owner, OwnedChunk* chunk, const FieldRecord& field, const ContentSpan& elements) {
  if (read_only(chunk) || field.field->shape != Shape::kSequence) return Ref::of(owner);
  return Ref(new_content(reinterpret_cast<PyObject*>(chunk), chunk, elements.data,
                         elements.count * message::element_size(*field.field)));
}

PyObject* get_element(PyObject* owner, MessageReading& walk, const FieldRecord& field, std::byte* at) {
  switch (field.field->kind) {
    case Kind::kBool:
      return PyBool_FromLong(load<std::uint8_t>(at) != 0);
    case Kind::kInt8:
      return checked(PyLong_FromLong(load<std::int8_t>(at)));
    case Kind::kUint8:
      return checked(PyLong_FromLong(load<std::uint8_t>(at)));
    case Kind::kInt16:
      return checked(PyLong_FromLong(load<std::int16_t>(at)));
    case Kind::kUint16:
      return checked(PyLong_FromLong(load<std::uint16_t>(at)));
    case Kind::kInt32:
      return checked(PyLong_FromLong(load<std::int32_t>(at)));
    case Kind::kUint32:
      return checked(PyLong_FromUnsignedLong(load<std::uint32_t>(at)));
    case Kind::kInt64:
      return checked(PyLong_FromLongLong(load<std::int64_t>(at)));
    case Kind::kUint64:
      return checked(PyLong_FromUnsignedLongLong(load<std::uint64_t>(at)));
    case Kind::kFloat32:
      return checked(PyFloat_FromDouble(load<float>(at)));
    case Kind::kFloat64:
      return checked(PyFloat_FromDouble(load<double>(at)));
    case Kind::kString:
      return decode(walk.chunk, string_of(walk, at));
    case Kind::kWString:
      return decode_wide(content_of(walk, at, 2, 2));
    case Kind::kMessage:
      return new_message(field.nested, owner, walk.chunk, at);
  }
  throw std::logic_error("no such kind");
}

PyObject* get_field(PyObject* owner, OwnedChunk* chunk, const FieldRecord& field, std::byte* at, MessageView* holder,
                    std::size_t index) {
  const Field& f = *field.field;
  MessageReading walk(chunk);
  if (f.shape == Shape::kSingle) return get_element(owner, walk, field, at);
  if (field.dtype == nullptr) return make_sequence(owner, chunk, field, at);
  const ContentSpan content = elements_of(walk, f, at);
  if (read_only(chunk) || f.shape == Shape::kArray) return make_array(owner, chunk, field, content);
  return make_growing_array(chunk, field, content, holder, index);
}

void add_view_types(PyObject* module) {
  record_attribute = checked(PyUnicode_InternFromString("_record"));
  message_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromModuleAndSpec(module, &message_spec, nullptr)));
  field_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromModuleAndSpec(module, &field_spec, nullptr)));
  checked(PyModule_AddObjectRef(module, "Message", reinterpret_cast<PyObject*>(message_type)));
  checked(PyModule_AddObjectRef(module, "Field", reinterpret_cast<PyObject*>(field_type)));
}

}  // namespace baton::python
