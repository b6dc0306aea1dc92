// SPDX-License-Identifier: Apache-2.0
// The former name of <baton/objects/waiter_table.hpp>; it goes with version 0.2.
#pragma once

#include "baton/objects/waiter_table.hpp"

namespace baton {
namespace shared = objects;
}
