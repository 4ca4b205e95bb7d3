// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One session: the host comes, the stream begins, tracing continues, pages go out until somebody says stop, tracing
 * goes off, the rest goes out, the instance goes away. With --serve the next one follows.
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/version.h"
#include "guestside/agent/agent.h"

enum {
	EXIT_FINE,
	EXIT_FAILED,
	EXIT_USAGE,
	PERIOD_MS = 50,
	REST_MS = 30000, /* for the host to take the rest */
	SECOND_MS = 1000,
};

static const char usage[] =
	"hostrace-guest: send the trace of this Linux guest to the host\n"
	"\n"
	"usage: hostrace-guest [OPTIONS]\n"
	"\n"
	"  -t, --to DEST      serial:PORT (default serial:hostrace), vsock:PORT,\n"
	"                     shm (an ivshmem device) or shm:FILE, file:FILE, - (stdout)\n"
	"  -e, --events LIST  SYSTEM or SYSTEM:GLOB, comma-separated (default: sched, irq,\n"
	"                     block, timer and some system calls)\n"
	"  -s, --stack        record a stack trace after every event\n"
	"  -k, --symbols      send the kernel's symbols too (--stack implies it)\n"
	"  -b, --buffer KIB   buffer size per CPU (default 2048)\n"
	"  -c, --clock NAME   clock of tracefs (default x86-tsc)\n"
	"  -d, --duration T   stop after T (10, 10s, 500ms, 2m)\n"
	"  -S, --serve        when the host disconnects, wait for the next connection\n"
	"  -q, --quiet        print errors only\n"
	"  -V, --version      print the version\n"
	"  -h, --help         print this\n";

static struct {
	const char *to;
	struct trace_options trace;
	uint64_t duration_ms;
	bool symbols, serve, quiet;
} opt = {.to = "serial:hostrace", .trace = {.clock = "x86-tsc", .buffer_kb = 2048}};

volatile int agent_signalled;

int complain(int err, const char *fmt, ...)
{
	va_list ap;

	fputs("hostrace-guest: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	return err;
}

static void on_signal(int nr)
{
	agent_signalled = nr;
}

/* Without SA_RESTART: who waits comes back. */
static void signals_set(void)
{
	static const int nrs[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction act = {.sa_handler = on_signal};

	for (unsigned int i = 0; i < sizeof(nrs) / sizeof(nrs[0]); i++)
		sigaction(nrs[i], &act, NULL);
	signal(SIGPIPE, SIG_IGN);
}

/* Pages go out until there is a reason to end, which is returned; NULL with *ret_err: an error. */
static const char *pump(struct stream *st, struct trace *t, int *ret_err)
{
	uint64_t until = opt.duration_ms ? monotonic_ms() + opt.duration_ms : UINT64_MAX;

	for (;;) {
		uint64_t now = monotonic_ms();
		int said, pause = until - now < PERIOD_MS ? (int)(until - now) : PERIOD_MS;

		if (now >= until)
			return "duration";
		if (agent_signalled)
			return "signal";
		said = sink_look(st->sink, pause);
		if (said == SINK_STOP)
			return "host";
		*ret_err = said < 0 && said != -EINTR ? said : stream_pages(st, t);
		if (*ret_err)
			return NULL;
	}
}

static int session_run(struct stream *st, struct trace *t)
{
	const char *why;
	int err = stream_begin(st, t, opt.trace.clock, opt.symbols || opt.trace.stack);

	if (!err)
		err = trace_on(t, true);
	if (err)
		return err;
	if (!opt.quiet)
		complain(0, "tracing %u CPUs to %s", t->nr_cpus, opt.to);
	why = pump(st, t, &err);
	trace_on(t, false);
	if (!why)
		return err;
	st->until_ms = monotonic_ms() + REST_MS;
	err = stream_pages(st, t);
	if (!err)
		err = stream_end(st, t, why);
	if (!err)
		sink_end(st->sink);
	if (!err && !opt.quiet)
		complain(0, "%llu pages, %llu KiB; ended by: %s", (unsigned long long)st->pages,
			 (unsigned long long)st->bytes / 1024, why);
	return err;
}

/* The host's going is not a failure of ours. */
static int session(struct sink *sink)
{
	struct trace t = {0};
	struct stream st;
	int err = sink_wait(sink);

	if (err)
		return err == -EINTR ? 0 : err;
	err = stream_open(&st, sink);
	if (!err)
		err = trace_open(&t, &opt.trace);
	if (!err)
		err = session_run(&st, &t);
	trace_close(&t);
	stream_close(&st);
	if (err == -EPIPE || err == -ETIMEDOUT) {
		if (!opt.quiet)
			complain(0, "the host disconnected");
		return 0;
	}
	return err;
}

static int duration_parse(const char *text, uint64_t *ret)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 10);

	if (end == text || n > 1000000000)
		return -EINVAL;
	if (!strcmp(end, "ms"))
		*ret = n;
	else if (!*end || !strcmp(end, "s"))
		*ret = n * SECOND_MS;
	else if (!strcmp(end, "m"))
		*ret = n * 60 * SECOND_MS;
	else
		return -EINVAL;
	return 0;
}

