// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tracepoints that the user names (record -e SUBSYSTEM:EVENT), whatever they are. Their fields are those of tracefs'
 * descriptions, which are read before anything is attached; all share one program (bpf/any.bpf.c), and a record is the
 * kernel's formatted entry behind our header, of a type that the trace file describes.
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
#include "base/suggest.h"
#include "collector/internal.h"
#include "hostrace.skel.h" /* knows record.h's types */

enum {
	NEAREST_MAX = 3, /* names of other events in a message */
	ENTRY_HEAD = sizeof(struct record_hdr),
};

static const char PROGRAM[] = "tp_any";

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

struct nearest {
	const char *word;
	unsigned int nr;
	struct {
		unsigned int distance;
		char name[EVENT_NAME_MAX];
	} of[NEAREST_MAX];
};

static void nearest_try(struct nearest *n, const char *name)
{
	unsigned int distance = suggest_distance(n->word, name), at = n->nr;

	if (distance > strlen(n->word) / 3)
		return;
	while (at && n->of[at - 1].distance > distance)
		at--;
	if (at == NEAREST_MAX)
		return;
	n->nr += n->nr < NEAREST_MAX;
	memmove(&n->of[at + 1], &n->of[at], (n->nr - at - 1) * sizeof(n->of[0]));
	n->of[at].distance = distance;
	snprintf(n->of[at].name, sizeof(n->of[at].name), "%s", name);
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

static int event_add(struct any_events *a, const char *dir, const char *system, const char *event,
		     const char *name)
{
	struct any_event *e;
	int err;

	if (any_has(a, name))
		return 0;
	if (a->nr == ANY_MAX)
		return fail_usage(-E2BIG, "more than %d events of this kind", ANY_MAX);
	err = array_room(a->event, a->nr);
	if (err)
		return err;
	e = &a->event[a->nr];
	*e = (struct any_event){0};
	snprintf(e->name, sizeof(e->name), "%s", name);
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
	char names[NEAREST_MAX * (EVENT_NAME_MAX + 4)] = "";
	size_t len = 0;

	for (unsigned int i = 0; i < near->nr; i++)
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s'%s'",
					i ? ", " : "; the nearest: ", near->of[i].name);
	return fail_usage(-EINVAL, "this kernel has no tracepoint '%s'%s", glob, names);
}

int any_events_add(struct any_events *a, const char *glob)
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
	free(a->event);
	*a = (struct any_events){0};
}

/* ---- recording them ---- */

int collector_any_plan(struct collector *c)
{
	if (!c->any)
		return 0;
	c->any_plans = calloc(c->any->nr, sizeof(*c->any_plans));
	if (!c->any_plans)
		return fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < c->any->nr; i++) {
		struct probe_plan *p = &c->any_plans[i];

		p->event = c->any->event[i].name;
		p->how = PROBE_TRACEPOINT;
		p->nr_places = 1;
		snprintf(p->place[0].program, sizeof(p->place[0].program), "%s", PROGRAM);
		c->results[c->nr_results++] = (struct probe_result){
			.event = p->event, .plan = p, .id = ANY_FIRST + i};
	}
	return 0;
}

int collector_any_register(struct collector *c)
{
	for (uint32_t i = 0; c->any && i < c->any->nr; i++)
		if (bpf_map_update_elem(bpf_map__fd(c->skel->maps.any_events), &i,
					&c->any->event[i].settings, BPF_ANY))
			return fail(-errno, "cannot register %s: %s", c->any->event[i].name,
				    strerror(errno));
	return 0;
}

struct bpf_link *collector_any_link(struct collector *c, const struct probe_result *r,
				    struct bpf_program *prog)
{
	const char *name = c->any->event[r->id - ANY_FIRST].name;
	LIBBPF_OPTS(bpf_tracepoint_opts, opts, .bpf_cookie = r->id - ANY_FIRST);
	char system[EVENT_NAME_MAX];

	snprintf(system, sizeof(system), "%.*s", (int)strcspn(name, ":"), name);
	return bpf_program__attach_tracepoint_opts(prog, system, name + strlen(system) + 1, &opts);
}

int collector_any_judge(const struct collector *c)
{
	for (unsigned int i = 0; i < c->nr_results; i++) {
		const struct probe_result *r = &c->results[i];

		if (r->id >= ANY_FIRST && !r->attached)
			return fail(-ENOTSUP,
				    "cannot record %s (Linux 5.15 or newer is needed): %s",
				    r->event, r->reason);
	}
	return 0;
}

void collector_any_complete(const struct collector *c, struct record_hdr *rec)
{
	const struct any_event *e = &c->any->event[rec->type - ANY_FIRST];

	ftrace_format_move(&e->format, (uint8_t *)rec, rec->size);
}

const char *collector_type_name(const struct collector *c, unsigned int type)
{
	const struct event_type *t = event_type_ours(type);

	if (type >= ANY_FIRST)
		return c->any && type - ANY_FIRST < c->any->nr
			       ? c->any->event[type - ANY_FIRST].name
			       : NULL;
	return t ? t->name : NULL;
}
