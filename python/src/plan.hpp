// SPDX-License-Identifier: Apache-2.0
// Message classes of other worlds (rclpy, rospy) as this extension sees them: the place of each field in the Python
// object, and in the C struct that rosidl generates. With a ConversionPlan, objects are converted to and from CDR, ROS 1's wire
// and such structs without running Python code.
//
// Thread rules: with the GIL. A ConversionPlan is immortal: rclpy keeps function pointers that refer to it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core.hpp"

namespace baton::python {

struct ConversionPlan;

/// The container in which a Python object holds an array or sequence of scalars.
enum class Holder : std::uint8_t { kList, kTuple, kArray, kNumpy, kBytes };

struct PlanField {
  message::Field field{};  ///< name, kind, shape, count, string_bound; type is null
  std::string text;        ///< the text of field.name
  PyObject* name = nullptr;
  Py_ssize_t slot = 0;  ///< offset in the object; 0: by attribute
  const ConversionPlan* nested = nullptr;
  Holder holder = Holder::kList;
  PyObject* maker = nullptr;  ///< kArray: the type code, kNumpy: the dtype
  PyObject* one = nullptr;    ///< kArray: an array of one zero; repeating it is the fastest way to a short array
  bool octet = false;         ///< held as bytes of length 1
  std::size_t place = 0;      ///< offset in the C struct
  std::size_t element_size = 0, element_alignment = 0;  ///< in the C struct
};

struct ConversionPlan {
  std::string name;
  PyTypeObject* cls = nullptr;
  std::vector<PlanField> fields;
  std::vector<std::pair<Py_ssize_t, PyObject*>> other_slots;  ///< the slot, and its value in a new object
  std::size_t size = 0, alignment = 1;                        ///< of the C struct
  bool layers = false;                                        ///< has sequences of messages, here or inside
  mutable std::size_t wire_bytes = 0;  ///< size of the last object that was written: the initial size of the next
                                       ///< buffer
};

/// Prevents cyclic garbage collection while objects are made: all of them are still held, so a long collection would
/// find nothing.
class WithoutCollection {
 public:
  explicit WithoutCollection(const ConversionPlan& plan) noexcept : was_(plan.layers && PyGC_Disable() != 0) {}
  WithoutCollection(const WithoutCollection&) = delete;
  WithoutCollection& operator=(const WithoutCollection&) = delete;
  ~WithoutCollection() {
    if (was_) PyGC_Enable();
  }

 private:
  const bool was_;
};

/// Makes malloc() keep enough free memory for all forms of a message of `bytes` that exist at a time. Otherwise every
/// message takes new pages, and page faults. glibc adapts in the same way to memory freed in one piece (mallopt(3),
/// M_MMAP_THRESHOLD), but a message has many pieces, and several forms.
void plan_keep_room(std::size_t bytes) noexcept;

/// make_plan(class, name, fields, other_slots) -> capsule; see baton/_plans.py.
void add_plans(PyObject* module);

const ConversionPlan* plan_of_capsule(PyObject* capsule);
/// The offset of the __slots__ entry `name` of `type`, or 0.
Py_ssize_t slot_offset(PyTypeObject* type, PyObject* name) noexcept;
void plan_check_subclass(const ConversionPlan& plan, PyObject* object);
/// Throws PythonError (a TypeError) unless the object is one of the plan's class.
inline void plan_check_class(const ConversionPlan& plan, PyObject* object) {
  if (Py_TYPE(object) != plan.cls) plan_check_subclass(plan, object);
}
PyObject* plan_get(const PlanField& field, PyObject* object);  ///< new reference
PyObject* plan_new_object(const ConversionPlan& plan);
void plan_set(const PlanField& field, PyObject* object, PyObject* value);  ///< takes the reference
/// Makes the object that holds `count` scalars at `data`, copied.
PyObject* plan_make_scalars(const PlanField& field, const void* data, std::size_t count);
PyObject* plan_make_scalar(const PlanField& field, const void* data);
/// The scalars of `value` as one block: its own buffer if that has the right format, else a conversion in `scratch`.
struct ScalarBlock {
  const void* data = nullptr;
  std::size_t count = 0;
  Py_buffer view{};
  bool held = false;
  std::vector<char> scratch;
  ScalarBlock() = default;
  ScalarBlock(const ScalarBlock&) = delete;
  ScalarBlock& operator=(const ScalarBlock&) = delete;
  ~ScalarBlock() {
    if (held) PyBuffer_Release(&view);
  }
};
/// PySequence_Fast of the value of a field with several elements; a TypeError names the field.
PyObject* plan_items(const PlanField& field, PyObject* value);
void plan_scalars(const PlanField& field, PyObject* value, ScalarBlock* block);
/// Raises if an array does not have `field.count` elements, or a bounded sequence has more.
void plan_check_count(const PlanField& field, std::size_t count);

// --- plan_wire.cpp: CDR and ROS 1
void add_plan_wire();
/// Returns bytes. With a `sink`, an object with write(), writes the wire form to it, large blocks without a copy, and
/// returns None. CDR is aligned from its beginning, so it takes no sink.
PyObject* plan_to_wire(const ConversionPlan& plan, PyObject* object, bool cdr, PyObject* sink);
/// Fills `target`, or a new object if null. Returns a new reference.
PyObject* plan_from_wire(const ConversionPlan& plan, PyObject* target, const void* data, std::size_t size, bool cdr);

// --- plan_struct.cpp: rosidl's C structs
void plan_to_struct(const ConversionPlan& plan, PyObject* object, char* at);
PyObject* plan_from_struct(const ConversionPlan& plan, const char* at);
/// Capsules for a generated class's _CONVERT_FROM_PY and _CONVERT_TO_PY. None if the stock of functions is used up.
PyObject* plan_converters(PyObject* module, PyObject* capsule);

// --- plan_message.cpp
/// _from_message(plan, message): an object of the plan's class.
PyObject* plan_from_message(PyObject* module, PyObject* arguments);

// --- assign.cpp
void store_scalar(const message::Field& field, std::byte* at, PyObject* value);
bool same_format(message::Kind kind, const Py_buffer& buffer) noexcept;

}  // namespace baton::python
