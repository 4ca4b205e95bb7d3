// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "clock/align.h"
#include "commands/common/command.h"
#include "commands/common/reading.h"
#include "event/trim_reason.h"
#include "input/reading_beside.h"
#include "readers/readers.h"

enum { INPUTS_MAX = 2 * OPTION_LIST_MAX + 1 };

static const char default_input[] = "hostrace.hrt";

static struct text_list files, guests, globs, reasons;
static struct time_arg since_opt, until_opt, period_opt;
static const char *vm_opt, *clock_opt;
static struct number_list vcpus_opt, tids_opt;
static bool strict_opt, no_guest_opt;

/* clang-format off */
const struct option_row reading_options[] = {
	{'i', "input",  OPT_LIST,     &files,      "FILE", "trace to read (default hostrace.hrt); repeatable"},
	{0,   "guest",  OPT_LIST,     &guests,     "FILE", "a guest's own trace to merge"},
	{0,   "no-guest", OPT_FLAG,   &no_guest_opt, NULL, "not that which 'record --guest' put beside the recording"},
	{0,   "clock",  OPT_TEXT,     &clock_opt,  "HOW",  "align the guest's clock by read, fit or OFFSET[,SCALE]"},
	{0,   "since",  OPT_TIME,     &since_opt,  "TIME", "from here on: after the trace's start, or absolute "
							   "when larger than its span"},
	{0,   "until",  OPT_TIME,     &until_opt,  "TIME", "up to here"},
	{0,   "period", OPT_TIME,     &period_opt, "TIME", "so long, from --since or up to --until"},
	{0,   "vm",     OPT_TEXT,     &vm_opt,     "PID|NAME", "only this virtual machine"},
	{0,   "vcpu",   OPT_NUMBERS,  &vcpus_opt,  "N[,N]", "only these vCPUs"},
	{0,   "tid",    OPT_NUMBERS,  &tids_opt,   "N[,N]", "only these threads"},
	{0,   "event",  OPT_LIST,     &globs,      "GLOB[,GLOB]", "only events of these names"},
	{0,   "reason", OPT_LIST,     &reasons,    "GLOB[,GLOB]", "only exits for these reasons, and what "
								  "happened until the next entry"},
	{0,   "strict", OPT_FLAG,     &strict_opt, NULL,   "exit with 3 if events were lost"},
	{0},
};
/* clang-format on */

/* The inputs of the reader that reading_open() made; it owns them. */
static struct reader *inputs[INPUTS_MAX];
static unsigned int nr_inputs;
static uint64_t window_until_ns = UINT64_MAX;
static char source_names[INPUTS_MAX][16];

void reading_add_input(const char *path)
{
	if (files.nr < OPTION_LIST_MAX)
		files.item[files.nr++] = path;
}

int reading_take_args(int argc, char **argv, int max)
{
	if (argc > max)
		return fail_usage(-EINVAL,
				  max ? "more than %d file%s"
				      : "it takes no arguments; inputs are given with -i",
				  max, max == 1 ? "" : "s");
	for (int i = 0; i < argc; i++)
		reading_add_input(argv[i]);
	return align_clock_check(clock_opt);
}

static const char *host_path(unsigned int i)
{
	return files.nr ? files.item[i] : default_input;
}

/* Does --event leave any room for a guest's events? */
static bool guests_asked(void)
{
	for (unsigned int i = 0; i < globs.nr; i++)
		if (strchr("g*?[", globs.item[i][0]))
			return true;
	return !globs.nr;
}

void reading_want_guests(void)
{
	char *found[OPTION_LIST_MAX];
	unsigned int nr = 0;

	if (!guests.nr && !no_guest_opt && files.nr <= 1 && guests_asked())
		nr = reading_beside(host_path(0), command_note, found, OPTION_LIST_MAX);
	for (unsigned int i = 0; i < nr; i++) { /* kept until the program ends, as the options are */
		guests.item[guests.nr++] = found[i];
		command_note("%s, the guest's own trace, is merged (not with --no-guest)",
			     found[i]);
	}
}

const char *reading_source_name(unsigned int source)
{
	return source < nr_inputs ? source_names[source] : "?";
}

bool reading_is_guest(unsigned int source)
{
	return !strncmp(reading_source_name(source), "guest", 5);
}

bool reading_trimmed(void)
{
	return since_opt.ns || until_opt.ns || period_opt.ns || vm_opt || vcpus_opt.nr ||
	       tids_opt.nr || globs.nr || reasons.nr;
}

bool reading_asked(struct reader *r, const struct event *ev)
{
	return !reading_trimmed() || trim_passes(r, ev);
}

const char *reading_only_file(void)
{
	bool others = vm_opt || vcpus_opt.nr || tids_opt.nr || globs.nr || reasons.nr || strict_opt;

	return files.nr == 1 && !guests.nr && !others ? files.item[0] : NULL;
}

unsigned int reading_nr_files(void)
{
	return files.nr + guests.nr;
}

void reading_times(const char **since, const char **until, const char **period)
{
	*since = since_opt.text;
	*until = until_opt.text;
	*period = period_opt.text;
}

