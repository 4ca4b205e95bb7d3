// SPDX-License-Identifier: GPL-2.0-or-later
/* Capstone's functions, for decode.c; the library is loaded when the first disassembler is opened. */
#include <capstone/capstone.h>

#include "base/lazy.h"

#define CAPSTONE_FUNCTIONS(X) \
	X(cs_open) \
	X(cs_close) \
	X(cs_option) \
	X(cs_malloc) \
	X(cs_free) \
	X(cs_disasm_iter) \
	X(cs_insn_group) \
	X(cs_regs_access)

static struct {
	CAPSTONE_FUNCTIONS(LAZY_MEMBER)
} real;

static const struct lazy_symbol symbols[] = {CAPSTONE_FUNCTIONS(LAZY_SYMBOL)};
struct lazy_library lazy_capstone = {LAZY_SONAME, symbols, sizeof(symbols) / sizeof(*symbols)};
LAZY_NOTE(LAZY_SONAME);

cs_err cs_open(cs_arch arch, cs_mode mode, csh *handle)
{
	return lazy_load(&lazy_capstone) ? CS_ERR_MEM : real.cs_open(arch, mode, handle);
}

cs_err cs_close(csh *handle)
{
	return real.cs_close(handle);
}

cs_err cs_option(csh handle, cs_opt_type type, size_t value)
{
	return real.cs_option(handle, type, value);
}

cs_insn *cs_malloc(csh handle)
{
	return real.cs_malloc(handle);
}

void cs_free(cs_insn *insn, size_t nr)
{
	real.cs_free(insn, nr);
}

bool cs_disasm_iter(csh handle, const uint8_t **code, size_t *size, uint64_t *address,
		    cs_insn *insn)
{
	return real.cs_disasm_iter(handle, code, size, address, insn);
}

bool cs_insn_group(csh handle, const cs_insn *insn, unsigned int group)
{
	return real.cs_insn_group(handle, insn, group);
}

cs_err cs_regs_access(csh handle, const cs_insn *insn, cs_regs read, uint8_t *nr_read,
		      cs_regs written, uint8_t *nr_written)
{
	return real.cs_regs_access(handle, insn, read, nr_read, written, nr_written);
}
