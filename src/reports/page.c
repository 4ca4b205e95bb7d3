// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * All reports on one page. Each section is the answer of a report, as its command prints it in JSON, or is made of
 * several; what the recording has nothing for is a section with an error, which says how to record it.
 */
#include "reports/page.h"

#include <errno.h>

#include "base/error.h"
#include "base/version.h"
#include "output/report/page.h"
#include "reports/page_blame.h"
#include "reports/page_closeups.h"
#include "reports/profile.h"
#include "reports/reports.h"

extern const struct view summary_view, count_view, heatmap_view;

struct section {
	const char *key;
	const char *command; /* as one types it; its first word is that of the answer's head */
	const struct report_ops *ops;
	const void *of;
	uint64_t limit;
	const char *sort;
	size_t bytes_max; /* of its JSON in the page; their sum and the script stay below 5 MB */

	/* Only of a recording with one of these events (comma-separated; NULL: any), or with a guest's trace. */
	const char *events, *record; /* how to record them */
	bool guests;
	bool costs;    /* the findings are made of it */
	bool is_inner; /* ... and the page does not have it */
	bool again;    /* other rows of the report of the section before */
};

#define HOST_EVENTS "kvm_exit,kvm_userspace_exit" /* a trace without them is a guest's */
#define QUEUES .events = "virtqueue_pop,virtqueue_fill", .record = "hostrace record --for virtio"
#define SCHED .events = "sched_switch", .record = "hostrace record --for sched"
#define VIEW(which, name)                                                                          \
	&spans_report, &(const struct spans_query)                                                 \
	{                                                                                          \
		.view = &which##_view, .analyzer = name                                            \
	}

static const struct spans_query exits_by_vcpu = {
	.view = &summary_view, .analyzer = "exit-latency", .by = "=vcpu"};
static const struct spans_query exits_of_vcpus = {
	.view = &summary_view, .analyzer = "exit-latency", .by = "vcpu"};
static const struct path_query slowest = {.waterfall = true};
static const struct sched_query by_tid = {.by_tid = true},
				by_task = {.by_task = true, .by_tid = true};
static const struct info_query info = {.exits_come = true};

enum { LEVELS_MAX = 100, TREE_BYTES = 300 << 10 }; /* of profiles */

/* In their order on the page. */
static const struct section sections[] = {
	{"info", "info", &info_report, &info, 0, NULL, 200 << 10, .costs = true},
	{"exits", "exits --limit 1000", VIEW(summary, "exit-latency"), 1000, NULL, 200 << 10,
	 .costs = true},
	{"exits_by_vcpu", "exits --by =vcpu --limit 1000", &spans_report, &exits_by_vcpu, 1000,
	 NULL, 100 << 10, .costs = true},
	{"exits_of_vcpus", "exits --by vcpu --limit 4000", &spans_report, &exits_of_vcpus, 4000,
	 NULL, 0, .costs = true, .is_inner = true},
	{"heatmap", "heatmap exit-latency", VIEW(heatmap, "exit-latency"), 0, NULL, 300 << 10},
	{"virtio", "virtio", &virtio_lost_report, NULL, 0, NULL, 300 << 10, QUEUES, .costs = true},
	{"queue_heatmap", "heatmap virtqueue", VIEW(heatmap, "virtqueue"), 0, NULL, 200 << 10,
	 QUEUES},
	{"leaks", "leaks --limit 1000", &leaks_report, NULL, 1000, NULL, 100 << 10, QUEUES,
	 .costs = true},
	{"requests", "requests --sort total --limit 200", &requests_report, NULL, 200, "total",
	 100 << 10, QUEUES, .guests = true},
	{"stages", "requests --waterfall --limit 20", &path_report, &slowest, 20, NULL, 300 << 10,
	 QUEUES},
	{"ports", "ports --limit 1000", VIEW(count, "pio"), 1000, NULL, 100 << 10, .costs = true},
	{"mmio", "mmio --limit 1000", VIEW(count, "mmio"), 1000, NULL, 100 << 10, .costs = true},
	{"msrs", "msrs --limit 1000", VIEW(count, "msr"), 1000, NULL, 100 << 10, .costs = true},
	{"sched", "sched --limit 500 --by tid", &sched_report, &by_tid, 500, NULL, 200 << 10, SCHED,
	 .costs = true},
	{"sched_tasks", "sched --by task,tid --limit 2000", &sched_report, &by_task, 2000, NULL, 0,
	 SCHED, .costs = true, .is_inner = true, .again = true},
	{"downtime", "downtime --limit 500", &downtime_report, NULL, 500, NULL, 0,
	 .events = "vm_state", .record = "hostrace record --for downtime", .costs = true,
	 .is_inner = true},
	{"interrupts", "interrupts --limit 500", &interrupts_report, NULL, 500, NULL, 200 << 10,
	 .events = "kvm_apic_accept_irq,kvm:kvm_apic_accept_irq,kvm_inj_virq,kvm_eoi,kvm:kvm_eoi",
	 .record = "hostrace record --for interrupts"},
	{"profile_guest_code", "profile --host --max-levels 100", &host_profile_report, NULL, 0,
	 NULL, TREE_BYTES},
	{"profile", "profile --max-levels 100", &profile_report, NULL, 0, NULL, TREE_BYTES,
	 .events = "", .record = "hostrace record --guest", .guests = true},
	{"off_cpu", "prof-wait --max-levels 100", &profile_report, NULL, 0, NULL, TREE_BYTES, SCHED,
	 .guests = true},
	{"timeline", "timeline -f page", &timeline_report, NULL, 0, NULL, 400 << 10},
	{"sync", "sync", &sync_report, NULL, 0, NULL, 100 << 10},
};