const char *reading_vm(void)
{
	return vm_opt;
}

unsigned int reading_first_guest(void)
{
	return guests.nr ? (files.nr ? files.nr : 1) : 0;
}

const char *reading_last_path(void)
{
	return guests.nr ? guests.item[guests.nr - 1] : host_path(files.nr ? files.nr - 1 : 0);
}

struct reader *reading_input(unsigned int source)
{
	return source < nr_inputs ? inputs[source] : NULL;
}

static void name_sources(void)
{
	unsigned int nr_host = files.nr ? files.nr : 1;

	for (unsigned int i = 0; i < nr_inputs; i++) {
		bool host = i < nr_host;
		unsigned int nth = host ? i + 1 : i - nr_host + 1;

		if (nth == 1)
			snprintf(source_names[i], sizeof(source_names[i]), "%s",
				 host ? "host" : "guest");
		else
			snprintf(source_names[i], sizeof(source_names[i]), "%s%u",
				 host ? "host" : "guest", nth);
	}
}

/* The clock of hosts and guests; made when first asked for, and kept. */
static struct align *align;

static int vm_pids(uint32_t *pids, unsigned int max, unsigned int *ret_nr);

static int align_make(void)
{
	const char *paths[OPTION_LIST_MAX];
	unsigned int nr_host = files.nr ? files.nr : 1, nr_pids = 0;
	uint32_t pid[2] = {0};
	int err = align || !vm_opt ? 0 : vm_pids(pid, 2, &nr_pids);

	if (align || err)
		return err;
	for (unsigned int i = 0; i < nr_host; i++)
		paths[i] = host_path(i);
	return align_new(paths, nr_host, clock_opt, pid[0], &align);
}

unsigned int reading_guests(void)
{
	return guests.nr;
}

int reading_align(int guest, struct align **ret, const struct align_guest **ret_guest)
{
	int err = align_make();

	if (err)
		return err;
	*ret = align;
	return align_guest(align, guest < 0 ? NULL : guests.item[guest], ret_guest);
}

static int guest_open(const char *path, const struct read_hint *hint, struct reader **ret)
{
	int err = align_make();

	return err ? err : align_open(align, path, hint, ret);
}

static void inputs_close(void)
{
	for (unsigned int i = 0; i < nr_inputs; i++)
		reader_close(inputs[i]);
	nr_inputs = 0;
}

static int inputs_open(const struct read_hint *hint)
{
	unsigned int nr_host = files.nr ? files.nr : 1;

	for (nr_inputs = 0; nr_inputs < nr_host + guests.nr; nr_inputs++) {
		unsigned int i = nr_inputs;
		const char *path = i >= nr_host ? guests.item[i - nr_host] : host_path(i);
		int err = i >= nr_host ? guest_open(path, hint, &inputs[i])
				       : reader_open(path, hint, &inputs[i]);

		if (err == -ENOENT && !files.nr && path == default_input)
			fail_hint(
				err,
				"give the trace with -i FILE, or make one with 'hostrace record'");
		if (err) {
			inputs_close();
			return err;
		}
	}
	name_sources();
	return 0;
}

/* ---- what to let pass ---- */

/* Time after the start, or absolute when it is larger than the span and not before the trace. */
static uint64_t absolute(uint64_t x, uint64_t start_ns, uint64_t end_ns)
{
	uint64_t span = end_ns > start_ns ? end_ns - start_ns : 0;

	if (x > span && x >= start_ns)
		return x;
	return x > UINT64_MAX - start_ns ? UINT64_MAX : start_ns + x;
}

bool reading_window(uint64_t start_ns, uint64_t end_ns, uint64_t *ret_since, uint64_t *ret_until)
{
	*ret_since = since_opt.ns ? absolute(since_opt.ns, start_ns, end_ns) : 0;
	*ret_until = until_opt.ns ? absolute(until_opt.ns, start_ns, end_ns) : UINT64_MAX;
	if (period_opt.ns && until_opt.ns)
		*ret_since = *ret_until > period_opt.ns ? *ret_until - period_opt.ns : 0;
	else if (period_opt.ns)
		*ret_until = (since_opt.ns ? *ret_since : start_ns) + period_opt.ns;
	return since_opt.ns || until_opt.ns || period_opt.ns;
}

/* The window over all inputs, which are open. */
static int window_make(struct read_hint *hint)
{
	uint64_t start = UINT64_MAX, end = 0;

	for (unsigned int i = 0; i < nr_inputs; i++) {
		start = inputs[i]->info.start_ns < start ? inputs[i]->info.start_ns : start;
		end = inputs[i]->info.end_ns > end ? inputs[i]->info.end_ns : end;
	}
	if (since_opt.ns && until_opt.ns && period_opt.ns)
		return fail_usage(-EINVAL,
				  "--period goes with --since or with --until, not with both");
	reading_window(start, end, &hint->since_ns, &hint->until_ns);
	if (hint->since_ns >= hint->until_ns)
		return fail_usage(-EINVAL, "--since is not before --until");
	return 0;
}

