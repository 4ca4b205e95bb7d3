// SPDX-License-Identifier: GPL-2.0-or-later
/* guest download, control, sampler: what goes through the guest's REST server. */
#include <errno.h>
#include <inttypes.h>
#include <regex.h>

#include "base/clock.h"
#include "base/new_file.h"
#include "base/error.h"
#include "base/units.h"
#include "commands/common/command.h"
#include "commands/common/guest.h"
#include "commands/common/output.h"
#include "fetch/rest.h"
#include "readers/osv/osv.h"

/* Of a URL without a scheme, which is http, too. */
static int tls_options_check(const char *url)
{
	return strncasecmp(url, "https://", 8)
		       ? options_unused_check("cert key cacert no-verify", "without https://")
		       : 0;
}

/* ---- download ---- */

enum { PROGRESS_NS = 100000000, BAR = 32 };

static const char bar_full[BAR + 1] = "================================";

/* "[     512 /     2048 k] ========         25%"; at most ten a second. `arg`: when the last one was. */
static void progress_show(uint64_t now, uint64_t total, void *arg)
{
	uint64_t *shown_ns = arg, time_ns = monotonic_ns();
	int bar = total ? (int)(now * BAR / total) : 0;

	if (now != total && time_ns - *shown_ns < PROGRESS_NS)
		return;
	*shown_ns = time_ns;
	if (total)
		fprintf(stderr, "\r[%8" PRIu64 " / %8" PRIu64 " k] %.*s%*s %3d%%", now >> 10,
			total >> 10, bar, bar_full, BAR - bar, "", (int)(now * 100 / total));
	else
		fprintf(stderr, "\r[%8" PRIu64 " k]", now >> 10);
	fflush(stderr);
}

static bool names_a_file(const char *url)
{
	const char *host = strstr(url, "://");
	const char *path = host ? strchr(host + 3, '/') : NULL;

	return path && path[1] && path[strlen(path) - 1] != '/';
}

/* What OSv's server sends must be readable, or it is not a trace. */
static int check_dump(const char *path)
{
	_cleanup_(sample_trace_cleanup_) struct sample_trace *t = NULL;
	int err = osv_open(path, NULL, &t);

	return err ? fail_hint(err, "the server sent other data, or the transfer was incomplete")
		   : 0;
}

static json_t *download_json(const char *url, const char *file, const char *tracefile,
			     const struct download_result *d)
{
	return json_pack("{s:s,s:s,s:I,s:I,s:i,s:s?}", "url", url, "file", file, "bytes",
			 (json_int_t)d->bytes, "resumed_at", (json_int_t)d->resumed_at, "breaks",
			 (int)d->breaks, "tracefile", tracefile);
}

/* As convert-dump does. The dump stays: it has the modules' names, which a tracefile has not. */
static int dump_convert(const char *dump, const char *to)
{
	_cleanup_(sample_trace_cleanup_) struct sample_trace *t = NULL;
	struct new_file f = {0};
	int err = osv_open(dump, NULL, &t);

	if (!err)
		err = new_file_open(&f, to, false);
	if (err)
		return err;
	if (guest_given.terse)
		printf("Converting dump %s -> %s\n", dump, to);
	return new_file_close(&f, osv_convert(t, f.file));
}

/* tracefile: that the dump in `file` is converted to; NULL: it is not. */
static int download_run(const char *url, const char *file, const char *tracefile)
{
	bool bar = isatty(STDERR_FILENO) && !common.quiet;
	uint64_t shown_ns = 0;
	struct download_options opt = {
		.http = guest_given.http,
		.url = url,
		.file = file,
		.max_bytes = guest_given.max_bytes,
		.retries = guest_given.retries < 16 ? (unsigned int)guest_given.retries : 16,
		.check = strstr(url, "/trace/buffers") ? check_dump : NULL,
		.progress = bar ? progress_show : NULL,
		.progress_arg = &shown_ns,
	};
	struct download_result done;
	int err;

	if (guest_given.terse) {
		printf("Downloading %s -> %s\n", url, file);
		fflush(stdout);
	}
	err = download(&opt, &done);

	if (bar)
		fputc('\n', stderr);
	if (!err && guest_given.terse)
		printf("[%8" PRIu64 " / %8" PRIu64 " k] %s> 100.00%%\n", done.bytes >> 10,
		       done.bytes >> 10, bar_full);
	if (!err && tracefile)
		err = dump_convert(file, tracefile);
	if (err)
		return command_failed();
	if (output_is("json"))
		return guest_json_print("download", "result",
					download_json(url, file, tracefile, &done), NULL);
	if (guest_given.terse)
		return EXIT_FINE;
	printf("%s: %" PRIu64 " bytes", file, done.bytes);
	if (done.resumed_at)
		printf(", %" PRIu64 " of them from an earlier run", done.resumed_at);
	if (done.breaks)
		printf(", resumed %u time%s", done.breaks, done.breaks == 1 ? "" : "s");
	if (tracefile)
		printf(", converted to %s", tracefile);
	putchar('\n');
	return EXIT_FINE;
}

