// SPDX-License-Identifier: Apache-2.0
// Objects of rclpy's and rospy's classes from Baton's messages, in one walk.
#include "plan.hpp"

namespace baton::python {
namespace {

using message::Kind;
using message::Shape;

PyObject* convert(const ConversionPlan& plan, MessageReading& walk, PyObject* owner, const ClassRecord& record,
                  std::byte* at);

PyObject* convert_element(const PlanField& field, const FieldRecord& source, MessageReading& walk, PyObject* owner,
                          std::byte* at) {
  if (field.nested != nullptr) return convert(*field.nested, walk, owner, *source.nested, at);
  if (field.field.kind < Kind::kString) return plan_make_scalar(field, at);
  return get_element(owner, walk, source, at);
}

PyObject* convert(const ConversionPlan& plan, MessageReading& walk, PyObject* owner, const ClassRecord& record,
                  std::byte* at) {
  Ref object(plan_new_object(plan));
  for (const PlanField& field : plan.fields) {
    const FieldRecord* source = record.find(field.name);
    if (source == nullptr || (source->nested != nullptr) != (field.nested != nullptr) ||
        message::element_size(*source->field) !=
            (field.nested ? source->field->type->size : message::element_size(field.field)) ||
        (source->field->shape == Shape::kSingle) != (field.field.shape == Shape::kSingle)) {
      PyErr_Format(PyExc_TypeError, "%s and the class %s differ in field '%U'", record.type->name, plan.name.c_str(),
                   field.name);
      throw PythonError();
    }
    const message::Field& from = *source->field;
    std::byte* data = at + from.offset;
    if (field.field.shape == Shape::kSingle) {
      plan_set(field, object.get(), convert_element(field, *source, walk, owner, data));
      continue;
    }
    const std::size_t size = message::element_size(from);
    const ContentSpan elements = elements_of(walk, from, data);
    data = elements.data;
    const std::size_t count = elements.count;
    plan_check_count(field, count);
    if (field.field.kind < Kind::kString) {
      plan_set(field, object.get(), plan_make_scalars(field, data, count));
      continue;
    }
    Ref items(checked(PyList_New(static_cast<Py_ssize_t>(count))));
    for (std::size_t i = 0; i < count; ++i)
      PyList_SET_ITEM(items.get(), static_cast<Py_ssize_t>(i),
                      convert_element(field, *source, walk, owner, data + i * size));
    plan_set(field, object.get(), items.release());
  }
  return object.release();
}

}  // namespace

PyObject* plan_from_message(PyObject* /*module*/, PyObject* arguments) {
  return guarded<PyObject*>(nullptr, [&] {
    PyObject *capsule, *value;
    if (!PyArg_ParseTuple(arguments, "OO!", &capsule, message_type, &value)) throw PythonError();
    auto* message = reinterpret_cast<MessageView*>(value);
    check_live(message->owner, message->chunk);
    const ConversionPlan& plan = *plan_of_capsule(capsule);
    if (message->chunk->kind == OwnedChunk::Kind::kSample) plan_keep_room(message->chunk->size);
    const WithoutCollection pause(plan);
    MessageReading walk(message->chunk);
    return convert(plan, walk, message->owner, *message->record, message->address);
  });
}

}  // namespace baton::python
