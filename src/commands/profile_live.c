// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * profile --live: what `perf kvm top` is. `hostrace record -o -` samples the VM, as if it were typed, with its own
 * privileges; here its recording is followed, and each interval of it becomes a page. A recording that is named, such
 * as standard input from ssh, is followed instead.
 */
#include "commands/profile_live.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/order.h"
#include "base/process.h"
#include "commands/common/input.h"
#include "commands/common/output.h"
#include "output/samples/samples_output.h"
#include "reports/head.h"

static uint64_t interval_ns = 2 * NS_PER_S, duration_ns, count, sample_hz = 997;

/* clang-format off */
const struct option_row profile_live_options[] = {
	{0, "live",     OPT_FLAG,     &input_given.follow, NULL, "print hot symbols of guest and host while the VM runs (--vm), or of a recording that is being written"},
	{0, "interval", OPT_DURATION, &interval_ns, "T",  "with --live: one page for every T (default: 2s)"},
	{0, "duration", OPT_SPAN,     &duration_ns, "T",  "with --live: stop after this time (10s, 500ms, 2m)"},
	{0, "count",    OPT_U64,      &count,       "N",  "with --live: stop after N pages"},
	{0, "sample",   OPT_U64,      &sample_hz,   "HZ", "with --live: sample the VM at HZ (default: 997)"},
	{0},
};
/* clang-format on */

const struct option_rule profile_live_rules[] = {
	{"caller-oriented", .formats = "text json", .unless = "diff live"},
	{"min-duration", .formats = "text json", .unless = "diff live"},
	{"min-hits", .formats = "text json", .unless = "diff"},
	{"max-levels", .formats = "text json", .unless = "diff live"},
	{"sort", .unless = "compat"},
	{"interval", .with = "live"},
	{"duration", .with = "live"},
	{"count", .with = "live"},
	{"sample", .with = "live"},
	{"function", .unless = "live"},
	{"tracepoint", .unless = "live"},
	{"causes-exits", .unless = "live"},
	{"diff", .unless = "live"},
	{"compat", .unless = "live"},
	{"since", .unless = "live"},
	{"until", .unless = "live"},
	{"period", .unless = "live"},
	{"guest", .unless = "live"},
	{"no-guest", .unless = "live"},
	{"clock", .unless = "live"},
	{"tsc-khz", .unless = "live"},
	{0},
};

struct live {
	struct output out;
	struct input_set *in;
	uint64_t first_ns; /* of the recording */
	bool grouped, known, terminal;
};

/* ---- a page ---- */

static int page_json(const struct live *l, const struct host_live_page *p)
{
	struct row_sink sink = {.json = true, .rows = json_array()};
	int err = call_trees_print(p->tree, l->grouped, &sink);
	json_auto_t *page = json_pack(
		"{s:I,s:I,s:I,s:I,s:I,s:o}", "time_ns", (json_int_t)p->end_ns, "interval_ns",
		(json_int_t)(p->end_ns - p->start_ns), "samples",
		(json_int_t)calltree_hits(p->tree), "host_samples",
		(json_int_t)p->totals->host.counted,
		"lost", (json_int_t)p->lost, "rows", sink.rows);

	if (!err && (!page || json_text_put(page, l->out.file, JSON_COMPACT)))
		err = fail(-ENOMEM, "out of memory");
	if (!err)
		fputc('\n', l->out.file);
	return err;
}

static void head_print(const struct live *l, const struct host_live_page *p, FILE *f)
{
	uint64_t nr = calltree_hits(p->tree);

	fprintf(f, "%.3f s: %" PRIu64 " samples in %.3f s, %.1f%% of them in the guest",
		(double)(p->end_ns - l->first_ns) / 1e9, nr,
		(double)(p->end_ns - p->start_ns) / 1e9,
		100.0 * (double)(nr - p->totals->host.counted) / (double)nr);
	if (p->lost)
		fprintf(f, "; %" PRIu64 " events lost", p->lost);
	fputc('\n', f);
}

/* ---- ... as a list: each path of the tree, which has one level per key of --sort, is a row ---- */

struct symbol_row {
	char name[256];
	json_int_t hits;
	size_t order;
};

struct symbol_list {
	struct symbol_row *row;
	size_t nr;
};

static int by_hits(const void *a, const void *b)
{
	const struct symbol_row *x = a, *y = b;
	int order = order_u64((uint64_t)y->hits, (uint64_t)x->hits);

	return order ? order : order_u64(x->order, y->order);
}

static int symbol_add(struct symbol_list *l, const char *name, json_int_t hits)
{
	if (array_room(l->row, l->nr))
		return -ENOMEM;
	struct symbol_row *r = &l->row[l->nr];

	*r = (struct symbol_row){.hits = hits, .order = l->nr++};
	snprintf(r->name, sizeof(r->name), "%s", name);
	return 0;
}

