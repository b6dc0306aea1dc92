// SPDX-License-Identifier: Apache-2.0
// The checker itself against the classic litmus tests: for each program exactly the outcomes that C++20 allows are found (but for
// load buffering, which it leaves out: docs/concepts/memory-model.md).
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "model_platform.hpp"
#include "model_test.hpp"

namespace baton::model {
namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr auto kAcquire = std::memory_order_acquire;
constexpr auto kRelease = std::memory_order_release;

/// Up to four threads over x, y, z; each thread appends what it reads to its result.
struct Memory {
  Atomic<std::uint32_t> x{"x"}, y{"y"}, z{"z"};
  Data<std::uint64_t> data{"data"};
  std::vector<std::string> results;
};
using Body = std::function<void(Memory&, std::string&)>;

class Litmus : public Scenario {
 public:
  Litmus(std::vector<Body> bodies, std::set<std::string>* outcomes) : bodies_(std::move(bodies)), outcomes_(outcomes) {}
  void setup(World& world) override {
    memory_ = std::make_unique<Memory>();
    memory_->results.resize(bodies_.size());
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
      world.spawn(static_cast<int>(i), "thread", [this, i] { bodies_[i](*memory_, memory_->results[i]); });
    }
  }
  void finish(World&) override {
    std::string all;
    for (const std::string& result : memory_->results) all += result;
    outcomes_->insert(all);
  }

 private:
  std::vector<Body> bodies_;
  std::set<std::string>* outcomes_;
  std::unique_ptr<Memory> memory_;
};

using Outcomes = std::set<std::string>;

Outcomes outcomes(const std::vector<Body>& bodies, std::string* violation = nullptr) {
  Outcomes found;
  const Report report = explore([&] { return std::make_unique<Litmus>(bodies, &found); }, Options{});
  if (violation != nullptr)
    *violation = report.violation;
  else
    EXPECT_EQ(report.violation, "");
  return found;
}

void read(Atomic<std::uint32_t>& from, std::string& result, std::memory_order order = kRelaxed) {
  const std::uint32_t value = from.load(order);
  result += static_cast<char>('0' + value);
}

TEST(Litmus, StoreBufferingIsVisible) {
  EXPECT_EQ(outcomes({[](Memory& m, std::string& r) {
                        m.x.store(1, kRelease);
                        read(m.y, r, kAcquire);
                      },
                      [](Memory& m, std::string& r) {
                        m.y.store(1, kRelease);
                        read(m.x, r, kAcquire);
                      }}),
            (Outcomes{"00", "01", "10", "11"}));
}

TEST(Litmus, SeqCstFencesForbidStoreBuffering) {
  const auto fence = [] { ModelPlatform::fence_seq_cst(); };
  EXPECT_EQ(outcomes({[&](Memory& m, std::string& r) {
                        m.x.store(1, kRelaxed);
                        fence();
                        read(m.y, r);
                      },
                      [&](Memory& m, std::string& r) {
                        m.y.store(1, kRelaxed);
                        fence();
                        read(m.x, r);
                      }}),
            (Outcomes{"01", "10", "11"}));
  EXPECT_EQ(outcomes({[&](Memory& m, std::string& r) {
                        m.x.store(1, kRelaxed);
                        fence();
                        read(m.y, r);
                      },
                      [&](Memory& m, std::string& r) {
                        m.y.store(1, kRelaxed);
                        read(m.x, r);
                      }}),
            (Outcomes{"00", "01", "10", "11"}))
      << "one fence is not enough";
}

TEST(Litmus, MessagePassingNeedsReleaseAndAcquire) {
  const auto program = [](std::memory_order store, std::memory_order load) {
    return std::vector<Body>{[=](Memory& m, std::string&) {
                               m.x.store(1, kRelaxed);
                               m.y.store(1, store);
                             },
                             [=](Memory& m, std::string& r) {
                               read(m.y, r, load);
                               read(m.x, r);
                             }};
  };
  EXPECT_EQ(outcomes(program(kRelease, kAcquire)), (Outcomes{"00", "01", "11"}));
  EXPECT_EQ(outcomes(program(kRelaxed, kAcquire)), (Outcomes{"00", "01", "10", "11"}));
  EXPECT_EQ(outcomes(program(kRelease, kRelaxed)), (Outcomes{"00", "01", "10", "11"}));
}

TEST(Litmus, FencesMakeRelaxedMessagePassingWork) {
  const auto fence = [] { ModelPlatform::fence_seq_cst(); };
  EXPECT_EQ(outcomes({[&](Memory& m, std::string&) {
                        m.x.store(1, kRelaxed);
                        fence();
                        m.y.store(1, kRelaxed);
                      },
                      [&](Memory& m, std::string& r) {
                        read(m.y, r);
                        fence();
                        read(m.x, r);
                      }}),
            (Outcomes{"00", "01", "11"}));
}

TEST(Litmus, AReleaseSequenceContinuesThroughReadModifyWrites) {
  const auto found = outcomes({[](Memory& m, std::string&) {
                                 m.x.store(1, kRelaxed);
                                 m.y.fetch_add(1, kRelease);
                               },
                               [](Memory& m, std::string&) { m.y.fetch_add(2, kRelaxed); },
                               [](Memory& m, std::string& r) {
                                 read(m.y, r, kAcquire);
                                 read(m.x, r);
                               }});
  EXPECT_EQ(found, (Outcomes{"00", "01", "11", "20", "21", "31"}))
      << "reading 3 through the relaxed add still acquires x";
}

