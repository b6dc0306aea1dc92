// SPDX-License-Identifier: Apache-2.0
// The former name of <baton/objects/semaphore.hpp>; it goes with version 0.2.
#pragma once

#include "baton/objects/semaphore.hpp"

namespace baton {
namespace shared = objects;
}