/* Of the node's paths; `before`: the names above it. What it has beyond its children was hidden by --min-hits. */
static int symbols_add(struct symbol_list *l, const json_t *node, const char *before)
{
	const json_t *children = json_object_get(node, "children"), *child, *part;
	char name[256];
	size_t i, len;
	int err = 0;

	snprintf(name, sizeof(name), "%s", before);
	json_array_foreach (json_object_get(node, "tail"), i, part) {
		len = strlen(name);
		snprintf(name + len, sizeof(name) - len, "%s%s", len ? "  " : "",
			 json_string_value(part));
	}
	if (!json_array_size(children))
		return symbol_add(l, name, json_integer_value(json_object_get(node, "hits")));
	json_array_foreach (children, i, child) {
		char path[sizeof(name)];

		snprintf(path, sizeof(path), "%.120s%s%.120s", name, *name ? "  " : "",
			 json_string_value(json_object_get(child, "name")));
		err = err ? err : symbols_add(l, child, path);
	}
	return err;
}

static int root_print(const json_t *root, uint64_t all, FILE *f)
{
	const char *group = json_string_value(json_object_get(root, "group"));
	struct symbol_list l = {0};
	int err = symbols_add(&l, root, "");

	if (!err && l.nr)
		qsort(l.row, l.nr, sizeof(*l.row), by_hits);
	if (group)
		fprintf(f, "%s\n", group);
	for (size_t i = 0; i < l.nr && !err; i++)
		fprintf(f, "%6.2f%% %7" PRIu64 "  %s\n",
			100.0 * (double)l.row[i].hits / (double)all, (uint64_t)l.row[i].hits,
			l.row[i].name);
	free(l.row);
	return err;
}

static int list_print(const struct live *l, const struct host_live_page *p, FILE *f)
{
	json_auto_t *roots = json_array();
	int err = call_trees_print(p->tree, l->grouped,
				   &(struct row_sink){.json = true, .rows = roots});
	size_t i;
	json_t *root;

	json_array_foreach (roots, i, root)
		err = err ? err : root_print(root, calltree_hits(p->tree), f);
	return err;
}

/* As many lines as the terminal has; 0: all. */
static unsigned int lines_max(const struct live *l)
{
	struct winsize size;

	if (!l->terminal || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_row < 4)
		return 0;
	return size.ws_row - 1u;
}

static void lines_put(const struct live *l, const char *text, unsigned int max, FILE *f)
{
	int width = l->terminal ? l->out.width : INT_MAX;
	const char *end;

	for (unsigned int i = 0; *text && (!max || i < max); i++, text = *end ? end + 1 : end) {
		end = strchrnul(text, '\n');
		fprintf(f, "%.*s\n", end - text < width ? (int)(end - text) : width, text);
	}
}

static int page_text(const struct live *l, const struct host_live_page *p)
{
	_cleanup_free_ char *text = NULL;
	size_t len = 0;
	FILE *f = open_memstream(&text, &len);
	int err = f ? 0 : fail(-ENOMEM, "out of memory");

	if (err)
		return err;
	head_print(l, p, f);
	err = list_print(l, p, f);
	if (fclose(f) && !err)
		err = fail(-ENOMEM, "out of memory");
	if (err)
		return err;
	if (l->terminal)
		fputs("\033[H\033[2J", l->out.file);
	lines_put(l, text, lines_max(l), l->out.file);
	if (!l->terminal)
		fputc('\n', l->out.file);
	return 0;
}

static int page_print(void *arg, const struct host_live_page *p)
{
	struct live *l = arg;
	int err;

	if (!l->known)
		l->first_ns = l->in->reader->info.start_ns;
	l->known = true;
	err = strcmp(l->out.format, "json") != 0 ? page_text(l, p) : page_json(l, p);
	output_flush(&l->out);
	if (!err && ferror(l->out.file))
		err = fail(-EIO, "cannot write the output");
	return err;
}

/* ---- the recorder ---- */

struct recorder {
	pid_t pid, stopper; /* 0: none */
	int stop;	    /* closing it ends the recorder */
};

enum { WORDS_MAX = 12 + 2 * OPTION_LIST_MAX };

/* Once this process is confined it sends no signals: a child stops the recorder when it closes *ret, or dies. */
static void stopper_run(int until, int recorder)
{
	struct pollfd p[2] = {{.fd = until, .events = POLLIN}, {.fd = recorder, .events = POLLIN}};

	while (poll(p, 2, -1) < 0 && errno == EINTR)
		;
	if (p[0].revents)
		syscall(SYS_pidfd_send_signal, recorder, SIGINT, NULL, 0);
	_exit(0);
}

