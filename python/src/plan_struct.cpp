// SPDX-License-Identifier: Apache-2.0
// Low-layer serialization's conversion: Python objects to and from the C structs that rosidl generates, in place of the
// functions that rosidl_generator_py generates. Layout (rosidl_runtime_c): strings and sequences are {data, size,
// capacity}; memory comes from malloc. All-zero bytes are an empty sequence, which the struct's fini function accepts
// at any time.
//
// rclpy calls converters by bare function pointers. In a conversion from Python the object's class gives the type. In a
// conversion to Python no argument gives it. So every type gets a function of its own from a fixed stock.
#include <array>
#include <cstdlib>
#include <cstring>
#include <new>
#include <unordered_map>
#include <utility>

#include "plan.hpp"

namespace baton::python {
namespace {

using message::Kind;
using message::Shape;

struct Triple {
  char* data;
  std::size_t size;
  std::size_t capacity;
};

Triple& triple_at(char* at) noexcept { return *reinterpret_cast<Triple*>(at); }
const Triple& triple_at(const char* at) noexcept { return *reinterpret_cast<const Triple*>(at); }

char* allocate(std::size_t bytes) {
  auto* memory = static_cast<char*>(std::malloc(bytes == 0 ? 1 : bytes));
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void free_struct(const ConversionPlan& plan, char* at) noexcept;

void free_elements(const PlanField& field, char* at, std::size_t count) noexcept {
  if (field.field.kind < Kind::kString) return;
  for (std::size_t i = 0; i < count; ++i, at += field.element_size) {
    if (field.nested != nullptr) {
      free_struct(*field.nested, at);
    } else {
      std::free(triple_at(at).data);
      triple_at(at) = {};
    }
  }
}

void free_struct(const ConversionPlan& plan, char* at) noexcept {
  for (const PlanField& field : plan.fields) {
    char* place = at + field.place;
    if (field.field.shape != Shape::kSequence) {
      free_elements(field, place, message::inline_count(field.field));
      continue;
    }
    Triple& sequence = triple_at(place);
    free_elements(field, sequence.data, sequence.size);
    std::free(sequence.data);
    sequence = {};
  }
}

void store_text(char* at, const char* text, std::size_t size, std::size_t unit) {
  Triple& string = triple_at(at);
  if (string.capacity <= size || string.data == nullptr) {
    char* memory = allocate((size + 1) * unit);
    std::free(string.data);
    string.data = memory;
    string.capacity = size + 1;
  }
  std::memcpy(string.data, text, size * unit);
  std::memset(string.data + size * unit, 0, unit);
  string.size = size;
}

void check_bound(const PlanField& field, std::size_t size) {
  if (field.field.string_bound == 0 || size <= field.field.string_bound) return;
  PyErr_Format(PyExc_ValueError, "field '%U' takes at most %u characters", field.name, field.field.string_bound);
  throw PythonError();
}

void put_message(const ConversionPlan& plan, PyObject* object, char* at);

void put_element(const PlanField& field, PyObject* value, char* at) {
  switch (field.field.kind) {
    case Kind::kString: {
      if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "field '%U' takes a str, not %s", field.name, Py_TYPE(value)->tp_name);
        throw PythonError();
      }
      Py_ssize_t size;
      const char* text = PyUnicode_AsUTF8AndSize(value, &size);
      if (text == nullptr) throw PythonError();
      check_bound(field, static_cast<std::size_t>(size));
      return store_text(at, text, static_cast<std::size_t>(size), 1);
    }
    case Kind::kWString: {
      if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "field '%U' takes a str, not %s", field.name, Py_TYPE(value)->tp_name);
        throw PythonError();
      }
      Ref encoded(checked(PyUnicode_AsEncodedString(
          value, __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? "utf-16-le" : "utf-16-be", "surrogatepass")));
      const auto units = static_cast<std::size_t>(PyBytes_GET_SIZE(encoded.get())) / 2;
      check_bound(field, units);
      return store_text(at, PyBytes_AS_STRING(encoded.get()), units, 2);
    }
    case Kind::kMessage:
      return put_message(*field.nested, value, at);
    default:
      return store_scalar(field.field, reinterpret_cast<std::byte*>(at), value);
  }
}

