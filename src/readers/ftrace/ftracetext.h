/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_FTRACETEXT_H
#define HOSTRACE_FTRACETEXT_H

#include "event/reader.h"

/* tracefs's own text (cat /sys/kernel/tracing/trace), of a host or (hint->guest) of a guest. */
extern const struct reader_ops ftracetext_reader;

#endif
