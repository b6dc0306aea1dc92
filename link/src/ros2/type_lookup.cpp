// SPDX-License-Identifier: Apache-2.0
// Cyclone DDS 0.10.2 reads answers to questions about types that others have asked: those of Fast DDS have types that it does not
// know, and it crashes. This side describes no types and asks for none, so the program takes the place of the two functions that
// read such messages. libddsc calls them by their exported names; so this file belongs to the program itself, not to a library.
#include <dds/dds.h>
#include <dds/ddsi/ddsi_serdata.h>
#include <dds/ddsi/ddsi_typelookup.h>

extern "C" void ddsi_tl_handle_reply(ddsi_domaingv*, ddsi_serdata*) {}
extern "C" void ddsi_tl_handle_request(ddsi_domaingv*, ddsi_serdata*) {}
