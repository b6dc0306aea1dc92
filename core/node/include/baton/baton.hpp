// SPDX-License-Identifier: Apache-2.0
// The whole user API.
#pragma once

#include "baton/node/arguments.hpp"
#include "baton/node/clock.hpp"
#include "baton/node/executable.hpp"
#include "baton/node/executor.hpp"
#include "baton/node/init.hpp"
#include "baton/node/loan.hpp"
#include "baton/node/logging.hpp"
#include "baton/node/node.hpp"
#include "baton/node/parameter.hpp"
#include "baton/node/publisher.hpp"
#include "baton/node/sample.hpp"
#include "baton/node/service.hpp"
#include "baton/node/shutdown.hpp"
#include "baton/node/subscription.hpp"
#include "baton/node/time.hpp"
#include "baton/node/timer.hpp"
#include "baton/node/wait_set.hpp"
#include "baton/transport/qos.hpp"
#include "baton/transport/transport.hpp"
