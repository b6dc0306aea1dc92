// SPDX-License-Identifier: Apache-2.0
// Which programs can have aliased vectors: real ones, started in the ways that programs are started.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

namespace {

struct Outcome {
  int status = -1;
  std::string output;
  bool says(const char* text) const { return output.find(text) != std::string::npos; }
};

std::ostream& operator<<(std::ostream& out, const Outcome& outcome) {
  return out << "status " << outcome.status << ": " << outcome.output;
}

Outcome run(const std::string& command) {
  Outcome outcome;
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return outcome;
  char text[4096];
  while (std::fgets(text, sizeof text, pipe) != nullptr) outcome.output += text;
  const int status = ::pclose(pipe);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return outcome;
}

const std::string kProgram = BATON_HEAP_PROGRAM;
const std::string kHeap = BATON_HEAP_LIBRARY;

Outcome preloaded(const std::string& libraries, const std::string& program = kProgram) {
  return run("env LD_PRELOAD=" + libraries + " " + program);
}

bool loads(const char* library) { return preloaded(library, "/bin/true").output.empty(); }

#define EXPECT_ACTIVE(outcome)                                                 \
  do {                                                                         \
    const Outcome result = outcome;                                            \
    EXPECT_TRUE(result.status == 0 && result.says("active: every")) << result; \
    EXPECT_FALSE(result.says("inactive")) << result;                           \
    EXPECT_TRUE(result.says("done")) << result;                                \
  } while (false)

#define EXPECT_INACTIVE(outcome, why)                                                           \
  do {                                                                                          \
    const Outcome result = outcome;                                                             \
    EXPECT_TRUE(result.status == 0 && result.says("inactive: ") && result.says(why)) << result; \
    EXPECT_TRUE(result.says("done")) << result;                                                 \
  } while (false)

TEST(HeapPrograms, preloaded_it_works) { EXPECT_ACTIVE(preloaded(kHeap)); }

TEST(HeapPrograms, without_it_nothing_is_aliased) { EXPECT_INACTIVE(run(kProgram), "libbaton_heap.so is not loaded"); }

TEST(HeapPrograms, it_can_be_switched_off) {
  EXPECT_INACTIVE(run("env BATON_HEAP=0 LD_PRELOAD=" + kHeap + " " + kProgram), "BATON_HEAP=0");
}

TEST(HeapPrograms, loaded_after_the_start_it_is_too_late_and_says_so) {
  EXPECT_INACTIVE(run(kProgram + " --dlopen " + kHeap), "before libbaton_heap.so");
}

TEST(HeapPrograms, programs_that_know_nothing_of_Baton_run_under_it) {
  EXPECT_EQ(run("env LD_PRELOAD=" + kHeap + " /bin/sh -c 'echo hello | sort | grep h'").output, "hello\n");
  EXPECT_EQ(run("env LD_PRELOAD=" + kHeap + " python3 -c 'import json, threading; print(json.dumps([1]))'").output,
            "[1]\n");
}

TEST(HeapPrograms, a_failed_dlopen_is_told_and_leaves_the_heap_sound) {
  const Outcome without = run(BATON_HEAP_FAILED_DLOPEN);
  EXPECT_TRUE(without.status == 0 && without.says("cannot open shared object file")) << without;
  const Outcome with = preloaded(kHeap, BATON_HEAP_FAILED_DLOPEN);
  EXPECT_EQ(with.status, 0) << with;
  EXPECT_EQ(with.output, without.output);
}

TEST(HeapPrograms, before_jemalloc_it_works_and_behind_it_it_says_why_not) {
  const std::string jemalloc = "libjemalloc.so.2";
  if (!loads(jemalloc.c_str())) GTEST_SKIP() << "no " << jemalloc;
  EXPECT_ACTIVE(preloaded(kHeap + ":" + jemalloc));
  EXPECT_INACTIVE(preloaded(jemalloc + ":" + kHeap), jemalloc.c_str());
}

TEST(HeapPrograms, before_tcmalloc_it_works_and_behind_it_it_says_why_not) {
  const std::string tcmalloc = "libtcmalloc_minimal.so.4";
  if (!loads(tcmalloc.c_str())) GTEST_SKIP() << "no " << tcmalloc;
  EXPECT_ACTIVE(preloaded(kHeap + ":" + tcmalloc));
  EXPECT_INACTIVE(preloaded(tcmalloc + ":" + kHeap), tcmalloc.c_str());
}

TEST(HeapPrograms, a_program_with_its_own_free_or_operator_delete_is_recognised_without_a_try) {
  EXPECT_INACTIVE(preloaded(kHeap, BATON_HEAP_PROGRAM_OWN_FREE), "free is answered by");
  EXPECT_INACTIVE(preloaded(kHeap, BATON_HEAP_PROGRAM_OWN_DELETE), "_ZdlPv is answered by");
}

TEST(HeapPrograms, under_the_address_sanitizer_it_works_in_front_and_says_so_otherwise) {
#ifdef BATON_HEAP_PROGRAM_ASAN
  const std::string program = BATON_HEAP_PROGRAM_ASAN;
  EXPECT_INACTIVE(run(program), "libbaton_heap.so is not loaded");
  EXPECT_ACTIVE(run("env ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=" + kHeap + " " + program));
  EXPECT_INACTIVE(run("env ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=libasan.so.8:" + kHeap + " " + program),
                  "verify_asan_link_order=0");
#else
  GTEST_SKIP() << "no compiler with a shared libasan";
#endif
}

TEST(HeapPrograms, a_program_with_capabilities_is_told_that_the_system_ignores_LD_PRELOAD) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root may give a file capabilities";
  std::string pattern = (std::filesystem::temp_directory_path() / "baton-heap-XXXXXX").string();
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  ::chmod(pattern.c_str(), 0755);
  const std::string program = pattern + "/program";
  std::filesystem::copy_file(kProgram, program);
  if (run("setcap cap_net_raw+ep " + program).status != 0 || run("setpriv --version").status != 0) {
    std::filesystem::remove_all(pattern);
    GTEST_SKIP() << "no setcap or no setpriv";
  }
  // Root has every capability anyway, so for root nothing is ignored.
  const Outcome outcome = run("setpriv --reuid=65534 --clear-groups env LD_PRELOAD=" + kHeap +
                              " BATON_RUNTIME_DIR=" + pattern + " " + program);
  std::filesystem::remove_all(pattern);
  EXPECT_INACTIVE(outcome, "the system ignores LD_PRELOAD");
}

}  // namespace
