/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the guest of the arm64 rig does: guest.S, vmm.c; compare.py reads these lines, too. */
#define STORES		29
#define LOADS		17
#define ID_READS	13
#define CALLS		11
#define READINGS	5000
#define DEVICE		0x10000000
#define COUNTER		0x10001000
#define SMCCC_UNKNOWN	0x8600ff00 /* a vendor's service that nobody has (SMC Calling Convention, DEN0028) */
#define PSCI_SYSTEM_OFF 0x84000008
