// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * guest control freq: events a second, by counters in the guest, as OSv's freq.py shows them. The
 * counters are stopped on every way out.
 */
#include <errno.h>
#include <signal.h>
#include <time.h>

#include "base/error.h"
#include "commands/common/command.h"
#include "commands/common/guest.h"
#include "commands/common/output.h"
#include "fetch/rest.h"

enum { NAMES_MAX = 64, HEAD_EVERY = 20, COLUMN_WIDTH = 15 };

struct freq {
	const struct rest *rest;
	const char **name;
	int nr;
	uint64_t count[NAMES_MAX], time_ms, lines;
	json_t *rows; /* NULL: text */
};

static volatile sig_atomic_t stop;

static void stop_wanted(int sig)
{
	(void)sig;
	stop = 1;
}

/* Sums of counters of one name: several tracepoints may share it. */
static int counts_read(struct freq *f, uint64_t ret[NAMES_MAX], uint64_t *ret_time_ms)
{
	struct rest_count *c;
	unsigned int nr;
	int err = rest_counts(f->rest, &c, &nr, ret_time_ms);

	if (err)
		return err;
	memset(ret, 0, NAMES_MAX * sizeof(*ret));
	for (unsigned int i = 0; i < nr; i++)
		for (int n = 0; n < f->nr; n++)
			if (!strcmp(c[i].name, f->name[n]))
				ret[n] += c[i].count;
	rest_counts_free(c, nr);
	return 0;
}

static int width(const char *name)
{
	int len = (int)strlen(name);

	return len > COLUMN_WIDTH ? len : COLUMN_WIDTH;
}

/* One line of rates. A counter that went backwards counts as unchanged. */
static void rates_put(struct freq *f, const uint64_t *count, uint64_t time_ms)
{
	double seconds = (double)(time_ms - f->time_ms) / 1000;

	for (int n = 0; !f->rows && f->lines % HEAD_EVERY == 0 && n < f->nr; n++)
		printf("%*s%s", width(f->name[n]), f->name[n], n == f->nr - 1 ? "\n" : "");
	for (int n = 0; n < f->nr; n++) {
		uint64_t more = count[n] > f->count[n] ? count[n] - f->count[n] : 0;
		double rate = seconds > 0 ? (double)more / seconds : 0;

		if (f->rows)
			json_array_append_new(f->rows,
					      json_pack("{s:I,s:s,s:I,s:f}", "uptime_ms",
							(json_int_t)time_ms, "name", f->name[n],
							"count", (json_int_t)more, "per_second",
							rate));
		else
			printf("%*.0f%s", width(f->name[n]), rate, n == f->nr - 1 ? "\n" : "");
	}
	fflush(stdout);
	f->lines++;
}

static void sleep_ns(uint64_t ns)
{
	struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000),
			      .tv_nsec = (long)(ns % 1000000000)};

	nanosleep(&ts, NULL); /* a signal ends it: that is wanted */
}

static int freq_run(struct freq *f)
{
	uint64_t count[NAMES_MAX], time_ms;
	int err = counts_read(f, f->count, &f->time_ms);

	while (!err && !stop && (!guest_given.count || f->lines < guest_given.count)) {
		sleep_ns(guest_given.interval_ns);
		if (stop)
			break;
		err = counts_read(f, count, &time_ms);
		if (err)
			break;
		if (time_ms < f->time_ms)
			return fail(-EREMOTEIO,
				    "the guest's clock went backwards; was the guest restarted?");
		rates_put(f, count, time_ms);
		memcpy(f->count, count, sizeof(count));
		f->time_ms = time_ms;
	}
	return err;
}

static int start_all(const struct freq *f)
{
	int err = rest_counts_stop(f->rest);

	for (int n = 0; n < f->nr && !err; n++)
		err = rest_count_start(f->rest, f->name[n]);
	return err;
}

int guest_freq(const struct rest *r, int argc, char **argv)
{
	struct freq f = {.rest = r, .name = (const char **)argv, .nr = argc};
	struct sigaction act = {.sa_handler = stop_wanted};
	int err, stop_err;

	if (argc > NAMES_MAX)
		return command_usage("at most %d tracepoints", NAMES_MAX);
	if (output_is("json"))
		f.rows = json_array();
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	err = start_all(&f);
	if (!err && !f.rows)
		printf("Showing number of events per second. Refreshing every %g seconds\n",
		       (double)guest_given.interval_ns / 1e9);
	if (!err)
		err = freq_run(&f);
	if (err) {
		int status = command_failed();

		rest_counts_stop(r);
		json_decref(f.rows);
		return status;
	}
	stop_err = rest_counts_stop(r);
	if (stop_err) {
		json_decref(f.rows);
		return command_failed();
	}
	return f.rows ? guest_json_print("control", "rows", f.rows, NULL) : EXIT_FINE;
}
