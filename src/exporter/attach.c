// SPDX-License-Identifier: GPL-2.0-or-later
/* When to try again to attach probes, and which failures are reported. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "exporter/attach.h"

enum { DOUBLED_MAX = 6 }; /* 64 seconds */

bool attach_is_due(const struct attach_attempts *a, uint64_t now_ns)
{
	return now_ns >= a->again_ns;
}

bool attach_failed(struct attach_attempts *a, const char *why, uint64_t now_ns)
{
	bool is_new = !a->failed || strcmp(a->why, why) != 0;

	a->again_ns = now_ns + (NS_PER_S << (a->failed < DOUBLED_MAX ? a->failed : DOUBLED_MAX));
	a->failed++;
	snprintf(a->why, sizeof(a->why), "%s", why);
	return is_new;
}

bool attach_succeeded(struct attach_attempts *a)
{
	bool had_failed = a->failed;

	*a = (struct attach_attempts){0};
	return had_failed;
}
