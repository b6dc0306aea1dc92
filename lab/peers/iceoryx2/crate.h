/* SPDX-License-Identifier: Apache-2.0 */
/* The C functions of src/lib.rs. A null pointer or -1 means failure; crate_error() on that thread has the reason. */
#pragma once

#include <stddef.h>
#include <stdint.h>

extern "C" {

struct CratePlan {
  const char* prefix;    /* of everything machine-wide */
  const char* directory; /* for its files */
  const char* topic;
  size_t bytes;
  size_t publishers, subscribers, depth;
  bool events; /* each message also notifies an event service, on which subscribers sleep */
};

struct CratePublisher;
struct CrateSubscriber;
typedef void (*CrateMessage)(void* context, const uint8_t* data, size_t bytes);

const char* crate_error();
CratePublisher* crate_publisher_new(const CratePlan* plan);
void crate_publisher_delete(CratePublisher*);
uint8_t* crate_publisher_loan(CratePublisher*, size_t bytes);
int crate_publisher_send(CratePublisher*);
CrateSubscriber* crate_subscriber_new(const CratePlan* plan);
void crate_subscriber_delete(CrateSubscriber*);
/* Delivers what is there; if nothing, waits on the event service for at most so long and looks again. */
int crate_subscriber_receive(CrateSubscriber*, uint64_t timeout_ns, CrateMessage message, void* context);
}
