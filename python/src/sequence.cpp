// SPDX-License-Identifier: Apache-2.0
// SequenceView: the lazy view of an array or sequence of strings, or of messages that hold strings or sequences.
#include <cstddef>

#include "core.hpp"

namespace baton::python {

PyTypeObject* sequence_type = nullptr;

namespace {

using message::Shape;

SequenceView* sequence_of(PyObject* self) noexcept { return reinterpret_cast<SequenceView*>(self); }

ContentSpan elements_of(MessageReading& walk, const SequenceView* s) {
  check_live(s->owner, s->chunk);
  return python::elements_of(walk, *s->field->field, s->address);
}
ContentSpan elements_of(const SequenceView* s) {
  MessageReading walk(s->chunk);
  return elements_of(walk, s);
}

Py_ssize_t sequence_length(PyObject* self) {
  return guarded<Py_ssize_t>(-1, [&] { return static_cast<Py_ssize_t>(elements_of(sequence_of(self)).count); });
}

PyObject* item_at(MessageReading& walk, SequenceView* s, const ContentSpan& elements, Py_ssize_t index) {
  const std::size_t size = message::element_size(*s->field->field);
  const Ref owner = owner_of_elements(s->owner, s->chunk, *s->field, elements);
  return get_element(owner.get(), walk, *s->field, elements.data + static_cast<std::size_t>(index) * size);
}

void check_index(const ContentSpan& elements, Py_ssize_t index) {
  if (index >= 0 && static_cast<std::size_t>(index) < elements.count) return;
  PyErr_Format(PyExc_IndexError, "index %zd, but there are %zu elements", index, elements.count);
  throw PythonError();
}

PyObject* sequence_item(PyObject* self, Py_ssize_t index) {
  return guarded<PyObject*>(nullptr, [&] {
    MessageReading walk(sequence_of(self)->chunk);
    const ContentSpan elements = elements_of(walk, sequence_of(self));
    check_index(elements, index);
    return item_at(walk, sequence_of(self), elements, index);
  });
}

PyObject* sequence_subscript(PyObject* self, PyObject* key) {
  return guarded<PyObject*>(nullptr, [&] {
    SequenceView* s = sequence_of(self);
    MessageReading walk(s->chunk);
    const ContentSpan elements = elements_of(walk, s);
    if (PySlice_Check(key)) {
      Py_ssize_t start, stop, step;
      checked(PySlice_Unpack(key, &start, &stop, &step));
      const Py_ssize_t count = PySlice_AdjustIndices(static_cast<Py_ssize_t>(elements.count), &start, &stop, step);
      Ref list(checked(PyList_New(count)));
      for (Py_ssize_t i = 0; i < count; ++i)
        PyList_SET_ITEM(list.get(), i, item_at(walk, s, elements, start + i * step));
      return list.release();
    }
    Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (index == -1 && PyErr_Occurred()) throw PythonError();
    if (index < 0) index += static_cast<Py_ssize_t>(elements.count);
    check_index(elements, index);
    return item_at(walk, s, elements, index);
  });
}

int sequence_assign(PyObject* self, PyObject* key, PyObject* value) {
  return guarded<int>(-1, [&] {
    SequenceView* s = sequence_of(self);
    check_writable(s->owner, s->chunk);
    const ContentSpan elements = elements_of(s);
    if (value == nullptr || PySlice_Check(key)) {
      PyErr_SetString(PyExc_TypeError, "assign single elements, or the whole field");
      throw PythonError();
    }
    Py_ssize_t index = PyNumber_AsSsize_t(key, PyExc_IndexError);
    if (index == -1 && PyErr_Occurred()) throw PythonError();
    if (index < 0) index += static_cast<Py_ssize_t>(elements.count);
    check_index(elements, index);
    const std::size_t size = message::element_size(*s->field->field);
    assign_element(s->chunk, *s->field, elements.data + static_cast<std::size_t>(index) * size, value);
    return 0;
  });
}

PyObject* sequence_resize(PyObject* self, PyObject* argument) {
  return guarded<PyObject*>(nullptr, [&] {
    SequenceView* s = sequence_of(self);
    check_writable(s->owner, s->chunk);
    const Py_ssize_t count = PyNumber_AsSsize_t(argument, PyExc_OverflowError);
    if (count < 0) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a sequence cannot have a negative length");
      throw PythonError();
    }
    resize_sequence(s->chunk, *s->field, s->address, static_cast<std::size_t>(count));
    return Py_NewRef(Py_None);
  });
}

PyObject* sequence_append(PyObject* self, PyObject* value) {
  return guarded<PyObject*>(nullptr, [&] {
    SequenceView* s = sequence_of(self);
    check_writable(s->owner, s->chunk);
    const std::size_t count = elements_of(s).count;
    resize_sequence(s->chunk, *s->field, s->address, count + 1);
    try {
      assign_element(s->chunk, *s->field, elements_of(s).data + count * message::element_size(*s->field->field), value);
    } catch (...) {
      resize_sequence(s->chunk, *s->field, s->address, count);
      throw;
    }
    return Py_NewRef(Py_None);
  });
}

/// Goes over a SequenceView in one MessageReading: list(message.names) is a copy.
struct Iterator {
  PyObject_HEAD SequenceView* sequence;  // strong
  MessageReading walk;
  Py_ssize_t next;
};

PyTypeObject* iterator_type = nullptr;

PyObject* sequence_iter(PyObject* self) {
  return guarded<PyObject*>(nullptr, [&] {
    auto* iterator = reinterpret_cast<Iterator*>(checked(iterator_type->tp_alloc(iterator_type, 0)));
    Py_INCREF(self);
    iterator->sequence = sequence_of(self);
    new (&iterator->walk) MessageReading(iterator->sequence->chunk);
    iterator->next = 0;
    return reinterpret_cast<PyObject*>(iterator);
  });
}

PyObject* iterator_next(PyObject* self) {
  return guarded<PyObject*>(nullptr, [&]() -> PyObject* {
    auto* iterator = reinterpret_cast<Iterator*>(self);
    const ContentSpan elements = elements_of(iterator->sequence);
    if (static_cast<std::size_t>(iterator->next) >= elements.count) return nullptr;
    return item_at(iterator->walk, iterator->sequence, elements, iterator->next++);
  });
}

void iterator_dealloc(PyObject* self) {
  SequenceView* sequence = reinterpret_cast<Iterator*>(self)->sequence;
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(sequence);
  Py_DECREF(type);
}

PyType_Slot iterator_slots[] = {{Py_tp_dealloc, reinterpret_cast<void*>(iterator_dealloc)},
                                {Py_tp_iter, reinterpret_cast<void*>(PyObject_SelfIter)},
                                {Py_tp_iternext, reinterpret_cast<void*>(iterator_next)},
                                {0, nullptr}};
PyType_Spec iterator_spec = {"baton._core.SequenceIterator", sizeof(Iterator), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, iterator_slots};

PyObject* sequence_repr(PyObject* self) {
  return guarded<PyObject*>(nullptr, [&] {
    SequenceView* s = sequence_of(self);
    return checked(PyUnicode_FromFormat("<field '%s', %zu elements>", s->field->field->name, elements_of(s).count));
  });
}

PyObject* sequence_compare(PyObject* self, PyObject* other, int operation) {
  if ((operation != Py_EQ && operation != Py_NE) ||
      !(PyList_Check(other) || PyTuple_Check(other) || Py_TYPE(other) == sequence_type))
    Py_RETURN_NOTIMPLEMENTED;
  if (Py_TYPE(other) == sequence_type && sequence_of(self)->field->nested == sequence_of(other)->field->nested) {
    // Two walks. Element by element, each comparison would be a walk of its own.
    const Ref one(plain(self)), two(one ? plain(other) : nullptr);
    const Ref same(two ? PyObject_CallFunctionObjArgs(imports.same, one.get(), two.get(), nullptr) : nullptr);
    return same ? PyBool_FromLong((same.get() == Py_True) == (operation == Py_EQ)) : nullptr;
  }
  Ref mine(PySequence_List(self));
  Ref its(mine ? PySequence_List(other) : nullptr);
  return its ? PyObject_RichCompare(mine.get(), its.get(), operation) : nullptr;
}

void sequence_dealloc(PyObject* self) {
  PyObject* owner = sequence_of(self)->owner;
  PyTypeObject* type = Py_TYPE(self);
  PyObject_Free(self);
  Py_DECREF(owner);
  Py_DECREF(type);
}

PyMethodDef sequence_methods[] = {
    {"resize", sequence_resize, METH_O,
     "Sets the length; new messages have their default values. Loans and private messages."},
    {"append", sequence_append, METH_O, "Adds one element. Loans and private messages."},
    {nullptr, nullptr, 0, nullptr}};
PyType_Slot sequence_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(sequence_dealloc)},
    {Py_tp_repr, reinterpret_cast<void*>(sequence_repr)},
    {Py_tp_richcompare, reinterpret_cast<void*>(sequence_compare)},
    {Py_tp_hash, reinterpret_cast<void*>(PyObject_HashNotImplemented)},
    {Py_tp_methods, sequence_methods},
    {Py_tp_iter, reinterpret_cast<void*>(sequence_iter)},
    {Py_sq_length, reinterpret_cast<void*>(sequence_length)},
    {Py_sq_item, reinterpret_cast<void*>(sequence_item)},
    {Py_mp_length, reinterpret_cast<void*>(sequence_length)},
    {Py_mp_subscript, reinterpret_cast<void*>(sequence_subscript)},
    {Py_mp_ass_subscript, reinterpret_cast<void*>(sequence_assign)},
    {Py_tp_doc,
     const_cast<char*>("Elements of a message that are strings, or messages with strings or sequences. Lazy.")},
    {0, nullptr}};
PyType_Spec sequence_spec = {"baton._core.Sequence", sizeof(SequenceView), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, sequence_slots};

}  // namespace

void add_sequence_type(PyObject* module) {
  sequence_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromModuleAndSpec(module, &sequence_spec, nullptr)));
  iterator_type = reinterpret_cast<PyTypeObject*>(checked(PyType_FromModuleAndSpec(module, &iterator_spec, nullptr)));
  checked(PyModule_AddObjectRef(module, "Sequence", reinterpret_cast<PyObject*>(sequence_type)));
}

}  // namespace baton::python
