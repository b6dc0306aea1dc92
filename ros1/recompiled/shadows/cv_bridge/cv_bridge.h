// SPDX-License-Identifier: Apache-2.0
// The library's functions were compiled with ROS's messages, and some of them would link without naming a message.
#pragma once
#error "cv_bridge::CvImage is not there yet for recompiled programs (docs/guides/ros1.md): its library has ROS's own messages inside"
