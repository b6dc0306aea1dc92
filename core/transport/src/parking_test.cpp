// SPDX-License-Identifier: Apache-2.0
// The rules of parking and of the ring in a model of whole processes: links are pairs of queues, and the next step is any that may come.
// Every interleaving of two processes, and random ones of many that join, send, park and die. The hub drives the same Acquaintance and
// neighbours() with sockets (hub_parking_test.cpp).
#include "parking.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <unordered_set>

#include "handshake.hpp"

namespace baton::transport {
namespace {

using Phase = Acquaintance::Phase;

ProcessId id_of(int number) {
  ProcessId id{};
  id[0] = static_cast<std::uint8_t>(number + 1);
  return id;
}

struct Packet {
  enum Kind : char {
    kHello = 'h',
    kAnswer = 'a',
    kFrame = 'f',
    kPark = 'p',
    kKeep = 'k',
    kParked = 'b',
    kRefused = 'r'
  } kind;
  FrameCounts counts{};      // kHello, kAnswer
  std::uint64_t number = 0;  // kFrame: of its sender, kPark: received
};

struct ModelLink {
  int from = 0, to = 0;           // opened by `from`
  std::deque<Packet> packets[2];  // towards `from`, towards `to`
  bool open[2] = {true, true};    // the end of `from`, of `to`
  int other(int process) const { return process == from ? to : from; }
  int end_of(int process) const { return process == from ? 0 : 1; }
};

/// What a process knows of another.
struct Peer {
  bool met = false;        // in the graph
  bool watched = false;    // a neighbour
  bool suspected = false;  // called gone while a link could tell
  int link = -1;           // that is up
  int mine = -1;           // that this process opened and that is not answered
  bool retry = false;
  Acquaintance known;
  std::deque<std::uint64_t> waiting;  // frames
  std::uint64_t next_frame = 1, expected = 1;
};

struct Process {
  bool joined = false, dead = false;
  std::map<int, Peer> peers;
  std::set<int> ended;  // what it told, and tells newcomers
};

struct Told {
  int to = 0, ended = 0;
};

struct Budget {
  int sends = 0, asks = 0, deaths = 0;
  int ends = 0;  // of links, by a process that gives the other up although it lives
};

class World {
 public:
  World(int count, std::size_t reach, Budget budget)
      : processes(static_cast<std::size_t>(count)), reach_(reach), budget_(budget) {}

  /// Each possible step; run() does one.
  std::vector<std::function<void(World&)>> steps() const {
    std::vector<std::function<void(World&)>> all;
    for (int p = 0; p < size(); ++p) {
      const Process& process = at(p);
      if (process.dead) continue;
      if (!process.joined) {
        all.push_back([p](World& w) { w.join(p); });
        continue;
      }
      for (const auto& [q, peer] : process.peers) {
        const int other = q;
        if (peer.retry && peer.mine < 0) all.push_back([p, other](World& w) { w.connect(p, other); });
        if (!peer.met) continue;
        if (budget_.sends > 0 && !(far_only_ && peer.watched))
          all.push_back([p, other](World& w) { --w.budget_.sends, w.send(p, other); });
        if (budget_.asks > 0 && peer.link >= 0 && idle(peer) && peer.known.phase() == Phase::kOpen)
          all.push_back([p, other](World& w) { --w.budget_.asks, w.ask(p, other); });
        // A parked link ends so only if frames wait for a process that does not answer.
        if (budget_.ends > 0 && (peer.link >= 0 || !peer.waiting.empty()))
          all.push_back([p, other](World& w) { --w.budget_.ends, w.give_up(p, other); });
      }
      if (budget_.deaths > 0 && living() > 1) all.push_back([p](World& w) { --w.budget_.deaths, w.die(p); });
    }
    for (std::size_t l = 0; l < links.size(); ++l) {
      for (const int end : {0, 1}) {
        const ModelLink& link = links[l];
        const int receiver = end == 0 ? link.from : link.to;
        if (at(receiver).dead || !link.open[end]) continue;
        if (unread_.count({static_cast<int>(l), end}) != 0) {
          all.push_back([l, receiver](World& w) { w.close(static_cast<int>(l), receiver); });
          continue;
        }
        if (!link.packets[end].empty() || !link.open[1 - end]) all.push_back([l, end](World& w) { w.receive(l, end); });
      }
    }
    for (std::size_t t = 0; t < told.size(); ++t) all.push_back([t](World& w) { w.hear(t); });
    return all;
  }

