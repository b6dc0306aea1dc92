// SPDX-License-Identifier: Apache-2.0
#include "baton/node/logging.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <functional>
#include <regex>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "baton/baton.hpp"
#include "baton/msg/rcl_interfaces/log.hpp"
#include "baton/msg/std_msgs/string.hpp"
#include "baton/msg/std_msgs/u_int64.hpp"
#include "node_test_support.hpp"

using namespace std::chrono_literals;
using Level = baton::Logger::Level;
using Log = baton::msg::rcl_interfaces::Log;

namespace {

/// What `act` writes on stderr, which is a file meanwhile.
std::string printed(const std::function<void()>& act) {
  ::testing::internal::CaptureStderr();
  act();
  return ::testing::internal::GetCapturedStderr();
}

/// The texts of lines, without severity, time and name.
std::vector<std::string> texts(const std::string& output) {
  std::vector<std::string> all;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);)
    if (const std::size_t end = line.find("]: "); end != std::string::npos) all.push_back(line.substr(end + 3));
  return all;
}
using Texts = std::vector<std::string>;

class Logging : public ::testing::Test {
 protected:
  void TearDown() override {
    for (const char* name : {"", "a", "a.b", "a.b.c", "camera", "left.camera", "baton"})
      baton::get_logger(name).set_level(Level::kUnset);
  }
  const baton::Logger a_ = baton::get_logger("a");
};

TEST_F(Logging, ALineHasTheFormOfROS2) {
  const std::string line = printed([&] { BATON_WARN(a_, "%d of %s", 3, "four"); });
  EXPECT_TRUE(std::regex_match(line, std::regex(R"(\[WARN\] \[[0-9]{10}\.[0-9]{9}\] \[a\]: 3 of four\n)"))) << line;
}

TEST_F(Logging, EachSeverityHasItsWordAndItsNumberOfROS2) {
  a_.set_level(Level::kDebug);
  const std::string lines = printed([&] {
    BATON_DEBUG(a_, "1");
    BATON_INFO(a_, "2");
    BATON_WARN(a_, "3");
    BATON_ERROR(a_, "4");
    BATON_FATAL(a_, "5");
  });
  std::vector<std::string> words;
  static const std::regex word(R"(\[([A-Z]+)\] \[)");
  for (auto it = std::sregex_iterator(lines.begin(), lines.end(), word); it != std::sregex_iterator(); ++it)
    words.push_back((*it)[1]);
  EXPECT_EQ(words, (Texts{"DEBUG", "INFO", "WARN", "ERROR", "FATAL"}));
  EXPECT_EQ(static_cast<int>(Level::kDebug), Log::DEBUG);
  EXPECT_EQ(static_cast<int>(Level::kInfo), Log::INFO);
  EXPECT_EQ(static_cast<int>(Level::kWarn), Log::WARN);
  EXPECT_EQ(static_cast<int>(Level::kError), Log::ERROR);
  EXPECT_EQ(static_cast<int>(Level::kFatal), Log::FATAL);
}

TEST_F(Logging, ALoggerHasTheLevelOfTheNameBeforeItsLastDot) {
  const baton::Logger abc = baton::get_logger("a.b.c"), ab = a_.get_child("b");
  EXPECT_EQ(ab.get_name(), "a.b");
  EXPECT_EQ(abc.get_effective_level(), Level::kInfo);
  a_.set_level(Level::kError);
  EXPECT_EQ(abc.get_effective_level(), Level::kError);
  baton::get_logger("a.b").set_level(Level::kDebug);
  EXPECT_EQ(abc.get_effective_level(), Level::kDebug);
  EXPECT_EQ(ab.get_effective_level(), Level::kDebug) << "loggers of one name share their level";
  EXPECT_EQ(baton::get_logger("ab").get_effective_level(), Level::kInfo);
  ab.set_level(Level::kUnset);
  EXPECT_EQ(abc.get_effective_level(), Level::kError);
  a_.set_level(Level::kOff);
  EXPECT_FALSE(abc.is_enabled_for(Level::kFatal));
  EXPECT_EQ(printed([&] { BATON_FATAL(abc, "nothing"); }), "");
}

