/* SPDX-License-Identifier: GPL-2.0-or-later */
/* ZFS of the guest (osvguest/state.cc): only where its statistics are. */
struct kstat {
	char name[31];
	unsigned char type;
	unsigned long value;
};

extern struct kstat arc_stats[3];
struct kstat arc_stats[3] __attribute__((section(".zfs"))) = {{"of the file", 0, 1}};
