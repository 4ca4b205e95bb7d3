// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions of the kernel and its modules as events: their arguments are those of BTF. Which functions there are, and
 * how many of one name, is in /proc/kallsyms: static functions may share a name, and the kernel would choose one.
 */
#include <bpf/btf.h>
#include <dirent.h>
#include <errno.h>
#include <stdarg.h>

#include "base/error.h"
#include "collector/any_probe.h"
#include "collector/internal.h"

enum { MODULES_MAX = 512, REGISTERS = 6, WORD = 8 };

/* ---- types ---- */

static bool enum_is_signed(const struct btf_type *t)
{
	const struct btf_enum *e = btf_enum(t);

	for (unsigned int i = 0; btf_is_enum(t) && i < btf_vlen(t); i++)
		if (e[i].val < 0)
			return true;
	return btf_kflag(t); /* of 64 bits: the flag is as old as they are */
}

/* A value that is no pointer and no number has a reason why it is not recorded. */
static void value_type(const struct btf *btf, unsigned int id, struct probe_value *v)
{
	const struct btf_type *t = btf__type_by_id(btf, (uint32_t)btf__resolve_type(btf, id));
	long long size = t ? btf__resolve_size(btf, id) : -1;
	bool is_enum = t && (btf_is_enum(t) || BTF_INFO_KIND(t->info) == BTF_KIND_ENUM64);

	v->kind = FIELD_UINT;
	v->fmt = "dec";
	if (t && btf_is_ptr(t)) {
		v->fmt = "addr";
		size = WORD;
	} else if (t && btf_is_int(t) && btf_int_encoding(t) & BTF_INT_SIGNED) {
		v->kind = FIELD_SINT;
	} else if (is_enum) {
		v->kind = enum_is_signed(t) ? FIELD_SINT : FIELD_UINT;
	} else if (t && btf_is_int(t) && size == WORD) {
		v->fmt = "hex";
	} else if (!t || !btf_is_int(t)) {
		v->why_not = "it is not a number or a pointer";
	}
	v->size = (uint16_t)size;
	if (!v->why_not && size != 1 && size != 2 && size != 4 && size != WORD)
		v->why_not = "it is a number of another size than 1, 2, 4 or 8 bytes";
}

/* How many words an argument has; 0: not known. */
static unsigned int words_of(const struct btf *btf, unsigned int id)
{
	long long size = btf__resolve_size(btf, id);

	return size <= 0 ? 0 : (unsigned int)((size + WORD - 1) / WORD);
}

/* Where arguments are at a function's entry, as the System V ABI for x86-64 has it (3.2.3), of the integer class. */
struct places {
	bool trampoline; /* it numbers words */
	bool unknown;	 /* from an argument of unknown size on */
	unsigned int words, registers, stack;
};

static void argument_place(struct places *p, unsigned int words, struct probe_value *v)
{
	unsigned int at = p->words;

	p->words += words;
	p->unknown |= !words;
	if (p->unknown) {
		v->why_not = "where it is passed is not known";
	} else if (p->trampoline) {
		v->source = (uint8_t)at;
	} else if (words <= 2 && p->registers + words <= REGISTERS) {
		v->source = (uint8_t)(ANY_ARG + p->registers);
		p->registers += words;
	} else {
		v->source = (uint8_t)(ANY_STACK + 1 + p->stack);
		p->stack += words;
	}
	if (!p->unknown && p->stack > 64 && !v->why_not)
		v->why_not = "it is too far up the stack";
}

static void print_declaration(void *arg, const char *fmt, va_list ap)
{
	vfprintf(arg, fmt, ap);
}

/* "int f(struct kvm_vcpu *vcpu, ...)" */
static void signature_print(const struct btf *btf, const char *name, const struct btf_type *proto,
			    char *buf, size_t size)
{
	FILE *out = fmemopen(buf, size, "w");
	struct btf_dump *d = out ? btf_dump__new(btf, print_declaration, out, NULL) : NULL;
	const struct btf_param *p = btf_params(proto);

	snprintf(buf, size, "%s(...)", name);
	if (!d || libbpf_get_error(d)) {
		if (out)
			fclose(out);
		return;
	}
	if (proto->type) {
		LIBBPF_OPTS(btf_dump_emit_type_decl_opts, opts, .field_name = "");
		btf_dump__emit_type_decl(d, proto->type, &opts);
	} else {
		fputs("void", out);
	}
	fprintf(out, " %s(", name);
	for (unsigned int i = 0; i < btf_vlen(proto); i++) {
		LIBBPF_OPTS(btf_dump_emit_type_decl_opts, opts,
			    .field_name = btf__name_by_offset(btf, p[i].name_off));

		fputs(i ? ", " : "", out);
		if (p[i].type)
			btf_dump__emit_type_decl(d, p[i].type, &opts);
		else
			fputs("...", out);
	}
	fputs(btf_vlen(proto) ? ")" : "void)", out);
	btf_dump__free(d);
	fclose(out);
	buf[size - 1] = '\0';
}