TEST(Litmus, ReadsOfOneLocationNeverGoBack) {
  EXPECT_EQ(outcomes({[](Memory& m, std::string&) {
                        m.x.store(1, kRelaxed);
                        m.x.store(2, kRelaxed);
                      },
                      [](Memory& m, std::string& r) {
                        read(m.x, r);
                        read(m.x, r);
                      }}),
            (Outcomes{"00", "01", "02", "11", "12", "22"}));
}

TEST(Litmus, IndependentReadersMayDisagreeUnlessTheyFence) {
  const auto program = [](bool fenced) {
    const auto fence = [=] {
      if (fenced) ModelPlatform::fence_seq_cst();
    };
    return std::vector<Body>{[](Memory& m, std::string&) { m.x.store(1, kRelaxed); },
                             [](Memory& m, std::string&) { m.y.store(1, kRelaxed); },
                             [=](Memory& m, std::string& r) {
                               read(m.x, r);
                               fence();
                               read(m.y, r);
                             },
                             [=](Memory& m, std::string& r) {
                               read(m.y, r);
                               fence();
                               read(m.x, r);
                             }};
  };
  EXPECT_EQ(outcomes(program(false)).count("1010"), 1U);
  EXPECT_EQ(outcomes(program(true)).count("1010"), 0U);
  EXPECT_EQ(outcomes(program(true)).size(), 15U);
}

TEST(Litmus, CausalityIsTransitive) {
  const auto found = outcomes({[](Memory& m, std::string&) {
                                 m.x.store(1, kRelaxed);
                                 m.y.store(1, kRelease);
                               },
                               [](Memory& m, std::string& r) {
                                 read(m.y, r, kAcquire);
                                 m.z.store(1, kRelease);
                               },
                               [](Memory& m, std::string& r) {
                                 read(m.z, r, kAcquire);
                                 read(m.x, r);
                               }});
  EXPECT_EQ(found.count("110"), 0U);
  EXPECT_EQ(found.count("010"), 1U) << "z was stored before y was seen";
}

TEST(Litmus, OnlyOneReadModifyWriteReadsEachValue) {
  const auto take = [](Memory& m, std::string& r) {
    std::uint32_t expected = 0;
    r += m.x.compare_exchange_strong(expected, 1, kRelaxed, kRelaxed) ? 'w' : 'l';
  };
  EXPECT_EQ(outcomes({take, take}), (Outcomes{"wl", "lw"}));
}

TEST(Litmus, RacesOnPlainDataAreFoundInWhateverOrderTheyRun) {
  std::string violation;
  outcomes({[](Memory& m, std::string&) {
              m.data.write(1);
              m.x.store(1, kRelaxed);
            },
            [](Memory& m, std::string&) {
              if (m.x.load(kAcquire) == 1) m.data.read();
            }},
           &violation);
  EXPECT_NE(violation.find("data race"), std::string::npos);
  outcomes({[](Memory& m, std::string&) {
              m.data.write(1);
              m.x.store(1, kRelease);
            },
            [](Memory& m, std::string&) {
              if (m.x.load(kAcquire) == 1) m.data.read();
            }},
           &violation);
  EXPECT_EQ(violation, "");
  outcomes({[](Memory& m, std::string&) {
              m.data.read();
              m.x.store(1, kRelaxed);
            },
            [](Memory& m, std::string&) {
              if (m.x.load(kAcquire) == 1) m.data.write(1);
            }},
           &violation);
  EXPECT_NE(violation.find("data race"), std::string::npos) << "a read that a later write does not wait for";
}

TEST(Litmus, LoadBufferingIsNotModelled) {
  // C++ allows "11"; the headers' two places where it would matter are covered by happens-before checks instead.
  EXPECT_EQ(outcomes({[](Memory& m, std::string& r) {
                        read(m.x, r);
                        m.y.store(1, kRelaxed);
                      },
                      [](Memory& m, std::string& r) {
                        read(m.y, r);
                        m.x.store(1, kRelaxed);
                      }}),
            (Outcomes{"00", "01", "10"}));
}

TEST(Litmus, StoresWhoseOrderIsOpenAreReported) {
  std::string violation;
  const Body write = [](Memory& m, std::string&) { m.x.store(1, kRelaxed); };
  outcomes({write, write}, &violation);
  EXPECT_NE(violation.find("unordered stores"), std::string::npos);
}

TEST(Litmus, AFutexComparesAndSleepsInOneStep) {
  const auto found = outcomes({[](Memory& m, std::string& r) {
                                 const std::uint32_t seen = m.x.load(kRelaxed);
                                 const World::Word word{m.x.id(), seen};
                                 if (seen == 0) World::current().futex_wait(&word, 1);
                                 r += 'w';
                               },
                               [](Memory& m, std::string&) {
                                 m.x.fetch_add(1, kRelaxed);
                                 World::current().futex_wake_all(m.x.id());
                               }});
  EXPECT_EQ(found, (Outcomes{"w"}));
  std::string violation;
  outcomes({[](Memory& m, std::string&) {
              const World::Word word{m.x.id(), 0};
              World::current().futex_wait(&word, 1);
            },
            [](Memory& m, std::string&) { m.x.fetch_add(1, kRelaxed); }},
           &violation);
  EXPECT_NE(violation.find("waits forever"), std::string::npos) << "nobody called wake";
}

}  // namespace
}  // namespace baton::model
