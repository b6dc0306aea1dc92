// SPDX-License-Identifier: Apache-2.0
#include "baton/transport/runtime_directory.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "support/temporary_directory.hpp"

namespace baton::transport {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class RuntimeDirectory : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.environment = [this](const char* name) -> const char* {
      const auto found = variables_.find(name);
      return found == variables_.end() ? nullptr : found->second.c_str();
    };
  }

  Error failure() {
    auto opened = open_domain_directory(0, options_);
    EXPECT_FALSE(opened.ok());
    return opened.ok() ? Error{} : opened.error();
  }
  static mode_t mode_of(const std::string& path) {
    struct stat status {};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return status.st_mode & 07777U;
  }

  ::baton::test::TemporaryDirectory temporary_;
  const std::string& root_ = temporary_.path();
  DirectoryOptions options_;
  std::map<std::string, std::string> variables_;
};

TEST_F(RuntimeDirectory, IsMadePrivateWhateverTheUmask) {
  const mode_t before = ::umask(0);
  options_.runtime_directory = root_ + "/fresh";
  auto opened = open_domain_directory(3, options_);
  ::umask(before);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->path, root_ + "/fresh/3");
  EXPECT_EQ(mode_of(root_ + "/fresh"), 0700U);
  EXPECT_EQ(mode_of(root_ + "/fresh/3"), 0700U);
  EXPECT_EQ(opened->socket_mode, 0600U);
}

TEST_F(RuntimeDirectory, ComesFromTheEnvironmentAndMayEndWithASlash) {
  variables_["BATON_RUNTIME_DIR"] = root_ + "/named/";
  auto opened = open_domain_directory(0, options_);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->path, root_ + "/named/0");
}

TEST_F(RuntimeDirectory, SharedWithAGroupPassesTheGroupOnToDomainsAndSockets) {
  ASSERT_EQ(::chmod(root_.c_str(), 02770), 0);
  options_.runtime_directory = root_;
  auto opened = open_domain_directory(0, options_);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(mode_of(root_ + "/0"), 02770U);
  EXPECT_EQ(opened->socket_mode, 0660U);
}

TEST_F(RuntimeDirectory, ThatEverybodyMayWriteIsRefused) {
  ASSERT_EQ(::chmod(root_.c_str(), 01777), 0);
  options_.runtime_directory = root_;
  const Error error = failure();
  EXPECT_EQ(error.code, Errc::foreign_runtime_directory);
  EXPECT_NE(error.message.find("writable by all users"), std::string::npos) << error.message;
}

TEST_F(RuntimeDirectory, OfAnotherUserIsRefusedUnlessSharedWithAGroup) {
  options_.runtime_directory = root_;
  std::uint32_t mode = 0700;
  std::uint32_t gid = ::getegid();
  options_.open = [&](int parent, const std::string& name) {
    auto directory = os::open_directory(parent, name);
    directory.info.uid = ::geteuid() + 1;
    directory.info.mode = mode;
    directory.info.gid = gid;
    return directory;
  };
  const Error error = failure();
  EXPECT_EQ(error.code, Errc::foreign_runtime_directory);
  EXPECT_NE(error.message.find(root_), std::string::npos);
  EXPECT_NE(error.message.find("belongs to user " + std::to_string(::geteuid() + 1)), std::string::npos)
      << error.message;
  mode = 02770;
  EXPECT_TRUE(open_domain_directory(0, options_));
  gid = 0xFFFFFF;
  EXPECT_EQ(failure().code, Errc::foreign_runtime_directory);
}

// Anybody may make a name in /var/tmp, and users of one machine often have a group in common.
TEST_F(RuntimeDirectory, ThatIsADefaultBelongsToTheUserAlone) {
  options_.defaults = {root_ + "/taken", root_ + "/free"};
  options_.open = [&](int parent, const std::string& name) {
    auto directory = os::open_directory(parent, name);
    directory.info.gid = ::getegid();
    if (name.find("taken") != std::string::npos) {
      directory.info.uid = ::geteuid() + 1;
      directory.info.mode = 02770;
    }
    return directory;
  };
  auto opened = open_domain_directory(0, options_);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(opened->path, root_ + "/free/0");
  options_.defaults.pop_back();
  const Error error = failure();
  EXPECT_EQ(error.code, Errc::no_runtime_directory);
  EXPECT_NE(error.message.find("belongs to user " + std::to_string(::geteuid() + 1)), std::string::npos)
      << error.message;
  // The same directory, where the user names it.
  variables_["BATON_RUNTIME_DIR"] = root_ + "/taken";
  EXPECT_TRUE(open_domain_directory(0, options_));
}

