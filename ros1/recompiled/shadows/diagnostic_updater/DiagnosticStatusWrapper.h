// SPDX-License-Identifier: Apache-2.0
// diagnostic_updater's header of this name, which is only code, compiled with recompiled messages. Its classes have messages
// inside, of which the linker's names say nothing, and stock libraries have them, too. So they lie in an inline namespace here:
// sources write diagnostic_updater::Updater, and the linker sees diagnostic_updater::baton_recompiled::Updater. What the header
// includes stands before it here, so that only its own names are changed.
#pragma once

#include <diagnostic_msgs/DiagnosticStatus.h>
#include <ros/ros.h>
#include <stdarg.h>

#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

namespace diagnostic_updater {
inline namespace baton_recompiled {}
}  // namespace diagnostic_updater

#pragma GCC system_header  // no warnings of the stock code
#define diagnostic_updater diagnostic_updater::baton_recompiled
#include_next <diagnostic_updater/DiagnosticStatusWrapper.h>
#undef diagnostic_updater
