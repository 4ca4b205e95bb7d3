// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions and USDT probes of programs and libraries as events: uprobe:PATH:FUNCTION[+OFFSET], uretprobe:,
 * usdt:PATH:PROVIDER:NAME. A user probe is a breakpoint in the program, so that a site is checked as those of QEMU are
 * (plan_qemu.c): it must be an instruction's begin, and not a NOP of 5 bytes within a function. Return probes replace
 * a return address, which crashes programs that change stacks in between: QEMU (coroutines) and Go.
 */
#include <elf.h>
#include <errno.h>

#include "base/array.h"
#include "base/error.h"
#include "collector/any_probe.h"
#include "symbols/decoder.h"
#include "collector/elf.h"

enum { REGISTERS = 6, USDT_ARGS_MAX = 12 /* as libbpf has it */ };

/* "PATH:REST": the path; *ret_rest is what follows the `colons`-th colon from the end. NULL: it is not of this form. */
static const char *path_split(const char *target, unsigned int colons, char *buf, size_t size,
			      const char **ret_rest)
{
	const char *at = target + strlen(target);

	while (colons && at > target)
		colons -= *--at == ':';
	if (colons || at == target || !at[1])
		return NULL;
	snprintf(buf, size, "%.*s", (int)(at - target), target);
	*ret_rest = at + 1;
	return buf;
}

/* ---- uprobes ---- */

/* Programs have no name for others to link with. */
static bool is_library(const struct elf_file *elf)
{
	size_t len;
	uint64_t address;
	const uint8_t *dynamic = elf_file_section(elf, ".dynamic", &len, &address);
	Elf64_Dyn d;

	for (size_t at = 0; dynamic && at + sizeof(d) <= len; at += sizeof(d)) {
		memcpy(&d, dynamic + at, sizeof(d));
		if (d.d_tag == DT_SONAME)
			return true;
	}
	return false;
}

static int return_permitted(const struct any_event *e, const struct elf_file *elf)
{
	size_t len;
	uint64_t address;
	const char *why = NULL;

	if (is_library(elf))
		why = "a library is also in programs that change their stacks";
	else if (plan_exe_is_qemu(e->path))
		why = "QEMU's coroutines change the stack";
	else if (elf_file_section(elf, ".gopclntab", &len, &address))
		why = "Go moves stacks";
	return why ? fail_usage(-EINVAL,
				"%s: a return probe would crash the program: %s; use uprobe",
				e->name, why)
		   : 0;
}

/* The site, in the file. The decoder is another process, as the file is foreign. */
static int site_check(struct any_event *e, const struct elf_file *elf,
		      const struct elf_symbol *symbol, uint64_t offset)
{
	size_t len;
	const uint8_t *code = elf_file_bytes(elf, symbol->address, &len);
	struct helper decoder = {0};
	struct decoded at = {0};
	int err;

	if (code && symbol->size && symbol->size < len)
		len = symbol->size;
	if (!code || offset >= len ||
	    !elf_file_offset(elf, symbol->address + offset, &e->file_offset))
		return fail_usage(-EINVAL, "%s: the function has no code at this offset", e->name);
	err = decoder_start(&decoder);
	if (err)
		return err;
	err = decoder_within(&decoder, code, len, offset, &at);
	helper_stop(&decoder);
	if (err)
		return fail_usage(-EINVAL, "%s: no instruction begins at this offset", e->name);
	if (offset && decode_is_nop5(code + offset, len - offset))
		return fail_usage(-EINVAL,
				  "%s: a probe on a 5-byte NOP within a function would corrupt the "
				  "program",
				  e->name);
	e->emulated = at.emulated;
	return 0;
}