static int number_parse(const char *text, uint64_t *ret)
{
	char *end;

	*ret = strtoull(text, &end, 10);
	return end == text || *end || !*ret || *ret > 1 << 20 ? -EINVAL : 0;
}

/* clang-format off */
static const struct option options[] = {
	{"to", required_argument, NULL, 't'},	    {"events", required_argument, NULL, 'e'},
	{"stack", no_argument, NULL, 's'},	    {"symbols", no_argument, NULL, 'k'},
	{"buffer", required_argument, NULL, 'b'},   {"clock", required_argument, NULL, 'c'},
	{"duration", required_argument, NULL, 'd'}, {"serve", no_argument, NULL, 'S'},
	{"quiet", no_argument, NULL, 'q'},	    {"version", no_argument, NULL, 'V'},
	{"help", no_argument, NULL, 'h'},	    {0},
};
/* clang-format on */

/* -1: continue; else the exit status. */
static int option_take(int c)
{
	int err = 0;

	switch (c) {
	case 't': opt.to = optarg; break;
	case 'e': opt.trace.events = optarg; break;
	case 's': opt.trace.stack = true; break;
	case 'k': opt.symbols = true; break;
	case 'b': err = number_parse(optarg, &opt.trace.buffer_kb); break;
	case 'c': opt.trace.clock = optarg; break;
	case 'd': err = duration_parse(optarg, &opt.duration_ms); break;
	case 'S': opt.serve = true; break;
	case 'q': opt.quiet = true; break;
	case 'V': puts("hostrace-guest " HOSTRACE_VERSION); return EXIT_FINE;
	case 'h': fputs(usage, stdout); return EXIT_FINE;
	default: return EXIT_USAGE;
	}
	if (err)
		complain(err, "invalid value '%s'; see --help", optarg);
	return err ? EXIT_USAGE : -1;
}

int main(int argc, char **argv)
{
	struct sink *sink = NULL;
	int c, err = 0;

	while ((c = getopt_long(argc, argv, "t:e:skb:c:d:SqVh", options, NULL)) != -1) {
		int status = option_take(c);

		if (status >= 0)
			return status;
	}
	if (optind < argc) {
		complain(-EINVAL, "unexpected argument '%s'; see --help", argv[optind]);
		return EXIT_USAGE;
	}
	signals_set();
	do {
		sink_close(sink);
		sink = NULL;
		err = sink_open(opt.to, &sink);
		if (!err)
			err = session(sink);
	} while (opt.serve && !err && !agent_signalled);
	sink_close(sink);
	return err ? EXIT_FAILED : EXIT_FINE;
}
