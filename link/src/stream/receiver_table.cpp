// SPDX-License-Identifier: Apache-2.0
#include "receiver_table.hpp"

namespace baton::link::stream {

Result<std::shared_ptr<void>> ReceiverTable::add(const std::string& channel, std::shared_ptr<ChunkReceiver> receiver) {
  auto registered = std::make_shared<RegisteredReceiver>(std::move(receiver));
  {
    const os::Lock lock(mutex_);
    if (!by_name_.emplace(channel, registered).second)
      return Error{Errc::already_exists, "channel '" + channel + "' has a receiver"};
  }
  auto end = [self = shared_from_this(), channel, registered](void*) {
    {
      const os::Lock lock(self->mutex_);
      self->by_name_.erase(channel);
    }
    std::shared_ptr<ChunkReceiver> ended;  // destroyed without the lock
    const os::Lock lock(registered->mutex);
    ended = std::move(registered->receiver);
  };
  return std::shared_ptr<void>(registered.get(), std::move(end));
}

std::shared_ptr<RegisteredReceiver> ReceiverTable::find(const std::string& channel) const {
  const os::Lock lock(mutex_);
  const auto found = by_name_.find(channel);
  return found == by_name_.end() ? nullptr : found->second;
}

}  // namespace baton::link::stream
