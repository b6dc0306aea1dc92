// SPDX-License-Identifier: Apache-2.0
#include "plan.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace baton::python {
namespace {

using message::Kind;
using message::Shape;

PyObject* array_class = nullptr;  // array.array
PyObject* dtype_class = nullptr;  // numpy.dtype
PyObject* frombytes_name = nullptr;

constexpr std::pair<const char*, Kind> kKinds[] = {
    {"bool", Kind::kBool},       {"int8", Kind::kInt8},       {"uint8", Kind::kUint8},     {"int16", Kind::kInt16},
    {"uint16", Kind::kUint16},   {"int32", Kind::kInt32},     {"uint32", Kind::kUint32},   {"int64", Kind::kInt64},
    {"uint64", Kind::kUint64},   {"float32", Kind::kFloat32}, {"float64", Kind::kFloat64}, {"string", Kind::kString},
    {"wstring", Kind::kWString}, {"message", Kind::kMessage}};

Kind kind_named(const std::string& name) {
  for (const auto& [known, kind] : kKinds)
    if (name == known) return kind;
  throw std::invalid_argument("no kind of field: " + name);
}

const char* name_of(Kind kind) {
  for (const auto& [name, known] : kKinds)
    if (kind == known) return name;
  throw std::logic_error("no kind");
}

std::size_t align_up(std::size_t value, std::size_t alignment) {
  return (value + alignment - 1) / alignment * alignment;
}

/// Places the fields as a C compiler places rosidl's struct.
void lay_out(ConversionPlan* plan) {
  constexpr std::size_t kTriple = 3 * sizeof(void*);  // {data, size, capacity}
  std::size_t end = 0;
  for (PlanField& field : plan->fields) {
    if (field.nested != nullptr) {
      field.element_size = field.nested->size;
      field.element_alignment = field.nested->alignment;
    } else if (field.field.kind == Kind::kString || field.field.kind == Kind::kWString) {
      field.element_size = kTriple;
      field.element_alignment = sizeof(void*);
    } else {
      field.element_size = field.element_alignment = message::element_size(field.field);
    }
    const bool sequence = field.field.shape == Shape::kSequence;
    const std::size_t alignment = sequence ? sizeof(void*) : field.element_alignment;
    field.place = align_up(end, alignment);
    end = field.place + (sequence ? kTriple : field.element_size * message::inline_count(field.field));
    plan->alignment = std::max(plan->alignment, alignment);
  }
  plan->size = align_up(std::max<std::size_t>(end, 1), plan->alignment);
}

// make_plan(class, name, [(name, slot name, kind, shape, count, bound, nested, holder, maker, octet)], [(slot name,
// value)])
PyObject* make_plan(PyObject* /*module*/, PyObject* arguments) {
  return guarded<PyObject*>(nullptr, [&] {
    PyObject *cls, *fields, *others;
    const char* name;
    if (!PyArg_ParseTuple(arguments, "O!sO!O!", &PyType_Type, &cls, &name, &PyList_Type, &fields, &PyList_Type,
                          &others))
      throw PythonError();
    auto plan = std::make_unique<ConversionPlan>();
    plan->name = name;
    plan->cls = reinterpret_cast<PyTypeObject*>(cls);
    plan->fields.resize(static_cast<std::size_t>(PyList_GET_SIZE(fields)));
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(fields); ++i) {
      PlanField& field = plan->fields[static_cast<std::size_t>(i)];
      PyObject *attribute, *slot, *nested, *maker;
      const char *kind, *shape, *holder;
      int count, bound, octet;
      if (!PyArg_ParseTuple(PyList_GET_ITEM(fields, i), "UUssiiOsOp", &attribute, &slot, &kind, &shape, &count, &bound,
                            &nested, &holder, &maker, &octet))
        throw PythonError();
      Py_INCREF(attribute);
      PyUnicode_InternInPlace(&attribute);
      field.name = attribute;
      const char* text = PyUnicode_AsUTF8(attribute);
      if (text == nullptr) throw PythonError();
      field.text = text;
      field.slot = slot_offset(plan->cls, slot);
      field.field.kind = kind_named(kind);
      field.field.shape = std::strcmp(shape, "single") == 0  ? Shape::kSingle
                          : std::strcmp(shape, "array") == 0 ? Shape::kArray
                                                             : Shape::kSequence;
      field.field.count = static_cast<std::uint32_t>(count);
      field.field.string_bound = static_cast<std::uint32_t>(bound);
      if (nested != Py_None) field.nested = plan_of_capsule(nested);
      if ((field.nested != nullptr) != (field.field.kind == Kind::kMessage)) throw std::invalid_argument("nested plan");
      field.holder = std::strcmp(holder, "array") == 0   ? Holder::kArray
                     : std::strcmp(holder, "numpy") == 0 ? Holder::kNumpy
                     : std::strcmp(holder, "bytes") == 0 ? Holder::kBytes
                     : std::strcmp(holder, "tuple") == 0 ? Holder::kTuple
                                                         : Holder::kList;
      field.maker = Py_NewRef(maker);
      if (field.holder == Holder::kArray) field.one = checked(PyObject_CallFunction(array_class, "O(i)", maker, 0));
      field.octet = octet != 0;
      if (field.nested != nullptr && (field.field.shape == Shape::kSequence || field.nested->layers))
        plan->layers = true;
    }
    for (PlanField& field : plan->fields) field.field.name = field.text.c_str();
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(others); ++i) {
      PyObject *slot, *value;
      if (!PyArg_ParseTuple(PyList_GET_ITEM(others, i), "UO", &slot, &value)) throw PythonError();
      const Py_ssize_t offset = slot_offset(plan->cls, slot);
      if (offset != 0) plan->other_slots.emplace_back(offset, Py_NewRef(value));
    }
    lay_out(plan.get());
    Py_INCREF(cls);
    return checked(PyCapsule_New(plan.release(), "baton.Plan", nullptr));
  });
}

