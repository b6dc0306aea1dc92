// SPDX-License-Identifier: Apache-2.0
// The lines of one node on the topic /rosout, as rcl_interfaces/Log with the quality of service of rcl
// (rcl/logging_rosout.h: rcl_qos_profile_rosout_default). The first line makes the publisher.
// Thread rules: thread-safe. In a forked child it does nothing.
#pragma once

#include <memory>
#include <string>

#include "baton/transport/transport.hpp"
#include "logging.hpp"

namespace baton::detail {

/// `topic` is the resolved name; `node` is the node's name in the graph.
std::shared_ptr<LogSink> make_rosout(std::shared_ptr<transport::Participant> participant, std::string topic,
                                     std::string node);

}  // namespace baton::detail
