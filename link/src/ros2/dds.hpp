// SPDX-License-Identifier: Apache-2.0
// DDS as the side towards ROS 2 sees it: endpoints by their names, and messages as CDR. cyclone.cpp makes it, the only file here that
// knows Cyclone DDS.
// Thread rules: threads of the link use Dds and its endpoints, one thread at a time for a writer. Threads of the DDS call the callbacks, one
// call at a time for each reader. A callback must not call the DDS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "baton/link/state.hpp"
#include "baton/os/result.hpp"
#include "baton/transport/diagnostic.hpp"
#include "baton/transport/transport.hpp"

namespace baton::link::ros2 {

using transport::Gid;

/// A message in its serialized form: four bytes that name the encoding, then CDR. The memory has 3 more bytes, which are zero.
struct CdrMessage {
  CdrMessage() = default;
  explicit CdrMessage(std::size_t size) : bytes(new std::byte[size + kMore]), size_bytes(size) {
    for (std::size_t i = 0; i < kMore; ++i) bytes[size + i] = std::byte{0};
  }
  static constexpr std::size_t kMore = 3;
  std::unique_ptr<std::byte[]> bytes;
  std::size_t size_bytes = 0;
};

struct DdsEndpoint {
  Gid gid{}, participant{};
  bool is_writer = false;
  std::string topic, type, user_data;  ///< names of the DDS
  QoS qos;
};

struct DdsMessage {
  Gid publisher{};
  std::uint64_t sequence = 0;  ///< of this publisher, from 1
  std::int64_t source_time_ns = 0;
  CdrMessage serialized;
};

class DdsWriter {
 public:
  virtual ~DdsWriter() = default;
  virtual const Gid& gid() const = 0;
  /// If reliable readers have not acknowledged 32 MB, blocks for 10 ms at most. Errors: timed_out (they still have not; the message is
  /// lost), out_of_memory, system.
  virtual Result<void> write(CdrMessage message, std::int64_t source_time_ns) = 0;
  virtual std::vector<Gid> matched() const = 0;
  /// The policy because of which the newest reader was refused; empty: no reader was refused since the last call.
  virtual std::string refused() = 0;
};

class DdsReader {
 public:
  virtual ~DdsReader() = default;
  virtual const Gid& gid() const = 0;
};

class Dds {
 public:
  virtual ~Dds() = default;
  virtual const Gid& participant() const = 0;
  /// The endpoints of other participants.
  virtual std::vector<DdsEndpoint> endpoints() = 0;
  /// User data of the other participants.
  virtual std::map<Gid, std::string> participants() = 0;
  virtual Result<std::unique_ptr<DdsWriter>> open_writer(const DdsEndpoint& endpoint) = 0;
  /// `arrived` is called until the reader is destroyed. A reader keeps every message for which `arrived` has not been called yet.
  virtual Result<std::unique_ptr<DdsReader>> open_reader(const DdsEndpoint& endpoint,
                                                         std::function<void(DdsMessage)> arrived) = 0;
};

struct DdsOptions {
  int domain = 0;
  std::vector<std::string> peers;
  std::string interface;
  std::string user_data;  ///< of the participant
  std::string
      security;  ///< folder of an enclave of SROS 2 (DDS Security), checked by check_security(); empty: in the clear
  /// Called by any thread: other endpoints or participants, or matches, have changed.
  std::function<void()> changed;
  /// Called by any thread, at any rate.
  std::function<void(transport::Diagnostic::Level, std::string)> say;
  /// The same, for a participant that DDS Security refuses: without a time, and mostly several calls for one participant.
  std::function<void(RefusedState)> refused;
};

/// Checks that the folder has the files of an enclave; their contents are not read. Errors: invalid_argument (names the file), unsupported (Cyclone's
/// plug-ins are missing).
Result<void> check_security(const std::string& directory);
/// Errors: invalid_argument (an option, named), system.
Result<std::unique_ptr<Dds>> make_dds(const DdsOptions& options);

}  // namespace baton::link::ros2
