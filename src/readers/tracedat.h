/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_TRACEDAT_H
#define HOSTRACE_TRACEDAT_H

#include "reader.h"

/* trace-cmd's trace.dat, of a host or (hint->guest) of a guest, whose times are then raw. */
extern const struct reader_ops tracedat_reader;

#endif
