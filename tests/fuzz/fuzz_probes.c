// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The executable of a VM, which another user may have made: symbols, sections, USDT notes, and code that is decoded
 * for a place to probe.
 */
#include "symbols/decoder.h"
#include "collector/elf.h"
#include "walk.h"

static void code_walk(const uint8_t *code, size_t len)
{
	struct decoded place;
	uint64_t variable[4];
	int64_t member;
	struct decode_line lines[DECODE_LINES_BYTES];
	uint32_t used;

	for (unsigned int args = 0; args <= DECODE_ARGS_MAX; args += 3)
		if (!decode_place(code, len, args, &place) && place.offset >= len)
			abort();
	decode_at(code, len, &place);
	if (len)
		decode_within(code, len, code[0] % 64, &place);
	decode_member(code, len, 1, 0, &member);
	decode_member(code, len, 2, 4, &member);
	decode_variables(code, len, 0x401000, 1, variable, 4);
	decode_is_nop5(code, len);
	if (decode_lines(code, len, 0x401000, lines, &used) > DECODE_LINES_BYTES || used > len)
		abort();
}

static void marks_walk(const struct elf_file *e)
{
	struct usdt_marks marks;
	uint64_t offset;

	if (usdt_read(e, &marks))
		return;
	for (unsigned int i = 0; i < marks.nr; i++) {
		usdt_args_readable(marks.mark[i].args, 3);
		elf_file_offset(e, marks.mark[i].address, &offset);
		elf_file_writable(e, marks.mark[i].semaphore);
		if (strlen(marks.mark[i].provider) + strlen(marks.mark[i].name) > 1 << 24)
			abort();
	}
	usdt_free(&marks);
}

static void file_walk(const struct elf_file *e)
{
	static const char *const sections[] = {".text", ".rodata", ".note.stapsdt", ".data"};
	struct elf_symbol symbol;
	const uint8_t *bytes;
	uint64_t address;
	size_t len;

	elf_file_has_symbols(e);
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		bytes = elf_file_section(e, sections[i], &len, &address);
		if (bytes && len && bytes[0] == bytes[len - 1])
			elf_file_writable(e, address);
	}
	if (elf_file_symbol(e, "main", &symbol)) {
		bytes = elf_file_bytes(e, symbol.address, &len);
		if (bytes)
			code_walk(bytes, len < symbol.size ? len : symbol.size);
	}
	bytes = elf_file_bytes(e, elf_file_entry(e), &len);
	if (bytes)
		code_walk(bytes, len < 256 ? len : 256);
	marks_walk(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct elf_file *e;
	uint8_t *code;

	if (size >= 4 && !memcmp(data, "\177ELF", 4)) {
		if (elf_file_open(walk_path(data, size), &e))
			return 0;
		file_walk(e);
		elf_file_close(e);
		return 0;
	}
	code = malloc(size + !size); /* its end is the allocation's */
	memcpy(code, data, size);
	code_walk(code, size);
	free(code);
	return 0;
}
