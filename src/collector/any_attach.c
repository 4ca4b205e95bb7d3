// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recording events that the user names: each is attached with its number, by which its program finds what to copy. All
 * of a kind share a program, but for functions that are probed by trampolines: the kernel checks such a program against
 * its function. They are copies of the one in our object, loaded by themselves.
 */
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "collector/any_probe.h"
#include "collector/internal.h"
#include "hostrace.skel.h" /* knows record.h's types */

/* By enum any_kind. */
static const struct {
	const char *program;
	enum probe_how how;
} ways[] = {
	[ANY_TRACEPOINT] = {"tp_any", PROBE_TRACEPOINT},
	[ANY_KPROBE] = {"kp_any", PROBE_FUNCTION},
	[ANY_KRETPROBE] = {"kp_any", PROBE_FUNCTION},
	[ANY_FENTRY] = {"fentry_any", PROBE_FUNCTION},
	[ANY_FEXIT] = {"fexit_any", PROBE_FUNCTION},
	[ANY_UPROBE] = {"up_any", PROBE_FUNCTION},
	[ANY_URETPROBE] = {"up_any", PROBE_FUNCTION},
	[ANY_USDT] = {"usdt_any", PROBE_USDT},
};

static bool is_trampoline(const struct any_event *e)
{
	return e->kind == ANY_FENTRY || e->kind == ANY_FEXIT;
}

static const char *target_of(const struct any_event *e)
{
	return strchr(e->name, ':') + 1;
}

/* Its program is a copy of its own; -1: not. */
static int *program_fd(const struct collector *c, const struct probe_result *r)
{
	return &c->any_programs[r->id - ANY_FIRST];
}

int collector_any_plan(struct collector *c)
{
	if (!c->any)
		return 0;
	c->any_plans = calloc(c->any->nr, sizeof(*c->any_plans));
	c->any_programs = malloc(c->any->nr * sizeof(*c->any_programs));
	if (!c->any_plans || !c->any_programs)
		return fail(-ENOMEM, "out of memory");
	for (unsigned int i = 0; i < c->any->nr; i++) {
		const struct any_event *e = &c->any->event[i];
		struct probe_result *r = &c->results[c->nr_results++];
		struct probe_plan *p = &c->any_plans[i];

		p->event = e->name;
		p->how = ways[e->kind].how;
		p->nr_places = 1;
		snprintf(p->place[0].program, sizeof(p->place[0].program), "%s",
			 ways[e->kind].program);
		p->place[0].emulated = e->emulated;
		c->any_programs[i] = -1;
		*r = (struct probe_result){.event = p->event, .plan = p, .id = ANY_FIRST + i};
		snprintf(r->reason, sizeof(r->reason), "%s", e->note);
	}
	return 0;
}