  /// `far_only`: neighbours send each other nothing.
  void allow(Budget budget, bool far_only = false) {
    budget_ = budget;
    far_only_ = far_only;
  }
  int parked() const {
    int found = 0;
    for (const Process& process : processes)
      for (const auto& [q, peer] : process.peers) found += peer.met && peer.known.phase() == Phase::kParked;
    return found;
  }

  /// Nothing happens any more: every promise holds.
  std::string judge() const {
    for (int p = 0; p < size(); ++p) {
      const Process& process = at(p);
      if (process.dead) continue;
      for (int q = 0; q < size(); ++q) {
        if (p == q) continue;
        const auto found = process.peers.find(q);
        const bool met = found != process.peers.end() && found->second.met;
        if (at(q).dead && met) return "the dead " + std::to_string(q) + " is in the graph of " + std::to_string(p);
        if (!at(q).dead && !met) return std::to_string(p) + " does not know the living " + std::to_string(q);
        if (at(q).dead) continue;
        if (!found->second.waiting.empty()) return "a frame waits for ever";
        if (found->second.next_frame != at(q).peers.at(p).expected) return "a frame is lost";
      }
    }
    return fault;
  }

  /// Equal for worlds that go on equally: links that both ends have closed are left out, and numbers of frames count from the oldest.
  std::string key() const {
    std::string key;
    const auto add = [&key](std::uint64_t value) { key += std::to_string(value) + ","; };
    std::vector<int> place(links.size() + 1, 0);  // of link l at l + 1
    int live = 0;
    for (std::size_t l = 0; l < links.size(); ++l)
      if (links[l].open[0] || links[l].open[1]) place[l + 1] = ++live;
    for (const Process& process : processes) {
      add(process.joined + 2U * process.dead);
      for (const int ended : process.ended) add(static_cast<std::uint64_t>(ended));
      for (const auto& [q, peer] : process.peers) {
        add(static_cast<std::uint64_t>(q));
        add(peer.met + 2U * peer.watched + 4U * peer.retry + 8U * static_cast<unsigned>(peer.known.phase()) +
            32U * peer.suspected);
        add(static_cast<std::uint64_t>(place[static_cast<std::size_t>(peer.link + 1)]));
        add(static_cast<std::uint64_t>(place[static_cast<std::size_t>(peer.mine + 1)]));
        add(peer.known.counts().sent), add(peer.known.counts().received), add(peer.waiting.size());
      }
      key += ";";
    }
    for (const ModelLink& link : links) {
      if (!link.open[0] && !link.open[1]) continue;
      add(static_cast<std::uint64_t>(link.from * 8 + link.to));
      for (const int end : {0, 1}) {
        key += link.open[end] ? "o" : "c";
        if (!link.open[end]) continue;  // it reads nothing
        for (const Packet& packet : link.packets[end]) {
          key += packet.kind;
          add(packet.number), add(packet.counts.sent), add(packet.counts.received);
        }
      }
    }
    for (const Told& each : told) add(static_cast<std::uint64_t>(each.to * 8 + each.ended));
    for (const auto& [p, q] : given_up_) add(static_cast<std::uint64_t>(p * 8 + q));
    for (const auto& [l, end] : unread_)
      if (links[static_cast<std::size_t>(l)].open[end])
        add(static_cast<std::uint64_t>(place[static_cast<std::size_t>(l + 1)] * 2 + end));
    return key + std::to_string(((budget_.sends * 100 + budget_.asks) * 100 + budget_.deaths) * 100 + budget_.ends) +
           fault;
  }

  std::vector<Process> processes;
  std::vector<ModelLink> links;
  std::vector<Told> told;
  std::string fault;

 private:
  int size() const { return static_cast<int>(processes.size()); }
  int living() const {
    return static_cast<int>(
        std::count_if(processes.begin(), processes.end(), [](const Process& p) { return !p.dead; }));
  }
  const Process& at(int p) const { return processes[static_cast<std::size_t>(p)]; }
  Process& at(int p) { return processes[static_cast<std::size_t>(p)]; }
  ModelLink& link_at(int l) { return links[static_cast<std::size_t>(l)]; }
  bool idle(const Peer& peer) const { return !peer.watched && peer.waiting.empty(); }

