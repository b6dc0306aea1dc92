// SPDX-License-Identifier: Apache-2.0
// Plugins give image_transport ROS's own messages.
#pragma once
#error "image_transport::PublisherPlugin is not there for recompiled programs (docs/concepts/ros1.md): compile the plugin with ROS's own messages, as a library of its own"