TEST_F(Logging, TheCommandLineSetsLevels) {
  baton::init({"camera", "--ros-args", "--log-level", "warn", "--log-level", "a.b:=DEBUG"});
  EXPECT_EQ(a_.get_effective_level(), Level::kWarn);
  EXPECT_EQ(baton::get_logger("a.b.c").get_effective_level(), Level::kDebug);
  EXPECT_THROW(baton::init({"camera", "--ros-args", "--log-level", "a:=loud"}), baton::Exception);
  baton::init({"camera", "--ros-args", "--log-level", "unset", "--disable-stdout-logs"});
  EXPECT_EQ(printed([&] { BATON_FATAL(a_, "not printed"); }), "");
  baton::init({"camera"});
  EXPECT_EQ(texts(printed([&] { BATON_INFO(a_, "printed"); })), Texts{"printed"});
}

TEST_F(Logging, ArgumentsOfALineThatIsNotLoggedAreNotEvaluated) {
  int evaluated = 0;
  const auto count = [&] { return ++evaluated; };
  EXPECT_EQ(printed([&] {
              BATON_DEBUG(a_, "%d", count());
              BATON_DEBUG_STREAM(a_, count());
              BATON_INFO_EXPRESSION(a_, false, "%d", count());
            }),
            "");
  EXPECT_EQ(evaluated, 0);
}

TEST_F(Logging, StreamsTakeWhatHasAnOperator) {
  EXPECT_EQ(texts(printed([&] { BATON_ERROR_STREAM(a_, "x = " << 1.5 << ' ' << std::string("m")); })),
            Texts{"x = 1.5 m"});
}

TEST_F(Logging, AMacroMayLogOnceOrAllButTheFirstTimeOrOnACondition) {
  const std::string lines = printed([&] {
    for (int i = 0; i < 4; ++i) {
      a_.set_level(i == 0 ? Level::kWarn : Level::kInfo);  // times without the level do not count
      BATON_INFO_ONCE(a_, "once %d", i);
      BATON_INFO_SKIPFIRST(a_, "skip %d", i);
      BATON_INFO_EXPRESSION(a_, i == 2, "if %d", i);
      BATON_INFO_STREAM_ONCE(a_, "stream once " << i);
      BATON_INFO_STREAM_SKIPFIRST(a_, "stream skip " << i);
      BATON_INFO_STREAM_EXPRESSION(a_, i == 2, "stream if " << i);
    }
  });
  EXPECT_EQ(texts(lines), (Texts{"once 1", "stream once 1", "skip 2", "if 2", "stream skip 2", "stream if 2", "skip 3",
                                 "stream skip 3"}));
}

TEST_F(Logging, AMacroMayLogAtMostOnceInATimeOfAClock) {
  auto clock = std::make_shared<baton::SimulatedClock>();
  const std::string lines = printed([&] {
    for (const int ms : {0, 999, 1000, 1500, 2000, 10, 1009, 1010}) {
      clock->set(std::chrono::milliseconds(ms));
      BATON_INFO_THROTTLE(a_, clock, 1000, "%d", ms);
      BATON_INFO_STREAM_THROTTLE(a_, *clock, 1000, "s" << ms);
    }
  });
  EXPECT_EQ(texts(lines), (Texts{"0", "s0", "1000", "s1000", "2000", "s2000", "10", "s10", "1010", "s1010"}))
      << "a clock that is set back begins anew";
}

