// SPDX-License-Identifier: Apache-2.0
// Static tracepoints (USDT) of provider "baton": one nop each until a tracer (perf, bpftrace, LTTng) enables them;
// nothing at all when <sys/sdt.h> (Debian: systemtap-sdt-dev) is absent. Names and arguments:
// docs/guides/tracepoints.md.
#pragma once

#if defined(__has_include) && !defined(BATON_NO_TRACE)
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define BATON_TRACE2(name, a, b) DTRACE_PROBE2(baton, name, a, b)
#define BATON_TRACE3(name, a, b, c) DTRACE_PROBE3(baton, name, a, b, c)
#endif
#endif
#ifndef BATON_TRACE2
#define BATON_TRACE2(name, a, b) ((void)(a), (void)(b))
#define BATON_TRACE3(name, a, b, c) ((void)(a), (void)(b), (void)(c))
#endif
