// SPDX-License-Identifier: Apache-2.0
// Parameters for Python: values cross as Python's own types, everything else in tuples that _parameters.py gives a form.
// Thread rules: with the GIL, except where it is released; callbacks take it.
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "baton/node/init.hpp"
#include "callback.hpp"
#include "endpoints_shared.hpp"

namespace baton::python {

using namespace nb::literals;

namespace {

[[noreturn]] void no_value(nb::handle value) {
  raise(PyExc_TypeError,
        "a parameter is a bool, an int, a float, a str, bytes, or a list of one of these types but bytes, not " +
            nb::cast<std::string>(nb::repr(value)));
}

/// As messages: bytes that are no UTF-8 are lone surrogates in Python. Other processes may set such texts.
std::string bytes_of(nb::handle text) {
  const nb::object bytes = nb::steal(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "surrogateescape"));
  if (!bytes.is_valid()) throw nb::python_error();
  return {PyBytes_AS_STRING(bytes.ptr()), static_cast<std::size_t>(PyBytes_GET_SIZE(bytes.ptr()))};
}

nb::object text_of(const std::string& bytes) {
  nb::object text =
      nb::steal(PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "surrogateescape"));
  if (!text.is_valid()) throw nb::python_error();
  return text;
}

nb::list texts_of(const std::vector<std::string>& all) {
  nb::list texts;
  for (const std::string& one : all) texts.append(text_of(one));
  return texts;
}

std::int64_t integer(nb::handle value) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value.ptr(), &overflow);
  if (overflow != 0) raise(PyExc_OverflowError, "an integer parameter has 64 bits");
  if (number == -1 && PyErr_Occurred()) throw nb::python_error();
  return number;
}

template <class T, class Convert>
ParameterValue list_of(const nb::list& values, const Convert& convert) {
  std::vector<T> all;
  for (const nb::handle value : values) all.push_back(convert(value));
  return all;
}

ParameterValue to_value(nb::handle value) {
  if (value.is_none()) return {};
  if (PyBool_Check(value.ptr())) return value.ptr() == Py_True;
  if (PyLong_Check(value.ptr())) return integer(value);
  if (PyFloat_Check(value.ptr())) return PyFloat_AS_DOUBLE(value.ptr());
  if (nb::isinstance<nb::str>(value)) return bytes_of(value);
  if (PyBytes_Check(value.ptr()) || PyByteArray_Check(value.ptr())) {
    const nb::bytes bytes(value);
    const auto* data = static_cast<const std::uint8_t*>(bytes.data());
    return std::vector<std::uint8_t>(data, data + bytes.size());
  }
  if (nb::hasattr(value, "tolist")) return to_value(value.attr("tolist")());  // NumPy's scalars and arrays
  if (!PyList_Check(value.ptr()) && !PyTuple_Check(value.ptr())) no_value(value);
  const nb::list values(value);
  bool bools = true, integers = true, numbers = true, strings = true;
  for (const nb::handle one : values) {
    const bool is_bool = PyBool_Check(one.ptr()), is_integer = !is_bool && PyLong_Check(one.ptr());
    bools = bools && is_bool;
    integers = integers && is_integer;
    numbers = numbers && (is_integer || PyFloat_Check(one.ptr()));
    strings = strings && nb::isinstance<nb::str>(one);
  }
  if (strings) return list_of<std::string>(values, bytes_of);
  if (bools) return list_of<bool>(values, [](nb::handle one) { return one.ptr() == Py_True; });
  if (integers) return list_of<std::int64_t>(values, integer);
  if (numbers) return list_of<double>(values, [](nb::handle one) { return nb::cast<double>(nb::float_(one)); });
  no_value(value);
}

nb::object to_python(const ParameterValue& value) {
  return std::visit(
      [](const auto& held) -> nb::object {
        using T = std::decay_t<decltype(held)>;
        if constexpr (std::is_same_v<T, std::monostate>) {
          return nb::none();
        } else if constexpr (std::is_same_v<T, std::vector<std::uint8_t>>) {
          return nb::bytes(held.data(), held.size());
        } else if constexpr (std::is_same_v<T, std::vector<bool>>) {
          nb::list list;
          for (const bool one : held) list.append(one);
          return list;
        } else if constexpr (std::is_same_v<T, std::string>) {
          return text_of(held);
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          return texts_of(held);
        } else {
          return nb::cast(held);
        }
      },
      value.storage());
}

int number_of(ParameterType type) { return static_cast<int>(type); }

/// (name, number of the type, value).
nb::tuple to_python(const Parameter& parameter) {
  return nb::make_tuple(text_of(parameter.name()), number_of(parameter.type()), to_python(parameter.value()));
}

nb::list to_python(const std::vector<Parameter>& parameters) {
  nb::list all;
  for (const Parameter& parameter : parameters) all.append(to_python(parameter));
  return all;
}

/// For a callback: another process may have chosen their sizes, so a lack of memory is Baton's own, not the callback's.
nb::list handed_over(const std::vector<Parameter>& parameters) {
  try {
    return to_python(parameters);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_MemoryError)) throw;
    throw Shortage(no_memory());
  } catch (const std::bad_alloc&) {
    throw Shortage(no_memory());
  }
}

nb::tuple to_python(const SetParametersResult& result) {
  return nb::make_tuple(result.successful, text_of(result.reason));
}

