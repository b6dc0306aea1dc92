// SPDX-License-Identifier: Apache-2.0
// The stock header swaps arrays of messages with std::vector, which recompiled messages cannot.
#pragma once
#error "pcl_conversions is not there yet for recompiled programs (docs/guides/ros1.md): leave what uses PCL in a program of its own"
