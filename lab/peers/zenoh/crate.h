/* SPDX-License-Identifier: Apache-2.0 */
/* The C functions of src/lib.rs. A null pointer or -1 means failure; crate_error() on that thread has the reason. */
#pragma once

#include <stddef.h>
#include <stdint.h>

extern "C" {

struct CratePlan {
  const char* config; /* of the session, JSON5 */
  const char* topic;
  size_t bytes;
  size_t chunks; /* of `bytes` in shared memory; 0: payloads in private memory */
  bool reliable;
};

struct CratePublisher;
struct CrateSubscriber;
/* Called on a thread of the session's. */
typedef void (*CrateMessage)(void* context, const uint8_t* data, size_t bytes);

const char* crate_error();
CratePublisher* crate_publisher_new(const CratePlan* plan);
void crate_publisher_delete(CratePublisher*);
uint8_t* crate_publisher_begin(CratePublisher*, size_t bytes);
int crate_publisher_send(CratePublisher*);
/* Returns when the session is connected to all that its configuration names. */
CrateSubscriber* crate_subscriber_new(const CratePlan* plan, CrateMessage message, void* context);
/* After this nothing calls `message`. */
void crate_subscriber_delete(CrateSubscriber*);
}
