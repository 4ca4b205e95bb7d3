// SPDX-License-Identifier: GPL-2.0-or-later
/* Prints every event of a trace with its fields: cc events.c $(pkg-config --cflags --libs libhostrace) */
#include <hostrace.h>
#include <inttypes.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	struct hostrace_trace *t = argc > 1 ? hostrace_open(argv[1]) : NULL;
	const struct hostrace_event *ev;
	int more = t ? 1 : -1;

	while (t && (more = hostrace_next(t, &ev)) > 0) {
		printf("%" PRIu64 " %s cpu %d vcpu %d %s/%u %s", ev->time_ns, ev->source, ev->cpu,
		       ev->vcpu, ev->thread, ev->tid, ev->name);
		for (uint32_t i = 0; i < ev->nr_fields; i++)
			printf(" %s=%s", hostrace_field_name(t, i), hostrace_field_text(t, i));
		putchar('\n');
	}
	if (more < 0)
		fprintf(stderr, "%s\n", argc > 1 ? hostrace_error() : "usage: events FILE");
	else if (hostrace_lost(t))
		fprintf(stderr, "%" PRIu64 " events were lost\n", hostrace_lost(t));
	hostrace_close(t);
	return more < 0;
}