// K(x) of the paper's Eq. 6: elements of all layers but the last.
std::uint64_t count_layers(const ConversionPlan& plan, PyObject* object) {
  std::uint64_t count = 0;
  for (const PlanField& field : plan.fields) {
    if (field.nested == nullptr) continue;
    if (field.field.shape == Shape::kSingle) {
      if (!field.nested->layers) continue;
      const Ref value(plan_get(field, object));
      count += count_layers(*field.nested, value.get());
      continue;
    }
    const Ref value(plan_get(field, object));
    const Py_ssize_t length = PySequence_Size(value.get());
    checked(static_cast<int>(length < 0 ? -1 : 0));
    count += static_cast<std::uint64_t>(length);
    if (!field.nested->layers) continue;
    const Ref items(plan_items(field, value.get()));
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(items.get()); ++i)
      count += count_layers(*field.nested, PySequence_Fast_GET_ITEM(items.get(), i));
  }
  return count;
}

PyObject* complexity(PyObject* /*module*/, PyObject* arguments) {
  return guarded<PyObject*>(nullptr, [&] {
    PyObject *capsule, *object;
    if (!PyArg_ParseTuple(arguments, "OO", &capsule, &object)) throw PythonError();
    const ConversionPlan& plan = *plan_of_capsule(capsule);
    return PyLong_FromUnsignedLongLong(plan.layers ? count_layers(plan, object) : 0);
  });
}

PyObject* has_layers(PyObject* /*module*/, PyObject* capsule) {
  return guarded<PyObject*>(nullptr, [&] { return PyBool_FromLong(plan_of_capsule(capsule)->layers); });
}

PyObject* to_wire(PyObject* /*module*/, PyObject* arguments) {
  return guarded<PyObject*>(nullptr, [&] {
    PyObject *capsule, *object, *sink = nullptr;
    int cdr;
    if (!PyArg_ParseTuple(arguments, "OOp|O", &capsule, &object, &cdr, &sink)) throw PythonError();
    if (cdr != 0 && sink != nullptr) throw std::invalid_argument("CDR takes no sink");
    return plan_to_wire(*plan_of_capsule(capsule), object, cdr != 0, sink);
  });
}

