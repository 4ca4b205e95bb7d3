/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_PERFDATA_H
#define HOSTRACE_PERFDATA_H

#include "event/reader.h"

extern const struct reader_ops perfdata_reader;

#endif