void probe_values_of(const struct btf *btf, const char *name, unsigned int proto_id,
		     bool trampoline, bool with_args, bool at_return, struct probe_values *ret)
{
	const struct btf_type *proto = btf__type_by_id(btf, proto_id);
	const struct btf_param *p = btf_params(proto);
	struct places places = {.trampoline = trampoline};

	*ret = (struct probe_values){.has_ret = at_return && proto->type};
	signature_print(btf, name, proto, ret->signature, sizeof(ret->signature));
	for (unsigned int i = 0; with_args && i < btf_vlen(proto) && i < PROBE_ARGS_MAX; i++) {
		struct probe_value *v = &ret->arg[ret->nr_args];
		const char *its = btf__name_by_offset(btf, p[i].name_off);

		if (!p[i].type) /* "..." */
			break;
		ret->nr_args++;
		if (its && *its)
			snprintf(v->name, sizeof(v->name), "%s", its);
		else
			snprintf(v->name, sizeof(v->name), "arg%u", i);
		value_type(btf, p[i].type, v);
		argument_place(&places, words_of(btf, p[i].type), v);
	}
	if (!ret->has_ret)
		return;
	snprintf(ret->ret.name, sizeof(ret->ret.name), "ret");
	value_type(btf, proto->type, &ret->ret);
	ret->ret.source = trampoline ? ANY_TRAMPOLINE_RET : ANY_RET;
}

/* A function of which only the symbol is known: its registers, by number. */
static void values_without_type(const char *name, bool at_return, struct probe_values *ret)
{
	*ret = (struct probe_values){.has_ret = at_return, .nr_args = at_return ? 0 : REGISTERS};
	snprintf(ret->signature, sizeof(ret->signature),
		 "%s(...): the kernel has no type of it, only arg0 to arg5, or ret", name);
	for (unsigned int i = 0; i < ret->nr_args; i++) {
		ret->arg[i] = (struct probe_value){.fmt = "hex",
						   .kind = FIELD_UINT,
						   .size = WORD,
						   .source = (uint8_t)(ANY_ARG + i)};
		snprintf(ret->arg[i].name, sizeof(ret->arg[i].name), "arg%u", i);
	}
	ret->ret = (struct probe_value){
		.fmt = "hex", .kind = FIELD_UINT, .size = WORD, .source = ANY_RET, .name = "ret"};
}

/* ---- which there are ---- */

struct module {
	char name[ANY_MODULE_MAX];
	struct btf *btf;
};

struct kernel_types {
	struct btf *vmlinux;
	struct module module[MODULES_MAX];
	unsigned int nr_modules;
	bool modules_loaded;
};

static int types_open(struct any_events *a)
{
	struct btf *vmlinux;

	if (a->types)
		return 0;
	vmlinux = btf__parse("/sys/kernel/btf/vmlinux", NULL);
	if (libbpf_get_error(vmlinux))
		return fail(-ENOTSUP,
			    "cannot read /sys/kernel/btf/vmlinux, which has the "
			    "functions' arguments: %s",
			    strerror(errno));
	a->types = calloc(1, sizeof(*a->types));
	if (!a->types) {
		btf__free(vmlinux);
		return fail(-ENOMEM, "out of memory");
	}
	a->types->vmlinux = vmlinux;
	return 0;
}

static void modules_open(struct kernel_types *t)
{
	DIR *dir = t->modules_loaded ? NULL : opendir("/sys/kernel/btf");
	struct dirent *d;
	char path[320];

	t->modules_loaded = true;
	while (dir && (d = readdir(dir)) && t->nr_modules < MODULES_MAX) {
		struct module *m = &t->module[t->nr_modules];

		if (*d->d_name == '.' || !strcmp(d->d_name, "vmlinux") ||
		    snprintf(m->name, sizeof(m->name), "%s", d->d_name) >= (int)sizeof(m->name))
			continue;
		snprintf(path, sizeof(path), "/sys/kernel/btf/%s", d->d_name);
		m->btf = btf__parse_split(path, t->vmlinux);
		t->nr_modules += !libbpf_get_error(m->btf);
	}
	if (dir)
		closedir(dir);
}

void any_kernel_forget(struct any_events *a)
{
	struct kernel_types *t = a->types;

	for (unsigned int i = 0; t && i < t->nr_modules; i++)
		btf__free(t->module[i].btf);
	if (t)
		btf__free(t->vmlinux);
	free(t);
	a->types = NULL;
}

