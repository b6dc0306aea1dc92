# SPDX-License-Identifier: Apache-2.0
"""`baton bridge --zenoh`: topics and services of a Baton domain in a Zenoh network, for nodes over rmw_zenoh, for plain Zenoh clients and for
other hosts with Baton (docs/guides/zenoh.md). Read in this order: names (pure), types, rules, lines, session, outbound, inbound, services, bridge."""
