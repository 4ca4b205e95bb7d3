// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A synthetic recording of any length: the work that `make bench` gives to the readers. The same seed makes the same
 * records.
 *
 *   gen [--zstd] FILE CYCLES VCPUS [SEED]
 *
 * Each cycle is one kvm_exit and one kvm_entry of a vCPU. Each vCPU stays on a host CPU of its own, with its own
 * clock; records come as a recorder drains them: round by round, one CPU after the other. Reasons are those of a
 * busy SVM guest, durations between 0.5 us and some ms with a long tail.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tracefile/tracefile.h"

enum {
	VCPUS_MAX = 1024,
	ROUND_NS = 10000000,
	PID = 4000,
	ISA_SVM = 2,
};

static uint64_t seed = 1;

/* xorshift64* */
static uint64_t random_next(void)
{
	seed ^= seed >> 12;
	seed ^= seed << 25;
	seed ^= seed >> 27;
	return seed * 0x2545f4914f6cdd1dull;
}

static uint32_t reason_next(uint64_t r)
{
	static const uint16_t reasons[] = {0x7b, 0x7c, 0x7c, 0x7c, 0x78, 0x60, 0x400, 0x72};

	return reasons[r % (sizeof(reasons) / sizeof(reasons[0]))];
}

/* 500 ns, times 2 to the power of a falling chance: half stay below 1 us, one in 4096 is above 2 ms. */
static uint64_t duration_next(uint64_t r)
{
	unsigned int octave = (unsigned int)__builtin_ctzll(r | 1ull << 12);

	return (500 + (r >> 32) % 500) << octave;
}

static int cycle_write(struct trace_writer *w, uint16_t vcpu, uint64_t *clock)
{
	uint64_t r = random_next(), at = *clock + 600 + (r >> 40) % 3000;
	struct record_hdr hdr = {
		.time = at, .pid = PID, .tid = PID + 1u + vcpu, .cpu = vcpu, .vcpu = vcpu};
	struct rec_kvm_exit exit = {.hdr = hdr,
				    .rip = 0xffffffff81000000ull + (r >> 20) % 65536 * 16,
				    .info1 = r >> 8 & 0xff,
				    .reason = reason_next(r >> 50),
				    .isa = ISA_SVM};
	struct rec_kvm_entry entry = {.hdr = hdr, .rip = exit.rip + 2};

	exit.hdr.type = EV_kvm_exit;
	exit.hdr.size = sizeof(exit);
	entry.hdr.type = EV_kvm_entry;
	entry.hdr.size = sizeof(entry);
	entry.hdr.time = *clock = at + duration_next(r);
	int err = trace_writer_record(w, &exit.hdr);

	return err ? err : trace_writer_record(w, &entry.hdr);
}

static int write_all(struct trace_writer *w, uint64_t cycles, unsigned int vcpus)
{
	static uint64_t clock[VCPUS_MAX];
	int err = 0;

	for (uint64_t round = 1000000000ull; cycles && !err; round += ROUND_NS) {
		for (unsigned int v = 0; v < vcpus && !err; v++) {
			if (!clock[v])
				clock[v] = round;
			while (cycles && clock[v] < round + ROUND_NS && !err) {
				err = cycle_write(w, (uint16_t)v, &clock[v]);
				cycles--;
			}
		}
		if (!err)
			err = trace_writer_round(w, round + ROUND_NS);
	}
	return err;
}

int main(int argc, char **argv)
{
	bool zstd = argc > 1 && !strcmp(argv[1], "--zstd");
	char **arg = argv + 1 + zstd;
	struct trace_writer_options opt = {.zstd = zstd};
	struct trace_writer *w;
	json_t *meta = json_object();

	if (argc - zstd < 4 || atoi(arg[2]) < 1 || atoi(arg[2]) > VCPUS_MAX) {
		fprintf(stderr, "usage: gen [--zstd] FILE CYCLES VCPUS [SEED]\n");
		return 2;
	}
	if (argc - zstd > 4)
		seed = strtoull(arg[3], NULL, 0) | 1;
	int err = trace_writer_open(arg[0], &opt, meta, &w);

	if (!err)
		err = write_all(w, strtoull(arg[1], NULL, 0), (unsigned int)atoi(arg[2]));
	if (!err)
		err = trace_writer_close(w, NULL);
	if (err)
		fprintf(stderr, "gen: %s\n", error_text());
	json_decref(meta);
	return err ? 1 : 0;
}
