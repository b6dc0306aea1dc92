// SPDX-License-Identifier: Apache-2.0
// As <diagnostic_updater/DiagnosticStatusWrapper.h>.
#pragma once

#include <diagnostic_updater/update_functions.h>
#include <ros/publisher.h>
#include <ros/subscription.h>

#pragma GCC system_header  // no warnings of the stock code
#define diagnostic_updater diagnostic_updater::baton_recompiled
#include_next <diagnostic_updater/publisher.h>
#undef diagnostic_updater