// The owner of /tmp is root: neither root nor anybody else may follow an advice to change its mode.
TEST_F(RuntimeDirectory, ThatIsAPublicPlaceIsNotToBeChanged) {
  ASSERT_EQ(::chmod(root_.c_str(), 01777), 0);
  variables_["BATON_RUNTIME_DIR"] = root_;
  const Error own = failure();
  EXPECT_EQ(own.message.find("chmod"), std::string::npos) << own.message;
  EXPECT_NE(own.message.find("BATON_RUNTIME_DIR to a directory of your own inside it"), std::string::npos)
      << own.message;
  options_.open = [](int parent, const std::string& name) {
    auto directory = os::open_directory(parent, name);
    directory.info.uid = ::geteuid() + 1;
    directory.info.mode = 0777;
    return directory;
  };
  const Error of_another = failure();
  EXPECT_EQ(of_another.message.find("chmod"), std::string::npos) << of_another.message;
  options_.open = os::open_directory;
  ASSERT_EQ(::chmod(root_.c_str(), 0777), 0);
  EXPECT_NE(failure().message.find("chmod it to 0700"), std::string::npos);
}

TEST_F(RuntimeDirectory, ThatTheEnvironmentNamesAndThatWasMadeIsReported) {
  variables_["BATON_RUNTIME_DIR"] = root_ + "/misspelt";
  auto made = open_domain_directory(0, options_);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_NE(made->remark.find("'" + root_ + "/misspelt', which was not there"), std::string::npos) << made->remark;
  auto again = open_domain_directory(0, options_);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->remark, "");
  variables_["BATON_RUNTIME_DIR"] = "";
  options_.runtime_directory = root_ + "/of_the_program";
  auto of_the_program = open_domain_directory(0, options_);
  ASSERT_TRUE(of_the_program) << of_the_program.error().message;
  EXPECT_EQ(of_the_program->remark, "");
}

TEST_F(RuntimeDirectory, OnANetworkFileSystemIsRefusedByName) {
  options_.runtime_directory = root_;
  for (const auto& [magic, name] : std::map<std::uint64_t, std::string>{
           {0x6969, "NFS"}, {0xFF534D42, "CIFS"}, {0x65735546, "FUSE"}, {0x01021997, "9P"}}) {
    options_.open = [magic = magic](int parent, const std::string& path) {
      auto directory = os::open_directory(parent, path);
      directory.info.file_system = magic;
      return directory;
    };
    const Error error = failure();
    EXPECT_EQ(error.code, Errc::foreign_runtime_directory);
    EXPECT_NE(error.message.find(name), std::string::npos) << error.message;
  }
}

TEST_F(RuntimeDirectory, ThatIsASymbolicLinkIsRefused) {
  fs::create_directory(root_ + "/real");
  fs::create_directory_symlink(root_ + "/real", root_ + "/link");
  options_.runtime_directory = root_ + "/link";
  const Error error = failure();
  EXPECT_EQ(error.code, Errc::foreign_runtime_directory);
  EXPECT_NE(error.message.find("symbolic link"), std::string::npos) << error.message;
}

TEST_F(RuntimeDirectory, UnderAMissingParentIsAnErrorThatNamesIt) {
  options_.runtime_directory = root_ + "/missing/dir";
  const Error error = failure();
  EXPECT_EQ(error.code, Errc::no_runtime_directory);
  EXPECT_NE(error.message.find(root_ + "/missing/dir"), std::string::npos) << error.message;
}

