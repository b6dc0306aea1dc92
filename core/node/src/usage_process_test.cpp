// SPDX-License-Identifier: Apache-2.0
// How a program ends for a mistake of its user, and what it says of a parameter that nobody has declared.
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <future>
#include <string>
#include <vector>

#include "node_test_support.hpp"

namespace baton {
namespace {

using Line = std::vector<std::string>;

class Usage : public test::DomainTest {
 protected:
  /// Runs `use` as the main() of a program with this command line. Nobody catches what it throws.
  static void program(Line line, void (*use)()) noexcept {
    ::alarm(60);
    line.insert(line.begin(), "/opt/robot/bin/camera");
    init(line);
    use();
  }
  static void nothing() {}
  static void declares_rate() {
    Node node("camera");
    ParameterDescriptor upto100;
    upto100.floating_point_range = FloatingPointRange{0.0, 100.0, 0.0};
    node.declare_parameter("rate", 30.0, upto100);
    std::_Exit(0);
  }
  static void overrides_rate() {
    NodeOptions options;
    options.parameter_overrides = {Parameter("rate", "fast")};
    Node("camera", options).declare_parameter("rate", 30.0);
  }
  static void needs_topic() {
    Node node("camera");
    node.declare_parameter<std::string>("topic");
    std::_Exit(0);
  }
  static void refuses_all() {
    Node node("camera");
    const auto refuses = node.add_on_set_parameters_callback([](const std::vector<Parameter>&) {
      SetParametersResult no;
      no.successful = false;
      no.reason = "the lens is off";
      return no;
    });
    node.declare_parameter("rate", 30.0);
    std::_Exit(0);
  }
};
using UsageDeathTest = Usage;

TEST_F(UsageDeathTest, AMistakeOnTheCommandLineIsOneLineAndStatusTwo) {
  const auto ends = [](const Line& line, void (*use)(), const std::string& text) {
    EXPECT_EXIT(program(line, use), ::testing::ExitedWithCode(2), "^camera: " + text + "[^\n]*\n$") << text;
  };
  ends({"--ros-args", "-p"}, nothing, "argument '-p': its value is missing");
  ends({"--ros-args", "--nonsense"}, nothing, "argument '--nonsense' behind --ros-args is unknown");
  ends({"--ros-args", "-r", "image"}, nothing, "argument 'image': a rule for names has the form from:=to");
  ends({"--ros-args", "-p", "rate:=.1, 2"}, declares_rate, "argument 'rate:=.1, 2': parameter 'rate'");
  ends({"--ros-args", "--log-level", "loud"}, nothing, "argument '--log-level loud': the levels are");
  ends({"--ros-args", "--params-file", "/nowhere.yaml"}, nothing, ".*/nowhere.yaml");
  ends({"--ros-args", "-p", "rate:=fast"}, declares_rate,
       "argument 'rate:=fast': parameter 'rate' of node '/camera' is of");
  ends({"_rate:=fast"}, declares_rate, "argument '_rate:=fast': parameter 'rate' of node '/camera' is of");
  ends({"--ros-args", "-p", "rate:=101.0"}, declares_rate, "argument 'rate:=101.0': parameter 'rate' .* must be from");
  ends({"--ros-args", "-p", "rate:=1.0"}, refuses_all, "argument 'rate:=1.0': parameter 'rate' .*: the lens is off");
  ends({}, needs_topic, "parameter 'topic' of node '/camera' has no default");
}

TEST_F(UsageDeathTest, AMistakeInTheEnvironmentEndsAsOneOnTheCommandLine) {
  const auto ends = [](const char* name, const char* value, const std::string& text) {
    EXPECT_EXIT(
        {
          ::setenv(name, value, 1);
          program({}, declares_rate);
        },
        ::testing::ExitedWithCode(2), "^camera: " + text + "[^\n]*\n$");
  };
  ends("BATON_DOMAIN", "kitchen", "BATON_DOMAIN is 'kitchen'");
  ends("BATON_RUNTIME_DIR", "relative", "BATON_RUNTIME_DIR is 'relative'");
  ends("BATON_RUNTIME_DIR", "/nowhere/at/all", "cannot make '/nowhere/at/all'");
}

TEST_F(UsageDeathTest, AnotherExceptionStillAborts) {
  EXPECT_EXIT(program({},
                      [] {
                        throw Exception({Errc::invalid_argument, "the program's own mistake"});
                      }),
              ::testing::KilledBySignal(SIGABRT), "the program's own mistake");
  EXPECT_EXIT(program({}, overrides_rate), ::testing::KilledBySignal(SIGABRT), "NodeOptions::parameter_overrides");
}

TEST_F(Usage, AProgramMayCatchAMistakeOfItsUser) {
  EXPECT_THROW(init({"camera", "--ros-args", "--nonsense"}), UsageError);
  init({"camera", "--ros-args", "-p", "rate:=fast"});
  Node node("camera");
  EXPECT_THROW(node.declare_parameter("rate", 30.0), UsageError);
  init({"camera"});
}

TEST_F(Usage, ADirectoryThatTheEnvironmentNamesAndThatWasMadeIsReported) {
  const std::string misspelt = directory_ + "/misspelt";
  ::setenv("BATON_RUNTIME_DIR", misspelt.c_str(), 1);
  std::promise<std::string> said;
  std::atomic<bool> first{true};
  NodeOptions options;
  options.on_diagnostic = [&](const Diagnostic& diagnostic) {
    if (first.exchange(false)) said.set_value(diagnostic.text);
  };
  const Node node("camera", options);
  const std::string text = said.get_future().get();
  EXPECT_NE(text.find("'" + misspelt + "', which was not there"), std::string::npos) << text;
}

// --- a parameter that nobody has declared ---

class Misspelt : public Usage {
 protected:
  /// What a program with the nodes /left and /right, which have the parameters of `left` and `right`, says on stderr.
  static std::string said(const Line& line, const std::vector<const char*>& left,
                          const std::vector<const char*>& right) {
    ::testing::internal::CaptureStderr();
    Line all = line;
    all.insert(all.begin(), "camera");
    init(all);
    {
      Node one("left"), other("right");
      for (const char* name : left) one.declare_parameter(name, 30.0);
      for (const char* name : right) other.declare_parameter(name, 30.0);
      Executor executor;
      executor.add(one);
      executor.add(other);
      for (int i = 0; i < 3; ++i) (void)executor.spin_some();
    }
    init({"camera"});
    return ::testing::internal::GetCapturedStderr();
  }
  static std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
  }
  static constexpr const char* kUnused = "no node of this program has declared the parameter";
};

TEST_F(Misspelt, OnTheCommandLineIsSaidOnce) {
  const std::string text = said({"--ros-args", "-p", "rat:=5.0"}, {"rate"}, {"rate"});
  EXPECT_EQ(count(text, kUnused), 1U) << text;
  EXPECT_EQ(count(text, "argument 'rat:=5.0'"), 1U) << text;
  EXPECT_EQ(count(said({"--ros-args", "-p", "rate:=5.0"}, {"rate"}, {}), kUnused), 0U) << "one node of two has it";
  EXPECT_EQ(count(said({"--ros-args", "-p", "lft:rate:=5.0"}, {"rate"}, {}), kUnused), 1U) << "the node is misspelt";
  EXPECT_EQ(count(said({"--ros-args", "-p", "right:rate:=5.0"}, {"rate"}, {}), kUnused), 1U) << "the other one has it";
  EXPECT_EQ(count(said({"_rat:=5.0"}, {"rate"}, {}), kUnused), 1U) << "ROS 1's form";
  EXPECT_EQ(count(said({"--ros-args", "-p", "rate:=5.0", "-p", "rate:=6.0"}, {"rate"}, {}), kUnused), 0U) << "replaced";
}

#ifdef BATON_HAS_LIBYAML
TEST_F(Misspelt, InAFileIsSaidForNodesOfThisProgramThatTheFileNames) {
  const std::string file = directory_ + "/parameters.yaml";
  std::ofstream(file) << "left:\n  ros__parameters:\n    rat: 5.0\n    rate: 5.0\n"
                         "elsewhere:\n  ros__parameters:\n    speed: 1.0\n"
                         "/**:\n  ros__parameters:\n    use_sim_time: true\n";
  const std::string text = said({"--ros-args", "--params-file", file}, {"rate"}, {});
  EXPECT_EQ(count(text, kUnused), 1U) << text;
  EXPECT_EQ(count(text, file + ":3: "), 1U) << text;
}
#endif

}  // namespace
}  // namespace baton
