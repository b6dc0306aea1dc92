// SPDX-License-Identifier: Apache-2.0
// Where `baton perf touch` (lab/baton_perf/touch.py) begins and ends to count. It stops a process at these calls, and finds them by their
// name.
#pragma once

#include <cstddef>

namespace baton::perf {

enum Mark : unsigned {
  kMarkBegin = 0,      ///< of the publisher, before PublisherEnd::begin()
  kMarkBegun = 1,      ///< behind it
  kMarkPublish = 2,    ///< before PublisherEnd::publish()
  kMarkPublished = 3,  ///< behind it
  kMarkReceived = 4,   ///< of the subscriber, before the first read
};

}  // namespace baton::perf

/// Does nothing. `data`: the payload.
extern "C" void baton_perf_mark(unsigned mark, const std::byte* data);