/* `download URL`, or as OSv's own tool has it: `download --url URL FILE`. */
int guest_download(int argc, char **argv)
{
	const char *file = output_file(), *given = guest_given.url;
	_cleanup_free_ char *base = NULL, *url = NULL, *dump = NULL;

	if (argc > 1)
		return command_usage("unexpected argument '%s'", argv[1]);
	if (argc && given && !file)
		file = argv[0];
	else if (argc && given)
		return command_usage("unexpected second URL '%s'", argv[0]);
	else if (argc)
		given = argv[0];
	base = http_url(given);
	url = !base ? NULL : names_a_file(base) ? strdup(base) : http_join(base, "trace/buffers");
	if (!url)
		return command_usage("out of memory");
	if (tls_options_check(url))
		return command_failed();
	file = file ? file : "tracefile";
	if (!guest_given.convert)
		return download_run(url, file, NULL);
	if (asprintf(&dump, "%s.osvt", file) < 0)
		return command_usage("out of memory");
	return download_run(url, dump, file);
}

/* ---- control ---- */

/* url: an argument; NULL: there is none. The caller frees both. */
static int rest_init(struct rest *r, const char *url, char **owned, struct http **http)
{
	if (url && guest_given.url)
		return fail_usage(-EINVAL, "unexpected second URL '%s'", url);
	*owned = http_url(url ? url : guest_given.url);
	*http = http_open(&guest_given.http);
	if (!*owned || !*http)
		return fail(-ENOMEM, "out of memory");
	if (tls_options_check(*owned))
		return -EINVAL;
	*r = (struct rest){.http = *http, .url = *owned};
	return 0;
}

/* Does the name fit any of the expressions (POSIX extended, anywhere in the name)? None: all fit. */
static int fits(regex_t *re, int nr, const char *name)
{
	for (int i = 0; i < nr; i++)
		if (!regexec(&re[i], name, 0, NULL, 0))
			return true;
	return !nr;
}

enum { PATTERNS_MAX = 64 };

/* Keeps the events that fit, at the front; *nr becomes their number. */
static int events_filter(struct rest_event *ev, unsigned int *nr, int nr_words, char **words)
{
	regex_t re[PATTERNS_MAX];
	unsigned int kept = 0;
	int compiled = 0, err = 0;

	if (nr_words > PATTERNS_MAX)
		return fail(-E2BIG, "more than %d regular expressions", PATTERNS_MAX);
	for (; compiled < nr_words && !err; compiled++)
		if (regcomp(&re[compiled], words[compiled], REG_EXTENDED | REG_NOSUB)) {
			err = fail(-EINVAL, "invalid regular expression '%s'", words[compiled]);
			break;
		}
	for (unsigned int i = 0; !err && i < *nr; i++) {
		if (!fits(re, nr_words, ev[i].name))
			continue;
		struct rest_event moved = ev[kept];

		ev[kept++] = ev[i];
		if (kept - 1 != i)
			ev[i] = moved;
	}
	while (compiled--)
		regfree(&re[compiled]);
	*nr = err ? *nr : kept;
	return err;
}

static json_t *event_json(const struct rest_event *ev, bool switched)
{
	json_t *row = json_pack("{s:s,s:s,s:b,s:b}", "name", ev->name, "id", ev->id, "enabled",
				ev->enabled, "backtrace", ev->backtrace);

	if (switched)
		json_object_set_new(row, "previous",
				    ev->was_known
					    ? json_pack("{s:b,s:b}", "enabled", ev->was_enabled,
							"backtrace", ev->was_backtrace)
					    : json_null());
	return row;
}

/* Before it was switched, as the server says it. */
static const char *previous_print(const struct rest_event *ev)
{
	return !ev->was_known	   ? "?"
	       : !ev->was_enabled  ? "-"
	       : ev->was_backtrace ? "enabled,backtrace"
				   : "enabled";
}

static int events_print(const struct rest_event *ev, unsigned int nr, bool switched)
{
	json_t *rows;

	if (output_is("json")) {
		rows = json_array();
		for (unsigned int i = 0; i < nr; i++)
			json_array_append_new(rows, event_json(&ev[i], switched));
		return guest_json_print("control", "rows", rows, NULL);
	}
	printf("%-8s %-9s %s%s\n", "STATE", "BACKTRACE", switched ? "PREVIOUS          " : "",
	       "NAME");
	for (unsigned int i = 0; i < nr; i++) {
		printf("%-8s %-9s ", ev[i].enabled ? "enabled" : "-",
		       ev[i].backtrace ? "yes" : "-");
		if (switched)
			printf("%-17s ", previous_print(&ev[i]));
		printf("%s\n", ev[i].name);
	}
	return EXIT_FINE;
}

