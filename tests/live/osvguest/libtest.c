// SPDX-License-Identifier: GPL-2.0-or-later
/* An application of the guest (osvguest/guest.cc): one function, at the very start of its text. */
void app_main(void);

void app_main(void)
{
	asm volatile(".fill 64, 1, 0x90");
}
