/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Debug logging: HOSTRACE_DEBUG=read,attach hostrace ... prints the lines of these domains to stderr ("all": every
 * domain). Domains: attach, drain, memory, read, vm.
 */
#ifndef HOSTRACE_LOG_H
#define HOSTRACE_LOG_H

#include <stdbool.h>

bool debug_on(const char *domain);
void debug_line(const char *domain, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define debug(domain, ...)                                                                         \
	do {                                                                                       \
		if (debug_on(domain))                                                              \
			debug_line(domain, __VA_ARGS__);                                           \
	} while (0)

#endif
