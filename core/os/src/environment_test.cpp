// SPDX-License-Identifier: Apache-2.0
#include "baton/os/environment.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace baton::os {
namespace {

constexpr const char* kVariable = "BATON_RUNTIME_DIR";

TEST(Environment, IsReadByAnOrdinaryProgram) {
  ASSERT_EQ(::setenv(kVariable, "/somewhere", 1), 0);
  EXPECT_FALSE(ignores_environment());
  EXPECT_STREQ(environment(kVariable), "/somewhere");
  EXPECT_STREQ(harmless_environment(kVariable), "/somewhere");
  ASSERT_EQ(::unsetenv(kVariable), 0);
  EXPECT_EQ(environment(kVariable), nullptr);
}

// Run by the next test as another user's program.
TEST(Environment, DISABLED_OfASetUserIdProgram) {
  ASSERT_NE(::getuid(), ::geteuid());
  EXPECT_TRUE(ignores_environment());
  EXPECT_EQ(environment(kVariable), nullptr);
  EXPECT_STREQ(harmless_environment(kVariable), "/somewhere");
}

TEST(Environment, OfASetUserIdProgramsCallerIsIgnored) {
#ifdef BATON_EMULATED
  GTEST_SKIP() << "an emulator starts no set-user-ID program";
#endif
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the leak sanitizer may not trace a set-user-ID program";
#endif
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make a program of another user";
  std::string folder = (std::filesystem::temp_directory_path() / "baton-environment-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  ASSERT_EQ(::chmod(folder.c_str(), 0755), 0);
  const std::string program = folder + "/program";
  std::filesystem::copy_file("/proc/self/exe", program);
  constexpr uid_t kNobody = 65534;
  ASSERT_EQ(::chown(program.c_str(), kNobody, kNobody), 0);
  ASSERT_EQ(::chmod(program.c_str(), 04755), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    (void)::setenv(kVariable, "/somewhere", 1);
    // gtest's own variables would be another test's.
    for (const char* name : {"GTEST_OUTPUT", "GTEST_FILTER", "GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"})
      ::unsetenv(name);
    ::alarm(60);
    ::execl(program.c_str(), program.c_str(), "--gtest_also_run_disabled_tests",
            "--gtest_filter=Environment.DISABLED_OfASetUserIdProgram", static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ASSERT_GT(child, 0);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  std::filesystem::remove_all(folder);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace baton::os
