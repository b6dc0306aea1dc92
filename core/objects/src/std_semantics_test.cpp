// SPDX-License-Identifier: Apache-2.0
// What users of std's pointers, atomics and conditions expect beyond a pointer's life (pointers_test.cpp) and waiting (objects_test.cpp).
#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <thread>
#include <type_traits>
#include <unordered_set>

#include "baton/objects/condition_variable.hpp"
#include "baton/objects/mutex.hpp"
#include "baton/objects/queue.hpp"
#include "baton/objects/semaphore.hpp"
#include "baton/objects/shared_ptr.hpp"
#include "heap_test_support.hpp"

namespace baton::objects {
namespace {

struct Base {
  int base = 1;
};
struct Both : Base {
  int own = 2;
};
/// Another definition of the name that heap_test.cpp has, too.
struct Redefined {
  char more[100] = {};
};
struct Ended {
  ~Ended() { ++count; }
  static inline int count = 0;
};

}  // namespace
template <>
struct declared_shareable<Ended> : recoverable {};
namespace {

class SharedStd : public testing::Test {
 protected:
  Heap heap_ = new_heap();
};

// [util.smartptr.shared.const]
TEST_F(SharedStd, ASharedOfAWeakThatHasEndedThrows) {
  shared_ptr<Both> both = make_shared<Both>(heap_);
  const weak_ptr<Both> weak = both;
  EXPECT_EQ(shared_ptr<Base>(weak)->base, 1);
  both.reset();
  EXPECT_THROW(shared_ptr<Both>{weak}, std::bad_weak_ptr);
  EXPECT_THROW(shared_ptr<Both>{weak_ptr<Both>()}, std::bad_weak_ptr);
}

// [util.smartptr.shared.cast], aliasing, [util.smartptr.weak.const]
TEST_F(SharedStd, CastsAliasesAndWeakOnesShareTheOwner) {
  shared_ptr<const Both> fixed = make_shared<Both>(heap_);
  const shared_ptr<Both> both = const_pointer_cast<Both>(fixed);
  const shared_ptr<Base> base = both;
  EXPECT_EQ(static_pointer_cast<Both>(base), both);
  EXPECT_EQ(reinterpret_pointer_cast<int>(base).get(), &both->base);
  const shared_ptr<const int> own(std::move(fixed), &both->own);
  EXPECT_EQ(fixed, nullptr);
  EXPECT_EQ(*own, 2);
  EXPECT_EQ(both.use_count(), 3);
  const weak_ptr<Both> weak = both;
  const weak_ptr<Base> weak_base = weak;
  EXPECT_EQ(weak_base.lock(), both);
}

// [util.smartptr.shared.obs], [util.smartptr.weak.obs], [util.smartptr.ownerless]
TEST_F(SharedStd, OwnersOrderPointersAndWeakOnes) {
  const shared_ptr<Both> a = make_shared<Both>(heap_), b = make_shared<Both>(heap_);
  const shared_ptr<int> part(a, &b->own);
  EXPECT_FALSE(a.owner_before(part) || part.owner_before(a));
  EXPECT_NE(a.owner_before(b), b.owner_before(a));
  std::map<weak_ptr<Both>, int, std::owner_less<>> by_owner;
  by_owner[a] = 1;
  by_owner[b] = 2;
  EXPECT_EQ(by_owner.size(), 2U);
  EXPECT_EQ(by_owner.find(weak_ptr<Both>(b))->second, 2);
}

// [util.smartptr.shared.cmp], [unique.ptr.special], [util.smartptr.hash]
TEST_F(SharedStd, PointersAreOrderedSwappedAndHashedByAddress) {
  shared_ptr<Both> a = make_shared<Both>(heap_), b = make_shared<Both>(heap_);
  const bool less = std::less<void*>()(a.get(), b.get());
  EXPECT_EQ(a < b, less);
  EXPECT_EQ(a > b, !less);
  EXPECT_EQ(a <= b, less);
  EXPECT_EQ(a >= b, !less);
  EXPECT_TRUE(a <= a && a >= a);
  const unique_ptr<Both> one = make_unique<Both>(heap_), two = make_unique<Both>(heap_);
  EXPECT_NE(one < two, two < one);
  using std::swap;
  Both* const first = a.get();
  swap(a, b);
  EXPECT_EQ(b.get(), first);
  const std::unordered_set<shared_ptr<Both>> set{a, b, a};
  EXPECT_EQ(set.size(), 2U);
  EXPECT_EQ(std::hash<unique_ptr<Both>>()(one), std::hash<Both*>()(one.get()));
}

// [util.smartptr.weak.obs]
TEST_F(SharedStd, ExpiredAsksAndEndsNothing) {
  static_assert(noexcept(weak_ptr<Ended>().expired()));
  Ended::count = 0;
  EXPECT_TRUE(weak_ptr<Ended>().expired());
  shared_ptr<Ended> object = make_shared<Ended>(heap_);
  const weak_ptr<Ended> weak = object;
  const weak_ptr<Ended> same = weak;
  EXPECT_FALSE(weak.expired());
  object.reset();
  EXPECT_TRUE(weak.expired() && same.expired());
  EXPECT_EQ(Ended::count, 1);
}

TEST_F(SharedStd, APointerToMemoryOutsideOfHeapsIsNotStored) {
  const shared_ptr<Both> owner = make_shared<Both>(heap_);
  int local = 0;
  const shared_ptr<int> foreign(owner, &local), null(owner, nullptr);
  const shared_ptr<queue<shared_ptr<int>, 2>> ints = make_shared<queue<shared_ptr<int>, 2>>(heap_);
  EXPECT_THROW(ints->push(foreign), Exception);
  EXPECT_TRUE(ints->empty());
  ints->push(null);
  EXPECT_EQ(ints->pop().use_count(), owner.use_count());
}

TEST_F(SharedStd, ATypeThatAnotherProgramDefinesDifferentlyIsAnother) {
  EXPECT_STREQ(detail::TypeOf<Redefined>::name(), redefined_elsewhere().name);
  EXPECT_NE(detail::TypeOf<Redefined>::id(), redefined_elsewhere().id);
}

// [atomics.lockfree]
struct Wide {
  std::int64_t words[4];
};
struct WithLockedAtomic {
  int number;
  std::atomic<Wide> wide;
};
struct WithAtomics {
  std::atomic<std::uint64_t> number;
  std::atomic<bool> flag;
};
static_assert(detail::has_member<WithLockedAtomic, detail::LockedAtomicProbe>());
static_assert(!detail::has_member<WithAtomics, detail::LockedAtomicProbe>());
static_assert(detail::check_shareable<WithAtomics>());
static_assert(detail::is_private_lock<std::once_flag>::value &&
              detail::is_private_lock<std::shared_timed_mutex>::value);

// [thread.condition.condvarany]
TEST_F(SharedStd, AWaitWithALockThatIsNotOwnedThrowsAndLeavesNoSleeper) {
  struct NotOwned {
    void lock() {}
    void unlock() { throw std::system_error(std::make_error_code(std::errc::operation_not_permitted)); }
  };
  condition_variable condition;
  NotOwned lock;
  EXPECT_THROW(condition.wait(lock), std::system_error);
  std::uint32_t words[2];  // event, sleepers
  std::memcpy(words, reinterpret_cast<const char*>(&condition), sizeof words);
  EXPECT_EQ(words[1], 0U);
}

// [thread.req.timing]
TEST_F(SharedStd, ATimePointBeyondTheRangeOfNanosecondsIsForeverAndOneBeforeItIsOver) {
  using Hours = std::chrono::time_point<std::chrono::system_clock, std::chrono::hours>;
  struct All {
    timed_mutex mutex;
    queue<int, 2> numbers;
    binary_semaphore semaphore{0};
  };
  All& all = heap_.construct<All>();
  EXPECT_EQ(detail::deadline_at(Hours::max()), detail::kForever);
  EXPECT_EQ(detail::deadline_at(Hours::min()), 0);
  EXPECT_TRUE(detail::has_passed(Hours::min()) && !detail::has_passed(Hours::max()));
  (void)all.mutex.lock();
  EXPECT_FALSE(all.mutex.try_lock_until(Hours::min()));
  EXPECT_FALSE(all.numbers.pop_until(Hours::min()));
  EXPECT_FALSE(all.semaphore.try_acquire_until(Hours::min()));
  std::thread other([&] {
    EXPECT_TRUE(all.mutex.try_lock_until(Hours::max()));
    EXPECT_EQ(all.numbers.pop_until(Hours::max()), 5);
    EXPECT_TRUE(all.semaphore.try_acquire_until(Hours::max()));
    all.mutex.unlock();
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  all.mutex.unlock();
  all.numbers.push(5);
  all.semaphore.release();
  other.join();
  EXPECT_TRUE(all.mutex.try_lock_for(std::chrono::hours::max()));
  all.mutex.unlock();
  heap_.destroy(all);
}

}  // namespace
}  // namespace baton::objects