static void register_values(bool at_return, const char *name, struct probe_values *ret)
{
	*ret = (struct probe_values){.has_ret = at_return, .nr_args = at_return ? 0 : REGISTERS};
	snprintf(ret->signature, sizeof(ret->signature), "%s: %s", name,
		 at_return ? "ret" : "arg0 to arg5 (rdi, rsi, rdx, rcx, r8, r9)");
	for (unsigned int i = 0; i < ret->nr_args; i++) {
		ret->arg[i] = (struct probe_value){.fmt = "hex",
						   .kind = FIELD_UINT,
						   .size = 8,
						   .source = (uint8_t)(ANY_ARG + i)};
		snprintf(ret->arg[i].name, sizeof(ret->arg[i].name), "arg%u", i);
	}
	ret->ret = (struct probe_value){
		.name = "ret", .fmt = "hex", .kind = FIELD_UINT, .size = 8, .source = ANY_RET};
}

/* "FUNCTION+OFFSET" */
static int offset_read(const struct any_event *e, char *function, uint64_t *ret)
{
	char *plus = strrchr(function, '+'), *end;

	*ret = 0;
	if (!plus)
		return 0;
	*plus = '\0';
	errno = 0;
	*ret = strtoull(plus + 1, &end, 0);
	return errno || *end || plus[1] < '0' || plus[1] > '9'
		       ? fail_usage(-EINVAL, "%s: invalid offset '%s'", e->name, plus + 1)
		       : 0;
}

int any_uprobe_read(struct any_event *e, const char *target, const char *words)
{
	_cleanup_elf_file_ struct elf_file *elf = NULL;
	bool at_return = e->kind == ANY_URETPROBE;
	char function[EVENT_NAME_MAX];
	struct probe_values values;
	struct elf_symbol symbol;
	const char *rest;
	uint64_t offset;
	int err;

	if (!path_split(target, 1, e->path, sizeof(e->path), &rest))
		return fail_usage(-EINVAL, "%s: expected PATH:FUNCTION", e->name);
	snprintf(function, sizeof(function), "%s", rest);
	err = offset_read(e, function, &offset);
	if (err)
		return err;
	err = elf_file_open(e->path, &elf);
	if (err)
		return fail_usage(err, "%s: %s", e->name, error_text());
	if (!elf_file_symbol(elf, function, &symbol))
		return fail_usage(-EINVAL, "%s has no function '%s'%s", e->path, function,
				  elf_file_has_symbols(elf) ? "" : ": it has no symbols");
	if (elf_file_writable(elf, symbol.address))
		return fail_usage(-EINVAL, "%s: this is a variable", e->name);
	if (at_return && offset)
		return fail_usage(-EINVAL, "%s: a return has no offset", e->name);
	err = at_return ? return_permitted(e, elf) : 0;
	err = err ? err : site_check(e, elf, &symbol, offset);
	if (err)
		return err;
	register_values(at_return, function, &values);
	if (!*words)
		values.nr_args = 0; /* how many it has is not known */
	return probe_choose(e, &values, words);
}

/* ---- USDT probes ---- */

static unsigned int args_count(const char *args)
{
	unsigned int nr = 0;

	while (*(args += strspn(args, " "))) {
		args += strcspn(args, " ");
		nr++;
	}
	return nr;
}

/* "-4@8(%rsp) 8@%rdi": libbpf extends each to 8 bytes by its sign. */
static void mark_values(const struct usdt_mark *mark, struct probe_values *ret)
{
	const char *args = mark->args;

	*ret = (struct probe_values){.nr_args = args_count(args)};
	snprintf(ret->signature, sizeof(ret->signature), "%s:%s(%.256s)", mark->provider,
		 mark->name, args);
	for (unsigned int i = 0; i < ret->nr_args; i++) {
		args += strspn(args, " ");
		ret->arg[i] = (struct probe_value){.fmt = *args == '8' ? "hex" : "dec",
						   .kind = *args == '-' ? FIELD_SINT : FIELD_UINT,
						   .size = 8,
						   .source = (uint8_t)i};
		snprintf(ret->arg[i].name, sizeof(ret->arg[i].name), "arg%u", i);
		args += strcspn(args, " ");
	}
}

