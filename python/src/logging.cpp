// SPDX-License-Identifier: Apache-2.0
// Loggers for Python: the functions behind _logging.py.
// Thread rules: with the GIL, except where it is released.
#include "baton/node/logging.hpp"

#include <nanobind/stl/string.h>

#include "endpoints_shared.hpp"

namespace baton::python {

using namespace nb::literals;

void add_logging(nb::module_& m, nb::class_<Node>& node_class) {
  nb::class_<Logger>(m, "Logger", "A name with a level; baton.Logger without its methods for each severity.")
      .def_prop_ro("name", [](const Logger& logger) { return logger.get_name(); })
      .def("_child", &Logger::get_child)
      .def("_level", [](const Logger& logger) { return static_cast<int>(logger.get_effective_level()); })
      .def("_set_level", [](const Logger& logger, int level) { logger.set_level(static_cast<Logger::Level>(level)); })
      .def("_log", [](const Logger& logger, int level, nb::str text, const std::string& function,
                      const std::string& file, std::uint32_t line) {
        // A text may have characters without a form in UTF-8, e.g. in a file's name.
        const nb::bytes bytes =
            nb::steal<nb::bytes>(PyUnicode_AsEncodedString(text.ptr(), "utf-8", "backslashreplace"));
        if (!bytes.is_valid()) throw nb::python_error();
        const std::string_view view(bytes.c_str(), bytes.size());
        const WithoutGil without;
        logger.log(static_cast<Logger::Level>(level), view, {function.c_str(), file.c_str(), line});
      });
  m.def("_get_logger", &get_logger);
  node_class.def("_get_logger", [](const Node& node) { return node.get_logger(); });
}

}  // namespace baton::python
