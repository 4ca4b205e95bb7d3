/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_RING_READER_H
#define HOSTRACE_RING_READER_H

#include "event/reader.h"

/* A file with a snapshot of a guest ring. Times are guest TSC ticks: meta "clock" is "guest-tsc". */
extern const struct reader_ops ring_reader;

#endif
