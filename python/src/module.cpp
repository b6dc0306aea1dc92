// SPDX-License-Identifier: Apache-2.0
// The extension module baton._core.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <new>

#include "baton/memory/account.hpp"
#include "baton/memory/window.hpp"
#include "baton/node/logging.hpp"
#include "core.hpp"
#include "endpoints.hpp"
#include "plan.hpp"
#include "signal_wake.hpp"

namespace nb = nanobind;

namespace baton::python {
namespace {

// make_record(definition, hash, fields, dtype, prototype, content_defaults): `fields` are tuples
// (names, nested record or None, dtype or None, optional) in the definition's order.
nb::object make_record(const std::string& definition, nb::bytes hash, nb::list fields, nb::object dtype,
                       nb::bytes prototype, nb::object content_defaults) {
  message::TypeHash type_hash{};
  if (hash.size() != type_hash.size()) throw nb::value_error("a type hash has 16 bytes");
  std::memcpy(type_hash.data(), hash.c_str(), type_hash.size());
  Result<message::Definition> parsed = message::Definition::parse(definition, type_hash);
  if (!parsed.ok()) throw Exception(parsed.error());
  auto record = std::make_unique<ClassRecord>(std::move(*parsed));
  if (nb::len(fields) != record->type->field_count) throw nb::value_error("fields do not match the definition");
  if (prototype.size() != 0) {
    if (prototype.size() != record->type->size) throw nb::value_error("the prototype is no skeleton");
    record->prototype.resize(prototype.size());
    std::memcpy(record->prototype.data(), prototype.c_str(), prototype.size());
  }
  if (!content_defaults.is_none()) {
    record->content_defaults = content_defaults.inc_ref().ptr();
    record->nested_defaults = true;
  }
  if (!dtype.is_none()) record->dtype = dtype.inc_ref().ptr();
  record->fields.resize(record->type->field_count);
  for (std::size_t i = 0; i < record->fields.size(); ++i) {
    FieldRecord& field = record->fields[i];
    field.field = &record->type->fields[i];
    nb::tuple given = nb::cast<nb::tuple>(fields[i]);
    for (nb::handle name : given[0]) {
      PyObject* text = name.inc_ref().ptr();
      PyUnicode_InternInPlace(&text);
      field.names.push_back(text);
    }
    if (!given[1].is_none()) {
      field.nested =
          static_cast<const ClassRecord*>(PyCapsule_GetPointer(nb::object(given[1]).ptr(), "baton.TypeRecord"));
      if (field.nested == nullptr) throw nb::python_error();
      if (field.field->shape != message::Shape::kSequence && field.nested->nested_defaults)
        record->nested_defaults = true;
    }
    if ((field.field->kind == message::Kind::kMessage) != (field.nested != nullptr) ||
        (field.nested != nullptr && field.nested->type->size != field.field->type->size))
      throw nb::value_error("a nested type does not match the definition");
    if (!given[2].is_none()) field.dtype = nb::object(given[2]).release().ptr();
    if ((field.dtype == nullptr) != field.has_contents())
      throw nb::value_error("a dtype does not match the definition");
    field.optional = nb::cast<bool>(given[3]);
  }
  // Immortal: samples and validators refer to it from threads that do not know Python.
  return nb::steal(checked(PyCapsule_New(record.release(), "baton.TypeRecord", nullptr)));
}

void bind_class(nb::handle capsule, nb::handle cls) {
  auto* record = static_cast<ClassRecord*>(PyCapsule_GetPointer(capsule.ptr(), "baton.TypeRecord"));
  if (record == nullptr) throw nb::python_error();
  if (!PyType_Check(cls.ptr()) || !PyType_IsSubtype(reinterpret_cast<PyTypeObject*>(cls.ptr()), message_type))
    throw nb::type_error("a subclass of Message is wanted");
  record->cls = reinterpret_cast<PyTypeObject*>(cls.inc_ref().ptr());
}

MessageView* message_argument(nb::handle object) {
  if (!is_message(object.ptr())) throw nb::type_error("a message of baton is wanted");
  auto* message = reinterpret_cast<MessageView*>(object.ptr());
  check_live(message->owner, message->chunk);
  return message;
}

}  // namespace
}  // namespace baton::python

