// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cheapest site for a user probe at the beginning of a function.
 *
 * The kernel writes a breakpoint over the probed instruction. On a hit it must execute the original instruction: jumps,
 * calls and pushes are emulated (Linux, arch/x86/kernel/uprobes.c: branch_emulate_op(), push_emulate_op()); any other
 * instruction is copied aside and single-stepped, a second trap, which makes the hit 2 to 20 times more expensive. Many
 * functions begin with an expensive instruction, but have a cheap one a few instructions later:
 *
 *	virtqueue_pop:	movabs $..., %rax	expensive
 *		 +10:	cmpb   $0, ...(%rdi)	expensive
 *		 +21:	jne    ...		cheap; the arguments and the return address are untouched
 *
 * A site qualifies if every call of the function passes it exactly once, the stack pointer is still that of the entry
 * (so that a return probe finds the return address), and the argument registers needed are unchanged.
 */
#include <capstone/capstone.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/error.h"
#include "symbols/decode/decode.h"

static const x86_reg argument_registers[DECODE_ARGS_MAX][4] = {
	{X86_REG_RDI, X86_REG_EDI, X86_REG_DI, X86_REG_DIL},
	{X86_REG_RSI, X86_REG_ESI, X86_REG_SI, X86_REG_SIL},
	{X86_REG_RDX, X86_REG_EDX, X86_REG_DX, X86_REG_DL},
	{X86_REG_RCX, X86_REG_ECX, X86_REG_CX, X86_REG_CL},
	{X86_REG_R8, X86_REG_R8D, X86_REG_R8W, X86_REG_R8B},
	{X86_REG_R9, X86_REG_R9D, X86_REG_R9W, X86_REG_R9B},
};

static void capstone_cleanup(csh *cs)
{
	if (*cs)
		cs_close(cs);
}

static void insn_cleanup(cs_insn **insn)
{
	if (*insn)
		cs_free(*insn, 1);
}

/* The disassembler, and a buffer for the instruction it is at. */
static int capstone_open(csh *ret, cs_insn **ret_insn)
{
	if (cs_open(CS_ARCH_X86, CS_MODE_64, ret) != CS_ERR_OK)
		return fail(-ENOMEM, "cannot initialize the disassembler");
	cs_option(*ret, CS_OPT_DETAIL, CS_OPT_ON);
	*ret_insn = cs_malloc(*ret);
	return *ret_insn ? 0 : fail(-ENOMEM, "out of memory");
}

/*
 * As branch_setup_xol_ops() and push_setup_xol_ops() decide, without prefixes, which some kernels
 * reject. Longer NOPs are emulated by newer kernels only.
 */
static bool is_emulated(const uint8_t *p, size_t len)
{
	if (len == 2 && p[0] == 0x41)
		return p[1] >= 0x50 && p[1] <= 0x57; /* push r8..r15 */
	if (len == 1)
		return (p[0] >= 0x50 && p[0] <= 0x57) || p[0] == 0x90;
	if (p[0] == 0x0f)
		return p[1] >= 0x80 && p[1] <= 0x8f; /* jcc rel32 */
	return p[0] == 0xe8 || p[0] == 0xe9 || p[0] == 0xeb || (p[0] >= 0x70 && p[0] <= 0x7f);
}

static bool is_long_nop(const cs_insn *insn)
{
	return insn->id == X86_INS_NOP && insn->size > 1;
}

static void insn_describe(const cs_insn *insn, uint64_t offset, struct decoded *ret)
{
	ret->offset = offset;
	ret->emulated = is_emulated(insn->bytes, insn->size);
	snprintf(ret->insn, sizeof(ret->insn), "%.15s", insn->mnemonic);
}

/* Does it change the stack pointer or one of the arguments? */
static bool disturbs(csh cs, const cs_insn *insn, unsigned int nr_args)
{
	cs_regs read, written;
	uint8_t nr_read, nr_written;

	if (cs_regs_access(cs, insn, read, &nr_read, written, &nr_written) != CS_ERR_OK)
		return true;
	for (uint8_t i = 0; i < nr_written; i++) {
		if (written[i] == X86_REG_RSP || written[i] == X86_REG_ESP ||
		    written[i] == X86_REG_SP)
			return true;
		for (unsigned int a = 0; a < nr_args; a++)
			for (unsigned int w = 0; w < 4; w++)
				if (written[i] == argument_registers[a][w])
					return true;
	}
	/* ch, dh are written as such. */
	for (uint8_t i = 0; i < nr_written; i++)
		if ((written[i] == X86_REG_DH && nr_args > 2) ||
		    (written[i] == X86_REG_CH && nr_args > 3))
			return true;
	return false;
}

