// SPDX-License-Identifier: Apache-2.0
#include "baton/shared/shared_ptr.hpp"
