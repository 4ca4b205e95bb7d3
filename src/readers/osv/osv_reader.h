/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef HOSTRACE_OSV_READER_H
#define HOSTRACE_OSV_READER_H

#include "event/reader.h"

/*
 * OSv's traces as events "osv:NAME": thread, comm, the arguments a0, a1, ... by their signature,
 * and the first return addresses as frame0, frame1, ... Times are the guest's uptime: meta "clock"
 * is "guest-uptime".
 */
extern const struct reader_ops osv_reader;

#endif