int collector_any_prepare(const struct collector *c, struct bpf_program *prog)
{
	const char *name = bpf_program__name(prog);
	const struct any_event *e =
		c->any ? array_find(c->any->event, c->any->nr, i,
				    is_trampoline(&c->any->event[i]) &&
					    !strcmp(ways[c->any->event[i].kind].program, name))
		       : NULL;

	return e ? bpf_program__set_attach_target(prog, 0, target_of(e)) : 0;
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

/* The kernel's descriptor of a module's types; 0 for those of vmlinux, -ENOENT. */
static int types_fd(const char *module)
{
	char name[ANY_MODULE_MAX];
	uint32_t id = 0;

	if (!*module)
		return 0;
	while (!bpf_btf_get_next_id(id, &id)) {
		struct bpf_btf_info info = {.name = (uintptr_t)name, .name_len = sizeof(name)};
		uint32_t len = sizeof(info);
		int fd = bpf_btf_get_fd_by_id(id);

		if (fd >= 0 && !bpf_obj_get_info_by_fd(fd, &info, &len) && info.kernel_btf &&
		    !strcmp(name, module))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	return -ENOENT;
}

static int copy_load(const struct bpf_program *like, const struct any_event *e)
{
	int types = types_fd(e->module), fd;
	LIBBPF_OPTS(bpf_prog_load_opts, opts,
		    .expected_attach_type = bpf_program__expected_attach_type(like),
		    .attach_btf_id = e->btf_id,
		    .attach_btf_obj_fd = types > 0 ? (uint32_t)types : 0);

	if (types < 0)
		return types;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, bpf_program__name(like), "GPL",
			   bpf_program__insns(like), bpf_program__insn_cnt(like), &opts);
	if (types)
		close(types);
	return fd;
}

static int trampoline_attach(struct collector *c, const struct probe_result *r,
			     const struct bpf_program *like)
{
	const struct any_event *e = &c->any->event[r->id - ANY_FIRST];
	LIBBPF_OPTS(bpf_link_create_opts, opts, .tracing.cookie = r->id - ANY_FIRST);
	int fd = copy_load(like, e);

	*program_fd(c, r) = fd;
	if (fd >= 0)
		fd = bpf_link_create(fd, 0, bpf_program__expected_attach_type(like), &opts);
	return collector_link_keep(c, NULL, fd);
}

static struct bpf_link *kprobe_link(const struct any_event *e, uint64_t nr,
				    const struct bpf_program *prog)
{
	LIBBPF_OPTS(bpf_kprobe_opts, opts, .bpf_cookie = nr, .retprobe = e->kind == ANY_KRETPROBE);

	return bpf_program__attach_kprobe_opts(prog, target_of(e), &opts);
}

static struct bpf_link *tracepoint_link(const struct any_event *e, uint64_t nr,
					const struct bpf_program *prog)
{
	LIBBPF_OPTS(bpf_tracepoint_opts, opts, .bpf_cookie = nr);
	char system[EVENT_NAME_MAX];

	snprintf(system, sizeof(system), "%.*s", (int)strcspn(e->name, ":"), e->name);
	return bpf_program__attach_tracepoint_opts(prog, system, target_of(e), &opts);
}

/* pid -1: of any process. */
static int user_attach(struct collector *c, const struct any_event *e, uint64_t nr,
		       const struct bpf_program *prog, pid_t pid)
{
	const struct uprobe_sites site = {.offset = &e->file_offset,
					  .cookie = &nr,
					  .nr = 1,
					  .at_return = e->kind == ANY_URETPROBE};
	LIBBPF_OPTS(bpf_uprobe_opts, opts, .bpf_cookie = nr, .retprobe = site.at_return);
	LIBBPF_OPTS(bpf_usdt_opts, mark, .usdt_cookie = nr);
	char provider[EVENT_NAME_MAX];
	struct bpf_link *link;
	const char *name;

	if (e->kind != ANY_USDT && c->uprobe_links)
		return collector_link_keep(
			c, NULL, uprobe_link_sites(prog, pid > 0 ? pid : 0, e->path, &site));
	if (e->kind != ANY_USDT) {
		link = bpf_program__attach_uprobe_opts(prog, pid, e->path, e->file_offset, &opts);
	} else {
		name = target_of(e) + strlen(e->path) + 1;
		snprintf(provider, sizeof(provider), "%.*s", (int)strcspn(name, ":"), name);
		link = bpf_program__attach_usdt(prog, pid, e->path, provider,
						name + strlen(provider) + 1, &mark);
	}
	return collector_link_keep(c, link, link ? 0 : -errno);
}

/* Those that start later, too, with --host or a command. */
static int user_attach_all(struct collector *c, const struct any_event *e, uint64_t nr,
			   const struct bpf_program *prog)
{
	int err = 0;

	if (c->any->host || c->follow)
		return user_attach(c, e, nr, prog, -1);
	for (unsigned int i = 0; i < c->nr_targets && !err; i++)
		err = user_attach(c, e, nr, prog, c->targets[i].pid);
	return err;
}

bool collector_any_is_user(const struct collector *c, const struct probe_result *r)
{
	return r->id >= ANY_FIRST && c->any->event[r->id - ANY_FIRST].kind >= ANY_UPROBE;
}

int collector_any_attach(struct collector *c, const struct probe_result *r,
			 const struct bpf_program *prog)
{
	const struct any_event *e = &c->any->event[r->id - ANY_FIRST];
	uint64_t nr = r->id - ANY_FIRST;
	struct bpf_link *link;

	if (is_trampoline(e))
		return trampoline_attach(c, r, prog);
	if (collector_any_is_user(c, r))
		return user_attach_all(c, e, nr, prog);
	link = e->kind == ANY_TRACEPOINT ? tracepoint_link(e, nr, prog) : kprobe_link(e, nr, prog);
	return collector_link_keep(c, link, link ? 0 : -errno);
}

/* What Linux 6.7 has of a kprobe's link; older ones leave zeros, and libbpf 1.1 does not know it. */
struct kprobe_link_info {
	uint32_t type, id, prog_id, pad, kind, pad2;
	uint64_t name;
	uint32_t name_bytes, offset;
	uint64_t address, missed, cookie;
};

uint64_t collector_any_missed(const struct collector *c, const struct probe_result *r)
{
	enum any_kind kind =
		r->id < ANY_FIRST ? ANY_TRACEPOINT : c->any->event[r->id - ANY_FIRST].kind;
	const struct probe_link *l = array_find(c->links, c->nr_links, i, c->links[i].result == r);
	struct kprobe_link_info info = {0};
	uint32_t len = sizeof(info);

	if ((kind != ANY_KPROBE && kind != ANY_KRETPROBE) || !l ||
	    bpf_obj_get_info_by_fd(bpf_link__fd(l->link), &info, &len))
		return 0;
	return info.missed;
}

int collector_any_judge(const struct collector *c)
{
	for (unsigned int i = 0; i < c->nr_results; i++) {
		const struct probe_result *r = &c->results[i];

		if (r->id < ANY_FIRST || r->attached)
			continue;
		if (c->any->event[r->id - ANY_FIRST].kind != ANY_TRACEPOINT)
			return fail_usage(-ENOTSUP,
					  "cannot record %s: this kernel does not allow a probe "
					  "there (%s)",
					  r->event, r->reason);
		return fail(-ENOTSUP, "cannot record %s (Linux 5.15 or newer is needed): %s",
			    r->event, r->reason);
	}
	return 0;
}

int collector_any_program(const struct collector *c, const struct probe_result *r)
{
	return r->id < ANY_FIRST ? -1 : *program_fd(c, r);
}

void collector_any_complete(const struct collector *c, struct record_hdr *rec)
{
	const struct any_event *e = &c->any->event[rec->type - ANY_FIRST];

	ftrace_format_move(&e->format, (uint8_t *)rec, rec->size);
}

void collector_any_close(struct collector *c)
{
	for (unsigned int i = 0; c->any_programs && i < c->any->nr; i++)
		if (c->any_programs[i] >= 0)
			close(c->any_programs[i]);
	free(c->any_programs);
	free(c->any_plans);
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
