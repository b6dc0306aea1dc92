// SPDX-License-Identifier: Apache-2.0
// Everything a generated message header needs.
#pragma once

#include <array>  // IWYU pragma: export

#include "baton/sfm/bool.hpp"     // IWYU pragma: export
#include "baton/sfm/span.hpp"     // IWYU pragma: export
#include "baton/sfm/string.hpp"   // IWYU pragma: export
#include "baton/sfm/vector.hpp"   // IWYU pragma: export
#include "baton/sfm/wstring.hpp"  // IWYU pragma: export