static int mark_check(struct any_event *e, const struct elf_file *elf, struct helper *decoder,
		      const struct usdt_mark *mark)
{
	size_t len;
	const uint8_t *code = elf_file_bytes(elf, mark->address, &len);
	unsigned int nr = args_count(mark->args);
	struct decoded insn;

	if (!code || decoder_at(decoder, code, len, &insn))
		return fail_usage(-EINVAL, "%s: the probe points to no instruction", e->name);
	if (decode_is_nop5(code, len))
		return fail_usage(-EINVAL,
				  "%s: the probe is a 5-byte NOP: probing it would corrupt the "
				  "program",
				  e->name);
	if (nr > USDT_ARGS_MAX || !usdt_args_readable(mark->args, nr))
		return fail_usage(-EINVAL, "%s: unsupported arguments (%.100s)", e->name,
				  mark->args);
	e->emulated = insn.emulated;
	return 0;
}

/* Sites of one probe that differ in number or sign of the arguments would be read as the first. */
static bool same_values(const struct probe_values *a, const struct probe_values *b)
{
	return a->nr_args == b->nr_args &&
	       !array_any(a->nr_args, i, a->arg[i].kind != b->arg[i].kind);
}

static int mark_unknown(const struct any_event *e, const char *name, const struct usdt_marks *marks)
{
	struct nearest near = {.word = name};
	char names[NEAREST_MAX * (EVENT_NAME_MAX + 4)], one[EVENT_NAME_MAX];

	for (unsigned int i = 0; i < marks->nr; i++) {
		snprintf(one, sizeof(one), "%.60s:%.60s", marks->mark[i].provider,
			 marks->mark[i].name);
		text_sanitize(one);
		if (!array_any(near.nr, k, !strcmp(near.of[k].name, one)))
			nearest_try(&near, one);
	}
	return fail_usage(-EINVAL, "%s has no USDT probe '%s' (it has %u sites of probes)%s",
			  e->path, name, marks->nr, nearest_print(&near, names, sizeof(names)));
}

static int marks_check(struct any_event *e, const struct elf_file *elf, const char *name,
		       const struct usdt_marks *marks, struct probe_values *ret)
{
	struct helper decoder = {0};
	struct probe_values other;
	unsigned int nr = 0;
	int err = decoder_start(&decoder);

	for (unsigned int i = 0; i < marks->nr && !err; i++) {
		const struct usdt_mark *m = &marks->mark[i];
		size_t len = strlen(m->provider);

		if (strncmp(name, m->provider, len) || name[len] != ':' ||
		    strcmp(name + len + 1, m->name))
			continue;
		err = mark_check(e, elf, &decoder, m);
		if (err)
			break;
		mark_values(m, nr++ ? &other : ret);
		if (nr > 1 && !same_values(ret, &other))
			err = fail_usage(-EINVAL,
					 "%s: its sites have different arguments: %s and %s",
					 e->name, ret->signature, other.signature);
	}
	helper_stop(&decoder);
	if (!err && !nr)
		err = mark_unknown(e, name, marks);
	return err;
}

int any_usdt_read(struct any_event *e, const char *target, const char *words)
{
	_cleanup_elf_file_ struct elf_file *elf = NULL;
	struct usdt_marks marks = {0};
	struct probe_values values;
	const char *name;
	int err;

	if (!path_split(target, 2, e->path, sizeof(e->path), &name))
		return fail_usage(-EINVAL, "%s: expected PATH:PROVIDER:NAME", e->name);
	err = elf_file_open(e->path, &elf);
	if (err)
		return fail_usage(err, "%s: %s", e->name, error_text());
	err = usdt_read(elf, &marks);
	err = err ? err : marks_check(e, elf, name, &marks, &values);
	usdt_free(&marks);
	return err ? err : probe_choose(e, &values, words);
}
