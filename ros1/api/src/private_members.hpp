// SPDX-License-Identifier: Apache-2.0
// Members of roscpp's classes that its headers declare and do not offer. An explicit instantiation may name them
// ([temp.spec.general]), so a roscpp whose headers differ does not compile.
#pragma once

#include <ros/single_subscriber_publisher.h>
#include <ros/subscriber_link.h>
#include <ros/subscription.h>
#include <ros/topic_manager.h>

#include <list>

namespace baton::ros1::detail {

template <class Tag, typename Tag::Type member>
struct Reveal {
  friend constexpr typename Tag::Type member_of(Tag) { return member; }
};

struct LinkOfPublisher {
  using Type = ros::SubscriberLinkPtr ros::SingleSubscriberPublisher::*;
  friend constexpr Type member_of(LinkOfPublisher);
};
template struct Reveal<LinkOfPublisher, &ros::SingleSubscriberPublisher::link_>;

struct SubscriptionsOfManager {
  using Type = ros::L_Subscription ros::TopicManager::*;
  friend constexpr Type member_of(SubscriptionsOfManager);
};
template struct Reveal<SubscriptionsOfManager, &ros::TopicManager::subscriptions_>;

struct SubscriptionsMutexOfManager {
  using Type = boost::mutex ros::TopicManager::*;
  friend constexpr Type member_of(SubscriptionsMutexOfManager);
};
template struct Reveal<SubscriptionsMutexOfManager, &ros::TopicManager::subs_mutex_>;

}  // namespace baton::ros1::detail
