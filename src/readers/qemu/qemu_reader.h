/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_QEMU_READER_H
#define HOSTRACE_QEMU_READER_H

#include "event/reader.h"

/* QEMU's log with trace events (-trace NAME -D FILE), and the text that simpletrace.py prints. */
extern const struct reader_ops qemulog_reader;

/* The files of QEMU's trace backend "simple". */
extern const struct reader_ops simpletrace_reader;

#endif
