/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_PERFETTO_H
#define HOSTRACE_PERFETTO_H

#include "event/reader.h"

extern const struct reader_ops perfetto_reader; /* traces of Perfetto */

#endif