enum { NR_SECTIONS = sizeof(sections) / sizeof(*sections), NAME_BYTES = 32 };
enum {
	BASELINE_BYTES = 100 << 10,
	BLAME_BYTES = 600 << 10,
	BY_VCPU_BYTES = 200 << 10,
	MOMENTS_BYTES = 1 << 20,
	CLOSEUPS_BYTES = 300 << 10,
};

/* A report at work. */
struct part {
	char command[NAME_BYTES];
	struct query query;
	struct result *result; /* its own, or that of the section before */
	struct result own;
	struct output out; /* of the timeline */
	json_t *tree;	   /* its answer, once it was asked for */
};

struct page {
	const struct page_query *q;
	struct part part[NR_SECTIONS], blame, closeups;
	struct host_profile_query host;
	struct profile_query hits, waits;
	struct page_blame_query blame_query;
	struct page_closeups_query closeups_query;
	json_t *slowest; /* of blame */
	struct result_sets sets;
	json_t *all; /* the sections */
};

/* ---- the reports ---- */

static unsigned int section_find(const char *key)
{
	unsigned int i = 0;

	while (strcmp(sections[i].key, key) != 0)
		i++;
	return i;
}

/* The answer of a report that is done; NULL with r->err set. */
static json_t *part_tree(struct part *p, uint64_t limit, const char *sort)
{
	struct result *r = p->result;

	r->query = &p->query;
	if (r->unused && !r->err) /* the counts of a damaged file may be wrong */
		r->err = fail(-ENODATA, "the recording has no events of this report");
	else if (!r->err && !p->tree)
		r->err = result_tree(r, limit, sort, &p->tree);
	if (r->err && !r->error)
		r->error = strdup(error_text());
	return r->err ? NULL : p->tree;
}

static bool is_made(const struct page *page, unsigned int i)
{
	return !page->q->costs || sections[i].costs;
}

static int heatmap_get(void *arg, const json_t **ret)
{
	struct page *page = arg;
	unsigned int i = section_find("heatmap");
	const struct result *r = page->part[i].result;

	*ret = NULL;
	if (!is_made(page, i))
		return 0;
	if (!r->done && !r->err)
		return 1;
	*ret = part_tree(&page->part[i], 0, NULL);
	return 0;
}

static int slowest_get(void *arg, const json_t **ret)
{
	struct page *page = arg;
	struct result *r = page->blame.result;
	int err = 0;

	*ret = NULL;
	if (!r->done && !r->err)
		return 1;
	if (!r->err && !page->slowest)
		err = page_blame_slowest(r, &page->slowest);
	*ret = page->slowest;
	return err;
}

