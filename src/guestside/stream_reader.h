/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_STREAM_READER_H
#define HOSTRACE_STREAM_READER_H

#include "reader.h"

/* Files with a guest stream (stream.h). */
extern const struct reader_ops stream_reader;

#endif