extern "C" PyObject* PyInit__core_of_main();

/// The import. A sub-interpreter is refused before nanobind begins: the types of both would be made in it, and end with it.
extern "C" NB_EXPORT PyObject* PyInit__core() {
  if (PyInterpreterState_Get() == PyInterpreterState_Main()) return PyInit__core_of_main();
  PyErr_SetString(PyExc_ImportError, "baton works in the main interpreter of a process; this is a sub-interpreter");
  return nullptr;
}

NB_MODULE(_core_of_main, m) {
  using namespace baton::python;
  nb::set_leak_warnings(false);  // nodes may live until the process ends
  nb::register_exception_translator([](const std::exception_ptr& p, void*) {
    try {
      std::rethrow_exception(p);
    } catch (const baton::Exception&) {
      translate_current_exception();
    } catch (const PythonError&) {
      // the Python error is set already
    }
  });
  try {
    add_exceptions(m.ptr());
    add_chunk_types(m.ptr());
    add_view_types(m.ptr());
    add_sequence_type(m.ptr());
    add_plain(m.ptr());
    add_plans(m.ptr());
    nb::module_ numpy = nb::module_::import_("numpy");
    imports.frombuffer = nb::object(numpy.attr("frombuffer")).release().ptr();
    imports.bool_type = nb::object(numpy.attr("bool_")).release().ptr();
    imports.ndarray = nb::object(numpy.attr("ndarray")).release().ptr();
  } catch (const PythonError&) {
    throw nb::python_error();
  }
  m.def("_set_python_parts",
        [](nb::object array_class, nb::object copy_warning, nb::object converted, nb::object same) {
          imports.array_class = array_class.release().ptr();
          imports.copy_warning = copy_warning.release().ptr();
          imports.converted = converted.release().ptr();
          imports.same = same.release().ptr();
        });
  m.def("_in_python", [](const std::string& text) { return in_python(text); });
  baton::detail::set_phrasing(&in_python);
  m.def("_set_main_thread", [](unsigned long ident) { set_main_thread(ident); });
  m.def("_make_record", make_record, nb::arg(), nb::arg(), nb::arg(), nb::arg().none(), nb::arg(), nb::arg().none());
  m.def("_bind_class", bind_class);
  m.def("_resize", [](nb::handle message, std::size_t field, std::size_t count) {
    MessageView* view = message_argument(message);
    check_writable(view->owner, view->chunk);
    if (field >= view->record->fields.size()) throw nb::index_error("no such field");
    const FieldRecord& record = view->record->fields[field];
    resize_sequence(view->chunk, record, view->address + record.field->offset, count);
  });
  m.def("_assign", [](nb::handle message, nb::handle value) {
    MessageView* view = message_argument(message);
    check_writable(view->owner, view->chunk);
    assign_message(view->chunk, *view->record, view->address, value.ptr());
  });
  m.def(
      "address",
      [](nb::handle message) { return reinterpret_cast<std::uintptr_t>(message_argument(message)->address); },
      nb::arg("message"), "Where the message lies in this process.");
  m.def(
      "in_shared_memory",
      [](std::uintptr_t address) { return baton::memory::in_window(reinterpret_cast<void*>(address)); },
      nb::arg("address"), "Whether an address lies in Baton's shared memory, own or foreign.");
  m.def(
      "is_read_only", [](nb::handle message) { return read_only(message_argument(message)->chunk); },
      nb::arg("message"));
  m.attr("_DATA_SEGMENT") = baton::memory::kDataSegmentName;
  add_endpoints(m);
}
