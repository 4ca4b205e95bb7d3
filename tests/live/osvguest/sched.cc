// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The only file with complete types of the classes that have virtual functions, and their checked offsets. Its code is
 * what a thread that waits is in: its name is one of those that the location of a thread skips.
 */
#include "osv.h"

namespace sched {
void client::timer_fired() {}
void cpu::timer_fired() {}
void thread::timer_fired() {}

std::vector<cpu *> cpus;
std::unordered_map<thread *> thread_map;
/* Not at the beginning of the block, whose size is no multiple of its alignment. */
__thread u64 before_current[9] = {1};
__thread thread *s_current;
__thread u8 after_current[21] __attribute__((aligned(16)));
thread *boot_thread;

/* Saves where this thread is, and continues where the other one was. */
__attribute__((noinline)) void thread::switch_to()
{
	thread_state *from = &s_current->_state, *to = &_state;
	u64 tcb = (u64)_tcb;

	asm volatile("wrmsr" : : "c"(0xc0000100), "a"((u32)tcb), "d"((u32)(tcb >> 32)) : "memory"); /* FS_BASE */
	asm volatile("mov %%rbp, 16(%0)\n\t"
		     "movq $1f, 24(%0)\n\t"
		     "mov %%rsp, 8(%0)\n\t"
		     "mov 8(%1), %%rsp\n\t"
		     "mov 16(%1), %%rbp\n\t"
		     "jmpq *24(%1)\n"
		     "1:"
		     : "+a"(from), "+c"(to)
		     :
		     : "rbx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "memory");
}

__attribute__((noinline)) void thread::wait()
{
	before_current[0] += after_current[0];
	boot_thread->switch_to();
	asm volatile("nop"); /* no tail call */
}
} // namespace sched

namespace elf {
void object::unload() {}
void file::unload() {}
std::vector<object *> program::s_objs;
} // namespace elf

namespace hw {
void hw_driver::dump_config() {}
void console::dump_config() {}
driver_manager *driver_manager::_instance;
} // namespace hw

namespace virtio {
void vring::nothing() {}
void virtio_driver::dump_config() {}
void net::dump_config() {}
void blk::dump_config() {}
} // namespace virtio

namespace mmu {
void vma::fault() {}
void file_vma::fault() {}
vma_list_type vma_list;
} // namespace mmu

namespace callouts {
std::set<callout *> _callouts;
}

namespace memory {
alloc_tracker tracker;
bool tracker_enabled;
} // namespace memory

/* Not the first in its section. */
__attribute__((section(".percpu"), used)) percpu<u64[4]> pcpu;
__attribute__((section(".percpu"), used)) percpu<trace_buf> percpu_trace_buffer;

#define AT(type, member, offset) static_assert(__builtin_offsetof(type, member) == (offset), #member)
static_assert(sizeof(sched::thread) == 20928 && alignof(sched::thread) == 16);
AT(sched::thread, _timers_need_reload, 8);
AT(sched::thread, _active_timers.data_.root_plus_size_.m_header, 24);
AT(sched::thread, _state, 80);
AT(sched::thread, _tcb, 128);
AT(sched::thread, _runtime._Rtt, 140);
AT(sched::thread, _detached_state, 168);
AT(sched::thread, _attr._name, 209);
AT(sched::thread, _arch, 240);
AT(sched::thread, _id, 20720);
AT(sched::thread, _total_cpu_time, 20888);
AT(sched::thread, _parent_id, 20904);
static_assert(sizeof(sched::timer_base) == 56);
AT(sched::timer_base, client_hook, 16);
AT(sched::timer_base, _time, 48);
static_assert(sizeof(sched::cpu) == 14304);
AT(sched::cpu, id, 40);
AT(sched::cpu, arch.acpi_id, 12468);
AT(sched::cpu, runqueue.holder.root, 12560);
AT(sched::cpu, percpu_base, 14288);
AT(sched::thread, _runqueue_link, 20816);
static_assert(sizeof(callout) == 72 && sizeof(std::set<callout *>) == 48);
AT(callout, c_to_ns, 32);
AT(std::set_node<callout *>, value, 32);
static_assert(sizeof(memory::page_range) == 56 && sizeof(memory::page_range_allocator) == 336);
static_assert(sizeof(memory::reclaimer) == 160);
static_assert(sizeof(mmu::vma) == 80 && sizeof(mmu::file_vma) == 112 && sizeof(mmu::vma_list_type) == 40);
AT(mmu::vma, _vma_list_hook, 48);
AT(file, f_dentry, 24);
AT(dentry, d_path, 24);
static_assert(sizeof(elf::object) == 496 && sizeof(elf::file) == 504);
AT(elf::object, _pathname, 32);
AT(elf::object, _base, 152);
AT(elf::object, _module_index, 264);
static_assert(sizeof(tracepoint_base) == 112 && sizeof(trace_buf) == 32);
AT(tracepoint_base, active, 58);
static_assert(sizeof(memory::alloc_tracker) == 72 && sizeof(memory::alloc_tracker::alloc_info) == 192);
static_assert(sizeof(virtio::virtio_driver) == 544 && sizeof(virtio::vring) == 184);
AT(virtio::virtio_driver, _num_queues, 528);
AT(virtio::vring, _num, 72);
AT(virtio::vring, _avail, 96);
AT(virtio::vring, _avail_event, 160);