  void join(int p) {
    at(p).joined = true;
    for (int q = 0; q < size(); ++q)
      if (q != p && at(q).joined) connect(p, q);  // a dead one's name refuses
  }
  void die(int p) {
    at(p).dead = true;
    at(p).joined = true;
    for (ModelLink& link : links)
      if (link.from == p || link.to == p) link.open[link.end_of(p)] = false;
    told.erase(std::remove_if(told.begin(), told.end(), [p](const Told& each) { return each.to == p; }), told.end());
  }
  void put(int l, int sender, const Packet& packet) {
    ModelLink& link = link_at(l);
    if (link.open[1 - link.end_of(sender)]) link.packets[1 - link.end_of(sender)].push_back(packet);
  }
  void close(int l, int p) { link_at(l).open[link_at(l).end_of(p)] = false; }

  void connect(int p, int q) {
    Peer& peer = at(p).peers[q];
    peer.retry = false;
    if (peer.mine >= 0 || (peer.met && peer.known.phase() != Phase::kParked)) return;
    if (at(q).dead) {
      met_its_end(p, q);
      return;
    }
    links.push_back({});
    peer.mine = static_cast<int>(links.size()) - 1;
    links.back().from = p, links.back().to = q;
    put(peer.mine, p, {Packet::kHello, peer.met ? peer.known.counts() : FrameCounts{}, 0});
  }
  /// `p` ends its link to `q` without PARK: too much waits, or there is no memory.
  void give_up(int p, int q) {
    Peer& peer = at(p).peers[q];
    given_up_.insert({std::min(p, q), std::max(p, q)});
    // At once, or after a while: the other may have parked the link or given it up as well, and then does not come back.
    peer.retry = true;
    // It reads no more. The other sees the end later: between this process's look and its close, or while samples are held.
    if (peer.link >= 0) unread_.insert({peer.link, link_at(peer.link).end_of(p)});
    forget(p, q);
  }
  /// The other may live: both begin anew when they meet again.
  void forget(int p, int q) {
    Peer& peer = at(p).peers[q];
    peer.met = false;
    peer.link = -1;
    peer.known = Acquaintance();
    peer.waiting.clear();
    update_ring(p);
  }
  void met_its_end(int p, int q) {
    const bool tell = at(p).peers[q].watched;
    if (!at(q).dead) fault = "a living process leaves a graph";
    at(p).peers.erase(q);
    update_ring(p);
    if (!tell) return;
    at(p).ended.insert(q);
    for (const auto& [other, peer] : at(p).peers)
      if (peer.met) tell_one(other, q);
  }
  void tell_one(int to, int ended) {
    if (!at(to).dead) told.push_back({to, ended});
  }
  void hear(std::size_t t) {
    const Told news = told[t];
    told.erase(told.begin() + static_cast<std::ptrdiff_t>(t));
    const auto found = at(news.to).peers.find(news.ended);
    if (found == at(news.to).peers.end()) return;
    if (found->second.met && found->second.known.phase() == Phase::kParked) {
      connect(news.to, news.ended);
    } else {
      found->second.suspected = true;
    }
  }
  void update_ring(int p) {
    std::vector<ProcessId> met;
    for (const auto& [q, peer] : at(p).peers)
      if (peer.met) met.push_back(id_of(q));
    const std::vector<ProcessId> now = neighbours(id_of(p), met, reach_);
    std::vector<int> opens;
    for (auto& [q, peer] : at(p).peers) {
      if (!peer.met) continue;
      peer.watched = std::find(now.begin(), now.end(), id_of(q)) != now.end();
      if (peer.watched && peer.known.phase() == Phase::kParked) peer.retry = true;
    }
  }
  void go_up(int p, int q, int l, bool goes_on) {
    Peer& peer = at(p).peers[q];
    if (peer.mine == l) peer.mine = -1;
    peer.link = l;
    peer.retry = false;
    if (goes_on) {
      peer.known.reopened();
    } else {
      if (peer.met && given_up_.count({std::min(p, q), std::max(p, q)}) == 0) fault = "two that met begin anew";
      peer.known = Acquaintance();
      peer.met = true;
      peer.waiting.clear();
      peer.next_frame = peer.expected = 1;
      for (const int ended : at(p).ended) tell_one(q, ended);
    }
    update_ring(p);
    flush(p, q);
  }
  void send(int p, int q) {
    Peer& peer = at(p).peers[q];
    peer.waiting.push_back(peer.next_frame++);
    flush(p, q);
    if (peer.known.phase() == Phase::kParked) peer.retry = true;
  }
  void flush(int p, int q) {
    Peer& peer = at(p).peers[q];
    while (peer.known.phase() == Phase::kOpen && peer.link >= 0 && !peer.waiting.empty()) {
      put(peer.link, p, {Packet::kFrame, {}, peer.waiting.front()});
      peer.known.frame_sent();
      peer.waiting.pop_front();
    }
  }
  void ask(int p, int q) {
    Peer& peer = at(p).peers[q];
    put(peer.link, p, {Packet::kPark, {}, peer.known.counts().received});
    peer.known.ask();
  }
  void park(int p, int q) {
    Peer& peer = at(p).peers[q];
    close(peer.link, p);
    peer.link = -1;
    peer.retry = peer.watched || !peer.waiting.empty() || peer.suspected;
    peer.suspected = false;
  }
  void receive(std::size_t l, int end) {
    ModelLink& link = links[l];
    const int p = end == 0 ? link.from : link.to;
    const int q = link.other(p);
    const int number = static_cast<int>(l);
    // Or PARK of a process that is dead. One that has parked the link has been asked.
    if (link.packets[end].empty() || (link.packets[end].front().kind == Packet::kPark && !link.open[1 - end] &&
                                      at(p).peers[q].known.phase() == Phase::kOpen)) {  // end of file
      close(number, p);
      const auto found = at(p).peers.find(q);
      if (found == at(p).peers.end()) return;
      Peer& peer = found->second;
      if (peer.mine == number) {
        peer.mine = -1;
        peer.retry = true;
      } else if (peer.link == number) {
        if (at(q).dead) {
          met_its_end(p, q);
          return;
        }
        if (given_up_.count({std::min(p, q), std::max(p, q)}) == 0) fault = "a link ends although both live";
        forget(p, q);
        peer.retry = true;
      }
      return;
    }
    const Packet packet = link.packets[end].front();
    link.packets[end].pop_front();
    Peer& peer = at(p).peers[q];
    switch (packet.kind) {
      case Packet::kHello: {
        while (peer.link >= 0 && peer.known.phase() == Phase::kAsked &&
               !link_at(peer.link).packets[link_at(peer.link).end_of(p)].empty())
          receive(static_cast<std::size_t>(peer.link), link_at(peer.link).end_of(p));
        if (peer.met && peer.known.phase() == Phase::kParked && !link_at(number).open[1 - end]) {
          close(number, p);  // of a time before the link was parked
          return;
        }
        const bool up = peer.met && peer.link >= 0;
        const Arrival arrival = judge_arrival(id_of(p), id_of(q), up, peer.mine >= 0);
        if (arrival == Arrival::kRefuse) {
          put(number, p, {Packet::kRefused, {}, 0});
          close(number, p);
          return;
        }
        if (arrival == Arrival::kAcceptInsteadOfMine) {
          close(peer.mine, p);
          peer.mine = -1;
        }
        const bool goes_on = peer.met && peer.known.continues(packet.counts);
        put(number, p, {Packet::kAnswer, goes_on ? peer.known.counts() : FrameCounts{}, 0});
        go_up(p, q, number, goes_on);
        return;
      }
      case Packet::kAnswer:
        if (peer.mine != number) return;
        if (!peer.met && !(packet.counts == FrameCounts{})) {  // the other goes on with what this process has given up
          peer.mine = -1;
          put(number, p, {Packet::kRefused, {}, 0});
          close(number, p);
          return;
        }
        go_up(p, q, number, peer.met && peer.known.continues(packet.counts));
        return;
      case Packet::kRefused:
        close(number, p);
        if (peer.link == number) {
          forget(p, q);
          peer.retry = true;
          return;
        }
        if (peer.mine != number) return;
        peer.mine = -1;
        peer.retry = peer.link < 0;
        return;
      case Packet::kFrame:
        peer.known.frame_received();
        if (packet.number != peer.expected++) fault = "a frame is out of order";
        return;
      case Packet::kPark:
        if (peer.known.agrees(packet.number, idle(peer))) {
          put(number, p, {Packet::kParked, {}, 0});
          park(p, q);
        } else {
          put(number, p, {Packet::kKeep, {}, 0});
        }
        return;
      case Packet::kKeep:
        if (!peer.known.kept()) fault = "KEEP unasked";
        flush(p, q);
        return;
      case Packet::kParked:
        if (!peer.known.parked()) fault = "parked unasked";
        park(p, q);
        return;
    }
  }