TEST_F(RuntimeDirectory, ThatIsAFileIsAnError) {
  const std::string file = root_ + "/file";
  FILE* made = std::fopen(file.c_str(), "w");
  ASSERT_NE(made, nullptr);
  std::fclose(made);
  options_.runtime_directory = file;
  EXPECT_EQ(failure().code, Errc::no_runtime_directory);
}

TEST_F(RuntimeDirectory, OfAProcessIsRemovedWhenTheProcessIsDeadAndOnlyThen) {
  const auto opened = [](const std::string& path) { return os::open_directory(-1, path); };
  for (const char* name : {"off-dead-1", "off-alive-1", "elsewhere", "4"}) {
    fs::create_directories(root_ + "/" + name + "/0");
    std::ofstream(root_ + "/" + name + "/0/p-00") << "a dead socket";
  }
  fs::create_symlink(root_ + "/elsewhere", root_ + "/off-link-1");
  std::ofstream(root_ + "/off-file-1") << "a user's file";
  const auto alive = opened(root_ + "/off-alive-1");
  os::mark_in_use(alive.fd.get());
  int locked[2];
  ASSERT_EQ(::pipe(locked), 0);
  const pid_t process = ::fork();
  if (process == 0) {
    const auto own = opened(root_ + "/off-dead-1");
    os::mark_in_use(own.fd.get());
    (void)!::write(locked[1], "", 1);
    ::pause();
    ::_exit(0);
  }
  char byte = 0;
  ASSERT_EQ(::read(locked[0], &byte, 1), 1);
  const auto parent = opened(root_);
  while (os::seconds_since_change(parent.fd.get(), "off-dead-1") < 3) std::this_thread::sleep_for(10ms);
  remove_dead_directories(root_, "off-");
  EXPECT_TRUE(fs::exists(root_ + "/off-dead-1/0/p-00")) << "its process lives";
  ::kill(process, SIGKILL);
  ::waitpid(process, nullptr, 0);
  fs::create_directories(root_ + "/off-young-1");
  remove_dead_directories(root_, "off-");
  EXPECT_FALSE(fs::exists(root_ + "/off-dead-1"));
  for (const char* stays :
       {"off-alive-1/0/p-00", "off-young-1", "elsewhere/0/p-00", "off-link-1", "off-file-1", "4/0/p-00"})
    EXPECT_TRUE(fs::exists(root_ + "/" + stays)) << stays;
}

TEST_F(RuntimeDirectory, MustBeAbsolute) {
  variables_["BATON_RUNTIME_DIR"] = "relative";
  EXPECT_EQ(failure().code, Errc::no_runtime_directory);
}

TEST(Domain, ComesFromItsOwnVariableThenFromThatOfRos) {
  std::map<std::string, std::string> variables;
  DirectoryOptions options;
  options.environment = [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  EXPECT_EQ(*resolve_domain(-1, options), 0);
  variables["ROS_DOMAIN_ID"] = "17";
  EXPECT_EQ(*resolve_domain(-1, options), 17);
  variables["BATON_DOMAIN"] = "5";
  EXPECT_EQ(*resolve_domain(-1, options), 5);
  EXPECT_EQ(*resolve_domain(9, options), 9);
  variables["BATON_DOMAIN"] = "";
  EXPECT_EQ(*resolve_domain(-1, options), 17);
}

TEST(Domain, ThatIsNoNumberInRangeIsAnErrorThatNamesVariableAndValue) {
  for (const std::string text : {"x", "-1", "1 ", "10000", "99999999999999999999", "0x10", "1.5"}) {
    DirectoryOptions options;
    options.environment = [&](const char* name) {
      return std::string(name) == "BATON_DOMAIN" ? text.c_str() : nullptr;
    };
    const auto result = resolve_domain(-1, options);
    ASSERT_FALSE(result.ok()) << text;
    EXPECT_EQ(result.error().code, Errc::invalid_argument);
    EXPECT_NE(result.error().message.find("BATON_DOMAIN is '" + text + "'"), std::string::npos)
        << result.error().message;
  }
  EXPECT_FALSE(resolve_domain(-2).ok());
  EXPECT_FALSE(resolve_domain(10000).ok());
}

}  // namespace
}  // namespace baton::transport
