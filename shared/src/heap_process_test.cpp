// SPDX-License-Identifier: Apache-2.0
#include "heap_test_support.hpp"
