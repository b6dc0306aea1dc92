// SPDX-License-Identifier: Apache-2.0
// The receivers of this host, by the names of their channels. The sessions with all hosts share the table.
// Thread rules: any thread. A receiver is no longer called once its registration has ended.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "baton/os/lock.hpp"
#include "host_network.hpp"

namespace baton::link::stream {

/// One receiver, as long as it is registered.
struct RegisteredReceiver {
  explicit RegisteredReceiver(std::shared_ptr<ChunkReceiver> registered) : receiver(std::move(registered)) {}

  os::Mutex mutex;                                                  // held in its calls, one at a time
  std::shared_ptr<ChunkReceiver> receiver BATON_GUARDED_BY(mutex);  ///< null: it has ended
};

class ReceiverTable : public std::enable_shared_from_this<ReceiverTable> {
 public:
  /// Error already_exists.
  Result<std::shared_ptr<void>> add(const std::string& channel, std::shared_ptr<ChunkReceiver> receiver);
  /// Null: there is none.
  std::shared_ptr<RegisteredReceiver> find(const std::string& channel) const;

 private:
  mutable os::Mutex mutex_;
  std::map<std::string, std::shared_ptr<RegisteredReceiver>> by_name_ BATON_GUARDED_BY(mutex_);
};

}  // namespace baton::link::stream