static int part_init(struct part *p, const struct page *page, const char *command,
		     const struct report_ops *ops, const void *of)
{
	snprintf(p->command, sizeof(p->command), "%.*s", (int)strcspn(command, " "), command);
	p->out = (struct output){.format = "tree", .tree = &p->tree};
	p->query = (struct query){.command = p->command,
				  .input = page->q->input,
				  .symbols = page->q->symbols,
				  .events = p->query.events,
				  .or_without = p->query.or_without,
				  .out = &p->out,
				  .of = of};
	if (p->result) /* that of the section before */
		return 0;
	p->result = &p->own;
	return result_init(p->result, ops, &p->query);
}

/* Those with frames are made for the page. */
static const void *query_of(const struct page *page, const struct section *s)
{
	if (s->ops == &host_profile_report)
		return &page->host;
	if (s->ops == &profile_report)
		return strcmp(s->key, "off_cpu") ? &page->hits : &page->waits;
	return s->of;
}

static int parts_init(struct page *page)
{
	struct part *blame = &page->blame, *closeups = &page->closeups;
	int err = 0;

	page->host.options.frames = page->hits.opt.frames = page->waits.opt.frames =
		page->q->frames;
	page->host.options.tree.max_levels = page->hits.opt.tree.max_levels =
		page->waits.opt.tree.max_levels = LEVELS_MAX;
	page->host.options.tree.page_bytes = page->hits.opt.tree.page_bytes =
		page->waits.opt.tree.page_bytes = TREE_BYTES;
	page->hits.opt.of = PROFILE_HITS;
	page->waits.opt.of = PROFILE_TIMED;
	page->waits.opt.tracepoint = "sched_wait";
	page->blame_query = (struct page_blame_query){.heatmap = heatmap_get, .arg = page};
	page->closeups_query = (struct page_closeups_query){.slowest = slowest_get, .arg = page};
	for (unsigned int i = 0; i < NR_SECTIONS && !err; i++) {
		const struct section *s = &sections[i];

		if (!s->guests || !page->q->merged->nr_guests) /* has_data() */
			page->part[i].query.events = s->events;
		if (s->guests)
			page->part[i].query.or_without = HOST_EVENTS;
		if (s->again)
			page->part[i].result = page->part[i - 1].result;
		if (is_made(page, i))
			err = part_init(&page->part[i], page, s->command, s->ops,
					query_of(page, s));
	}
	if (!err)
		err = part_init(blame, page, "blame", &page_blame_report, &page->blame_query);
	if (!err && !page->q->costs)
		err = part_init(closeups, page, "timeline", &page_closeups_report,
				&page->closeups_query);
	return err;
}

static int parts_run(struct page *page)
{
	struct result *list[NR_SECTIONS + 2];
	unsigned int nr = 0;

	for (unsigned int i = 0; i < NR_SECTIONS; i++)
		if (is_made(page, i) && !sections[i].again)
			list[nr++] = page->part[i].result;
	list[nr++] = page->blame.result;
	if (!page->q->costs)
		list[nr++] = page->closeups.result;
	page->sets = (struct result_sets){.plain = page->q->plain, .merged = page->q->merged};
	return reports_run(list, nr, &page->sets);
}

static void page_close(struct page *page)
{
	for (unsigned int i = 0; i < NR_SECTIONS; i++) {
		result_close(&page->part[i].own);
		json_decref(page->part[i].tree);
	}
	result_close(&page->blame.own);
	result_close(&page->closeups.own);
	json_decref(page->closeups.tree);
	json_decref(page->slowest);
	json_decref(page->all);
	result_sets_close(&page->sets);
	free(page);
}

/* ---- what the recording has ---- */

static const json_t *info_of(const json_t *all)
{
	const json_t *data = json_object_get(json_object_get(all, "info"), "data");

	return json_object_get(data, "result");
}

static bool has_event(const json_t *all, const char *names)
{
	const json_t *events = json_object_get(info_of(all), "events");

	for (const char *p = names; *p; p += strcspn(p, ","), p += *p == ',') {
		char name[64];

		snprintf(name, sizeof(name), "%.*s", (int)strcspn(p, ","), p);
		if (json_object_get(events, name))
			return true;
	}
	return false;
}

/* Is it a guest's trace, or one with a guest's trace? */
static bool has_guest(const struct page *page)
{
	return page->q->merged->nr_guests || !has_event(page->all, HOST_EVENTS);
}

