/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_TRACETEXT_H
#define HOSTRACE_TRACETEXT_H

#include "event/reader.h"

extern const struct reader_ops tracetext_reader;

#endif
