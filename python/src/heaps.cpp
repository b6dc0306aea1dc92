// SPDX-License-Identifier: Apache-2.0
// Shared heaps of a domain, for the command line's list. Python has no objects in them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <string>
#include <vector>

#include "baton/objects/heap.hpp"
#include "endpoints_shared.hpp"

namespace baton::python {

using namespace nb::literals;

void add_heaps(nb::module_& m) {
  m.def(
      "_shared_heaps",
      [](std::optional<int> domain) {
        objects::HeapOptions options;
        if (domain) options.domain = *domain;
        options.timeout = std::chrono::seconds(1);
        nb::list out;
        const std::vector<std::string> names = objects::Heap::names(options).or_throw();
        for (const std::string& name : names) {
          options.name = name;
          nb::dict row;
          row["name"] = name;
          // Joins for a moment: only members see a heap's account.
          Result<objects::Heap> heap = [&] {
            const WithoutGil without;
            return objects::Heap::open(options);
          }();
          if (heap) {
            const objects::HeapStats stats = heap->stats();
            row["processes"] = stats.processes - 1;
            row["objects"] = stats.objects;
            row["orphans"] = stats.orphans;
            row["used_bytes"] = stats.used_bytes;
            row["backed_bytes"] = stats.backed_bytes;
            row["limit_bytes"] = stats.limit_bytes;
          } else {
            row["error"] = heap.error().message;
          }
          out.append(row);
        }
        return out;
      },
      "domain"_a = nb::none(),
      "The domain's shared heaps that a living process has open: a dict each, with `error` where it could not be "
      "opened.");
}

}  // namespace baton::python
