// SPDX-License-Identifier: Apache-2.0
// The origin of a message that a bridge publishes for an endpoint of another network. Thread rules: the GIL is held.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include <cstring>
#include <optional>
#include <tuple>

#include "baton/message/bytes.hpp"
#include "baton/transport/transport.hpp"
#include "endpoints_shared.hpp"

namespace baton::python {

/// The bytes that an object shows through the buffer protocol, held while this lives.
class WireBuffer {
 public:
  explicit WireBuffer(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~WireBuffer() { PyBuffer_Release(&view_); }
  WireBuffer(const WireBuffer&) = delete;
  WireBuffer& operator=(const WireBuffer&) = delete;
  message::Bytes bytes() const noexcept {
    return {static_cast<const std::byte*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
};

inline transport::Gid gid_of(const nb::bytes& bytes) {
  transport::Gid gid{};
  if (bytes.size() != gid.size()) raise(PyExc_ValueError, "a gid has 16 bytes");
  std::memcpy(gid.data(), bytes.data(), gid.size());
  return gid;
}

/// The words of a relayed message. Copies would point to another one's origin, so with_origin() is called where the message is published.
struct RelayedWords {
  transport::Origin origin;
  bool has_origin = false;
  transport::PublishInfo info;
  transport::PublishInfo with_origin() const noexcept {
    transport::PublishInfo out = info;
    out.origin = has_origin ? &origin : nullptr;
    return out;
  }
};

/// From None, or a tuple (number, source time in ns, client, number of the client, only the client): the number 0 is "published here", the
/// client is a gid or None.
inline RelayedWords relayed_words(nb::handle words) {
  RelayedWords out;
  if (words.is_none()) return out;
  const auto [sequence, source_time_ns, client, number, only] =
      nb::cast<std::tuple<std::uint64_t, std::int64_t, std::optional<nb::bytes>, std::uint64_t, bool>>(words);
  out.origin = {sequence, source_time_ns};
  out.has_origin = sequence != 0;
  if (client) out.info.correlation_client = gid_of(*client);
  out.info.correlation_sequence = number;
  out.info.only_client = only;
  return out;
}

}  // namespace baton::python