static bool leaves_straight_line(csh cs, const cs_insn *insn)
{
	return cs_insn_group(cs, insn, CS_GRP_JUMP) || cs_insn_group(cs, insn, CS_GRP_CALL) ||
	       cs_insn_group(cs, insn, CS_GRP_RET) || cs_insn_group(cs, insn, CS_GRP_INT) ||
	       cs_insn_group(cs, insn, CS_GRP_IRET) || insn->id == X86_INS_UD2 ||
	       insn->id == X86_INS_HLT;
}

/* The first cheap instruction of the straight line from the entry; false if there is none that qualifies. */
static bool place_search(csh cs, cs_insn *insn, const uint8_t *code, size_t len,
			 unsigned int nr_args, struct decoded *ret)
{
	size_t left = len < DECODE_PROLOGUE_MAX ? len : DECODE_PROLOGUE_MAX;
	const uint8_t *p = code;
	uint64_t address = 0;

	while (cs_disasm_iter(cs, &p, &left, &address, insn)) {
		if (is_emulated(insn->bytes, insn->size) && !is_long_nop(insn)) {
			insn_describe(insn, insn->address, ret);
			return true;
		}
		if (leaves_straight_line(cs, insn) || disturbs(cs, insn, nr_args))
			return false;
	}
	return false;
}

/* Does the function jump to an address after its entry, up to `until`? Then the code may run twice per call. */
static bool jumped_to(csh cs, cs_insn *insn, const uint8_t *code, size_t len, uint64_t until)
{
	const uint8_t *p = code;
	uint64_t address = 0;
	size_t left = len;

	while (left) {
		if (!cs_disasm_iter(cs, &p, &left, &address, insn))
			return true; /* data between the code: not sure, so no */
		if (!cs_insn_group(cs, insn, CS_GRP_JUMP) || insn->detail->x86.op_count != 1 ||
		    insn->detail->x86.operands[0].type != X86_OP_IMM)
			continue;
		uint64_t target = (uint64_t)insn->detail->x86.operands[0].imm;
		if (target && target <= until)
			return true;
	}
	return false;
}

static int decode_first(csh cs, cs_insn *insn, const uint8_t *code, size_t len, struct decoded *ret)
{
	uint64_t address = 0;

	if (!cs_disasm_iter(cs, &code, &len, &address, insn))
		return fail(-EINVAL, "not a valid instruction");
	insn_describe(insn, 0, ret);
	if (is_long_nop(insn))
		ret->emulated = false;
	return 0;
}

int decode_place(const uint8_t *code, size_t len, unsigned int nr_args, struct decoded *ret)
{
	_cleanup_(capstone_cleanup) csh cs = 0;
	_cleanup_(insn_cleanup) cs_insn *insn = NULL;
	struct decoded place;
	int err = capstone_open(&cs, &insn);

	if (!err)
		err = decode_first(cs, insn, code, len, ret);
	if (err || ret->emulated || len > DECODE_FUNCTION_MAX)
		return err;
	if (place_search(cs, insn, code, len, nr_args, &place) &&
	    !jumped_to(cs, insn, code, len, place.offset))
		*ret = place;
	return 0;
}

int decode_within(const uint8_t *code, size_t len, uint64_t offset, struct decoded *ret)
{
	_cleanup_(capstone_cleanup) csh cs = 0;
	_cleanup_(insn_cleanup) cs_insn *insn = NULL;
	const uint8_t *p = code;
	uint64_t address = 0;
	size_t left = len;
	int err = capstone_open(&cs, &insn);

	while (!err && address < offset)
		if (!cs_disasm_iter(cs, &p, &left, &address, insn))
			err = -EINVAL;
	if (!err && address != offset)
		err = -EINVAL;
	if (err)
		return fail(err, "no instruction begins there");
	err = decode_first(cs, insn, p, left, ret);
	ret->offset = offset;
	return err;
}

int decode_at(const uint8_t *code, size_t len, struct decoded *ret)
{
	return decode_within(code, len, 0, ret);
}