  std::size_t reach_;
  std::set<std::pair<int, int>> given_up_;  // processes whose link was ended
  std::set<std::pair<int, int>> unread_;    // ends of links that were given up
  Budget budget_;
  bool far_only_ = false;
};

/// Visits every state that two processes can reach; the first fault found, or nothing.
std::string explore(const World& start, std::size_t& states) {
  std::unordered_set<std::string> seen;
  std::vector<World> open{start};
  while (!open.empty()) {
    const World world = std::move(open.back());
    open.pop_back();
    if (!seen.insert(world.key()).second) continue;
    if (!world.fault.empty()) return world.fault;
    const auto steps = world.steps();
    if (steps.empty()) {
      if (const std::string fault = world.judge(); !fault.empty()) return fault;
    }
    for (const auto& step : steps) {
      World next = world;
      step(next);
      open.push_back(std::move(next));
    }
  }
  states = seen.size();
  return "";
}

TEST(ParkingModel, EveryInterleavingOfTwoProcessesLosesNoFrame) {
  std::size_t states = 0;
  EXPECT_EQ(explore(World(2, 0, {3, 3, 0, 0}), states), "");
  EXPECT_GT(states, 1000U);
}

TEST(ParkingModel, EveryInterleavingOfTwoProcessesThatGiveEachOtherUpLetsThemMeetAgain) {
  std::size_t states = 0;
  EXPECT_EQ(explore(World(2, 0, {1, 2, 0, 2}), states), "");
  EXPECT_GT(states, 1000U);
}

TEST(ParkingModel, EveryInterleavingOfFourProcessesOfWhichOneDiesFindsTheDeath) {
  World world(4, 1, {0, 0, 0, 0});
  for (const int asks : {0, 4}) {  // first all meet
    world.allow({0, asks, 0, 0});
    for (auto steps = world.steps(); !steps.empty(); steps = world.steps()) steps.front()(world);
  }
  ASSERT_EQ(world.judge(), "");
  ASSERT_EQ(world.parked(), 4) << "each has one that is no neighbour";
  world.allow({1, 1, 1, 0}, true);
  std::size_t states = 0;
  EXPECT_EQ(explore(world, states), "");
  EXPECT_GT(states, 1000U);
}

TEST(ParkingModel, ManyProcessesThatJoinSendParkAndDieKeepTheirPromises) {
  for (unsigned seed = 0; seed < 4000; ++seed) {
    std::mt19937 random(seed);
    World world(4 + static_cast<int>(seed % 5), 1 + seed % 2,
                {12, 60, static_cast<int>(seed % 4), static_cast<int>(seed % 3)});
    for (auto steps = world.steps(); !steps.empty() && world.fault.empty(); steps = world.steps())
      steps[random() % steps.size()](world);
    ASSERT_EQ(world.judge(), "") << "seed " << seed;
  }
}

TEST(Ring, NeighboursAreTheNearestOnBothSides) {
  std::vector<ProcessId> others;
  for (const int number : {0, 1, 2, 3, 5, 6, 7, 8}) others.push_back(id_of(number));
  std::vector<ProcessId> found = neighbours(id_of(4), others);
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (std::vector<ProcessId>{id_of(2), id_of(3), id_of(5), id_of(6)}));
  others.erase(others.begin());
  others.insert(others.begin() + 3, id_of(4));
  found = neighbours(id_of(0), others);
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, (std::vector<ProcessId>{id_of(1), id_of(2), id_of(7), id_of(8)})) << "over the end of the ring";
  EXPECT_EQ(neighbours(id_of(0), {id_of(1), id_of(2)}).size(), 2U);
  // Whoever is a neighbour of another has that one as its neighbour.
  for (int one = 0; one < 9; ++one) {
    for (int other = 0; other < 9; ++other) {
      const auto of = [](int self) {
        std::vector<ProcessId> rest;
        for (int each = 0; each < 9; ++each)
          if (each != self) rest.push_back(id_of(each));
        return neighbours(id_of(self), rest);
      };
      const std::vector<ProcessId> of_one = of(one), of_other = of(other);
      EXPECT_EQ(std::count(of_one.begin(), of_one.end(), id_of(other)),
                std::count(of_other.begin(), of_other.end(), id_of(one)));
    }
  }
}

}  // namespace
}  // namespace baton::transport
