// SPDX-License-Identifier: Apache-2.0
// Members of roscpp's classes that its headers declare and do not offer. An explicit instantiation may name them
// ([temp.spec.general]), so a roscpp whose headers differ does not compile.
#pragma once

#include <ros/connection_manager.h>
#include <ros/publisher_link.h>
#include <ros/single_subscriber_publisher.h>
#include <ros/subscriber_link.h>
#include <ros/subscription.h>
#include <ros/topic_manager.h>
#include <ros/transport/transport_tcp.h>

#include <list>
#include <set>
#include <vector>

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

struct LinksOfSubscription {
  using Type = std::vector<ros::PublisherLinkPtr> ros::Subscription::*;
  friend constexpr Type member_of(LinksOfSubscription);
};
template struct Reveal<LinksOfSubscription, &ros::Subscription::publisher_links_>;

struct LinksMutexOfSubscription {
  using Type = boost::mutex ros::Subscription::*;
  friend constexpr Type member_of(LinksMutexOfSubscription);
};
template struct Reveal<LinksMutexOfSubscription, &ros::Subscription::publisher_links_mutex_>;

struct HeaderOfLink {
  using Type = ros::Header ros::PublisherLink::*;
  friend constexpr Type member_of(HeaderOfLink);
};
template struct Reveal<HeaderOfLink, &ros::PublisherLink::header_>;

struct ConnectionsOfManager {
  using Type = std::set<ros::ConnectionPtr> ros::ConnectionManager::*;
  friend constexpr Type member_of(ConnectionsOfManager);
};
template struct Reveal<ConnectionsOfManager, &ros::ConnectionManager::connections_>;

struct ConnectionsMutexOfManager {
  using Type = boost::mutex ros::ConnectionManager::*;
  friend constexpr Type member_of(ConnectionsMutexOfManager);
};
template struct Reveal<ConnectionsMutexOfManager, &ros::ConnectionManager::connections_mutex_>;

struct SocketOfTransport {
  using Type = ros::socket_fd_t ros::TransportTCP::*;
  friend constexpr Type member_of(SocketOfTransport);
};
template struct Reveal<SocketOfTransport, &ros::TransportTCP::sock_>;

struct ClosedOfTransport {
  using Type = bool ros::TransportTCP::*;
  friend constexpr Type member_of(ClosedOfTransport);
};
template struct Reveal<ClosedOfTransport, &ros::TransportTCP::closed_>;

}  // namespace baton::ros1::detail
