// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Writes events of each tracepoint in kernel_formats.def as a kernel of this version has them:
 *
 *   kernelevents VERSION vmx|svm|arm64 SEED DIRECTORY      VERSION: 4.4, 6.12, ...
 *
 * dat.script (for tracedat), perf.script (for perfdata) and tracefs.txt, the text of the same events. The text is made
 * by the print formats as C: printf() is independent of libtraceevent, which prints for trace-cmd and perf.
 * Prints the number of events.
 */
#include <error.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef unsigned long long u64;
typedef long long s64;
typedef unsigned long ulong;
typedef int8_t s8;
typedef int32_t s32;
typedef u64 sector_t;
typedef u32 kdev_t;

/* The kernel's, not that of sys/types.h. */
#define dev_t kdev_t

enum arch { ANY, X86, ARM64 };
enum { ROUNDS = 12, THREADS = 3, BY_NAME = 2, FIRST_TID = 101, PID = 100, CPUS = 2 };

/* Names that the print formats have; tracefs does not say their numbers. */
enum { VDSO_CLOCKMODE_NONE, VDSO_CLOCKMODE_TSC };
enum {
	IOPRIO_CLASS_NONE,
	IOPRIO_CLASS_RT,
	IOPRIO_CLASS_BE,
	IOPRIO_CLASS_IDLE,
	IOPRIO_CLASS_INVALID = 7,
};
enum {
	APICV_INHIBIT_REASON_DISABLED,
	APICV_INHIBIT_REASON_HYPERV,
	APICV_INHIBIT_REASON_ABSENT,
	APICV_INHIBIT_REASON_BLOCKIRQ,
	APICV_INHIBIT_REASON_PHYSICAL_ID_ALIASED,
	APICV_INHIBIT_REASON_APIC_ID_MODIFIED,
	APICV_INHIBIT_REASON_APIC_BASE_MODIFIED,
	APICV_INHIBIT_REASON_NESTED,
	APICV_INHIBIT_REASON_IRQWIN,
	APICV_INHIBIT_REASON_PIT_REINJ,
	APICV_INHIBIT_REASON_SEV,
	APICV_INHIBIT_REASON_LOGICAL_ID_ALIASED,
	APICV_INHIBIT_REASON_PHYSICAL_ID_TOO_BIG,
};

/* ---- values ---- */

static u64 random_state;
static int isa, vcpu;

/* xorshift64* */
static u64 bits(void)
{
	random_state ^= random_state >> 12;
	random_state ^= random_state << 25;
	random_state ^= random_state >> 27;
	return random_state * 2685821657736338717ull;
}

#define R(n)	     (bits() % (u64)(n))
#define BITS64	     (R(4) ? bits() : R(10))
#define BITS32	     ((u32)bits())
#define ADDRESS	     (R(2) ? 0xffffffff80000000ull + R(0x10000000) : R(0x100000000))
#define VCPU	     ((u32)vcpu)
#define ISA	     ((u32)isa)
#define IOAPIC_ENTRY (bits() & 0xff0000000001ffffull)
#define ARM_CLASS    arm_class()
#define REASON	     reason()
#define REASON_FLAGS (reason() | (isa == 1 && !R(5) ? 0x80000000u : 0))
#define USER_REASON  user_reason()
#define OWN_STATE    own_state()
#define STATE	     (R(8) ? (long)(1ul << (R(2) ? R(2) : R(8))) & ~0x40l : 0x100)
#define COMM	     comm()
#define DEV	     ((u32)(R(300) << 20 | R(2000)))
#define SECTOR	     (R(4) ? R(1ull << 40) : ~0ull)
#define RWBS	     rwbs()
#define IRQ_NAME     irq_name()
#define IOPRIO	     (R(6) ? R(4) << 13 | R(1024) << 3 | R(8) : 0x8000 | R(8))

static u32 pick(const u32 *of, size_t nr)
{
	return of[R(nr)];
}

#define PICK(...) pick((const u32[]){__VA_ARGS__}, sizeof((const u32[]){__VA_ARGS__}) / sizeof(u32))

/* The last of each has no name in the tables of the kernels. */
static u32 reason(void)
{
	return isa == 1 ? PICK(0, 1, 7, 10, 12, 28, 30, 31, 32, 48, 49, 52, 69)
			: PICK(0x0, 0x4e, 0x60, 0x64, 0x72, 0x78, 0x7b, 0x7c, 0x400, 0x403,
			       0x80000001, 0x80000010, 0xa4);
}