TEST_F(Logging, ALongLineIsWhole) {
  for (const std::size_t size : {1023U, 1024U, 70'000U}) {
    const std::string text(size, 'x');
    EXPECT_EQ(texts(printed([&] { BATON_INFO(a_, "%s", text.c_str()); })), Texts{text});
  }
}

TEST_F(Logging, ErrnoIsTheSameBeforeAndAfter) {
  printed([&] {
    errno = ENOENT;
    BATON_INFO(a_, "line");
    BATON_INFO(a_, "%s", std::string(5000, 'x').c_str());
    EXPECT_EQ(errno, ENOENT);
  });
}

/// stderr is another descriptor while one lives.
class StderrIs {
 public:
  explicit StderrIs(int fd) : before_(::dup(2)) { ::dup2(fd, 2); }
  ~StderrIs() {
    ::dup2(before_, 2);
    ::close(before_);
  }
  StderrIs(const StderrIs&) = delete;
  StderrIs& operator=(const StderrIs&) = delete;

 private:
  const int before_;
};

std::string drain(int fd) {
  std::string all;
  std::array<char, 65536> bytes;
  const int flags = ::fcntl(fd, F_GETFL);
  ::fcntl(fd, F_SETFL, flags | O_NONBLOCK);
  for (ssize_t n; (n = ::read(fd, bytes.data(), bytes.size())) > 0;) all.append(bytes.data(), static_cast<size_t>(n));
  ::fcntl(fd, F_SETFL, flags);
  return all;
}

TEST_F(Logging, AFullPipeDoesNotBlockAndItsReaderLearnsHowManyLinesAreMissing) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  // Several pages: before Linux 6.4 a pipe is full when each of its pages has some bytes.
  ASSERT_EQ(::fcntl(ends[1], F_SETPIPE_SZ, 65536), 65536);
  std::string read;
  {
    const StderrIs pipe(ends[1]);
    const std::string text(100, 'x');
    for (int i = 0; i < 1000; ++i) BATON_INFO(a_, "%d %s", i, text.c_str());
    read = drain(ends[0]);
    BATON_INFO(a_, "after");
    BATON_INFO(a_, "the end");
  }
  const Texts before = texts(read), after = texts(drain(ends[0]));
  ASSERT_GT(before.size(), 10U);
  ASSERT_LT(before.size(), 1000U);
  EXPECT_EQ(before.back(), std::to_string(before.size() - 1) + " " + std::string(100, 'x')) << "whole lines";
  EXPECT_EQ(after, (Texts{"lines missing above, because stderr was full: " + std::to_string(1000 - before.size()),
                          "after", "the end"}));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(Logging, ALineThatIsLongerThanThePipeTakesIsTornAndTheNextOneBeginsAnew) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::fcntl(ends[1], F_SETPIPE_SZ, 8192), 8192);
  std::string read;
  {
    const StderrIs pipe(ends[1]);
    BATON_INFO(a_, "%s", std::string(20'000, 'x').c_str());
    read = drain(ends[0]);
    EXPECT_EQ(read.find('\n'), std::string::npos);
    BATON_INFO(a_, "after");
  }
  read = drain(ends[0]);
  EXPECT_EQ(read.front(), '\n');
  EXPECT_EQ(texts(read), (Texts{"lines missing above, because stderr was full: 1", "after"}));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(Logging, AReaderThatIsGoneDoesNotEndTheProgram) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  {
    const StderrIs pipe(ends[1]);
    BATON_INFO(a_, "nobody reads this");  // SIGPIPE would end the test
  }
  EXPECT_EQ(texts(printed([&] { BATON_INFO(a_, "after"); })),
            (Texts{"lines missing above, because stderr was full: 1", "after"}));
  ::close(ends[1]);
}

TEST_F(Logging, ATerminalHasColours) {
  const int main_end = ::posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_GE(main_end, 0);
  ASSERT_EQ(::grantpt(main_end), 0);
  ASSERT_EQ(::unlockpt(main_end), 0);
  const int terminal = ::open(::ptsname(main_end), O_RDWR | O_NOCTTY);
  ASSERT_GE(terminal, 0);
  {
    const StderrIs shown(terminal);
    BATON_INFO(a_, "plain");
    BATON_ERROR(a_, "red");
  }
  const std::string shown = drain(main_end);
  EXPECT_EQ(shown.find("[INFO]"), 0U);
  EXPECT_NE(shown.find("\033[31m[ERROR]"), std::string::npos);
  EXPECT_NE(shown.find("[a]: red\033[0m\r\n"), std::string::npos) << shown;
  ::close(terminal);
  ::close(main_end);
}

TEST_F(Logging, ThreadsMayLogAndSetLevelsAtTheSameTime) {
  const std::string lines = printed([&] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([t] {
        const baton::Logger logger = baton::get_logger("a.b");
        for (int i = 0; i < 200; ++i) {
          if (t == 0) logger.set_level(i % 2 == 0 ? Level::kDebug : Level::kInfo);
          BATON_DEBUG(logger, "debug");
          BATON_INFO(logger, "info");
        }
      });
    for (auto& thread : threads) thread.join();
  });
  std::size_t infos = 0, others = 0;
  for (const std::string& text : texts(lines)) ++(text == "info" ? infos : others);
  EXPECT_EQ(infos, 800U);
  EXPECT_EQ(static_cast<std::size_t>(std::count(lines.begin(), lines.end(), '\n')), infos + others) << "whole lines";
}

