// SPDX-License-Identifier: Apache-2.0
// The former name of <baton/objects/queue.hpp>; it goes with version 0.2.
#pragma once

#include "baton/objects/queue.hpp"

namespace baton {
namespace shared = objects;
}