/* Sets e's btf_id and module. NULL: no such function. */
static const struct btf *type_find(struct kernel_types *t, struct any_event *e, const char *name)
{
	int id = btf__find_by_name_kind(t->vmlinux, name, BTF_KIND_FUNC);

	if (id > 0) {
		e->btf_id = (uint32_t)id;
		return t->vmlinux;
	}
	modules_open(t);
	for (unsigned int i = 0; i < t->nr_modules; i++) {
		id = btf__find_by_name_kind(t->module[i].btf, name, BTF_KIND_FUNC);
		if (id <= 0)
			continue;
		e->btf_id = (uint32_t)id;
		snprintf(e->module, sizeof(e->module), "%s", t->module[i].name);
		return t->module[i].btf;
	}
	return NULL;
}

/* "ADDRESS TYPE NAME[\tMODULE]": the name of a function, and ends it; NULL: another symbol. */
static char *symbol_read(char *line)
{
	char *type = strchr(line, ' '), *name = type && type[1] ? type + 3 : NULL;

	if (!name || type[2] != ' ' || !strchr("tTwW", type[1]))
		return NULL;
	name[strcspn(name, "\t\n")] = '\0';
	return name;
}

/* How many functions of exactly this name the kernel has. near: also looks for similar ones; or NULL. */
static unsigned int symbols_count(const char *name, struct nearest *near)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/kallsyms", "re");
	unsigned int nr = 0;
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		const char *symbol = symbol_read(line);

		nr += symbol && !strcmp(symbol, name);
		if (symbol && near)
			nearest_try(near, symbol);
	}
	return nr;
}

static int function_unknown(const char *name)
{
	struct nearest near = {.word = name};
	char names[NEAREST_MAX * (EVENT_NAME_MAX + 4)];

	symbols_count(name, &near);
	return fail_usage(-EINVAL, "this kernel has no function '%s'%s", name,
			  nearest_print(&near, names, sizeof(names)));
}

/* Does a line of the file have this word? -ENOENT: it cannot be read. */
static int file_names(const char *path, const char *word)
{
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	char line[512], *save;

	if (!f || !fgets(line, sizeof(line), f))
		return -ENOENT;
	do {
		for (char *w = strtok_r(line, " \t\n", &save); w;
		     w = strtok_r(NULL, " \t\n", &save))
			if (!strcmp(w, word))
				return 1;
	} while (fgets(line, sizeof(line), f));
	return 0;
}

/* What the kernel lists; the rest it says when the probe is attached. */
static int probe_permitted(const struct any_event *e, const char *function)
{
	bool trampoline = e->kind == ANY_FENTRY || e->kind == ANY_FEXIT;

	if (!trampoline && file_names("/sys/kernel/debug/kprobes/blacklist", function) == 1)
		return fail_usage(-EINVAL,
				  "%s: the kernel does not allow probes in this function "
				  "(/sys/kernel/debug/kprobes/blacklist)",
				  e->name);
	if (trampoline && !file_names("/sys/kernel/tracing/available_filter_functions", function))
		return fail_usage(-EINVAL,
				  "%s: the kernel has no trampoline at this function "
				  "(/sys/kernel/tracing/available_filter_functions)",
				  e->name);
	return 0;
}

static int probes_possible(const struct any_event *e)
{
	if (e->kind == ANY_FENTRY || e->kind == ANY_FEXIT ||
	    !access("/sys/bus/event_source/devices/kprobe/type", F_OK))
		return 0;
	return fail_usage(
		-ENOTSUP,
		"%s: this kernel has no kprobes (CONFIG_KPROBE_EVENTS); fentry:FUNCTION and "
		"fexit:FUNCTION do not need them",
		e->name);
}

int any_kernel_read(struct any_events *a, struct any_event *e, const char *function,
		    const char *words)
{
	bool trampoline = e->kind == ANY_FENTRY || e->kind == ANY_FEXIT;
	bool at_return = e->kind == ANY_FEXIT || e->kind == ANY_KRETPROBE;
	struct probe_values values;
	const struct btf *btf;
	unsigned int symbols;
	int err = types_open(a);

	if (err)
		return err;
	btf = type_find(a->types, e, function);
	symbols = symbols_count(function, NULL);
	if (!symbols && !btf)
		return function_unknown(function);
	if (!symbols)
		return fail_usage(-EINVAL, "%s: the compiler has inlined this function everywhere",
				  e->name);
	if (symbols > 1)
		return fail_usage(-EINVAL, "%s: the kernel has %u functions of this name", e->name,
				  symbols);
	if (!btf && trampoline)
		return fail_usage(-EINVAL,
				  "%s: the kernel has no type (BTF) of this function; "
				  "kprobe:%s arg0 does not need it",
				  e->name, function);
	if (btf)
		probe_values_of(btf, function, btf__type_by_id(btf, e->btf_id)->type, trampoline,
				e->kind != ANY_KRETPROBE, at_return, &values);
	else
		values_without_type(function, at_return, &values);
	if (!btf && !at_return && !*words)
		values.nr_args = 0; /* it may have none */
	err = probe_choose(e, &values, words);
	err = err ? err : probe_permitted(e, function);
	return err ? err : probes_possible(e);
}