// /rosout

class Rosout : public baton::test::DomainTest {
 protected:
  static baton::QoS qos() {
    baton::QoS qos = baton::QoS(1000).reliable().transient_local();
    return qos;
  }
  /// All lines that `log` publishes, read by a subscription that comes later.
  std::vector<baton::Sample<Log>> lines(baton::Node& node) {
    auto subscription = reader_->subscribe<Log>("/rosout", qos());
    if (node.count_publishers("/rosout") > 0) baton::test::await_matched(*reader_, subscription);
    std::vector<baton::Sample<Log>> all;
    while (auto sample = subscription.take()) all.push_back(std::move(sample));
    return all;
  }
  void SetUp() override {
    DomainTest::SetUp();
    reader_ = std::make_unique<baton::Node>("reader");
  }
  void TearDown() override {
    reader_.reset();
    DomainTest::TearDown();
  }
  std::unique_ptr<baton::Node> reader_;
};

TEST_F(Rosout, ALineArrivesWithLevelNameTimeAndPlaceAlsoAtALateSubscription) {
  baton::Node node("camera", "/left");
  EXPECT_EQ(node.get_logger().get_name(), "left.camera");
  const baton::Time before = baton::now();
  int line = 0;
  printed([&] {
    line = __LINE__ + 1;
    BATON_WARN(node, "number %d", 1);
    BATON_INFO(node.get_logger().get_child("driver"), "number 2");
    BATON_DEBUG(node, "not enabled");
  });
  const auto all = lines(node);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0]->level, Log::WARN);
  EXPECT_EQ(all[0]->name, "left.camera");
  EXPECT_EQ(all[0]->msg, "number 1");
  EXPECT_EQ(all[0]->function, "operator()");
  EXPECT_EQ(all[0]->file, __FILE__);
  EXPECT_EQ(static_cast<int>(all[0]->line), line);
  EXPECT_GE(baton::Time(all[0]->stamp), before);
  EXPECT_EQ(all[1]->name, "left.camera.driver");
}

TEST_F(Rosout, ThePublisherIsMadeByTheFirstLineWithTheQualityOfServiceOfROS2) {
  baton::Node node("camera");
  EXPECT_EQ(node.count_publishers("/rosout"), 0U);
  printed([&] { BATON_INFO(node, "first"); });
  const auto endpoints = node.endpoints();
  ASSERT_EQ(endpoints.size(), 1U);
  const baton::QoS& qos = endpoints[0].qos;
  EXPECT_EQ(endpoints[0].type_name, "rcl_interfaces/Log");
  EXPECT_EQ(endpoints[0].node, "camera");
  EXPECT_EQ(qos.reliability, baton::Reliability::kReliable);
  EXPECT_EQ(qos.durability, baton::Durability::kTransientLocal);
  EXPECT_EQ(qos.history, baton::History::kKeepLast);
  EXPECT_EQ(qos.depth, 1000U);
  EXPECT_EQ(qos.lifespan, 10s);
}