/// As _parameters.py writes a descriptor: description, constraints, read_only, dynamic_typing, and the bounds of the
/// two ranges or None.
ParameterDescriptor to_descriptor(const nb::tuple& from) {
  ParameterDescriptor descriptor;
  descriptor.description = nb::cast<std::string>(from[0]);
  descriptor.additional_constraints = nb::cast<std::string>(from[1]);
  descriptor.read_only = nb::cast<bool>(from[2]);
  descriptor.dynamic_typing = nb::cast<bool>(from[3]);
  if (const nb::object range = from[4]; !range.is_none())
    descriptor.integer_range = {nb::cast<std::int64_t>(range[0]), nb::cast<std::int64_t>(range[1]),
                                nb::cast<std::uint64_t>(range[2])};
  if (const nb::object range = from[5]; !range.is_none())
    descriptor.floating_point_range = {nb::cast<double>(range[0]), nb::cast<double>(range[1]),
                                       nb::cast<double>(range[2])};
  return descriptor;
}

nb::tuple to_python(const ParameterDescriptor& descriptor) {
  nb::object integers = nb::none(), numbers = nb::none();
  if (const auto& range = descriptor.integer_range)
    integers = nb::make_tuple(range->from_value, range->to_value, range->step);
  if (const auto& range = descriptor.floating_point_range)
    numbers = nb::make_tuple(range->from_value, range->to_value, range->step);
  return nb::make_tuple(descriptor.description, descriptor.additional_constraints, descriptor.read_only,
                        descriptor.dynamic_typing, integers, numbers);
}

/// A callback, as long as it lives.
struct PyParameterCallback {
  std::shared_ptr<Callback> callback;
  std::shared_ptr<void> registration;
};

}  // namespace

std::vector<Parameter> parameters_of(nb::handle pairs) {
  std::vector<Parameter> all;
  for (const nb::handle pair : nb::list(pairs))
    all.emplace_back(bytes_of(nb::object(pair[0])), to_value(nb::object(pair[1])));
  return all;
}

void add_parameters(nb::module_& m, nb::class_<Node>& node_class) {
  m.def("_init", &baton::detail::read_arguments);
  m.def("_parse_parameter_value", [](const std::string& text, const std::string& where) {
    return to_python(parse_parameter_value(text, where));
  });
  m.def("_parameter_file", [](const std::string& path, const std::string& node) {
    std::vector<Parameter> all;
    for (ParameterAssignment& one : read_parameter_file(path))
      if (one.applies_to(node)) all.emplace_back(one.name, one.value);
    return to_python(all);
  });
  m.def("_parameter_yaml", [](nb::handle value) { return to_value(value).to_yaml(); });
  nb::class_<PyParameterCallback>(m, "ParameterCallback", nb::type_slots(callback_slots<PyParameterCallback>()),
                                  "A callback for parameters, which is called while this object lives.");

  node_class
      .def(
          "_declare_parameter",
          [](Node& node, const std::string& name, nb::handle given, int type, const nb::tuple& described) {
            const ParameterValue value = to_value(given);
            const ParameterDescriptor descriptor = to_descriptor(described);
            ParameterValue result;
            {
              const WithoutGil without;
              result = node.declare(name, value, static_cast<ParameterType>(type), descriptor);
            }
            return to_python(Parameter(name, std::move(result)));
          },
          nb::arg(), nb::arg().none(), nb::arg(), nb::arg())
      .def(
          "undeclare_parameter",
          [](Node& node, const std::string& name) {
            const WithoutGil without;
            node.undeclare_parameter(name);
          },
          "name"_a, "Raises NotFound, and InvalidArgument if the parameter is read-only.")
      .def("has_parameter", &Node::has_parameter, "name"_a)
      .def("_get_parameter",
           [](const Node& node, const std::string& name) { return to_python(node.get_parameter(name)); })
      .def("_set_parameters",
           [](Node& node, nb::handle pairs, bool atomically) {
             const std::vector<Parameter> parameters = parameters_of(pairs);
             std::vector<SetParametersResult> results;
             {
               const WithoutGil without;
               if (atomically) {
                 results.push_back(node.set_parameters_atomically(parameters));
               } else {
                 results = node.set_parameters(parameters);
               }
             }
             nb::list all;
             for (const SetParametersResult& result : results) all.append(to_python(result));
             return all;
           })
      .def("_describe_parameter",
           [](const Node& node, const std::string& name) { return to_python(node.describe_parameter(name)); })
      .def("_list_parameters",
           [](const Node& node, const std::vector<std::string>& prefixes, std::uint64_t depth) {
             ListParametersResult found = node.list_parameters(prefixes, depth);
             return nb::make_tuple(texts_of(found.names), texts_of(found.prefixes));
           })
      .def("_add_on_set_parameters_callback",
           [](Node& node, nb::object function) {
             PyParameterCallback made;
             made.callback = std::make_shared<Callback>(std::move(function));
             auto call = [callback = made.callback](const std::vector<Parameter>& parameters) {
               const WithGil gil;
               const nb::object said = callback->result(handed_over(parameters));
               SetParametersResult result;
               if (!said.is_none()) {
                 result.successful = nb::cast<bool>(said[0]);
                 result.reason = nb::cast<std::string>(said[1]);
               }
               return result;
             };
             const WithoutGil without;
             made.registration = node.add_on_set_parameters_callback(std::move(call));
             return made;
           })
      .def("_add_post_set_parameters_callback", [](Node& node, nb::object function) {
        PyParameterCallback made;
        made.callback = std::make_shared<Callback>(std::move(function));
        auto call = [callback = made.callback](const std::vector<Parameter>& parameters) {
          const WithGil gil;
          (*callback)(handed_over(parameters));
        };
        const WithoutGil without;
        made.registration = node.add_post_set_parameters_callback(std::move(call));
        return made;
      });
}

}  // namespace baton::python
