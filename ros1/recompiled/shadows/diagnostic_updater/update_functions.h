// SPDX-License-Identifier: Apache-2.0
// As <diagnostic_updater/DiagnosticStatusWrapper.h>. Debian has TimeStampStatus::run() in its library and Noetic in this header;
// so the two classes that have it are Baton's own.
#pragma once

#include <diagnostic_msgs/DiagnosticStatus.h>
#include <diagnostic_updater/diagnostic_updater.h>
#include <math.h>
#include <ros/time.h>

#include <algorithm>
#include <boost/thread/mutex.hpp>
#include <string>

#pragma GCC system_header  // no warnings of the stock code
#define diagnostic_updater diagnostic_updater::baton_recompiled
#define TimeStampStatus baton_stock_TimeStampStatus
#define SlowTimeStampStatus baton_stock_SlowTimeStampStatus
#include_next <diagnostic_updater/update_functions.h>
#undef SlowTimeStampStatus
#undef TimeStampStatus
#undef diagnostic_updater

namespace diagnostic_updater {
inline namespace baton_recompiled {

/// Says whether stamps are close to now.
class TimeStampStatus : public DiagnosticTask {
 public:
  TimeStampStatus(const TimeStampStatusParam& params, std::string name) : DiagnosticTask(name), params_(params) {}
  TimeStampStatus(const TimeStampStatusParam& params) : TimeStampStatus(params, "Timestamp Status") {}
  TimeStampStatus() : TimeStampStatus(TimeStampStatusParam()) {}

  void tick(double stamp) {
    const boost::mutex::scoped_lock lock(mutex_);
    if (stamp == 0) {
      zero_seen_ = true;
      return;
    }
    const double delay = ros::Time::now().toSec() - stamp;
    longest_ = has_delays_ ? std::max(longest_, delay) : delay;
    shortest_ = has_delays_ ? std::min(shortest_, delay) : delay;
    has_delays_ = true;
  }
  void tick(const ros::Time t) { tick(t.toSec()); }

  void run(DiagnosticStatusWrapper& stat) override {
    const boost::mutex::scoped_lock lock(mutex_);
    stat.summary(diagnostic_msgs::DiagnosticStatus::OK, "Timestamps are reasonable.");
    if (!has_delays_) {
      stat.summary(level_without_data(), "No data since last update.");
    } else {
      if (shortest_ < params_.min_acceptable_) {
        stat.summary(diagnostic_msgs::DiagnosticStatus::ERROR, "Timestamps too far in future seen.");
        ++early_;
      }
      if (longest_ > params_.max_acceptable_) {
        stat.summary(diagnostic_msgs::DiagnosticStatus::ERROR, "Timestamps too far in past seen.");
        ++late_;
      }
      if (zero_seen_) {
        stat.summary(diagnostic_msgs::DiagnosticStatus::ERROR, "Zero timestamp seen.");
        ++zeros_;
      }
    }
    if (has_delays_) {
      stat.addf("Earliest timestamp delay", "%f", shortest_);
      stat.addf("Latest timestamp delay", "%f", longest_);
    } else {
      stat.add("Earliest timestamp delay", "No data");
      stat.add("Latest timestamp delay", "No data");
    }
    stat.addf("Earliest acceptable timestamp delay", "%f", params_.min_acceptable_);
    stat.addf("Latest acceptable timestamp delay", "%f", params_.max_acceptable_);
    stat.add("Late diagnostic update count", late_);
    stat.add("Early diagnostic update count", early_);
    stat.add("Zero seen diagnostic update count", zeros_);
    has_delays_ = zero_seen_ = false;
    shortest_ = longest_ = 0;
  }

 private:
  virtual unsigned char level_without_data() const { return diagnostic_msgs::DiagnosticStatus::WARN; }

  const TimeStampStatusParam params_;
  int early_ = 0, late_ = 0, zeros_ = 0;
  bool zero_seen_ = false, has_delays_ = false;
  double longest_ = 0, shortest_ = 0;
  boost::mutex mutex_;
};

/// For stamps that come more seldom than the status is asked for.
class SlowTimeStampStatus : public TimeStampStatus {
 public:
  SlowTimeStampStatus(const TimeStampStatusParam& params, const std::string& name) : TimeStampStatus(params, name) {}
  SlowTimeStampStatus(const TimeStampStatusParam& params) : TimeStampStatus(params) {}
  SlowTimeStampStatus() {}

 private:
  unsigned char level_without_data() const override { return diagnostic_msgs::DiagnosticStatus::OK; }
};

}  // namespace baton_recompiled
}  // namespace diagnostic_updater
