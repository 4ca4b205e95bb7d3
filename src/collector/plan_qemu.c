// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where QEMU's global mutex is, without symbols of variables: the functions that lock, unlock and
 * wait are exported, and each of them passes the mutex's address to another function. So the only
 * variable whose address it loads into the argument's register is the mutex; texts that it passes
 * are not writable.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "symbols/decoder.h"
#include "collector/plan_internal.h"
#include "vm/proc.h"

static const struct lock_function {
	const char *name;
	unsigned int arg; /* that the mutex is passed in */
} functions[] = {
	{"bql_lock_impl", 1}, /* these since QEMU 9.0 */
	{"bql_unlock", 1},
	{"qemu_cond_wait_bql", 2},
	{"qemu_mutex_lock_iothread_impl", 1},
	{"qemu_mutex_unlock_iothread", 1},
	{"qemu_cond_wait_iothread", 2},
};

enum { NR_FUNCTIONS = sizeof(functions) / sizeof(functions[0]) };

/* The only writable variable that the function passes; 0 if there is none, or several. */
static uint64_t variable_passed(const struct elf_file *elf, struct helper *decoder,
				const struct lock_function *f)
{
	uint64_t at[DECODE_VARIABLES_MAX], found = 0;
	struct elf_symbol symbol;
	const uint8_t *code;
	unsigned int nr = 0;
	size_t len;

	if (!elf_file_symbol(elf, f->name, &symbol) || !symbol.size)
		return 0;
	code = elf_file_bytes(elf, symbol.address, &len);
	if (code)
		nr = decoder_variables(decoder, code, symbol.size < len ? symbol.size : len,
				       symbol.address, f->arg, at);
	for (unsigned int i = 0; i < nr; i++) {
		if (!elf_file_writable(elf, at[i]) || at[i] == found)
			continue;
		if (found)
			return 0;
		found = at[i];
	}
	return found;
}

/* The address of QEMU's global mutex. Sets plan->global_mutex, entry and lock_note. */
static void plan_locks(const struct elf_file *elf, struct helper *decoder, struct plan *plan)
{
	unsigned int agree = 0;

	plan->entry = elf_file_entry(elf);
	for (unsigned int i = 0; i < NR_FUNCTIONS; i++) {
		uint64_t at = variable_passed(elf, decoder, &functions[i]);

		if (!at)
			continue;
		if (plan->global_mutex && at != plan->global_mutex) {
			plan->global_mutex = 0;
			snprintf(plan->lock_note, sizeof(plan->lock_note),
				 "global mutex: not found: %s() passes another variable than the "
				 "functions before it",
				 functions[i].name);
			return;
		}
		plan->global_mutex = at;
		agree++;
	}
	if (agree)
		snprintf(plan->lock_note, sizeof(plan->lock_note),
			 "global mutex: at 0x%" PRIx64 " of the executable, as %u of its functions "
			 "show",
			 plan->global_mutex, agree);
	else
		snprintf(plan->lock_note, sizeof(plan->lock_note),
			 "global mutex: not found: this QEMU does not export the functions that "
			 "lock it");
}

/*
 * The probe sites of each event in one QEMU binary: its marks, else the functions that replace them
 * for them, at the cheapest instruction that will do.
 */

enum row_kind { ROW_GROUP, ROW_PROBE, ROW_MARK, ROW_ENTRY, ROW_RETURN, ROW_NONE, ROW_END };

/*
 * Columns by kind: GROUP: name, text what it is about; PROBE: name is the event, text the loss;
 * MARK: text the arguments, more the lack; ENTRY, RETURN: text the prototype, number the arguments
 * that are needed; NONE: text why no function replaces it. since, before: see struct binary.
 */
struct row {
	enum row_kind kind;
	const char *name, *program, *text, *more;
	unsigned int number, since, before;
};

