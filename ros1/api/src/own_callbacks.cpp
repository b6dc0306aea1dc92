// SPDX-License-Identifier: Apache-2.0
#include "own_callbacks.hpp"

#include <map>

#include "baton/os/lock.hpp"
#include "private_members.hpp"

namespace baton::ros1::detail {
namespace {

struct OwnCallbacks {
  os::Mutex mutex;
  std::map<std::string, int> counts BATON_GUARDED_BY(mutex);
};

OwnCallbacks& own() {
  static auto& callbacks = *new OwnCallbacks;  // a Subscriber with static storage may end later
  return callbacks;
}

}  // namespace

void count_own_callback(const std::string& topic, int added) {
  OwnCallbacks& ours = own();
  const os::Lock lock(ours.mutex);
  ours.counts[topic] += added;
}

bool has_stock_callbacks(const std::string& topic) {
  std::size_t all = 0;
  {
    const ros::TopicManagerPtr& manager = ros::TopicManager::instance();
    const boost::mutex::scoped_lock lock((*manager).*member_of(SubscriptionsMutexOfManager()));
    for (const ros::SubscriptionPtr& each : (*manager).*member_of(SubscriptionsOfManager())) {
      if (each->getName() == topic && !each->isDropped()) all += each->getNumCallbacks();
    }
  }
  OwnCallbacks& ours = own();
  const os::Lock lock(ours.mutex);
  return all > static_cast<std::size_t>(ours.counts[topic]);
}

}  // namespace baton::ros1::detail