/* Sets those that fit; where all do, by one request. */
static int events_switch(const struct rest *r, struct rest_event *ev, unsigned int nr, bool all,
			 bool on)
{
	bool same = guest_given.backtrace || guest_given.no_backtrace || !on;
	int err = 0;

	if (all && same)
		return rest_events_set(r, ev, nr, on, on && guest_given.backtrace);
	for (unsigned int i = 0; i < nr && !err; i++) {
		bool kept = ev[i].backtrace && !guest_given.no_backtrace;
		bool backtrace = guest_given.backtrace || kept;

		err = rest_event_set(r, &ev[i], on, backtrace);
	}
	return err;
}

static int control_events(const struct rest *r, const char *what, int nr_words, char **words)
{
	struct rest_event *ev = NULL;
	unsigned int nr = 0, nr_all;
	int err = rest_events(r, &ev, &nr), status;

	nr_all = nr;
	if (!err)
		err = events_filter(ev, &nr, nr_words, words);
	if (!err && !nr && nr_words)
		err = fail(-ENOENT, "no tracepoint matches; 'guest control list' shows all %u",
			   nr_all);
	if (!err && strcmp(what, "list"))
		err = events_switch(r, ev, nr, nr == nr_all, !strcmp(what, "enable"));
	status = err ? command_failed() : events_print(ev, nr, strcmp(what, "list") != 0);
	rest_events_free(ev, nr_all);
	return status;
}

int guest_control(int argc, char **argv)
{
	static const char *const words[] = {"list", "enable", "disable", "freq"};
	_cleanup_(http_cleanup_) struct http *http = NULL;
	_cleanup_free_ char *owned = NULL;
	const char *url = NULL, *what = NULL;
	struct rest r;

	for (int i = 0; i < 2 && i < argc && !what; i++) {
		for (size_t w = 0; w < sizeof(words) / sizeof(*words) && !what; w++)
			if (!strcmp(argv[i], words[w]))
				what = words[w];
		if (!what && i == 0)
			url = argv[i];
		else if (!what)
			return command_usage(
				"unknown action '%s' (expected list, enable, disable or freq)",
				argv[i]);
	}
	argc -= (url != NULL) + (what != NULL);
	argv += (url != NULL) + (what != NULL);
	what = what ? what : "list";
	if (strcmp(what, "list") && !argc)
		return command_usage("%s: missing names of tracepoints ('.' matches all)", what);
	if ((strcmp(what, "enable") != 0 &&
	     options_unused_check("backtrace no-backtrace", "except on 'control enable'")) ||
	    (strcmp(what, "freq") != 0 &&
	     options_unused_check("interval count", "except on 'control freq'")) ||
	    rest_init(&r, url, &owned, &http))
		return command_failed();
	if (!strcmp(what, "freq"))
		return guest_freq(&r, argc, argv);
	return control_events(&r, what, argc, argv);
}

/* ---- dmesg ---- */

int guest_control_dmesg(void)
{
	_cleanup_(http_cleanup_) struct http *http = NULL;
	_cleanup_free_ char *owned = NULL, *text = NULL;
	struct rest r;

	if (options_unused_check("remote exe vm qmp debug dump module",
				 "on the log from the REST server") ||
	    rest_init(&r, NULL, &owned, &http) || rest_log(&r, &text))
		return command_failed();
	return guest_rest_dmesg(text);
}

/* ---- sampler ---- */

int guest_sampler(int argc, char **argv)
{
	_cleanup_(http_cleanup_) struct http *http = NULL;
	_cleanup_free_ char *owned = NULL;
	const char *url = NULL, *hz_text = NULL;
	struct rest r;
	uint64_t hz;

	for (int i = 0; i < argc; i++) {
		bool number = strspn(argv[i], "0123456789") == strlen(argv[i]);

		if (number ? hz_text != NULL : url != NULL)
			return command_usage("unexpected argument '%s'", argv[i]);
		*(number ? &hz_text : &url) = argv[i];
	}
	if (!hz_text)
		return command_usage("missing sampling rate (0 stops the sampler)");
	if (parse_u64(hz_text, &hz) || hz > REST_SAMPLER_HZ_MAX)
		return command_usage("the sampling rate must not exceed %d Hz",
				     REST_SAMPLER_HZ_MAX);
	if (rest_init(&r, url, &owned, &http) || rest_sampler(&r, hz))
		return command_failed();
	if (output_is("json"))
		return guest_json_print("sampler", "result",
					json_pack("{s:I}", "hz", (json_int_t)hz), NULL);
	if (hz)
		printf("the sampler runs at %" PRIu64
		       " Hz on every vCPU; 'guest sampler 0' stops it\n",
		       hz);
	else
		printf("the sampler is stopped\n");
	return EXIT_FINE;
}
