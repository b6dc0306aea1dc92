// SPDX-License-Identifier: Apache-2.0
// What makes the fuzzers of this room fast, and is in none of the tests that replay their seeds.
// (1) A thread stays when its function has returned, and runs the function of a later input: the sanitizer takes longer to begin and to end a
// thread than most inputs take. The functions stand before those of AddressSanitizer.
// (2) Memory is not marked with the calls that have allocated it. To see them in a report: ASAN_OPTIONS=malloc_context_size=30.
// Thread rules: any thread.
#include <pthread.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

// The sanitizer's. NOLINTBEGIN(bugprone-reserved-identifier, readability-identifier-naming): its names
extern "C" int __interceptor_pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                            void* (*function)(void*), void* argument);
extern "C" int __interceptor_pthread_join(pthread_t thread, void** result);

namespace {

struct Kept {
  pthread_t thread{};
  void* (*function)(void*) = nullptr;
  void* argument = nullptr;  // then the result
  bool is_used = false;      // until it is joined
  std::condition_variable changed;
};

std::mutex g_mutex;
std::vector<Kept*>& all() {
  static auto& threads = *new std::vector<Kept*>;  // they run until the process ends
  return threads;
}

void* run(void* kept) {
  Kept& self = *static_cast<Kept*>(kept);
  std::unique_lock<std::mutex> lock(g_mutex);
  for (;;) {
    self.changed.wait(lock, [&] { return self.function != nullptr; });
    lock.unlock();
    void* const result = self.function(self.argument);
    lock.lock();
    self.argument = result;
    self.function = nullptr;
    self.changed.notify_all();
  }
}

}  // namespace

extern "C" const char* __asan_default_options();  // the sanitizer calls it
extern "C" const char* __asan_default_options() { return "malloc_context_size=1"; }

extern "C" int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                              void* argument) {
  const std::lock_guard<std::mutex> lock(g_mutex);
  Kept* free = nullptr;
  for (Kept* each : all())
    if (!each->is_used) free = each;
  if (free == nullptr) {
    auto made = std::make_unique<Kept>();
    if (const int failed = __interceptor_pthread_create(&made->thread, attributes, run, made.get())) return failed;
    free = made.release();
    all().push_back(free);
  }
  free->is_used = true;
  free->function = function;
  free->argument = argument;
  free->changed.notify_all();
  *thread = free->thread;
  return 0;
}

extern "C" int pthread_join(pthread_t thread, void** result) {
  std::unique_lock<std::mutex> lock(g_mutex);
  for (Kept* each : all()) {
    if (!pthread_equal(each->thread, thread)) continue;
    each->changed.wait(lock, [&] { return each->function == nullptr; });
    if (result != nullptr) *result = each->argument;
    each->is_used = false;
    return 0;
  }
  return __interceptor_pthread_join(thread, result);  // no such thread
}
// NOLINTEND(bugprone-reserved-identifier, readability-identifier-naming)
