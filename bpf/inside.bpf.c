// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * QEMU internals: a program for each row of probes/inside.def, made by the preprocessor. Each takes the values that
 * its row names and writes them, all of 8 bytes, as the fields of its event; nothing else. So an event more is a line
 * in bpf/events.def and a row there, and no code.
 */
#include "qemu.bpf.h"

/* Where a program looks for its arguments: at a mark, or in a function's registers. */
struct place {
	struct pt_regs *ctx;
	bool mark;
};

static __always_inline hr_u64 arg(struct place at, int nr)
{
	if (at.mark)
		return mark_arg(at.ctx, nr - 1);
	switch (nr) { /* System V ABI for x86-64, 3.2.3 */
	case 1:
		return at.ctx->rdi;
	case 2:
		return at.ctx->rsi;
	case 3:
		return at.ctx->rdx;
	case 4:
		return at.ctx->rcx;
	case 5:
		return at.ctx->r8;
	default:
		return at.ctx->r9;
	}
}

/* The words of the table's values. */
#define A1	arg(at, 1)
#define A2	arg(at, 2)
#define A3	arg(at, 3)
#define A4	arg(at, 4)
#define A5	arg(at, 5)
#define A6	arg(at, 6)
#define A7	arg(at, 7) /* of marks */
#define RESULT	at.ctx->rax
#define U8(x)	((hr_u8)(x))
#define U32(x)	((hr_u32)(x))
#define S32(x)	((hr_u64)(hr_s64)(hr_s32)(x))
#define AT64(x) user_u64(x)
#define AT8(x)	((hr_u8)user_u32(x))

#define PROGRAM(section, name, event, is_mark, ...)                                                \
	SEC(section)                                                                               \
	int name(struct pt_regs *ctx)                                                              \
	{                                                                                          \
		__attribute__((unused)) struct place at = {ctx, is_mark};                          \
		struct emit e;                                                                     \
		hr_u64 *field;                                                                     \
		\
		if (!emit_begin(&e))                                                               \
			return 0;                                                                  \
		const hr_u64 value[] = {__VA_ARGS__};                                              \
		_Static_assert(sizeof(struct rec_##event) ==                                       \
				       sizeof(struct record_hdr) + sizeof(value),                  \
			       "a value for each field of " #event);                               \
		field = (void *)reserve(&e, event);                                                \
		if (!field)                                                                        \
			return 0;                                                                  \
		field += sizeof(struct record_hdr) / sizeof(*field);                               \
		for (unsigned int i = 0; i < sizeof(value) / sizeof(value[0]); i++)                \
			field[i] = value[i];                                                       \
		emit_publish(&e);                                                                  \
		return 0;                                                                          \
	}

#define GROUP(name, doc)
#define INSIDE(event, since, loss)
#define BY_MARK(event, mark, which, since, before, arguments, lack, ...)                           \
	PROGRAM("usdt", usdt_##event##_##which, event, true, __VA_ARGS__)
#define BY_ENTRY(event, function, which, since, before, nr, prototype, ...)                        \
	PROGRAM("uprobe", fn_##event##_##which, event, false, __VA_ARGS__)
#define BY_RETURN(event, function, which, since, before, prototype, ...)                           \
	PROGRAM("uretprobe", ret_##event##_##which, event, false, __VA_ARGS__)
#define NO_FUNCTION(event, why)
#define INSIDE_END(event)

#include "inside.def"
