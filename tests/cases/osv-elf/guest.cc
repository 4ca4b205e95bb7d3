// SPDX-License-Identifier: GPL-2.0-or-later
// What C++ calls functions of one file, lambdas and templates over them. guest.elf was made of it:
//   g++ -g -O1 -ffreestanding -fno-exceptions -fno-asynchronous-unwind-tables -fdebug-prefix-map=$PWD=/osv
//       -nostdlib -static -no-pie -Wl,-Ttext=0x40200000,--build-id=none -o guest.elf guest.cc
extern "C" {
__attribute__((noinline)) void leaf(int n)
{
	__asm__ volatile("nop" ::"r"(n));
}
__asm__(".globl bare\n.type bare,@function\nbare: call leaf\nret\n.size bare,.-bare\n");
void bare(void);
}

namespace sched {
struct thread {
	template <class P> static void do_wait_until(P p);
};
template <class P> __attribute__((noinline)) void thread::do_wait_until(P p)
{
	leaf(1);
	p();
}
}

static inline __attribute__((always_inline)) void twice(int n)
{
	leaf(n);
	leaf(n + 1);
}

static __attribute__((noinline)) void local(int n)
{
	twice(n);
	leaf(3);
}

__attribute__((noinline)) void shown(int n)
{
	twice(n);
	sched::thread::do_wait_until([n] { leaf(n); });
}

extern "C" void _start()
{
	local(1);
	shown(2);
	bare();
	leaf(9);
}
