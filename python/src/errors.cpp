// SPDX-License-Identifier: Apache-2.0
// The table of error codes as Python exceptions, and C++ exceptions as Python errors.
#include <cctype>
#include <new>
#include <stdexcept>

#include "baton/node/init.hpp"
#include "baton/transport/whose.hpp"
#include "core.hpp"

namespace baton::python {
namespace {

PyObject* baton_error = nullptr;

#define BATON_ERROR_CODE(name, value, text) PyObject* error_##name = nullptr;
#include "baton/os/error_codes.def"
#undef BATON_ERROR_CODE

// "held_limit" -> "HeldLimit"
std::string class_name(const char* code) {
  std::string name;
  bool upper = true;
  for (; *code != '\0'; ++code) {
    if (*code == '_') {
      upper = true;
    } else {
      name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(*code))) : *code;
      upper = false;
    }
  }
  return name;
}

void add(PyObject* module, PyObject** slot, const char* code, const char* text, PyObject* also) {
  const std::string name = class_name(code);
  Ref bases(also != nullptr ? checked(PyTuple_Pack(2, baton_error, also)) : checked(PyTuple_Pack(1, baton_error)));
  Ref dict(checked(PyDict_New()));
  Ref code_text(checked(PyUnicode_FromString(code)));
  checked(PyDict_SetItemString(dict.get(), "code", code_text.get()));
  *slot = checked(PyErr_NewExceptionWithDoc(("baton." + name).c_str(), text, bases.get(), dict.get()));
  checked(PyModule_AddObjectRef(module, name.c_str(), *slot));
}

/// A text may have names from another process, which need not be UTF-8.
/// `mark`: the name of an attribute that becomes True (`shortage`: Baton's own; `is_usage`: the user's mistake,
/// see _usage.py), or null.
void set_text(PyObject* type, const char* message, const char* mark = nullptr) {
  const std::string words = in_python(message);
  const Ref text(PyUnicode_DecodeUTF8(words.data(), static_cast<Py_ssize_t>(words.size()), "backslashreplace"));
  if (text.get() == nullptr) return;
  const Ref error(PyObject_CallOneArg(type, text.get()));
  if (error.get() == nullptr) return;
  if (mark == nullptr || PyObject_SetAttrString(error.get(), mark, Py_True) == 0) PyErr_SetObject(type, error.get());
}

}  // namespace

PyObject* exception_of(Errc code) noexcept {
  switch (code) {
#define BATON_ERROR_CODE(name, value, text) \
  case Errc::name:                          \
    return error_##name;
#include "baton/os/error_codes.def"
#undef BATON_ERROR_CODE
  }
  return baton_error;
}

bool of_shortage(PyObject* error) noexcept {
  if (PyObject_IsInstance(error, baton_error) != 1) {
    PyErr_Clear();
    return false;
  }
  const Ref mark(PyObject_GetAttrString(error, "shortage"));
  if (mark.get() == nullptr) PyErr_Clear();
  return mark.get() == Py_True;
}

void translate_current_exception() noexcept {
  try {
    try {
      throw;
    } catch (const PythonError&) {
    } catch (const Shortage& e) {
      set_text(exception_of(e.code()), e.what(), "shortage");
    } catch (const UsageError& e) {
      set_text(exception_of(e.code()), e.what(), "is_usage");
    } catch (const Exception& e) {
      set_text(exception_of(e.code()), e.what());
    } catch (const std::bad_alloc&) {
      PyErr_NoMemory();
    } catch (const std::out_of_range& e) {
      set_text(PyExc_IndexError, e.what());
    } catch (const std::length_error& e) {
      set_text(PyExc_ValueError, e.what());
    } catch (const std::exception& e) {
      set_text(PyExc_RuntimeError, e.what());
    } catch (...) {
      PyErr_SetString(PyExc_SystemError, "unknown C++ exception");
    }
  } catch (const std::bad_alloc&) {  // no memory for the text
    PyErr_NoMemory();
  }
}

PyObject* whose_errors() {
  static constexpr const char* kNames[] = {"program", "message", "limit"};
  Ref all(checked(PyDict_New()));
#define BATON_ERROR_CODE(name, value, text)                                                                        \
  Ref name##_whose(checked(PyUnicode_FromString(kNames[static_cast<std::size_t>(transport::whose(Errc::name))]))); \
  checked(PyDict_SetItemString(all.get(), #name, name##_whose.get()));
#include "baton/os/error_codes.def"
#undef BATON_ERROR_CODE
  return all.release();
}

void add_exceptions(PyObject* module) {
  baton_error = checked(PyErr_NewExceptionWithDoc(
      "baton.BatonError", "What went wrong and the way out. `code` is the name in Baton's table of errors.",
      PyExc_RuntimeError, nullptr));
  checked(PyModule_AddObjectRef(module, "BatonError", baton_error));
  checked(PyObject_SetAttrString(baton_error, "shortage", Py_False));
#define BATON_ERROR_CODE(name, value, text)                                                              \
  add(module, &error_##name, #name, text,                                                                \
      Errc::name == Errc::invalid_argument || Errc::name == Errc::malformed_message ? PyExc_ValueError   \
      : Errc::name == Errc::timed_out                                               ? PyExc_TimeoutError \
      : Errc::name == Errc::out_of_memory                                           ? PyExc_MemoryError  \
                                                                                    : nullptr);
#include "baton/os/error_codes.def"
#undef BATON_ERROR_CODE
}

}  // namespace baton::python
