// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events that the user names: probes (any_probe.h), and tracepoints (record -e SUBSYSTEM:EVENT), whatever they are. The
 * fields of tracepoints are those of tracefs' descriptions, which are read before anything is attached; all share one
 * program (bpf/any.bpf.c), and a record is the kernel's formatted entry behind our header, of a type that the trace
 * file describes.
 *
 * They cost more than events of our own, which read the tracepoint's arguments: the kernel formats the entry of each
 * event, also of threads that are not recorded.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>

#include "base/array.h"
#include "base/error.h"
#include "base/read_full.h"
#include "collector/any_probe.h"

enum {
	ENTRY_HEAD = sizeof(struct record_hdr),
};

/* By enum any_kind. */
static const char *const prefixes[] = {
	[ANY_KPROBE] = "kprobe:",
	[ANY_KRETPROBE] = "kretprobe:",
	[ANY_FENTRY] = "fentry:",
	[ANY_FEXIT] = "fexit:",
	[ANY_UPROBE] = "uprobe:",
	[ANY_URETPROBE] = "uretprobe:",
	[ANY_USDT] = "usdt:",
};

enum { NR_KINDS = sizeof(prefixes) / sizeof(prefixes[0]) };

/* ---- which there are ---- */

/* NULL: tracefs is not mounted. */
static const char *events_dir(void)
{
	static const char *const dirs[] = {"/sys/kernel/tracing/events",
					   "/sys/kernel/debug/tracing/events"};

	for (unsigned int i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (!access(dirs[i], R_OK | X_OK))
			return dirs[i];
	return NULL;
}

static bool any_has(const struct any_events *a, const char *name)
{
	return array_any(a->nr, i, !strcmp(a->event[i].name, name));
}

static int format_load(const char *dir, const char *system, const char *event,
		       struct ftrace_format *ret)
{
	_cleanup_free_ char *text = malloc(FTRACE_FORMAT_MAX);
	char path[640];
	ssize_t len;
	int err;

	if (!text)
		return fail(-ENOMEM, "out of memory");
	snprintf(path, sizeof(path), "%s/%s/%s/format", dir, system, event);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -errno : read_full(fd, text, FTRACE_FORMAT_MAX);
	if (len < 0)
		return fail((int)len, "cannot read %s: %s", path, strerror((int)-len));
	err = ftrace_format_read(system, text, (size_t)len, ret);
	return err == -EBADMSG ? fail(err, "%s: unknown format", path) : err;
}

/* A longer entry than the program copies, or more texts. */
static int settings_make(struct any_event *e)
{
	const struct ftrace_format *f = &e->format;

	if (f->type->size > ANY_BYTES_MAX || f->nr_dyn > ANY_DYN_MAX)
		return fail_usage(-E2BIG,
				  "cannot record %s: its entries have %u bytes and %u dynamic "
				  "texts; at most %d and %d are supported",
				  e->name, f->type->size, f->nr_dyn, ANY_BYTES_MAX, ANY_DYN_MAX);
	e->settings.bytes = f->type->size;
	for (unsigned int i = 0; i < f->nr_dyn; i++) {
		e->settings.dyn[i] = (uint16_t)(f->dyn[i].place - ENTRY_HEAD);
		e->settings.relative[i] = f->dyn[i].relative;
	}
	return 0;
}

/* One that is not counted yet: a->nr. */
static int event_begin(struct any_events *a, enum any_kind kind, const char *name)
{
	int err;

	if (a->nr == ANY_MAX)
		return fail_usage(-E2BIG, "more than %d events of this kind", ANY_MAX);
	err = array_room(a->event, a->nr);
	if (err)
		return err;
	a->event[a->nr] = (struct any_event){.kind = kind};
	snprintf(a->event[a->nr].name, sizeof(a->event[0].name), "%s", name);
	return 0;
}

static int event_add(struct any_events *a, const char *dir, const char *system, const char *event,
		     const char *name)
{
	struct any_event *e;
	int err;

	if (any_has(a, name))
		return 0;
	err = event_begin(a, ANY_TRACEPOINT, name);
	if (err)
		return err;
	e = &a->event[a->nr];
	err = format_load(dir, system, event, &e->format);
	err = err ? err : settings_make(e);
	a->nr += !err;
	return err;
}

/* Those of ftrace itself have a format and are no tracepoints. */
static bool is_tracepoint(const char *dir, const char *system, const char *event)
{
	char path[640];

	snprintf(path, sizeof(path), "%s/%s/%s/enable", dir, system, event);
	return !access(path, F_OK);
}

static int system_add(struct any_events *a, const char *dir, const char *system, const char *glob,
		      struct nearest *near)
{
	char path[640], name[EVENT_NAME_MAX];
	struct dirent *d;
	int err = 0;

	snprintf(path, sizeof(path), "%s/%s", dir, system);
	DIR *events = opendir(path);

	while (events && !err && (d = readdir(events))) {
		if (*d->d_name == '.' ||
		    snprintf(name, sizeof(name), "%s:%s", system, d->d_name) >=
			    (int)sizeof(name) ||
		    !is_tracepoint(dir, system, d->d_name))
			continue;
		nearest_try(near, name);
		if (!fnmatch(glob, name, 0))
			err = event_add(a, dir, system, d->d_name, name);
	}
	if (events)
		closedir(events);
	return err;
}

static int unknown_tracepoint(const char *glob, const struct nearest *near)
{
	char names[NEAREST_MAX * (EVENT_NAME_MAX + 4)];

	return fail_usage(-EINVAL, "this kernel has no tracepoint '%s'%s", glob,
			  nearest_print(near, names, sizeof(names)));
}

static int tracepoints_add(struct any_events *a, const char *glob)
{
	const char *dir = events_dir();
	struct nearest near = {.word = glob};
	unsigned int before = a->nr;
	struct dirent *d;
	DIR *systems;
	int err = 0;

	if (!dir)
		return fail(-EACCES, "%s: /sys/kernel/tracing cannot be read: it has the events' "
				     "fields; run hostrace as root, or mount tracefs", glob);
	systems = opendir(dir);
	while (systems && !err && (d = readdir(systems)))
		if (*d->d_name != '.')
			err = system_add(a, dir, d->d_name, glob, &near);
	if (systems)
		closedir(systems);
	if (err || a->nr > before || array_any(a->nr, i, !fnmatch(glob, a->event[i].name, 0)))
		return err;
	return unknown_tracepoint(glob, &near);
}

static int probe_read(struct any_events *a, struct any_event *e, const char *words)
{
	const char *target = e->name + strlen(prefixes[e->kind]);

	if (e->kind == ANY_UPROBE || e->kind == ANY_URETPROBE)
		return any_uprobe_read(e, target, words);
	return e->kind == ANY_USDT ? any_usdt_read(e, target, words)
				   : any_kernel_read(a, e, target, words);
}

/* "KIND:TARGET [WORD ...]" */
static int probe_add(struct any_events *a, enum any_kind kind, const char *item)
{
	size_t len = strcspn(item, " \t");
	char name[EVENT_NAME_MAX];
	int err;

	if (len >= sizeof(name))
		return fail_usage(-E2BIG, "'%.*s': the name of an event has at most %d bytes",
				  (int)len, item, EVENT_NAME_MAX - 1);
	snprintf(name, sizeof(name), "%.*s", (int)len, item);
	if (any_has(a, name))
		return fail_usage(-EINVAL, "%s is named twice", name);
	err = event_begin(a, kind, name);
	if (!err)
		err = probe_read(a, &a->event[a->nr], item + len + strspn(item + len, " \t"));
	a->nr += !err;
	return err;
}

int any_events_add(struct any_events *a, const char *item)
{
	for (unsigned int k = ANY_TRACEPOINT + 1; k < NR_KINDS; k++)
		if (!strncmp(item, prefixes[k], strlen(prefixes[k])))
			return probe_add(a, (enum any_kind)k, item);
	return tracepoints_add(a, item);
}

void any_events_remove(struct any_events *a, const char *glob)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < a->nr; i++)
		if (fnmatch(glob, a->event[i].name, 0))
			a->event[kept++] = a->event[i];
	a->nr = kept;
}

void any_events_free(struct any_events *a)
{
	any_kernel_forget(a);
	free(a->event);
	*a = (struct any_events){0};
}