PyObject* from_wire(PyObject* /*module*/, PyObject* arguments) {
  return guarded<PyObject*>(nullptr, [&] {
    PyObject *capsule, *target;
    Py_buffer wire;
    int cdr;
    if (!PyArg_ParseTuple(arguments, "OOy*p", &capsule, &target, &wire, &cdr)) throw PythonError();
    ScalarBlock release;
    release.view = wire;
    release.held = true;
    return plan_from_wire(*plan_of_capsule(capsule), target == Py_None ? nullptr : target, wire.buf,
                          static_cast<std::size_t>(wire.len), cdr != 0);
  });
}

/// (bytes, [(name, offset, layout of a nested message or None)]): the layout that plan_struct.cpp expects of rosidl's C
/// struct.
PyObject* struct_layout(const ConversionPlan& plan) {
  Ref fields(checked(PyList_New(0)));
  for (const PlanField& field : plan.fields) {
    const Ref nested(field.nested != nullptr ? struct_layout(*field.nested) : Py_NewRef(Py_None));
    const Ref entry(checked(Py_BuildValue("(OnO)", field.name, static_cast<Py_ssize_t>(field.place), nested.get())));
    if (PyList_Append(fields.get(), entry.get()) != 0) throw PythonError();
  }
  return checked(Py_BuildValue("(nO)", static_cast<Py_ssize_t>(plan.size), fields.get()));
}

PyObject* layout_of(PyObject* /*module*/, PyObject* capsule) {
  return guarded<PyObject*>(nullptr, [&] { return struct_layout(*plan_of_capsule(capsule)); });
}

PyMethodDef plan_functions[] = {
    {"_make_plan", make_plan, METH_VARARGS, nullptr},
    {"_complexity", complexity, METH_VARARGS, "K(x): how many messages lie in sequences of this one."},
    {"_has_layers", has_layers, METH_O, "Whether K(x) can be other than 0."},
    {"_to_wire", to_wire, METH_VARARGS, nullptr},
    {"_from_wire", from_wire, METH_VARARGS, nullptr},
    {"_from_message", plan_from_message, METH_VARARGS, nullptr},
    {"_converters", plan_converters, METH_O, nullptr},
    {"_struct_layout", layout_of, METH_O, nullptr},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace

Py_ssize_t slot_offset(PyTypeObject* type, PyObject* name) noexcept {
  Ref attribute(PyObject_GetAttr(reinterpret_cast<PyObject*>(type), name));
  if (!attribute) {
    PyErr_Clear();
    return 0;
  }
  if (Py_TYPE(attribute.get()) != &PyMemberDescr_Type) return 0;
  const PyMemberDef* member = reinterpret_cast<PyMemberDescrObject*>(attribute.get())->d_member;
  return member->type == T_OBJECT_EX ? member->offset : 0;
}

void plan_check_subclass(const ConversionPlan& plan, PyObject* object) {
  const int is = PyObject_IsInstance(object, reinterpret_cast<PyObject*>(plan.cls));
  checked(is);
  if (is == 0) {
    PyErr_Format(PyExc_TypeError, "a %s is wanted, not %s", plan.name.c_str(), Py_TYPE(object)->tp_name);
    throw PythonError();
  }
}

const ConversionPlan* plan_of_capsule(PyObject* capsule) {
  void* plan = PyCapsule_GetPointer(capsule, "baton.Plan");
  if (plan == nullptr) throw PythonError();
  return static_cast<const ConversionPlan*>(plan);
}

void plan_keep_room(std::size_t bytes) noexcept {
  static std::size_t kept = 128 << 10;                                            // glibc's initial value
  constexpr std::size_t kMost = std::size_t{32} << 20;                            // DEFAULT_MMAP_THRESHOLD_MAX
  const std::size_t wanted = std::min(3 * std::min(bytes, kMost), kMost - 4096);  // the objects, the wire form, and a
                                                                                  // copy in a lower layer
  if (wanted <= kept) return;
  kept = wanted;
  void* volatile piece = std::malloc(wanted);
  std::free(piece);
}

PyObject* plan_get(const PlanField& field, PyObject* object) {
  if (field.slot == 0) return checked(PyObject_GetAttr(object, field.name));
  PyObject* value = *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + field.slot);
  if (value == nullptr) {
    PyErr_SetObject(PyExc_AttributeError, field.name);
    throw PythonError();
  }
  return Py_NewRef(value);
}