/* clang-format off */
#define LAYOUT(...)
#define LAYOUT_CHECKED(release)
#define LAYOUT_SEEN(...)
#define GROUP(name, doc)			      {ROW_GROUP, #name, "", doc, "", 0},
static const struct row rows[] = {
#define PROBE(event, since, loss)		      {ROW_PROBE, #event, "", loss, "", 0, since},
#define MARK(name, program, args, lack)		      {ROW_MARK, #name, #program, args, lack, 0},
#define ENTRY(function, program, nr_args, prototype)  {ROW_ENTRY, #function, #program, prototype, "", nr_args},
#define ENTRY_BEFORE(function, program, nr_args, prototype, before) \
	{ROW_ENTRY, #function, #program, prototype, "", nr_args, 0, before},
#define RETURN(function, program, nr_args, prototype) {ROW_RETURN, #function, #program, prototype, "", nr_args},
#define END(event)				      {ROW_END, #event, "", "", "", 0},
#include "../../probes/qemu.def"
#undef PROBE
#undef MARK
#undef ENTRY
#undef ENTRY_BEFORE
#undef RETURN
#undef END
#define INSIDE(event, since, loss) {ROW_PROBE, #event, "", loss, "", 0, since},
#define BY_MARK(event, name, which, since, before, args, lack, ...) \
	{ROW_MARK, #name, "usdt_" #event "_" #which, args, lack, 0, since, before},
#define BY_ENTRY(event, function, which, since, before, nr_args, prototype, ...) \
	{ROW_ENTRY, #function, "fn_" #event "_" #which, prototype, "", nr_args, since, before},
#define BY_RETURN(event, function, which, since, before, prototype, ...) \
	{ROW_RETURN, #function, "ret_" #event "_" #which, prototype, "", 0, since, before},
#define NO_FUNCTION(event, why) {ROW_NONE, "", "", why, "", 0},
#define INSIDE_END(event)	{ROW_END, #event, "", "", "", 0},
#include "../../probes/inside.def"
};
#undef GROUP
#undef LAYOUT
#undef LAYOUT_CHECKED

static const struct layout_row {
	unsigned int since;
	struct qemu_layout layout;
} layouts[] = {
#define GROUP(...)
#define PROBE(...)
#define MARK(...)
#define ENTRY(...)
#define ENTRY_BEFORE(...)
#define RETURN(...)
#define END(...)
#define LAYOUT(since, ...) {since, {__VA_ARGS__}},
#define LAYOUT_CHECKED(release)
#include "../../probes/qemu.def"
#undef LAYOUT
#undef LAYOUT_CHECKED
};

enum {
	NR_LAYOUTS = sizeof(layouts) / sizeof(layouts[0]),
#define LAYOUT(...)
#define LAYOUT_CHECKED(release) LAYOUT_NEWEST = (release),
#include "../../probes/qemu.def"
};
/* clang-format on */

struct binary {
	struct elf_file *elf;
	struct helper *decoder; /* borrowed */
	struct usdt_marks marks;
	unsigned int release; /* RELEASE(); 0: unknown, treated as the newest */
	const char *version;
	bool is_qemu, has_symbols;
	char layout_wrong[160]; /* why queues cannot be read; "" if they can */
};

/* Does the row apply to this release? Only a row that is too new is reported as a reason, not one that is too old. */
static bool row_holds(const struct binary *bin, const struct row *row)
{
	unsigned int release = bin->release ? bin->release : LAYOUT_NEWEST;

	return row->since <= release && (!row->before || release < row->before);
}

/* ---- marks ---- */

static unsigned int args_of(const char *list)
{
	unsigned int nr = *list != '\0';

	for (; *list; list++)
		nr += *list == ',';
	return nr;
}

/* One site of a mark; false (and the reason) if it must not be probed or cannot be read. */
static bool site_fits(const struct binary *bin, const struct usdt_mark *mark, const struct row *row,
		      struct probe_place *place, char *why, size_t size)
{
	size_t len;
	const uint8_t *code = elf_file_bytes(bin->elf, mark->address, &len);
	struct decoded insn;

	if (!code || decoder_at(bin->decoder, code, len, &insn)) {
		snprintf(why, size, "USDT probe %s points outside the executable", row->name);
		return false;
	}
	if (decode_is_nop5(code, len)) {
		snprintf(why, size, "USDT probe %s is a 5-byte NOP: probing it would corrupt QEMU",
			 row->name);
		return false;
	}
	if (!usdt_args_readable(mark->args, args_of(row->text))) {
		snprintf(why, size, "unsupported arguments of USDT probe %s (%.60s)", row->name,
			 mark->args);
		return false;
	}
	if (!place->sites++) {
		place->emulated = true;
		elf_file_offset(bin->elf, mark->address, &place->file_offset);
		snprintf(place->insn, sizeof(place->insn), "%s", insn.insn);
	}
	place->emulated &= insn.emulated;
	return true;
}

/* All sites of a mark as one entry; false if there is none, or one of them is unusable. */
static bool mark_plan(const struct binary *bin, const struct row *row, struct probe_place *place,
		      char *why, size_t size)
{
	*place = (struct probe_place){0};
	for (unsigned int i = 0; i < bin->marks.nr; i++) {
		const struct usdt_mark *mark = &bin->marks.mark[i];

		if (strcmp(mark->provider, "qemu") || strcmp(mark->name, row->name))
			continue;
		if (!site_fits(bin, mark, row, place, why, size))
			return false;
	}
	snprintf(place->program, sizeof(place->program), "%s", row->program);
	snprintf(place->mark, sizeof(place->mark), "%s", row->name);
	return place->sites > 0;
}

/* ---- functions ---- */

/* "new|old": the first that the binary has. */
static bool symbol_find(const struct binary *bin, const char *names, struct elf_symbol *ret,
			char *name, size_t size)
{
	while (*names) {
		size_t len = strcspn(names, "|");

		snprintf(name, size, "%.*s", (int)len, names);
		if (elf_file_symbol(bin->elf, name, ret))
			return true;
		names += len + (names[len] == '|');
	}
	return false;
}

static bool function_plan(const struct binary *bin, const struct row *row,
			  struct probe_place *place, char *why, size_t size)
{
	struct elf_symbol symbol;
	struct decoded at;
	const uint8_t *code;
	size_t len;

	*place = (struct probe_place){.at_return = row->kind == ROW_RETURN};
	if (!symbol_find(bin, row->name, &symbol, place->function, sizeof(place->function)))
		return false;
	code = elf_file_bytes(bin->elf, symbol.address, &len);
	if (!code ||
	    decoder_place(bin->decoder, code, symbol.size && symbol.size < len ? symbol.size : len,
			  row->number, &at) ||
	    !elf_file_offset(bin->elf, symbol.address + at.offset, &place->file_offset)) {
		snprintf(why, size, "symbol %s does not point to code", place->function);
		return false;
	}
	snprintf(place->program, sizeof(place->program), "%s", row->program);
	snprintf(place->insn, sizeof(place->insn), "%s", at.insn);
	place->offset = at.offset;
	place->emulated = at.emulated;
	return true;
}

/* ---- one event ---- */

typedef bool row_planner(const struct binary *bin, const struct row *row, struct probe_place *place,
			 char *why, size_t size);

static bool row_is(const struct row *row, bool mark)
{
	return mark ? row->kind == ROW_MARK : row->kind == ROW_ENTRY || row->kind == ROW_RETURN;
}

/* Tries all rows of these kinds. Returns their number; usable sites are added. */
static unsigned int rows_try(const struct binary *bin, const struct row *row, bool marks,
			     struct probe_plan *p, char *why, size_t size)
{
	row_planner *plan = marks ? mark_plan : function_plan;
	unsigned int nr = 0;

	for (; row->kind != ROW_END; row++) {
		if (!row_is(row, marks) || !row_holds(bin, row))
			continue;
		nr++;
		if (p->nr_places < PLACES_MAX && plan(bin, row, &p->place[p->nr_places], why, size))
			p->nr_places++;
	}
	return nr;
}

/* The first row of this kind that applies, for the error messages. */
static const struct row *row_first(const struct binary *bin, const struct row *row, bool mark)
{
	for (; row->kind != ROW_END; row++)
		if (row_is(row, mark) && row_holds(bin, row))
			return row;
	return NULL;
}

/* Why no function replaces the mark; NULL if one could. */
static const char *row_none(const struct row *row)
{
	for (; row->kind != ROW_END; row++)
		if (row->kind == ROW_NONE)
			return row->text;
	return NULL;
}

static void reason_absent(const struct binary *bin, const struct row *row, const char *why,
			  struct probe_plan *p)
{
	const struct row *mark = row_first(bin, row, true), *function = row_first(bin, row, false);
	size_t size = sizeof(p->reason);

	if (row->since > bin->release && bin->release)
		snprintf(p->reason, size, "QEMU %s is older than %u.%u, which introduced it",
			 bin->version, row->since / 100, row->since % 100);
	else if (*why)
		snprintf(p->reason, size, "%s", why);
	else if (!function && row_none(row))
		snprintf(p->reason, size, "no USDT probe%s%s; its function is %s", mark ? " " : "",
			 mark ? mark->name : "", row_none(row));
	else if (bin->has_symbols)
		snprintf(p->reason, size, "this QEMU has no %s%s%sseparate function %s",
			 mark ? "USDT probe " : "", mark ? mark->name : "", mark ? " and no " : "",
			 function ? function->name : "");
	else if (mark)
		snprintf(p->reason, size,
			 "no USDT probe %s, and all symbols are stripped; needs QEMU's debug "
			 "symbols, or a build with --enable-trace-backends=dtrace or "
			 "--enable-modules",
			 mark->name);
	else
		snprintf(p->reason, size,
			 "no QEMU release has a USDT probe for it, and all symbols are stripped; "
			 "needs QEMU's debug symbols, or a build with --enable-modules");
}

static void reason_function(const struct row *row, unsigned int wanted, struct probe_plan *p)
{
	size_t len = (size_t)snprintf(p->reason, sizeof(p->reason), "%s", row->text);

	if (p->nr_places < wanted && len < sizeof(p->reason))
		snprintf(p->reason + len, sizeof(p->reason) - len, "%s%u of %u functions found",
			 len ? "; " : "", p->nr_places, wanted);
}

/* Events that are made of what is in a VirtQueue. */
static bool reads_queues(const char *event)
{
	return !strncmp(event, "virtqueue_", 10) || !strcmp(event, "virtio_queue_notify") ||
	       !strcmp(event, "virtio_notify") || !strcmp(event, "virtio_delete_queue");
}

/* Is there a sense in looking at all? False with the reason. */
static bool binary_fits(const struct binary *bin, struct probe_plan *p)
{
	if (!bin->is_qemu)
		snprintf(p->reason, sizeof(p->reason),
			 "not a QEMU executable: its internals are not known");
	else if (bin->release && bin->release < layouts[0].since)
		snprintf(p->reason, sizeof(p->reason),
			 "QEMU %s is not supported: %u.%u is the oldest release whose structures "
			 "are known",
			 bin->version, layouts[0].since / 100, layouts[0].since % 100);
	else if (*bin->layout_wrong && reads_queues(p->event))
		snprintf(p->reason, sizeof(p->reason), "%s", bin->layout_wrong);
	return !*p->reason;
}

static void event_plan(const struct binary *bin, const struct row *group, const struct row *row,
		       struct plan *plan)
{
	struct probe_plan *p = plan_add(plan, row->name, group->name, group->text);
	char why[160] = "";
	unsigned int wanted;

	if (!p || !binary_fits(bin, p))
		return;
	rows_try(bin, row, true, p, why, sizeof(why));
	if (p->nr_places) {
		p->how = PROBE_USDT;
		snprintf(p->reason, sizeof(p->reason), "%s", row_first(bin, row, true)->more);
		return;
	}
	if (*why)
		debug("attach", "%s: %s", p->event, why);
	wanted = rows_try(bin, row, false, p, why, sizeof(why));
	if (p->nr_places) {
		p->how = PROBE_FUNCTION;
		reason_function(row, wanted, p);
	} else {
		reason_absent(bin, row, why, p);
	}
}

/* ---- the binary ---- */

static void layout_choose(const struct binary *bin, struct plan *plan)
{
	unsigned int i = NR_LAYOUTS - 1;

	while (bin->release && i && layouts[i].since > bin->release)
		i--;
	plan->layout = layouts[i].layout;
	if (bin->is_qemu && !bin->release)
		snprintf(plan->note, sizeof(plan->note),
			 "unknown QEMU version; assuming the structures of %u.%u",
			 LAYOUT_NEWEST / 100, LAYOUT_NEWEST % 100);
	else if (bin->release > LAYOUT_NEWEST)
		snprintf(plan->note, sizeof(plan->note),
			 "QEMU %s is newer than %u.%u, the last verified release; assuming the "
			 "structures of that release",
			 bin->version, LAYOUT_NEWEST / 100, LAYOUT_NEWEST % 100);
}

static int binary_open(const char *exe, struct plan *plan, struct binary *bin)
{
	unsigned int major, minor;
	struct elf_symbol symbol;
	struct vm_exe facts;
	int err = elf_file_open(exe, &bin->elf);

	if (!err)
		err = vm_exe_read(exe, true, &facts);
	if (!err)
		err = usdt_read(bin->elf, &bin->marks);
	if (err)
		return err;
	snprintf(plan->version, sizeof(plan->version), "%s", facts.version);
	bin->version = plan->version;
	if (sscanf(facts.version, "%3u.%2u", &major, &minor) == 2)
		bin->release = RELEASE(major, minor);
	for (unsigned int i = 0; i < bin->marks.nr && !bin->is_qemu; i++)
		bin->is_qemu = !strcmp(bin->marks.mark[i].provider, "qemu");
	bin->is_qemu |= *facts.version || elf_file_symbol(bin->elf, "virtqueue_pop", &symbol);
	plan->is_qemu = bin->is_qemu;
	bin->has_symbols = elf_file_has_symbols(bin->elf);
	if (elf_file_symbol(bin->elf, "address_space_io", &symbol))
		plan->address_space_io = symbol.address;
	return 0;
}

/* A program that is not an ELF file (a script that starts QEMU) has no probes, which is not an error. */
int plan_qemu(const char *exe, struct helper *decoder, struct plan *plan)
{
	struct helper own = {0};
	struct binary bin = {.decoder = decoder ? decoder : &own};
	const struct row *group = rows;
	int err = binary_open(exe, plan, &bin);

	if (err == -EINVAL)
		err = 0;
	else if (!err)
		layout_choose(&bin, plan);
	if (bin.is_qemu && !err && !decoder)
		err = decoder_start(&own);
	if (bin.is_qemu && !err)
		layout_check(bin.elf, bin.decoder, plan, bin.layout_wrong,
			     sizeof(bin.layout_wrong));
	if (bin.is_qemu && !err)
		plan_locks(bin.elf, bin.decoder, plan);
	for (unsigned int i = 0; !err && i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].kind == ROW_GROUP)
			group = &rows[i];
		else if (rows[i].kind == ROW_PROBE)
			event_plan(&bin, group, &rows[i], plan);
	if (bin.is_qemu && !err)
		err = decoder_check(bin.decoder);
	helper_stop(&own);
	usdt_free(&bin.marks);
	elf_file_close(bin.elf);
	return err;
}

bool plan_exe_is_qemu(const char *exe)
{
	struct binary bin = {0};
	struct plan plan = {0};

	binary_open(exe, &plan, &bin);
	usdt_free(&bin.marks);
	elf_file_close(bin.elf);
	return bin.is_qemu;
}

unsigned int plan_programs(const char *event, const char **ret, unsigned int max)
{
	const struct row *row = rows, *end = rows + sizeof(rows) / sizeof(rows[0]);
	unsigned int nr = 0;

	while (row < end && (row->kind != ROW_PROBE || strcmp(row->name, event)))
		row++;
	for (; row < end && row->kind != ROW_END && nr < max; row++)
		if (*row->program)
			ret[nr++] = row->program;
	return nr;
}