TEST_F(Rosout, ItCanBeSwitchedOffByTheNodeAndByTheCommandLine) {
  baton::NodeOptions options;
  options.enable_rosout = false;
  baton::NodeOptions arguments;
  arguments.arguments = {"--ros-args", "--disable-rosout-logs"};
  baton::init({"camera", "--ros-args", "--disable-rosout-logs"});
  baton::Node a("a"), e("e", baton::NodeOptions{-1, {}, {}, {}, {"--ros-args", "--enable-rosout-logs"}});
  baton::init({"camera"});
  baton::Node b("b", options), c("c", arguments), d("d");
  const std::string output = printed([&] {
    for (const auto* node : {&a, &b, &c, &d, &e}) BATON_INFO(*node, "line");
  });
  EXPECT_EQ(texts(output).size(), 5U) << "stderr has them all";
  Texts publishing;
  for (const auto& endpoint : reader_->endpoints()) publishing.push_back(endpoint.node);
  std::sort(publishing.begin(), publishing.end());
  EXPECT_EQ(publishing, (Texts{"d", "e"}));
}

TEST_F(Rosout, ALogLevelInTheArgumentsOfANodeIsForItsLogger) {
  baton::NodeOptions options;
  options.arguments = {"--ros-args", "--log-level", "error"};
  baton::Node node("camera", options);
  EXPECT_EQ(node.get_logger().get_effective_level(), Level::kError);
  EXPECT_EQ(reader_->get_logger().get_effective_level(), Level::kInfo);
  node.get_logger().set_level(Level::kUnset);
}

TEST_F(Rosout, ALoggerOutlivesItsNode) {
  auto node = std::make_unique<baton::Node>("camera");
  const baton::Logger logger = node->get_logger();
  printed([&] { BATON_INFO(logger, "first"); });
  node.reset();
  EXPECT_EQ(reader_->count_publishers("/rosout"), 0U);
  EXPECT_EQ(texts(printed([&] { BATON_INFO(logger, "second"); })), Texts{"second"});
}

TEST_F(Rosout, AForkedChildLogsOnStderrAlone) {
  baton::Node node("camera");
  const std::string output = printed([&] {
    BATON_INFO(node, "parent");
    const pid_t child = ::fork();
    if (child == 0) {
      BATON_INFO(node, "child");
      node.get_logger().set_level(Level::kError);
      BATON_INFO(node, "not logged");
      ::_exit(0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  });
  EXPECT_EQ(texts(output), (Texts{"parent", "child"}));
  EXPECT_EQ(lines(node).size(), 1U);
}

TEST_F(Rosout, ADiagnosticCallbackMayLog) {
  std::atomic<int> diagnostics{0};
  baton::NodeOptions options;
  std::optional<baton::Logger> logger;
  options.on_diagnostic = [&](const baton::Diagnostic& diagnostic) {
    BATON_WARN(*logger, "diagnostic %s", diagnostic.text.c_str());
    ++diagnostics;
  };
  baton::Node node("camera", options);
  logger = node.get_logger();
  const std::string output = printed([&] {
    auto publisher = node.advertise<baton::msg::std_msgs::String>("topic", 1);
    auto subscription = node.subscribe<baton::msg::std_msgs::UInt64>("topic", 1);
    while (diagnostics == 0) std::this_thread::sleep_for(1ms);
  });
  EXPECT_NE(output.find("[WARN]"), std::string::npos);
  EXPECT_EQ(node.count_publishers("/rosout"), 0U) << "its lines go to stderr alone";
}

TEST_F(Rosout, DiagnosticsOfANodeWithoutACallbackAreLinesOfTheLoggerBaton) {
  baton::Node node("camera");
  const std::regex line(R"(\[[A-Z]+\] \[[0-9.]+\] \[baton\]: type_mismatch: )");
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::string output;
  {
    const StderrIs pipe(ends[1]);
    auto publisher = node.advertise<baton::msg::std_msgs::String>("topic", 1);
    auto subscription = node.subscribe<baton::msg::std_msgs::UInt64>("topic", 1);
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while (!std::regex_search(output, line) && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(1ms);
      output += drain(ends[0]);
    }
  }
  EXPECT_TRUE(std::regex_search(output, line)) << output;
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_F(Rosout, CallbacksMayLog) {
  baton::Node node("camera");
  printed([&] {
    auto timer = node.create_timer(1ms, [&] { BATON_INFO_ONCE(node, "in a callback"); });
    baton::Executor executor;
    executor.add(node);
    ASSERT_TRUE(executor.spin_once(60s));
  });
  EXPECT_EQ(lines(node).size(), 1U);
}

}  // namespace
