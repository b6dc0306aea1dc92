// SPDX-License-Identifier: Apache-2.0
// Random trees in a tf2::BufferCore, and everything that can be asked of them. The test compiles this file both ways and compares
// the lines.
#include <geometry_msgs/TransformStamped.h>
#include <tf2/buffer_core.h>
#include <tf2/exceptions.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

std::mt19937 random_bits;

int number(int least, int most) { return std::uniform_int_distribution<int>(least, most)(random_bits); }
bool once_in(int times) { return number(1, times) == 1; }

geometry_msgs::TransformStamped random_transform(const std::string& parent, const std::string& child, ros::Time stamp) {
  geometry_msgs::TransformStamped transform;
  transform.header.frame_id = parent;
  transform.header.stamp = stamp;
  transform.child_frame_id = child;
  transform.transform.translation.x = number(-1000, 1000) / 7.0;
  transform.transform.translation.y = number(-1000, 1000) / 7.0;
  transform.transform.translation.z = number(-1000, 1000) / 7.0;
  double q[4], square = 0;
  for (double& each : q) square += (each = number(-100, 100) + 0.5) * each;
  const double length = std::sqrt(square);
  transform.transform.rotation.x = q[0] / length;
  transform.transform.rotation.y = q[1] / length;
  transform.transform.rotation.z = q[2] / length;
  transform.transform.rotation.w = q[3] / length;
  switch (number(1, 60)) {  // what setTransform refuses
    case 1:
      transform.transform.rotation.w += 1;
      break;
    case 2:
      transform.transform.translation.y = std::numeric_limits<double>::quiet_NaN();
      break;
    case 3:
      transform.child_frame_id = "";
      break;
    case 4:
      transform.header.frame_id = "";
      break;
    case 5:
      transform.header.frame_id = transform.child_frame_id;
      break;
    case 6:
      transform.child_frame_id = "/" + child;
      break;
  }
  return transform;
}

void print(const geometry_msgs::TransformStamped& t) {
  const auto& p = t.transform.translation;
  const auto& q = t.transform.rotation;
  std::printf("%u %u.%09u '%s' '%s' %.17g %.17g %.17g %.17g %.17g %.17g %.17g\n", t.header.seq, t.header.stamp.sec,
              t.header.stamp.nsec, t.header.frame_id.c_str(), t.child_frame_id.c_str(), p.x, p.y, p.z, q.x, q.y, q.z,
              q.w);
}

/// Prints the exception that `ask` throws, by its class.
template <class Ask>
void try_to(Ask&& ask) {
  try {
    ask();
  } catch (const tf2::LookupException& error) {
    std::printf("LookupException %s\n", error.what());
  } catch (const tf2::ConnectivityException& error) {
    std::printf("ConnectivityException %s\n", error.what());
  } catch (const tf2::ExtrapolationException& error) {
    std::printf("ExtrapolationException %s\n", error.what());
  } catch (const tf2::InvalidArgumentException& error) {
    std::printf("InvalidArgumentException %s\n", error.what());
  } catch (const tf2::TransformException& error) {
    std::printf("TransformException %s\n", error.what());
  }
}

class Story {
 public:
  explicit Story(unsigned seed) : buffer_(random_cache(seed)) {
    std::printf("story %u, cache %.9f\n", seed, buffer_.getCacheLength().toSec());
    const int count = number(2, 12);
    for (int i = 0; i < count; ++i) frames_.push_back("frame" + std::to_string(i));
    for (int i = 0; i < count; ++i) {
      parents_.push_back(once_in(8) ? -1 : number(-1, i - 1));
      static_.push_back(once_in(4));
    }
  }

  void run() {
    const tf2::TransformableCallbackHandle callback = buffer_.addTransformableCallback(
        [](tf2::TransformableRequestHandle request, const std::string& target, const std::string& source,
           ros::Time time, tf2::TransformableResult result) {
          std::printf("transformable %llu %s %s %.9f %d\n", static_cast<unsigned long long>(request), target.c_str(),
                      source.c_str(), time.toSec(), static_cast<int>(result == tf2::TransformAvailable));
        });
    int changes = 0;
    boost::signals2::connection connection = buffer_._addTransformsChangedListener([&] { ++changes; });
    for (int step = 0; step < 60; ++step) {
      insert();
      for (int i = 0; i < 4; ++i) ask();
      if (once_in(3)) {
        const tf2::TransformableRequestHandle request =
            buffer_.addTransformableRequest(callback, any_frame(), any_frame(), any_time());
        std::printf("request %llu\n", static_cast<unsigned long long>(request));
        if (request != 0 && once_in(4)) buffer_.cancelTransformableRequest(request);
      }
      if (once_in(40)) buffer_.removeTransformableCallback(callback);
      if (once_in(60)) buffer_.clear();
      if (once_in(40)) buffer_._removeTransformsChangedListener(connection);
    }
    std::printf("%d changes\n", changes);
    describe();
  }

