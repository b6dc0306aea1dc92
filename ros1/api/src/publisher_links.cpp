// SPDX-License-Identifier: Apache-2.0
#include "publisher_links.hpp"

#include <algorithm>
#include <iterator>

namespace baton::ros1::detail {
namespace {

/// std::map and std::set have no erase_if before C++20.
template <class Container, class Which>
void erase_if(Container& all, const Which& which) {
  for (auto each = all.begin(); each != all.end();) each = which(*each) ? all.erase(each) : std::next(each);
}

template <class Links>
auto known(Links& among, const ros::SubscriberLinkPtr& link) {
  const auto found =
      std::find_if(among.begin(), among.end(), [&](const SubscriberLink& each) { return each.link == link; });
  return found == among.end() ? nullptr : &*found;
}

/// The process's link; null: it has none of these.
template <class Links>
auto link_of(Links& among, const Process& process) {
  const auto found =
      std::find_if(among.begin(), among.end(), [&](const SubscriberLink& each) { return each.process == process; });
  return found == among.end() ? nullptr : &*found;
}

bool contains(const std::vector<ros::SubscriberLinkPtr>& links, const SubscriberLink& link) {
  return std::find(links.begin(), links.end(), link.link) != links.end();
}

}  // namespace

bool PublisherLinks::is_among(const Gids& gids, const transport::Gid& gid) {
  return std::find(gids.begin(), gids.end(), gid) != gids.end();
}

// --- what is there ---

bool PublisherLinks::add(Topic topic, SubscriberLink& added) {
  Links& own = topic == Topic::kOrdinary ? links_ : topic == Topic::kSide ? sides_ : onlookers_;
  identify(added);
  if (known(own, added.link) != nullptr) return false;
  own.push_back(added);
  return true;
}

void PublisherLinks::remove(const ros::SubscriberLinkPtr& gone) {
  for (Links* const each : {&links_, &sides_, &onlookers_})
    erase_if(*each, [&](const SubscriberLink& link) { return link.link == gone; });
  drop_early([this](const Process& process) { return link_of(links_, process) == nullptr; });
}

void PublisherLinks::set_processes(Processes now) {
  processes_ = std::move(now);
  erase_if(without_link_, [this](const Process& each) { return processes_.count(each) == 0; });
  if (!last_.handed.empty()) {
    // Subscriptions may come and leave without end while no newer message comes.
    std::set<transport::Gid> there;
    for (const auto& [process, subscriptions] : processes_)
      there.insert(subscriptions.readers.begin(), subscriptions.readers.end());
    erase_if(last_.handed, [&](const transport::Gid& each) { return there.count(each) == 0; });
  }
  for (Links* const links : {&links_, &sides_})
    for (SubscriberLink& each : *links) identify(each);
  // For the subscriptions that it has now, not for later ones.
  drop_early([this](const Process& process) {
    const auto found = processes_.find(process);
    return found == processes_.end() || found->second.by_handle == 0;
  });
}

void PublisherLinks::identify(SubscriberLink& link) const {
  link.process.reset();
  for (const auto& [process, subscriptions] : processes_) {
    if (!link.peer->is(process)) continue;
    link.process = process;
    if (link.peer->surely(process)) return;
  }
}

SubscriberLink* PublisherLinks::find(const ros::SubscriberLinkPtr& link) { return known(links_, link); }

PublisherSide::Subscribers PublisherLinks::count(const Gids& matched) const {
  PublisherSide::Subscribers out;
  for (const auto& [process, subscriptions] : processes_) {
    auto own = static_cast<std::size_t>(
        std::count_if(subscriptions.readers.begin(), subscriptions.readers.end(),
                      [&](const transport::Gid& reader) { return is_among(matched, reader); }));
    // Which of a process's readers are in mode tzc is not known, but how many.
    if (mode_ == Mode::kTzc) own -= std::min(own, subscriptions.by_handle);
    out.own += static_cast<std::uint32_t>(own);
  }
  out.serialized = static_cast<std::uint32_t>(unserved(matched).size());
  for (const SubscriberLink& each : sides_) out.handles += gets_handles(each);
  return out;
}

// --- what Baton is to meet ---

bool PublisherLinks::misses_links(const Gids& matched, bool gives_up) {
  bool misses = false;
  for (const auto& [process, subscriptions] : processes_) {
    const bool served = std::any_of(subscriptions.readers.begin(), subscriptions.readers.end(),
                                    [&](const transport::Gid& each) { return is_among(matched, each); });
    if (!served || link_of(links_, process) != nullptr || without_link_.count(process) != 0) continue;
    misses = true;
    if (gives_up) without_link_.insert(process);
  }
  return misses;
}

const ProcessSubscriptions* PublisherLinks::of(const SubscriberLink& link) const {
  const auto found = link.process ? processes_.find(*link.process) : processes_.end();
  return found == processes_.end() ? nullptr : &found->second;
}

bool PublisherLinks::has_own(const SubscriberLink& link) const {
  const ProcessSubscriptions* const found = of(link);
  return found != nullptr && !found->readers.empty();
}

bool PublisherLinks::all_among(const SubscriberLink& link, const Gids& matched) const {
  return has_own(link) && std::all_of(of(link)->readers.begin(), of(link)->readers.end(),
                                      [&](const transport::Gid& reader) { return is_among(matched, reader); });
}

// --- ways of a message ---

bool PublisherLinks::gets_handles(const SubscriberLink& link) const {
  const ProcessSubscriptions* const found = of(link);
  return mode_ == Mode::kTzc && found != nullptr && found->by_handle > 0;
}

/// All subscriptions of the process get handles, so its link of the ordinary topic stays unused.
bool PublisherLinks::handles_alone(const SubscriberLink& link) const {
  return gets_handles(link) && !of(link)->stock && of(link)->by_handle >= of(link)->readers.size();
}

/// Baton serves everybody in the link's process.
bool PublisherLinks::is_served(const SubscriberLink& link, const Gids& matched) const {
  return all_among(link, matched) && !of(link)->stock;
}

/// The links whose process gets this message from nobody else.
std::vector<ros::SubscriberLinkPtr> PublisherLinks::unserved(const Gids& matched) const {
  std::vector<ros::SubscriberLinkPtr> out;
  for (const SubscriberLink& each : links_)
    if (!handles_alone(each) && !is_served(each, matched)) out.push_back(each.link);
  return out;
}

PublisherLinks::Ways PublisherLinks::ways(const Gids& served) const {
  Ways out;
  // A latched message stays with roscpp, for subscriptions that come later: its bytes, not a place in a queue.
  const auto wants_bytes = [&](const SubscriberLink& each) { return latch_ || !all_among(each, served); };
  for (const SubscriberLink& each : sides_)
    if (gets_handles(each)) (wants_bytes(each) ? out.here : out.there).push_back(each.link);
  for (const SubscriberLink& each : onlookers_) out.there.push_back(each.link);
  out.bytes = unserved(served);
  for (const SubscriberLink& each : links_) {
    if (contains(out.bytes, each) || !gets_handles(each) || link_of(sides_, *each.process) != nullptr) continue;
    (wants_bytes(each) ? out.early_here : out.early_there).insert(*each.process);
  }
  return out;
}

bool PublisherLinks::serves_all(const Gids& matched) const {
  return std::all_of(links_.begin(), links_.end(),
                     [&](const SubscriberLink& each) { return is_served(each, matched); }) &&
         std::all_of(sides_.begin(), sides_.end(),
                     [&](const SubscriberLink& each) { return !gets_handles(each) || all_among(each, matched); });
}

PublisherLinks::OneWay PublisherLinks::one_way(const SubscriberLink& to, const Gids& matched) const {
  OneWay out;
  if (const ProcessSubscriptions* const found = of(to)) {
    std::copy_if(found->readers.begin(), found->readers.end(), std::back_inserter(out.readers),
                 [&](const transport::Gid& reader) { return is_among(matched, reader); });
  }
  out.bytes = !is_served(to, matched);
  if (handles_alone(to) && !out.readers.empty()) {
    out.readers.resize(1);  // its number is the handle's, and the handle brings the bytes to the others
    out.bytes = false;
  }
  out.trailed = out.readers.empty() && gets_handles(to);  // no handle names it
  return out;
}

bool PublisherLinks::some_have_own() const {
  return std::any_of(links_.begin(), links_.end(), [&](const SubscriberLink& each) { return has_own(each); });
}

PublisherLinks::Writes PublisherLinks::by_bytes(const ros::SerializedMessage& message,
                                                const ros::SerializedMessage& trailed) const {
  Writes out;
  for (const SubscriberLink& each : links_) out.emplace_back(each.link, has_own(each) ? trailed : message);
  return out;
}

// --- handles that wait for a link ---

template <class Which>
void PublisherLinks::drop_early(const Which& which) {
  erase_if(early_, [&](const auto& each) { return which(each.first); });
}

void PublisherLinks::keep_early(const Process& process, const ros::SerializedMessage& handle) {
  const SubscriberLink* const link = link_of(links_, process);
  if (link == nullptr || !gets_handles(*link)) return;  // it has gone since the ways were chosen
  std::deque<ros::SerializedMessage>& kept = early_[process];
  kept.push_back(handle);
  if (kept.size() > most_early_) kept.pop_front();  // as roscpp's queues do
}

void PublisherLinks::keep_early(const Ways& ways, const ros::SerializedMessage& there,
                                const ros::SerializedMessage& here) {
  // What waits for a process that gets the bytes would come after messages that are newer.
  for (const SubscriberLink& each : links_)
    if (each.process && contains(ways.bytes, each)) early_.erase(*each.process);
  for (const Process& each : ways.early_there) keep_early(each, there);
  for (const Process& each : ways.early_here) keep_early(each, here);
}

PublisherLinks::Writes PublisherLinks::take_early() {
  Writes out;
  erase_if(early_, [&](auto& each) {
    SubscriberLink* const side = link_of(sides_, each.first);
    if (side == nullptr) return false;
    side->got_last = false;
    for (ros::SerializedMessage& handle : each.second) {
      side->got_last = side->got_last || (latch_ && handle.buf == last_.handle.buf);
      out.emplace_back(side->link, std::move(handle));
    }
    return true;
  });
  return out;
}

PublisherLinks::Writes PublisherLinks::handles_of_own(const SubscriberLink& to, const ros::SerializedMessage& handle) {
  SubscriberLink* const side = link_of(sides_, *to.process);
  const bool has_last = to.got_last || (side != nullptr ? side->got_last : early_.count(*to.process) != 0);
  std::vector<ros::SerializedMessage> handles;
  if (last_.handle.buf && !has_last) handles.push_back(last_.handle);
  handles.push_back(handle);
  Writes out;
  for (const ros::SerializedMessage& each : handles) {
    if (side == nullptr) {
      keep_early(*to.process, each);
    } else {
      out.emplace_back(side->link, each);
    }
  }
  if (side != nullptr && last_.handle.buf) side->got_last = true;
  return out;
}

// --- the latched message ---

void PublisherLinks::set_latched(Latched now, const std::vector<ros::SubscriberLinkPtr>& given) {
  last_ = std::move(now);
  for (Links* const links : {&links_, &sides_})
    for (SubscriberLink& each : *links) each.got_last = contains(given, each);
}

PublisherLinks::Writes PublisherLinks::latched_for(const SubscriberLink& added) {
  Writes out;
  const auto is_of_added = [&](const SubscriberLink& each) {
    return each.link == added.link || (added.process && each.process == added.process);
  };
  // A process whose mode was not known yet has it by the other way.
  const bool elsewhere = handles_alone(added) &&
                         std::any_of(links_.begin(), links_.end(),
                                     [&](const SubscriberLink& each) { return is_of_added(each) && each.got_last; });
  for (SubscriberLink& each : sides_) {
    if (!is_of_added(each) || each.got_last || !gets_handles(added) || elsewhere || last_.by_bytes) continue;
    each.got_last = true;
    out.emplace_back(each.link, last_.handle);
  }
  for (SubscriberLink& each : links_) {
    const bool has_it = each.got_last || is_served(each, last_.handed);  // by Baton, and nobody else there
    if (!is_of_added(each) || has_it || (handles_alone(each) && !last_.by_bytes)) continue;
    each.got_last = true;
    out.emplace_back(each.link, last_.by_bytes && has_own(each) ? last_.trailed : last_.message);
  }
  return out;
}

}  // namespace baton::ros1::detail