/* The pids of the VM that --vm names; a pid is believed where the trace has no list of VMs. */
static int vm_pids(uint32_t *pids, unsigned int max, unsigned int *ret_nr)
{
	char seen[256] = "";
	bool any = false;
	uint64_t pid;
	size_t k;
	json_t *vm;

	for (unsigned int i = 0; i < nr_inputs; i++)
		json_array_foreach (json_object_get(inputs[i]->info.meta, "vms"), k, vm) {
			const char *name = json_string_value(json_object_get(vm, "name"));
			json_int_t number = json_integer_value(json_object_get(vm, "pid"));
			char text[32];

			any = true;
			snprintf(text, sizeof(text), "%" JSON_INTEGER_FORMAT, number);
			snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), " %s (%s)", text,
				 name ? name : "");
			if (*ret_nr < max &&
			    (!strcmp(text, vm_opt) || (name && !strcmp(name, vm_opt))))
				pids[(*ret_nr)++] = (uint32_t)number;
		}
	if (*ret_nr)
		return 0;
	text_neutralise(seen);
	if (any)
		return fail(-ESRCH, "no VM %s in the trace; it has:%s", vm_opt, seen);
	if (parse_u64(vm_opt, &pid) || pid > UINT32_MAX)
		return fail(-ESRCH,
			    "the trace names no VMs, so --vm %s cannot be found; give its pid",
			    vm_opt);
	pids[(*ret_nr)++] = (uint32_t)pid;
	return 0;
}

static char *join(const struct text_list *list)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = list->nr ? open_memstream(&text, &len) : NULL;

	for (unsigned int i = 0; f && i < list->nr; i++)
		fprintf(f, "%s%s", i ? "," : "", list->item[i]);
	if (f)
		fclose(f);
	return text;
}

struct wish {
	bool (*wants)(const char *event, void *arg);
	void *arg;
	const char *globs;
};

/* Losses are always counted; what names others passes --event, but only if the command looks at it
 * at all. */
static bool wished(const char *name, void *arg)
{
	const struct wish *w = arg;
	const struct event_type *type = event_type_named(name);

	if (type && type->id == EV_lost)
		return true;
	if (reasons.nr && trim_reason_wants(name))
		return true;
	if (w->wants && !w->wants(name, w->arg))
		return false;
	return !w->globs || trim_name_matches(w->globs, name) || (type && trim_is_naming(type));
}

static int trimmed_open(struct reader *all, const struct read_hint *hint, const char *event_globs,
			struct reader **ret)
{
	_cleanup_free_ char *reason_globs = join(&reasons);
	uint32_t pids[INPUTS_MAX];
	uint16_t vcpus[OPTION_LIST_MAX];
	struct trim trim = {.since_ns = hint->since_ns,
			    .until_ns = hint->until_ns,
			    .events = event_globs,
			    .reasons = reason_globs,
			    .pids = pids,
			    .tids = tids_opt.item,
			    .nr_tids = tids_opt.nr,
			    .vcpus = vcpus};
	int err = vm_opt ? vm_pids(pids, INPUTS_MAX, &trim.nr_pids) : 0;

	if (err) {
		reader_close(all);
		return err;
	}
	for (unsigned int i = 0; i < vcpus_opt.nr; i++)
		vcpus[trim.nr_vcpus++] = vcpus_opt.item[i] < RECORD_NO_VCPU
						 ? (uint16_t)vcpus_opt.item[i]
						 : RECORD_NO_VCPU - 1;
	if (!reading_trimmed()) {
		*ret = all;
		return 0;
	}
	return trim_open(all, &trim, ret);
}

int reading_open_all_times(bool (*wants)(const char *event, void *arg), void *arg,
			   struct reader **ret)
{
	struct time_arg since = since_opt, until = until_opt, period = period_opt;
	int err;

	since_opt = until_opt = period_opt = (struct time_arg){0};
	err = reading_open(wants, arg, ret);
	since_opt = since;
	until_opt = until;
	period_opt = period;
	return err;
}

int reading_open(bool (*wants)(const char *event, void *arg), void *arg, struct reader **ret)
{
	_cleanup_free_ char *joined = join(&globs);
	struct wish wish = {wants, arg, joined};
	struct read_hint hint = {
		.until_ns = UINT64_MAX, .wants = wants || joined ? wished : NULL, .arg = &wish};
	struct reader *all;
	int err = 0;

	if (since_opt.ns || until_opt.ns ||
	    period_opt.ns) { /* times count from the start, which is known once open */
		err = inputs_open(NULL);
		if (!err)
			err = window_make(&hint);
		inputs_close();
	}
	window_until_ns = hint.until_ns;
	if (!err)
		err = inputs_open(&hint);
	if (!err)
		err = merge_open(inputs, nr_inputs, &all);
	return err ? err : trimmed_open(all, &hint, joined, ret);
}

uint64_t reading_end_ns(const struct reader *r)
{
	return r->info.end_ns < window_until_ns ? r->info.end_ns : window_until_ns;
}

uint64_t reading_until_ns(void)
{
	return window_until_ns;
}

bool reading_strict_failed(const struct reader *r)
{
	return strict_opt && r->info.lost;
}