 private:
  static ros::Duration random_cache(unsigned seed) {
    random_bits.seed(seed);
    return ros::Duration(number(1, 12));
  }

  std::string any_frame() {
    switch (number(1, 30)) {
      case 1:
        return "unknown";
      case 2:
        return "";
      case 3:
        return "/" + frames_[0];
      default:
        return frames_[static_cast<std::size_t>(number(0, static_cast<int>(frames_.size()) - 1))];
    }
  }
  ros::Time any_time() {
    if (once_in(4)) return ros::Time();
    return ros::Time(100) + ros::Duration(now_ * 0.25 - number(-4, 60) / 8.0);
  }

  void insert() {
    ++now_;
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      if (once_in(3)) continue;
      const std::string parent = parents_[i] < 0 ? "root" : frames_[static_cast<std::size_t>(parents_[i])];
      if (parents_[i] < 0 && i % 2 != 0) continue;  // not of this tree
      const ros::Time stamp = ros::Time(100) + ros::Duration(now_ * 0.25 - number(0, 3) / 8.0);
      if (!buffer_.setTransform(random_transform(parent, frames_[i], stamp), "authority" + std::to_string(i % 3),
                                static_[i])) {
        std::printf("refused %s\n", frames_[i].c_str());
      }
      if (once_in(200)) parents_[i] = -1;
    }
  }

  void ask() {
    const std::string target = any_frame(), source = any_frame(), fixed = any_frame();
    const ros::Time time = any_time(), other = any_time();
    try_to([&] { print(buffer_.lookupTransform(target, source, time)); });
    try_to([&] { print(buffer_.lookupTransform(target, time, source, other, fixed)); });
    std::string error, error_between;
    const bool can = buffer_.canTransform(target, source, time, &error);
    const bool can_between = buffer_.canTransform(target, time, source, other, fixed, &error_between);
    std::printf("%d '%s' %d '%s' %d\n", can, error.c_str(), can_between, error_between.c_str(),
                buffer_.canTransform(target, source, time));
    try_to([&] {
      ros::Time common;
      std::string reason;
      const int result = buffer_._getLatestCommonTime(buffer_._lookupFrameNumber(target),
                                                      buffer_._lookupFrameNumber(source), common, &reason);
      std::printf("%d %.9f '%s'\n", result, common.toSec(), reason.c_str());
    });
    try_to([&] {
      std::vector<std::string> chain;
      buffer_._chainAsVector(target, time, source, other, fixed, chain);
      for (const std::string& frame : chain) std::printf("%s ", frame.c_str());
      std::printf("\n");
    });
    try_to([&] {
      const tf2::TestBufferCore inside;
      std::vector<tf2::CompactFrameID> chain;
      std::string reason;
      const int result = inside._walkToTopParent(buffer_, time, buffer_._lookupFrameNumber(target),
                                                 buffer_._lookupFrameNumber(source), &reason, &chain);
      std::printf("%d '%s'", result, reason.c_str());
      for (const tf2::CompactFrameID frame : chain) {
        std::printf(" %s", inside._lookupFrameString(buffer_, frame).c_str());
      }
      std::printf("\n");
    });
    try_to([&] {
      std::string parent;
      const bool has = buffer_._getParent(target, time, parent);
      std::printf("%d '%s' %d\n", has, parent.c_str(), buffer_._frameExists(target));
    });
    try_to([&] { std::printf("%u\n", buffer_._validateFrameId("asked", target)); });
  }

  void describe() {
    std::printf("%s%s%s%s%s", buffer_.allFramesAsYAML(120).c_str(), buffer_.allFramesAsYAML().c_str(),
                buffer_.allFramesAsString().c_str(), buffer_._allFramesAsDot(120).c_str(),
                buffer_._allFramesAsDot().c_str());
    std::vector<std::string> frames;
    buffer_._getFrameStrings(frames);
    for (const std::string& frame : frames) std::printf("%s\n", frame.c_str());
    std::printf("%u %u\n", buffer_._lookupOrInsertFrameNumber("new"), buffer_._lookupFrameNumber("never"));
    buffer_.setUsingDedicatedThread(true);
    std::printf("%d\n", buffer_.isUsingDedicatedThread());
    buffer_.clear();
    std::printf("%s", buffer_.allFramesAsString().c_str());
  }

  tf2::BufferCore buffer_;
  std::vector<std::string> frames_;
  std::vector<int> parents_;  // -1: "root", or of no tree
  std::vector<bool> static_;
  int now_ = 0;
};

}  // namespace

int main() {
  for (unsigned seed = 0; seed < 100; ++seed) Story(seed).run();
}
