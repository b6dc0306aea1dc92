// SPDX-License-Identifier: Apache-2.0
// In the place of tf2_ros's header of this name, with its interface, for recompiled programs. The class lies in an inline
// namespace: <tf2/buffer_core.h> says why.
//
// Thread rules: as the stock class; goals and the timer call in the threads of the global callback queue.
#pragma once

#ifdef TF2_ROS_BUFFER_SERVER_H_
#error "tf2_ros's own buffer_server.h was included before Baton's header of that name"
#endif
#define TF2_ROS_BUFFER_SERVER_H_

#include <actionlib/server/action_server.h>
#include <geometry_msgs/TransformStamped.h>
#include <tf2_msgs/LookupTransformAction.h>
#include <tf2_ros/buffer.h>

#include <boost/shared_ptr.hpp>
#include <boost/thread/mutex.hpp>
#include <cstdint>
#include <list>
#include <string>

namespace tf2_ros {
inline namespace baton_recompiled {

/// Answers BufferClients from a buffer.
class BufferServer {
  typedef actionlib::ActionServer<tf2_msgs::LookupTransformAction> LookupTransformServer;
  typedef LookupTransformServer::GoalHandle GoalHandle;
  typedef boost::shared_ptr<const tf2_msgs::LookupTransformGoal> GoalConstPtr;

 public:
  /// `check_period`: how often goals that wait are tried again.
  BufferServer(const Buffer& buffer, const std::string& ns, bool auto_start = true,
               ros::Duration check_period = ros::Duration(0.01))
      : buffer_(buffer),
        server_(
            ros::NodeHandle(), ns, [this](GoalHandle goal) { take(goal); }, [this](GoalHandle goal) { cancel(goal); },
            auto_start) {
    ros::NodeHandle node;
    timer_ = node.createTimer(check_period, [this](const ros::TimerEvent&) { check(); });
  }

  void start() { server_.start(); }

 private:
  struct Waiting {
    GoalHandle goal;
    ros::Time end;
  };

  void take(GoalHandle goal) {
    goal.setAccepted();
    const ros::Duration timeout = goal.getGoal()->timeout;
    if (timeout <= ros::Duration(0) || can(goal)) {
      answer(goal);
      return;
    }
    const boost::mutex::scoped_lock lock(mutex_);
    waiting_.push_back({goal, ros::Time::now() + timeout});
  }

  void cancel(GoalHandle goal) {
    const boost::mutex::scoped_lock lock(mutex_);
    for (auto it = waiting_.begin(); it != waiting_.end(); ++it) {
      if (it->goal != goal) continue;
      it->goal.setCanceled();
      waiting_.erase(it);
      return;
    }
  }

  void check() {
    const boost::mutex::scoped_lock lock(mutex_);
    for (auto it = waiting_.begin(); it != waiting_.end();) {
      if (can(it->goal) || it->end < ros::Time::now()) {
        answer(it->goal);
        it = waiting_.erase(it);
      } else {
        ++it;
      }
    }
  }

  bool can(GoalHandle handle) const {
    const GoalConstPtr goal = handle.getGoal();
    if (!goal->advanced) return buffer_.canTransform(goal->target_frame, goal->source_frame, goal->source_time);
    return buffer_.canTransform(goal->target_frame, goal->target_time, goal->source_frame, goal->source_time,
                                goal->fixed_frame);
  }

  void answer(GoalHandle handle) const {
    const GoalConstPtr goal = handle.getGoal();
    tf2_msgs::LookupTransformResult result;
    const auto fail = [&](std::uint8_t error, const tf2::TransformException& exception) {
      result.error.error = error;
      result.error.error_string = exception.what();
    };
    try {
      result.transform = goal->advanced
                             ? buffer_.lookupTransform(goal->target_frame, goal->target_time, goal->source_frame,
                                                       goal->source_time, goal->fixed_frame)
                             : buffer_.lookupTransform(goal->target_frame, goal->source_frame, goal->source_time);
    } catch (const tf2::ConnectivityException& exception) {
      fail(tf2_msgs::TF2Error::CONNECTIVITY_ERROR, exception);
    } catch (const tf2::LookupException& exception) {
      fail(tf2_msgs::TF2Error::LOOKUP_ERROR, exception);
    } catch (const tf2::ExtrapolationException& exception) {
      fail(tf2_msgs::TF2Error::EXTRAPOLATION_ERROR, exception);
    } catch (const tf2::InvalidArgumentException& exception) {
      fail(tf2_msgs::TF2Error::INVALID_ARGUMENT_ERROR, exception);
    } catch (const tf2::TimeoutException& exception) {
      fail(tf2_msgs::TF2Error::TIMEOUT_ERROR, exception);
    } catch (const tf2::TransformException& exception) {
      fail(tf2_msgs::TF2Error::TRANSFORM_ERROR, exception);
    }
    handle.setSucceeded(result);
  }

  const Buffer& buffer_;
  boost::mutex mutex_;
  std::list<Waiting> waiting_;
  LookupTransformServer server_;  // ends before what its callbacks use
  ros::Timer timer_;
};

}  // namespace baton_recompiled
}  // namespace tf2_ros