/* Is there a memory operand of this many bytes at this register? */
static const x86_op_mem *operand_of(const cs_insn *insn, x86_reg base, unsigned int bytes)
{
	for (uint8_t i = 0; i < insn->detail->x86.op_count; i++) {
		const cs_x86_op *op = &insn->detail->x86.operands[i];

		if (op->type == X86_OP_MEM && op->mem.base == base &&
		    op->mem.index == X86_REG_INVALID &&
		    (insn->id == X86_INS_LEA ? !bytes : op->size == bytes))
			return &op->mem;
	}
	return NULL;
}

static int member_search(csh cs, cs_insn *insn, const uint8_t *code, size_t len, unsigned int arg,
			 unsigned int bytes, int64_t *ret)
{
	size_t left = len < DECODE_PROLOGUE_MAX ? len : DECODE_PROLOGUE_MAX;
	uint64_t address = 0;

	while (cs_disasm_iter(cs, &code, &left, &address, insn)) {
		const x86_op_mem *mem = operand_of(insn, argument_registers[arg - 1][0], bytes);
		cs_regs read, written;
		uint8_t nr_read, nr_written;

		if (mem) {
			*ret = mem->disp;
			return 0;
		}
		if (leaves_straight_line(cs, insn) ||
		    cs_regs_access(cs, insn, read, &nr_read, written, &nr_written) != CS_ERR_OK)
			return -ENOENT;
		for (uint8_t i = 0; i < nr_written; i++)
			for (unsigned int w = 0; w < 4; w++)
				if (written[i] == argument_registers[arg - 1][w])
					return -ENOENT;
	}
	return -ENOENT;
}

int decode_member(const uint8_t *code, size_t len, unsigned int arg, unsigned int bytes,
		  int64_t *ret)
{
	_cleanup_(capstone_cleanup) csh cs = 0;
	_cleanup_(insn_cleanup) cs_insn *insn = NULL;
	int err = capstone_open(&cs, &insn);

	return err ? err : member_search(cs, insn, code, len, arg, bytes, ret);
}

/* Is it `lea disp(%rip), argument`? Then its target. */
static bool variable_of(const cs_insn *insn, unsigned int arg, uint64_t *ret)
{
	const cs_x86 *x86 = &insn->detail->x86;

	if (insn->id != X86_INS_LEA || x86->operands[0].reg != argument_registers[arg - 1][0] ||
	    x86->operands[1].type != X86_OP_MEM || x86->operands[1].mem.base != X86_REG_RIP)
		return false;
	*ret = insn->address + insn->size + (uint64_t)x86->operands[1].mem.disp;
	return true;
}

unsigned int decode_variables(const uint8_t *code, size_t len, uint64_t address, unsigned int arg,
			      uint64_t *ret, unsigned int max)
{
	_cleanup_(capstone_cleanup) csh cs = 0;
	_cleanup_(insn_cleanup) cs_insn *insn = NULL;
	unsigned int nr = 0;

	if (capstone_open(&cs, &insn))
		return 0;
	while (nr < max && cs_disasm_iter(cs, &code, &len, &address, insn))
		nr += variable_of(insn, arg, &ret[nr]);
	return nr;
}

unsigned int decode_lines(const uint8_t *code, size_t len, uint64_t address,
			  struct decode_line ret[DECODE_LINES_BYTES], uint32_t *ret_used)
{
	_cleanup_(capstone_cleanup) csh cs = 0;
	_cleanup_(insn_cleanup) cs_insn *insn = NULL;
	const uint8_t *p = code;
	uint64_t at = address;
	unsigned int nr = 0;

	*ret_used = 0;
	if (capstone_open(&cs, &insn))
		return 0;
	cs_option(cs, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	cs_option(cs, CS_OPT_SKIPDATA, CS_OPT_ON);
	while (at - address < DECODE_LINES_BYTES && cs_disasm_iter(cs, &p, &len, &at, insn)) {
		struct decode_line *line = &ret[nr++];

		line->offset = (uint32_t)(insn->address - address);
		snprintf(line->text, sizeof(line->text), "%s%s%s", insn->mnemonic,
			 *insn->op_str ? " " : "", insn->op_str);
	}
	*ret_used = (uint32_t)(at - address);
	return nr;
}
