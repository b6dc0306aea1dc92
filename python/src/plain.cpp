// SPDX-License-Identifier: Apache-2.0
// A message as dicts, lists, numbers and texts, with NumPy arrays on its memory, for to_dict(), pickle and ==.
#include "core.hpp"

namespace baton::python {
namespace {

using message::Kind;
using message::Shape;

PyObject* plain_message(MessageReading& walk, PyObject* owner, const ClassRecord& record, std::byte* address);

PyObject* plain_element(MessageReading& walk, PyObject* owner, const FieldRecord& field, std::byte* at) {
  if (field.nested != nullptr) return plain_message(walk, owner, *field.nested, at);
  return get_element(owner, walk, field, at);
}

PyObject* plain_field(MessageReading& walk, PyObject* owner, const FieldRecord& field, std::byte* at) {
  if (field.field->shape == Shape::kSingle) return plain_element(walk, owner, field, at);
  const ContentSpan elements = elements_of(walk, *field.field, at);
  if (field.dtype != nullptr) return make_array(owner, walk.chunk, field, elements);
  const Ref list(checked(PyList_New(static_cast<Py_ssize_t>(elements.count))));
  if (elements.count == 0) return Py_NewRef(list.get());
  const Ref kept = owner_of_elements(owner, walk.chunk, field, elements);
  const std::size_t size = message::element_size(*field.field);
  for (std::size_t i = 0; i < elements.count; ++i)
    PyList_SET_ITEM(list.get(), static_cast<Py_ssize_t>(i),
                    plain_element(walk, kept.get(), field, elements.data + i * size));
  return Py_NewRef(list.get());
}

PyObject* plain_message(MessageReading& walk, PyObject* owner, const ClassRecord& record, std::byte* address) {
  const Ref dict(checked(PyDict_New()));
  for (const FieldRecord& field : record.fields) {
    const Ref value(plain_field(walk, owner, field, address + field.field->offset));
    checked(PyDict_SetItem(dict.get(), field.names.front(), value.get()));
  }
  return Py_NewRef(dict.get());
}

PyObject* plain_function(PyObject* /*module*/, PyObject* value) { return plain(value); }

PyMethodDef functions[] = {{"_plain", plain_function, METH_O, "A message as a dict, a Sequence as a list."},
                           {nullptr, nullptr, 0, nullptr}};

}  // namespace

PyObject* plain(PyObject* value) noexcept {
  return guarded<PyObject*>(nullptr, [&] {
    if (is_message(value)) {
      const auto* message = reinterpret_cast<MessageView*>(value);
      check_live(message->owner, message->chunk);
      MessageReading walk(message->chunk);
      return plain_message(walk, message->owner, *message->record, message->address);
    }
    if (Py_TYPE(value) != sequence_type) {
      PyErr_Format(PyExc_TypeError, "a message of baton is wanted, not %s", Py_TYPE(value)->tp_name);
      throw PythonError();
    }
    const auto* sequence = reinterpret_cast<SequenceView*>(value);
    check_live(sequence->owner, sequence->chunk);
    MessageReading walk(sequence->chunk);
    return plain_field(walk, sequence->owner, *sequence->field, sequence->address);
  });
}

void add_plain(PyObject* module) { checked(PyModule_AddFunctions(module, functions)); }

}  // namespace baton::python