static bool has_data(const struct section *s, const struct page *page)
{
	return !s->events || has_event(page->all, s->events) || (s->guests && has_guest(page));
}

/* What a thread or a VM does in a time window without an event may be known from before it. */
static bool begins_before(const struct section *s, const struct part *p)
{
	return s->ops->reads & READ_BEFORE && p->result->pass;
}

static json_t *why_missing(const struct section *s)
{
	int len = (int)strcspn(s->events, ",");

	return json_sprintf("the recording has no %.*s%s; to record it: %s", len, s->events,
			    len ? "" : "trace of the guest", s->record);
}

/* ---- the sections ---- */

/*
 * A report that the recording has nothing for, or that its options are not for, is a section with an error: the page
 * says so there. What fails because of the machine (memory, a disk) makes the whole page fail.
 */
static bool belongs_to_page(int err)
{
	return err == -ENODATA || err == -EINVAL || err == -ENOENT || err == -EOPNOTSUPP ||
	       err == -E2BIG; /* more than a limit of its own */
}

/* Its answer, a new reference; or why there is none. 0, or -errno with the error message set for the whole page. */
static int section_data(struct page *page, unsigned int i, json_t **ret, json_t **ret_why)
{
	const struct section *s = &sections[i];
	struct part *p = &page->part[i];
	const struct result *r = p->result;
	int err;

	*ret = *ret_why = NULL;
	if (!has_data(s, page) && !begins_before(s, p)) {
		*ret_why = why_missing(s);
		return 0;
	}
	*ret = json_incref(part_tree(p, s->limit, s->sort));
	if (!has_data(s, page) && !json_array_size(json_object_get(*ret, "rows"))) {
		json_decref(take_ptr(*ret));
		*ret_why = why_missing(s);
		return 0;
	}
	err = result_error(r);
	if (err && belongs_to_page(err))
		*ret_why = json_text(error_text());
	return *ret_why ? 0 : err;
}

static int section_add(struct page *page, unsigned int i)
{
	json_t *data, *why;
	int err = section_data(page, i, &data, &why);

	if (err)
		return err;
	return json_object_set_new(page->all, sections[i].key,
				   json_pack("{s:o,s:o}", "command",
					     json_sprintf("hostrace %s", sections[i].command),
					     data ? "data" : "error", data ? data : why))
		       ? fail(-ENOMEM, "out of memory")
		       : 0;
}

/* Steals `data`, which is NULL if there is none. 0 or `err` if it is not for the page. */
static int made_add(struct page *page, const char *key, const char *command, int err, json_t *data,
		    size_t max)
{
	json_t *one = json_pack("{s:s}", "command", command);

	if (err)
		json_object_set_new(one, "error", json_text(error_text()));
	if (data && max)
		section_fit(data, max, one);
	if (data)
		json_object_set_new(one, "data", data);
	if (err || data)
		json_object_set(page->all, key, one);
	json_decref(one);
	return err && !belongs_to_page(err) ? err : 0;
}

static int blame_add(struct page *page)
{
	bool several = json_array_size(json_object_get(info_of(page->all), "vms")) > 1;
	struct result *r = page->blame.result;
	json_t *by_vcpu = NULL, *moments = NULL;
	const json_t *blame = NULL;
	int err = result_error(r), fatal;

	if (!err)
		err = slowest_get(page, &blame);
	if (!err)
		err = page_blame_by_vcpu(r, several, &by_vcpu);
	if (!err)
		err = page_blame_moments(r, MOMENTS_BYTES, &moments);
	fatal = made_add(page, "blame", "hostrace blame --limit 40", err,
			 json_incref((json_t *)blame), 0);
	fatal = made_add(page, "blame_by_vcpu",
			 several ? "hostrace blame --by vm,vcpu --limit 1"
				 : "hostrace blame --by vcpu --limit 1",
			 err, by_vcpu, 0) ?: fatal;
	return made_add(page, "moments", "hostrace blame", err, moments, 0) ?: fatal;
}

static int closeups_add(struct page *page)
{
	struct result *r = page->closeups.result;
	json_t *data = NULL;
	int err = result_error(r);

	if (!err)
		err = page_closeups_tree(r, &data);
	return made_add(page, "closeups", "hostrace timeline --since TIME --until TIME", err, data,
			CLOSEUPS_BYTES);
}

