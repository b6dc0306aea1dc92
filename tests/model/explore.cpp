// SPDX-License-Identifier: Apache-2.0
// The search: when two states count as the same, and the loop over executions.
#include <algorithm>
#include <chrono>

#include "engine.hpp"
#include "hasher.hpp"

namespace baton::model {

StateKey World::digest() const {
  Hasher h;
  View floor;  // stores that no live thread can read any more do not count
  floor.seen.fill(255);
  for (int i = 0; i < thread_count_; ++i) {
    const Thread& t = threads_[static_cast<std::size_t>(i)];
    if (t.status == Status::kFinished) continue;
    for (int x = 0; x < location_count_; ++x) {
      floor.seen[static_cast<std::size_t>(x)] =
          std::min(floor.seen[static_cast<std::size_t>(x)], t.current.seen[static_cast<std::size_t>(x)]);
    }
  }
  const auto add_view = [&](const View& view) {
    h.add_bytes(view.clock.data(), sizeof(view.clock[0]) * static_cast<std::size_t>(thread_count_));
    View clipped = view;
    for (int x = 0; x < location_count_; ++x) {
      clipped.seen[static_cast<std::size_t>(x)] =
          std::max(view.seen[static_cast<std::size_t>(x)], floor.seen[static_cast<std::size_t>(x)]);
    }
    h.add_bytes(clipped.seen.data(), static_cast<std::size_t>(location_count_));
  };
  h.add(dead_ | (static_cast<std::uint64_t>(kills_left_) << 8) |
        (static_cast<std::uint64_t>(static_cast<unsigned>(preemptions_left_)) << 16));
  if (preemptions_left_ >= 0) h.add(static_cast<std::uint64_t>(last_running_));
  for (int i = 0; i < thread_count_; ++i) {
    const Thread& t = threads_[static_cast<std::size_t>(i)];
    h.add(static_cast<std::uint64_t>(t.status) | static_cast<std::uint64_t>(t.block) << 8 |
          static_cast<std::uint64_t>(t.block_on) << 16);
    h.add(t.history[0]);
    h.add(t.history[1]);
    if (t.status == Status::kFinished) continue;
    add_view(t.current);
    if (t.status == Status::kDead) continue;
    View acquired = t.acquired;  // matters only together with the thread's present knowledge
    acquired.join(t.current);
    add_view(acquired);
    add_view(t.released);
    for (int x = 0; x < location_count_; ++x) {
      if (!locations_[static_cast<std::size_t>(x)].seqlock) continue;
      h.add(t.read_stamp[static_cast<std::size_t>(x)] |
            static_cast<std::uint64_t>(t.read_index[static_cast<std::size_t>(x)]) << 16);
    }
  }
  for (int x = 0; x < location_count_; ++x) {
    const Location& l = locations_[static_cast<std::size_t>(x)];
    h.add(l.stores.size());
    for (std::size_t i = floor.seen[static_cast<std::size_t>(x)]; i < l.stores.size(); ++i) {
      h.add(l.stores[i].value);
      add_view(l.stores[i].message);
    }
    h.add_bytes(l.confirmed.data(), sizeof(l.confirmed[0]) * static_cast<std::size_t>(thread_count_));
  }
  add_view(sc_view_);
  for (const Data& d : data_) {
    h.add(static_cast<std::uint64_t>(d.writer) << 32 | d.write_stamp);
    h.add_bytes(d.read_stamp.data(), sizeof(d.read_stamp[0]) * static_cast<std::size_t>(thread_count_));
  }
  for (std::uint32_t d : descriptors_) h.add(d);
  for (const Mutex& m : mutexes_) {
    h.add(static_cast<std::uint64_t>(m.owner));
    add_view(m.view);
  }
  return {h.a, h.b};
}

Report explore(const std::function<std::unique_ptr<Scenario>()>& make, const Options& options) {
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  Report report;
  World world(options);
  const auto run_once = [&] {
    world.reset();
    World::current_ = &world;
    std::unique_ptr<Scenario> scenario = make();
    try {
      world.run(*scenario);
    } catch (const std::string&) {  // fail() outside a simulated thread
    }
  };
  do {
    run_once();
    ++report.executions;
    if (!world.violation_.empty()) {
      report.violation = world.violation_;
      report.states = world.visited_.size();
      world.visited_.clear();  // the same choices once more, with a log of the steps
      world.tracing_ = true;
      run_once();
      report.trace = world.trace_;
      break;
    }
    if (report.executions >= options.max_executions ||
        ((report.executions & 255U) == 0 && seconds() > options.max_seconds))
      break;
  } while (world.backtrack());
  report.complete = report.violation.empty() && world.choices_.empty();
  report.states = std::max<std::uint64_t>(report.states, world.visited_.size());
  report.steps = world.steps_;
  report.seconds = seconds();
  World::current_ = nullptr;
  return report;
}

}  // namespace baton::model