PyObject* plan_new_object(const ConversionPlan& plan) {
  PyObject* object = checked(plan.cls->tp_alloc(plan.cls, 0));
  for (const auto& [slot, value] : plan.other_slots)
    *reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + slot) = Py_NewRef(value);
  return object;
}

void plan_set(const PlanField& field, PyObject* object, PyObject* value) {
  Ref owned(value);
  if (field.slot == 0) {
    checked(PyObject_SetAttr(object, field.name, value));
    return;
  }
  PyObject** slot = reinterpret_cast<PyObject**>(reinterpret_cast<char*>(object) + field.slot);
  PyObject* old = *slot;
  *slot = owned.release();
  Py_XDECREF(old);
}

void plan_check_count(const PlanField& field, std::size_t count) {
  const bool fits = field.field.shape == Shape::kArray ? count == field.field.count
                                                       : field.field.count == 0 || count <= field.field.count;
  if (fits) return;
  PyErr_Format(PyExc_ValueError, "field '%U' takes %s %u elements, not %zu", field.name,
               field.field.shape == Shape::kArray ? "exactly" : "at most", field.field.count, count);
  throw PythonError();
}

PyObject* plan_items(const PlanField& field, PyObject* value) {
  if (!PyUnicode_Check(value) && !PyDict_Check(value)) {
    PyObject* items = PySequence_Fast(value, "");
    if (items != nullptr || !PyErr_ExceptionMatches(PyExc_TypeError) || PyIter_Check(value)) return checked(items);
    PyErr_Clear();
  }
  PyErr_Format(PyExc_TypeError, "field '%U' takes a sequence, not %s", field.name, Py_TYPE(value)->tp_name);
  throw PythonError();
}

namespace {

/// Whether `value` has a buffer of the field's elements; that buffer is then the block.
bool take_buffer(const PlanField& field, PyObject* value, ScalarBlock* block) {
  if (PyObject_GetBuffer(value, &block->view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS) != 0) {
    PyErr_Clear();
    return false;
  }
  block->held = true;
  if (!same_format(field.field.kind, block->view)) {
    PyBuffer_Release(&block->view);
    block->held = false;
    return false;
  }
  block->data = block->view.buf;
  block->count = static_cast<std::size_t>(block->view.len) / message::element_size(field.field);
  plan_check_count(field, block->count);
  return true;
}

}  // namespace

void plan_scalars(const PlanField& field, PyObject* value, ScalarBlock* block) {
  const std::size_t size = message::element_size(field.field);
  if (PyObject_CheckBuffer(value)) {
    if (take_buffer(field, value, block)) return;
    // Another element type, byte order or strides.
    const Ref dtype(checked(PyObject_CallFunction(dtype_class, "s", name_of(field.field.kind))));
    const Ref same(checked(PyObject_CallFunction(imports.converted, "OOs", value, dtype.get(), field.text.c_str())));
    if (take_buffer(field, same.get(), block)) return;
  }
  const Ref items(plan_items(field, value));
  block->count = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(items.get()));
  plan_check_count(field, block->count);
  block->scratch.resize(block->count * size);
  for (std::size_t i = 0; i < block->count; ++i) {
    if (static_cast<std::size_t>(PySequence_Fast_GET_SIZE(items.get())) != block->count) {
      PyErr_SetString(PyExc_RuntimeError, "the list changed while it was read");
      throw PythonError();
    }
    const Ref item = Ref::of(PySequence_Fast_GET_ITEM(items.get(), static_cast<Py_ssize_t>(i)));
    store_scalar(field.field, reinterpret_cast<std::byte*>(block->scratch.data() + i * size), item.get());
  }
  block->data = block->scratch.data();
}