/* A file that cannot be read at all, or of which no duration is known, is an error and not a page. */
static int info_check(const json_t *all)
{
	const char *error =
		json_string_value(json_object_get(json_object_get(all, "info"), "error"));

	if (error)
		return fail(-EINVAL, "%s", error);
	if (json_object_get(info_of(all), "timeless"))
		return fail(-EINVAL, "the trace has no timestamps: no duration is known");
	if (json_object_get(info_of(all), "span_ticks"))
		return fail_hint(fail(-EINVAL, "timestamps are ticks of an unknown frequency"),
				 "give it with --tsc-khz KHZ");
	return 0;
}

/* What `stuck` saw at the start of the recording is a section of its own, which findings are made of, as events are. */
static void stuck_move(json_t *all)
{
	json_t *result = (json_t *)info_of(all), *stuck = json_object_get(result, "stuck");

	if (!stuck)
		return;
	json_object_set_new(all, "stuck",
			    json_pack("{s:s,s:O}", "command", "hostrace info", "data", stuck));
	json_object_del(result, "stuck");
}

/* What the section was made of is of no more use, unless the next one is made of it, too. */
static void section_done(struct page *page, unsigned int i)
{
	if (i + 1 == NR_SECTIONS || !sections[i + 1].again)
		result_close(page->part[i].result);
}

static int sections_make(struct page *page)
{
	int err = 0;

	for (unsigned int i = 0; i < NR_SECTIONS && !err; i++) {
		if (is_made(page, i))
			err = section_add(page, i);
		if (!err && is_made(page, i))
			section_done(page, i);
		if (!err && !i)
			err = info_check(page->all);
	}
	stuck_move(page->all);
	if (page->q->baseline)
		json_object_set(page->all, "baseline", page->q->baseline);
	if (!err)
		err = blame_add(page);
	return err || page->q->costs ? err : closeups_add(page);
}

static void fit_one(json_t *all, const char *key, size_t max)
{
	json_t *one = json_object_get(all, key), *data = json_object_get(one, "data");

	if (data)
		section_fit(data, max, one);
}

/* After the findings, which are of all rows. */
static void sections_fit(json_t *all)
{
	for (unsigned int i = 0; i < NR_SECTIONS; i++)
		if (sections[i].is_inner)
			json_object_del(all, sections[i].key);
		else
			fit_one(all, sections[i].key, sections[i].bytes_max);
	fit_one(all, "baseline", BASELINE_BYTES);
	fit_one(all, "blame", BLAME_BYTES);
	fit_one(all, "blame_by_vcpu", BY_VCPU_BYTES);
}

/* Did an input lose events, or is one truncated? `info` has read all. */
static bool has_lost(const json_t *all)
{
	const json_t *data = json_object_get(json_object_get(all, "info"), "data"), *input;
	size_t i;

	json_array_foreach (json_object_get(data, "inputs"), i, input)
		if (json_integer_value(json_object_get(input, "lost")) ||
		    json_object_get(input, "truncated"))
			return true;
	return false;
}

static int page_data(const struct page *page, json_t **ret)
{
	json_t *all = page->all;

	*ret = json_pack("{s:s,s:o,s:o,s:o,s:O}", "version", HOSTRACE_VERSION, "title",
			 page_title_make(all), "findings", findings_make(all), "notes",
			 page_notes_make(all), "sections", all);
	if (!*ret || json_array_extend(json_object_get(*ret, "notes"), (json_t *)page->q->notes)) {
		json_decref(*ret);
		return fail(-ENOMEM, "out of memory");
	}
	sections_fit(all);
	return 0;
}

static int page_read(struct page *page)
{
	int err = parts_init(page);

	if (!err)
		err = parts_run(page);
	return err ? err : sections_make(page);
}

int page_make(const struct page_query *q, json_t **ret, bool *lost)
{
	struct page *page = calloc(1, sizeof(*page));
	int err;

	*ret = NULL;
	*lost = false;
	if (!page || !(page->all = json_object())) {
		free(page);
		return fail(-ENOMEM, "out of memory");
	}
	page->q = q;
	err = page_read(page);
	*lost = has_lost(page->all);
	if (!err && q->costs)
		*ret = json_incref(page->all);
	else if (!err)
		err = page_data(page, ret);
	page_close(page);
	return err;
}
