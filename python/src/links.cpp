// SPDX-License-Identifier: Apache-2.0
// The link to other machines, and the file with the state of the domain's link. Python reads one text form of a state
// (docs/format/link-state.md), from this process or another: baton/_link.py.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "baton/link/link.hpp"
#include "baton/os/clock.hpp"
#include "baton/os/process.hpp"
#include "endpoints_shared.hpp"
#include "news.hpp"

namespace baton::python {

using namespace nb::literals;

namespace {

class PyLink {
 public:
  explicit PyLink(const link::Options& options) {
    const WithoutGil without;
    link_ = std::move(link::Link::start(options)).or_throw();
  }
  PyLink(const PyLink&) = delete;
  PyLink& operator=(const PyLink&) = delete;
  // Without close() before, e.g. by a cycle that the collector breaks. The link's threads never request the GIL.
  ~PyLink() = default;

  void close() {
    std::shared_ptr<link::Link> ended = std::move(link_);
    const WithoutGil without;
    ended.reset();
  }
  nb::object state() const {
    if (!link_) return nb::none();
    std::string out;
    std::shared_ptr<link::Link> link = link_;  // another thread may close it meanwhile
    {
      const WithoutGil without;
      out = link::format_state(link->state(), os::process_id(), os::monotonic_ns(), os::realtime_ns());
      link.reset();
    }
    return text(out);
  }
  /// Other processes' names, which need not be UTF-8.
  static nb::object text(const std::string& from) {
    return nb::steal(checked(PyUnicode_DecodeUTF8(from.data(), static_cast<Py_ssize_t>(from.size()), "replace")));
  }

 private:
  std::shared_ptr<link::Link> link_;  // null once closed
};

}  // namespace

void add_links(nb::module_& m) {
  nb::class_<PyLink>(m, "_Link")
      .def(
          "__init__",
          [](PyLink* self, std::vector<std::string> peers, std::string interface, std::uint16_t port, int domain,
             std::string runtime_directory, std::string host_name, bool multicast, std::string security,
             const std::vector<std::string>& high, const std::vector<std::string>& low, std::int64_t absence_ms,
             std::size_t absence_bytes, nb::handle on_diagnostic) {
            link::Options options;
            options.peers = std::move(peers);
            options.interface = std::move(interface);
            options.port = port;
            options.domain = domain;
            options.runtime_directory = std::move(runtime_directory);
            options.host_name = std::move(host_name);
            options.multicast = multicast;
            options.security = std::move(security);
            for (const std::string& topic : high) options.priorities[topic] = link::TopicPriority::kHigh;
            for (const std::string& topic : low) options.priorities[topic] = link::TopicPriority::kLow;
            options.absence = {std::chrono::milliseconds(absence_ms), absence_bytes};
            options.on_diagnostic = diagnostic_callback(on_diagnostic);
            options.domain_diagnostics = false;  // those are of the nodes' logger
            new (self) PyLink(options);
          },
          "peers"_a, "interface"_a, "port"_a, "domain"_a, "runtime_directory"_a, "host_name"_a, "multicast"_a,
          "security"_a, "high"_a, "low"_a, "absence_ms"_a, "absence_bytes"_a, "on_diagnostic"_a.none())
      .def("_close", &PyLink::close)
      .def("_state", &PyLink::state);
  m.def(
      "_saved_link_state",
      [](int domain, const std::string& runtime_directory) {
        const link::SavedState saved = link::read_state(domain, runtime_directory).or_throw();
        return nb::make_tuple(saved.alive, saved.text ? PyLink::text(*saved.text) : nb::object(nb::none()),
                              PyLink::text(saved.path));
      },
      "domain"_a, "runtime_directory"_a);
}

}  // namespace baton::python