static u32 arm_class(void)
{
	return PICK(0x01, 0x16, 0x18, 0x24, 0x2f);
}

static u32 user_reason(void)
{
	return PICK(0, 2, 5, 6, 10, 23);
}

/* Before 4.14: S, D, T, t, dead, killable, parked, idle, running, preempted. */
static long own_state(void)
{
	return (long)PICK(1, 2, 4, 8, 64, 0x82, 0x200, 0x402, 0, 2048);
}

static const char *rwbs(void)
{
	static const char *const name[] = {"R", "WS", "FWFSM", "N", "DS"};

	return name[R(5)];
}

static const char *irq_name(void)
{
	static const char *const name[] = {"timer", "vfio-msix[0](0000:3b:00.0)", "nvme0q1",
					   "i8042 kbd"};

	return name[R(4)];
}

static const char *comm(void)
{
	static const char *const name[] = {"CPU 0/KVM", "sh", "kworker/0:2", "a=b c", "[x]"};

	return name[R(5)];
}

/* ---- structs, and what formats say ---- */

#define FORM(id, system, name, arch, from, to)	struct rec_##id {
#define F(id, type, field, value)		type field;
#define A(id, type, field, nr, value)		type field[nr];
#define D(id, field, value)			char field[64];
#define PRINT(id, ...)				};
#define VMX_REASONS
#define SVM_REASONS
#include "kernel_formats.def"
#undef FORM
#undef F
#undef A
#undef D
#undef PRINT
#undef VMX_REASONS
#undef SVM_REASONS

/* Some of arch/x86/include/uapi/asm/vmx.h and svm.h. */
#define VMX_REASONS                                                                                \
	{0, "EXCEPTION_NMI"}, {1, "EXTERNAL_INTERRUPT"}, {7, "INTERRUPT_WINDOW"}, {10, "CPUID"},   \
		{12, "HLT"}, {28, "CR_ACCESS"}, {30, "IO_INSTRUCTION"}, {31, "MSR_READ"},          \
		{32, "MSR_WRITE"}, {48, "EPT_VIOLATION"}, {49, "EPT_MISCONFIG"},                   \
	{                                                                                          \
		52, "PREEMPTION_TIMER"                                                             \
	}
#define SVM_REASONS                                                                                \
	{0x000, "read_cr0"}, {0x04e, "PF excp"}, {0x060, "interrupt"}, {0x064, "vintr"},           \
		{0x072, "cpuid"}, {0x078, "hlt"}, {0x07b, "io"}, {0x07c, "msr"}, {0x400, "npf"},   \
		{0x403, "vmgexit"}, {0x80000001, "vmgexit_mmio_read"},                             \
	{                                                                                          \
		0x80000010, "vmgexit_page_state_change"                                            \
	}

struct field {
	const char *type, *name;
	int size, count;
	size_t offset;
};

struct form {
	const char *system, *name, *print;
	enum arch arch;
	int from, to, nr;
	struct field field[24];
	void (*fill)(void *rec);
	void (*text)(FILE *f, const void *rec);
};

#define STRING_OF(...) #__VA_ARGS__
#define FORM(id, system, name, arch, from, to)                                                     \
	static const struct field fields_##id[] = {
