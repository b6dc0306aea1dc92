// SPDX-License-Identifier: Apache-2.0
// The former name of <baton/objects/members.hpp>; it goes with version 0.2.
#pragma once

#include "baton/objects/members.hpp"

namespace baton {
namespace shared = objects;
}
