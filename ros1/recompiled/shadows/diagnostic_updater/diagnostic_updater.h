// SPDX-License-Identifier: Apache-2.0
// As <diagnostic_updater/DiagnosticStatusWrapper.h>.
#pragma once

#include <diagnostic_msgs/DiagnosticArray.h>
#include <diagnostic_msgs/DiagnosticStatus.h>
#include <diagnostic_updater/DiagnosticStatusWrapper.h>
#include <ros/node_handle.h>
#include <ros/this_node.h>

#include <boost/thread.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#pragma GCC system_header  // no warnings of the stock code
#define diagnostic_updater diagnostic_updater::baton_recompiled
#include_next <diagnostic_updater/diagnostic_updater.h>
#undef diagnostic_updater