static int stopper_start(struct recorder *r)
{
	int ends[2], pidfd = (int)syscall(SYS_pidfd_open, r->pid, 0);

	if (pidfd < 0 || pipe2(ends, O_CLOEXEC))
		return fail(-errno, "cannot watch the recorder: %s", strerror(errno));
	r->stopper = fork();
	if (!r->stopper) {
		close(ends[1]);
		stopper_run(ends[0], pidfd);
	}
	close(ends[0]);
	close(pidfd);
	r->stop = ends[1];
	return r->stopper < 0 ? fail(-errno, "fork: %s", strerror(errno)) : 0;
}

/* Its recording becomes standard input. 0 or -errno with the error message set. */
static int recorder_start(struct recorder *r)
{
	char self[PATH_MAX], hz[24], duration[32];
	char *words[WORDS_MAX] = {self_path(self), "record", "-q", "-o", "-", "--sample", hz};
	unsigned int nr = 7;
	int ends[2], err;

	snprintf(hz, sizeof(hz), "%" PRIu64, sample_hz);
	snprintf(duration, sizeof(duration), "%" PRIu64 "ns", duration_ns);
	for (unsigned int i = 0; i < input_given.vms.nr; i++) {
		words[nr++] = "--vm";
		words[nr++] = (char *)input_given.vms.item[i];
	}
	if (duration_ns) {
		words[nr++] = "--duration";
		words[nr++] = duration;
	}
	if (pipe2(ends, O_CLOEXEC))
		return fail(-errno, "pipe: %s", strerror(errno));
	r->pid = process_start(words, -1, ends[1], -1, SIGINT);
	close(ends[1]);
	err = r->pid < 0 ? (int)r->pid : stopper_start(r);
	if (!err && dup2(ends[0], STDIN_FILENO) < 0)
		err = fail(-errno, "standard input: %s", strerror(errno));
	close(ends[0]);
	return err;
}

/* Its exit status. It writes the rest of its recording first, which nobody else reads. */
static int recorder_end(const struct recorder *r)
{
	char rest[4096];
	int status = 0;

	if (r->pid <= 0)
		return 0;
	close(r->stop);
	while (read(STDIN_FILENO, rest, sizeof(rest)) > 0)
		;
	while (waitpid(r->pid, &status, 0) < 0 && errno == EINTR)
		;
	waitpid(r->stopper, NULL, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAILED;
}

/* ---- the command ---- */

static int live_check(const struct host_profile_options *o)
{
	bool named = input_given.files.nr;

	if (o->by & (HOST_BY_TASK | HOST_BY_REASON))
		return fail_usage(-EINVAL, "--by guest-task and reason cannot be combined with "
					   "--live");
	if (!interval_ns)
		return fail_usage(-EINVAL, "--interval must be longer than 0");
	if (!named && !input_given.vms.nr)
		return fail_usage(-EINVAL, "--live requires --vm VM, or a recording that is being "
					   "written: -i FILE, -i -");
	if (input_given.files.nr > 1)
		return fail_usage(-EINVAL, "--live reads one recording");
	return named ? options_unused_check("sample duration", "on a recording") : 0;
}

static int live_read(struct live *l, const struct host_profile_options *o)
{
	struct host_live_query q = {.options = *o,
				    .interval_ns = interval_ns,
				    .count = count,
				    .page = page_print,
				    .arg = l};
	int err = input_make(false, &l->in);

	if (!q.options.frames.nr_keys) {
		q.options.frames.key[0] = FRAMES_SYMBOL;
		q.options.frames.nr_keys = 1;
	}
	l->grouped = o->by != 0;
	return err ? err : host_live_run(&q, l->in);
}

int profile_live_run(int argc, char **argv, const struct host_profile_options *o)
{
	struct live l = {0};
	struct recorder recorder = {0};
	int err = input_add_args(argc, argv, OPTION_LIST_MAX);

	if (err || live_check(o))
		return command_usage("%s", error_text());
	common.no_pager = true;
	input_given.follow = true;
	if (output_open("text json", &l.out))
		return command_failed();
	output_unwrap(&l.out);
	l.terminal = !l.out.new_file.file && isatty(STDOUT_FILENO) && !output_is("json");
	if (!input_given.files.nr) {
		err = recorder_start(&recorder);
		input_add_file("/dev/stdin");
	}
	err = err ? err : live_read(&l, o);
	int status = recorder_end(&recorder), shown;

	if (status > 0 && err) { /* which has said why */
		output_cancel(&l.out);
		input_set_close(l.in);
		return status;
	}
	if (!err && !l.known)
		command_note("no samples were recorded");
	/* After ^C the recorder wrote its end mark when nobody read it any more. */
	bool is_cut = recorder.pid && !status && !err && l.in->reader->info.truncated;

	if (!err && !is_cut && !strcmp(l.out.format, "text"))
		inputs_foot(l.in, NULL, &l.out, l.out.file);
	shown = output_end(err, &l.out, !err && !is_cut && input_set_strict_failed(l.in));
	input_set_close(l.in);
	return shown ? shown : status;
}
