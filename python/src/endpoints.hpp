// SPDX-License-Identifier: Apache-2.0
// Nodes, publishers, subscriptions, services, timers and executors as Python sees them.
// Thread rules: methods are called with the GIL. Code that waits, or takes a mutex that other threads hold, releases
// the GIL. Executors run callbacks on their own threads and take the GIL for each.
#pragma once

#include <nanobind/nanobind.h>

namespace baton::python {

void add_endpoints(nanobind::module_& module);

}  // namespace baton::python