PyObject* plan_make_scalar(const PlanField& field, const void* data) {
  if (field.octet) return checked(PyBytes_FromStringAndSize(static_cast<const char*>(data), 1));
  const auto load = [data](auto value) {
    std::memcpy(&value, data, sizeof value);
    return value;
  };
  switch (field.field.kind) {
    case Kind::kBool:
      return PyBool_FromLong(load(std::uint8_t{}) != 0);
    case Kind::kInt8:
      return checked(PyLong_FromLong(load(std::int8_t{})));
    case Kind::kUint8:
      return checked(PyLong_FromLong(load(std::uint8_t{})));
    case Kind::kInt16:
      return checked(PyLong_FromLong(load(std::int16_t{})));
    case Kind::kUint16:
      return checked(PyLong_FromLong(load(std::uint16_t{})));
    case Kind::kInt32:
      return checked(PyLong_FromLong(load(std::int32_t{})));
    case Kind::kUint32:
      return checked(PyLong_FromUnsignedLong(load(std::uint32_t{})));
    case Kind::kInt64:
      return checked(PyLong_FromLongLong(load(std::int64_t{})));
    case Kind::kUint64:
      return checked(PyLong_FromUnsignedLongLong(load(std::uint64_t{})));
    case Kind::kFloat32:
      return checked(PyFloat_FromDouble(load(float{})));
    case Kind::kFloat64:
      return checked(PyFloat_FromDouble(load(double{})));
    default:
      throw std::logic_error("no scalar");
  }
}

PyObject* plan_make_scalars(const PlanField& field, const void* data, std::size_t count) {
  const std::size_t size = message::element_size(field.field);
  const auto* bytes = static_cast<const char*>(data);
  const auto length = static_cast<Py_ssize_t>(count * size);
  switch (field.holder) {
    case Holder::kBytes:
      return checked(PyBytes_FromStringAndSize(bytes, length));
    case Holder::kArray: {
      if (length <= 65536) {
        Ref array(checked(PySequence_Repeat(field.one, static_cast<Py_ssize_t>(count))));
        Py_buffer view;
        checked(PyObject_GetBuffer(array.get(), &view, PyBUF_WRITABLE));
        if (count != 0) std::memcpy(view.buf, bytes, count * size);
        PyBuffer_Release(&view);
        return array.release();
      }
      Ref array(checked(PyObject_CallOneArg(array_class, field.maker)));
      Ref memory(checked(PyMemoryView_FromMemory(const_cast<char*>(bytes), length, PyBUF_READ)));
      Ref none(checked(PyObject_CallMethodOneArg(array.get(), frombytes_name, memory.get())));
      return array.release();
    }
    case Holder::kNumpy: {
      Ref owner(checked(PyByteArray_FromStringAndSize(bytes, length)));
      PyObject* arguments[] = {owner.get(), field.maker};
      return checked(PyObject_Vectorcall(imports.frombuffer, arguments, 2, nullptr));
    }
    case Holder::kList:
    case Holder::kTuple:
      break;
  }
  const bool list = field.holder == Holder::kList;
  Ref items(checked(list ? PyList_New(static_cast<Py_ssize_t>(count)) : PyTuple_New(static_cast<Py_ssize_t>(count))));
  for (std::size_t i = 0; i < count; ++i) {
    PyObject* item = plan_make_scalar(field, bytes + i * size);
    if (list)
      PyList_SET_ITEM(items.get(), static_cast<Py_ssize_t>(i), item);
    else
      PyTuple_SET_ITEM(items.get(), static_cast<Py_ssize_t>(i), item);
  }
  return items.release();
}

void add_plans(PyObject* module) {
  Ref array(checked(PyImport_ImportModule("array")));
  array_class = checked(PyObject_GetAttrString(array.get(), "array"));
  frombytes_name = checked(PyUnicode_InternFromString("frombytes"));
  Ref numpy(checked(PyImport_ImportModule("numpy")));
  dtype_class = checked(PyObject_GetAttrString(numpy.get(), "dtype"));
  add_plan_wire();
  checked(PyModule_AddFunctions(module, plan_functions));
}

}  // namespace baton::python