void put_message(const ConversionPlan& plan, PyObject* object, char* at) {
  plan_check_class(plan, object);
  for (const PlanField& field : plan.fields) {
    const Ref value(plan_get(field, object));
    char* place = at + field.place;
    if (field.field.shape == Shape::kSingle) {
      put_element(field, value.get(), place);
      continue;
    }
    const bool sequence = field.field.shape == Shape::kSequence;
    if (field.field.kind < Kind::kString) {
      ScalarBlock block;
      plan_scalars(field, value.get(), &block);
      const std::size_t bytes = block.count * field.element_size;
      if (sequence) {
        Triple& target = triple_at(place);
        char* memory = allocate(bytes);
        std::free(target.data);
        target = {memory, block.count, block.count};
        place = memory;
      }
      if (bytes != 0) std::memcpy(place, block.data, bytes);
      continue;
    }
    const Ref items(plan_items(field, value.get()));
    const auto count = static_cast<std::size_t>(PySequence_Fast_GET_SIZE(items.get()));
    plan_check_count(field, count);
    if (sequence) {
      Triple& target = triple_at(place);
      free_elements(field, target.data, target.size);
      std::free(target.data);
      target = {};
      auto* memory = static_cast<char*>(std::calloc(count == 0 ? 1 : count, field.element_size));
      if (memory == nullptr) throw std::bad_alloc();
      target = {memory, count, count};
      place = memory;
    }
    for (std::size_t i = 0; i < count; ++i, place += field.element_size) {
      if (static_cast<std::size_t>(PySequence_Fast_GET_SIZE(items.get())) != count) {
        PyErr_SetString(PyExc_RuntimeError, "the list changed while it was read");
        throw PythonError();
      }
      const Ref item = Ref::of(PySequence_Fast_GET_ITEM(items.get(), static_cast<Py_ssize_t>(i)));
      put_element(field, item.get(), place);
    }
  }
}

PyObject* get_message(const ConversionPlan& plan, const char* at);

PyObject* get_element(const PlanField& field, const char* at) {
  switch (field.field.kind) {
    case Kind::kString: {
      const Triple& string = triple_at(at);
      return checked(PyUnicode_DecodeUTF8(string.data, static_cast<Py_ssize_t>(string.size), "replace"));
    }
    case Kind::kWString: {
      const Triple& string = triple_at(at);
      int order = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? -1 : 1;
      return checked(PyUnicode_DecodeUTF16(string.data, static_cast<Py_ssize_t>(string.size * 2), "replace", &order));
    }
    case Kind::kMessage:
      return get_message(*field.nested, at);
    default:
      return plan_make_scalar(field, at);
  }
}

PyObject* get_message(const ConversionPlan& plan, const char* at) {
  Ref object(plan_new_object(plan));
  for (const PlanField& field : plan.fields) {
    const char* place = at + field.place;
    if (field.field.shape == Shape::kSingle) {
      plan_set(field, object.get(), get_element(field, place));
      continue;
    }
    std::size_t count = field.field.count;
    if (field.field.shape == Shape::kSequence) {
      count = triple_at(place).size;
      place = triple_at(place).data;
    }
    if (field.field.kind < Kind::kString) {
      plan_set(field, object.get(), plan_make_scalars(field, place, count));
      continue;
    }
    Ref items(checked(PyList_New(static_cast<Py_ssize_t>(count))));
    for (std::size_t i = 0; i < count; ++i)
      PyList_SET_ITEM(items.get(), static_cast<Py_ssize_t>(i), get_element(field, place + i * field.element_size));
    plan_set(field, object.get(), items.release());
  }
  return object.release();
}

// --- function pointers

constexpr std::size_t kStock = 512;
std::array<const ConversionPlan*, kStock> g_plans{};
std::size_t g_used = 0;
std::unordered_map<PyTypeObject*, const ConversionPlan*> g_by_class;

template <std::size_t I>
PyObject* to_python(void* message) {
  return guarded<PyObject*>(nullptr, [&] {
    const WithoutCollection pause(*g_plans[I]);
    return get_message(*g_plans[I], static_cast<const char*>(message));
  });
}

bool from_python(PyObject* object, void* message) {
  return guarded<bool>(false, [&] {
    PyTypeObject* type = Py_TYPE(object);
    for (; type != nullptr; type = type->tp_base) {
      const auto found = g_by_class.find(type);
      if (found == g_by_class.end()) continue;
      put_message(*found->second, object, static_cast<char*>(message));
      return true;
    }
    PyErr_Format(PyExc_TypeError, "%s has no converter", Py_TYPE(object)->tp_name);
    return false;
  });
}

using ToPython = PyObject* (*)(void*);
template <std::size_t... I>
constexpr std::array<ToPython, sizeof...(I)> stock(std::index_sequence<I...>) {
  return {to_python<I>...};
}
constexpr std::array<ToPython, kStock> kToPython = stock(std::make_index_sequence<kStock>());

}  // namespace

void plan_to_struct(const ConversionPlan& plan, PyObject* object, char* at) { put_message(plan, object, at); }
PyObject* plan_from_struct(const ConversionPlan& plan, const char* at) { return get_message(plan, at); }

PyObject* plan_converters(PyObject* /*module*/, PyObject* capsule) {
  return guarded<PyObject*>(nullptr, [&] {
    const ConversionPlan* plan = plan_of_capsule(capsule);
    if (g_used == kStock || plan->fields.empty()) return Py_NewRef(Py_None);
    const std::size_t mine = g_used++;
    g_plans[mine] = plan;
    g_by_class[plan->cls] = plan;
    Ref from(checked(PyCapsule_New(reinterpret_cast<void*>(from_python), nullptr, nullptr)));
    Ref to(checked(PyCapsule_New(reinterpret_cast<void*>(kToPython[mine]), nullptr, nullptr)));
    return checked(PyTuple_Pack(2, from.get(), to.get()));
  });
}

}  // namespace baton::python