#define F(id, type, field, value)                                                                  \
	{#type, #field, sizeof(type), 0, offsetof(struct rec_##id, field)},
#define A(id, type, field, nr, value)                                                              \
	{#type, #field, sizeof(type), nr, offsetof(struct rec_##id, field)},
#define D(id, field, value) {"dyn", #field, 4, 0, offsetof(struct rec_##id, field)},
#define PRINT(id, ...)                                                                             \
	};                                                                                         \
	static const char *const print_##id = STRING_OF(__VA_ARGS__);
#include "kernel_formats.def"
#undef FORM
#undef F
#undef A
#undef D
#undef PRINT

/* ---- how a value of the kernel's helpers is printed ---- */

struct symbol {
	u64 value;
	const char *name;
};

static const char *scratch(void)
{
	static char text[8][256];
	static unsigned int next;

	return text[next++ % 8];
}

static const char *symbolic(u64 v, const struct symbol *s)
{
	char *text = (char *)scratch();

	for (; s->name; s++)
		if (s->value == v)
			return s->name;
	sprintf(text, "0x%llx", v);
	return text;
}

static const char *flags(u64 v, const char *separator, const struct symbol *s)
{
	char *text = (char *)scratch(), *p = text;

	*p = '\0';
	for (; s->name; s++)
		if ((v & s->value) == s->value) {
			p += sprintf(p, "%s%s", p > text ? separator : "", s->name);
			v &= ~s->value;
		}
	if (v)
		sprintf(p, "%s0x%llx", p > text ? separator : "", v);
	return text;
}

static const char *hex(const u8 *bytes, int nr)
{
	char *text = (char *)scratch(), *p = text;

	for (int i = 0; i < nr; i++)
		p += sprintf(p, "%s%02x", i ? " " : "", bytes[i]);
	return text;
}

#define __print_symbolic(v, ...) symbolic((u64)(v), (const struct symbol[]){__VA_ARGS__, {0, NULL}})
#define __print_flags(v, separator, ...)                                                           \
	flags((u64)(v), separator, (const struct symbol[]){__VA_ARGS__, {0, NULL}})
#define __get_str(field)       REC->field
#define __print_hex(bytes, nr) hex(bytes, nr)

static void chars_set(char *to, size_t size, const char *text)
{
	strncpy(to, text, size - 1);
}

static void bytes_set(u8 *to, size_t size, u64 unused)
{
	(void)unused;
	for (size_t i = 0; i < size; i++)
		to[i] = (u8)bits();
}

#define SET_ARRAY(array, value)                                                                    \
	_Generic((array)[0], char: chars_set, u8: bytes_set)((void *)(array), sizeof(array), value)

#define FORM(id, system, name, arch, from, to)                                                     \
	static void fill_##id(void *rec)                                                           \
	{                                                                                          \
		struct rec_##id *REC = rec;
#define F(id, type, field, value)     REC->field = (type)(value);
#define A(id, type, field, nr, value) SET_ARRAY(REC->field, value);
#define D(id, field, value)	      SET_ARRAY(REC->field, value);
#define PRINT(id, ...)                                                                             \
	}                                                                                          \
	static void text_##id(FILE *f, const void *rec)                                            \
	{                                                                                          \
		const struct rec_##id *REC = rec;                                                  \
		fprintf(f, __VA_ARGS__);                                                           \
		(void)REC;                                                                         \
	}
#include "kernel_formats.def"
#undef FORM
#undef F
#undef A
#undef D
#undef PRINT

static const struct {
	const char *id;
	struct form form;
	const struct field *field;
	size_t bytes;
	const char *const *print;
} forms[] = {
#define FORM(id, system, name, arch, from, to)                                                     \
	{#id,                                                                                      \
	 {#system,                                                                                 \
	  #name,                                                                                   \
	  NULL,                                                                                    \
	  arch,                                                                                    \
	  from,                                                                                    \
	  to,                                                                                      \
	  sizeof(fields_##id) / sizeof(struct field),                                              \
	  {{0}},                                                                                   \
	  fill_##id,                                                                               \
	  text_##id},                                                                              \
	 fields_##id,                                                                              \
	 sizeof(struct rec_##id),                                                                  \
	 &print_##id},
#define F(id, type, field, value)
#define A(id, type, field, nr, value)
#define D(id, field, value)
#define PRINT(id, ...)
#include "kernel_formats.def"
};

enum { FORMS = sizeof(forms) / sizeof(forms[0]) };

/* ---- files ---- */

struct out {
	FILE *dat, *perf, *text;
	u64 ns;
	unsigned int nr;
};

static FILE *file_open(const char *dir, const char *name)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	if (!f)
		error(1, 0, "%s: cannot be written", path);
	return f;
}

static void format_put(int i, FILE *f)
{
	const struct form *form = &forms[i].form;

	fprintf(f, "format %s %s", form->system, form->name);
	for (int k = 0; k < form->nr; k++) {
		const struct field *d = &forms[i].field[k];

		fprintf(f, d->count ? " %s:%s[%d]" : " %s:%s", d->type, d->name, d->count);
	}
	fprintf(f, "\nprint %s %s\n", form->name, *forms[i].print);
}

static void value_put(const struct field *d, const u8 *rec, FILE *f)
{
	u64 v = 0;

	fputc(' ', f);
	if (*d->type == 'c' || !strcmp(d->type, "dyn")) {
		if (!rec[d->offset])
			fputc('"', f);
		for (const char *p = (const char *)rec + d->offset; *p; p++)
			fputc(*p == ' ' ? '~' : *p, f);
	} else if (d->count) {
		for (int k = 0; k < d->count; k++)
			fprintf(f, "%02x", rec[d->offset + (size_t)k]);
	} else {
		memcpy(&v, rec + d->offset, (size_t)d->size);
		fprintf(f, "0x%llx", v);
	}
}

static void event_put(struct out *o, int i, int thread)
{
	_Alignas(8) u8 rec[512] = {0};
	unsigned int cpu = (unsigned int)R(CPUS), tid = FIRST_TID + (unsigned int)thread;

	vcpu = thread;
	forms[i].form.fill(rec);
	o->ns += 1000 * (1 + R(5000));
	o->nr++;
	fprintf(o->dat, "%llu %u %u %s", o->ns, cpu, tid, forms[i].form.name);
	fprintf(o->perf, "%llu %u %d/%u %s", o->ns, cpu, PID, tid, forms[i].form.name);
	for (int k = 0; k < forms[i].form.nr; k++) {
		value_put(&forms[i].field[k], rec, o->dat);
		value_put(&forms[i].field[k], rec, o->perf);
	}
	fputc('\n', o->dat);
	fputc('\n', o->perf);
	fprintf(o->text, "       CPU %d/KVM-%-7u [%03u] d..1. %5llu.%06llu: %s: ", thread, tid, cpu,
		o->ns / 1000000000, o->ns / 1000 % 1000000, forms[i].form.name);
	forms[i].form.text(o->text, rec);
	fputc('\n', o->text);
}

static bool is_of(int i, int version, enum arch arch)
{
	const struct form *f = &forms[i].form;

	return (f->arch == ANY || f->arch == arch) && version >= f->from &&
	       (!f->to || version <= f->to);
}

/* Of the thread BY_NAME, only its name says which vCPU it runs. */
static bool is_of_thread(int i, int thread)
{
	const struct form *f = &forms[i].form;

	for (int k = 0; k < f->nr; k++)
		if (thread == BY_NAME && !strcmp(forms[i].field[k].name, "vcpu_id"))
			return false;
	return true;
}

/* First an event that names the thread's vCPU, or is KVM's: a perf.data's events before it have none. */
static void events_put(struct out *o, int version, enum arch arch)
{
	for (int thread = 0; thread < THREADS; thread++)
		for (int i = 0; i < FORMS; i++)
			if (is_of(i, version, arch) &&
			    !strcmp(forms[i].form.name,
				    thread == BY_NAME ? "kvm_userspace_exit" : "kvm_halt_poll_ns"))
				event_put(o, i, thread);
	for (int round = 0; round < ROUNDS; round++)
		for (int thread = 0; thread < THREADS; thread++)
			for (int i = 0; i < FORMS; i++)
				if (is_of(i, version, arch) && is_of_thread(i, thread))
					event_put(o, i, thread);
}

int main(int argc, char **argv)
{
	enum arch arch = argc > 2 && !strcmp(argv[2], "arm64") ? ARM64 : X86;
	struct out o = {.ns = 1000000000};
	int major, minor;

	if (argc != 5 || sscanf(argv[1], "%d.%d", &major, &minor) != 2)
		error(1, 0, "usage: kernelevents VERSION vmx|svm|arm64 SEED DIRECTORY");
	random_state = strtoull(argv[3], NULL, 0) * 0x9e3779b97f4a7c15ull + 1;
	isa = strcmp(argv[2], "svm") ? 1 : 2;
	o.dat = file_open(argv[4], "dat.script");
	o.perf = file_open(argv[4], "perf.script");
	o.text = file_open(argv[4], "tracefs.txt");
	fprintf(o.dat, "clock mono\n");
	fprintf(o.perf, "clock mono\n");
	for (int i = 0; i < FORMS; i++)
		if (is_of(i, major * 100 + minor, arch)) {
			format_put(i, o.dat);
			format_put(i, o.perf);
		}
	for (int i = 0; i < THREADS; i++) {
		fprintf(o.dat, "comm %d CPU~%d/KVM\n", FIRST_TID + i, i);
		fprintf(o.perf, "comm %llu 0 %d/%d CPU~%d/KVM\n", o.ns, PID, FIRST_TID + i, i);
	}
	fprintf(o.text, "# tracer: nop\n#\n");
	events_put(&o, major * 100 + minor, arch);
	printf("%u\n", o.nr);
	return 0;
}
