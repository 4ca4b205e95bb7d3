// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * I/O requests of the host that threads of a VM submit: one record when a request is complete. It is the VM's if the
 * current thread is one of the VM's when the block layer gets the bio, which is so for Linux AIO, io_uring and its
 * workers (since v5.12 threads of the process), QEMU's thread pool, and reads and fsync through the page cache. What a
 * kernel thread writes back later is not: no request of the guest waits for it.
 *
 * A driver with a queue of requests (blk-mq) completes requests, which are lists of bios; others (dm, md, zram)
 * complete bios. Each bio does one of the two.
 */
#include "emit.bpf.h"

enum {
	HOST_IOS_MAX = 16384, /* in flight, of all VMs */
	BIOS_MERGED_MAX = 32, /* of one request that are looked at */
	REQ_OP_MASK = 0xff,
};

struct host_io {
	hr_u64 submit_ns, dispatch_ns, sector, inode, offset;
	hr_u32 pid, tid, bytes, dev;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, HOST_IOS_MAX);
	__type(key, hr_u64); /* address of the bio */
	__type(value, struct host_io);
} host_ios SEC(".maps");

hr_u64 host_ios_open = 0;   /* entries of the map */
hr_u64 host_ios_unseen = 0; /* completed without a record: the kernel did not run the program */

/*
 * A submitted bio is a new one. If its address is in the map, the completion of an earlier bio was missed. That entry
 * is removed: it would be reported when the new bio completes, which may be another VM's.
 */
static __always_inline void forget_unseen(hr_u64 key)
{
	if (!bpf_map_lookup_elem(&host_ios, &key) || bpf_map_delete_elem(&host_ios, &key))
		return;
	__sync_fetch_and_add(&host_ios_open, -1);
	__sync_fetch_and_add(&host_ios_unseen, 1);
}

/*
 * Which bytes of which file. iomap keeps its state in bi_private; that it is one of iomap's is seen by that its file is
 * on the disk of the bio. The first sectors of a bio are those of its system call after the bios before it.
 */
static __always_inline void file_find(struct host_io *io, struct bio *bio)
{
	struct iomap_dio *dio = BPF_CORE_READ(bio, bi_private);
	struct kiocb *iocb;
	struct inode *inode;

	if (!bpf_core_type_exists(struct iomap_dio))
		return;
	iocb = BPF_CORE_READ(dio, iocb);
	inode = BPF_CORE_READ(iocb, ki_filp, f_inode);
	if (!inode || BPF_CORE_READ(inode, i_sb, s_bdev) != BPF_CORE_READ(bio, bi_bdev))
		return;
	io->inode = BPF_CORE_READ(inode, i_ino);
	io->offset = BPF_CORE_READ(iocb, ki_pos) + BPF_CORE_READ(dio, size) - io->bytes;
}

/* Did a page fault cause it, and not a system call? A thread reads a page of its program or of a mapped file. */
static __always_inline bool in_fault(void)
{
	return syscall_nr(task_regs_of(bpf_get_current_task_btf())) == -1;
}

/* Pages that memory reclaim moves to swap are not I/O for the guest. */
static __always_inline bool is_swap(hr_u32 opf)
{
	if (!bpf_core_enum_value_exists(enum req_flag_bits, __REQ_SWAP))
		return false;
	return opf >> bpf_core_enum_value(enum req_flag_bits, __REQ_SWAP) & 1;
}

/* What is too long for the disk is split later; this bio is complete when all of it is. */
SEC("tp_btf/block_bio_queue")
int BPF_PROG(tp_host_io_submit, struct bio *bio)
{
	hr_u64 id = bpf_get_current_pid_tgid(), key = (hr_u64)bio;
	hr_u32 opf = BPF_CORE_READ(bio, bi_opf);
	struct host_io io = {.pid = id >> 32, .tid = (hr_u32)id};

	forget_unseen(key);
	if (!vm_scheduled(io.pid) || is_swap(opf) || in_fault())
		return 0;
	io.submit_ns = bpf_ktime_get_ns();
	io.sector = BPF_CORE_READ(bio, bi_iter.bi_sector) -
		    BPF_CORE_READ(bio, bi_bdev, bd_start_sect);
	io.bytes = BPF_CORE_READ(bio, bi_iter.bi_size);
	io.dev = BPF_CORE_READ(bio, bi_bdev, bd_dev);
	file_find(&io, bio);
	if (bpf_map_update_elem(&host_ios, &key, &io, BPF_ANY)) {
		hr_u32 cpu = bpf_get_smp_processor_id();
		struct ring_head *head = bpf_map_lookup_elem(&rings, &cpu);

		if (head)
			__sync_fetch_and_add(&head->lost[EV_host_io], 1);
		return 0;
	}
	__sync_fetch_and_add(&host_ios_open, 1);
	return 0;
}

SEC("tp_btf/block_rq_issue")
int BPF_PROG(tp_host_io_dispatch, struct request *rq)
{
	struct bio *bio = BPF_CORE_READ(rq, bio);
	hr_u64 now = 0;

	for (int i = 0; i < BIOS_MERGED_MAX && bio; i++) {
		hr_u64 key = (hr_u64)bio;
		struct host_io *io = bpf_map_lookup_elem(&host_ios, &key);

		if (io) {
			now = now ? now : bpf_ktime_get_ns();
			io->dispatch_ns = now;
		}
		bio = BPF_CORE_READ(bio, bi_next);
	}
	return 0;
}

static __always_inline void completed(struct bio *bio, hr_u32 status)
{
	hr_u64 key = (hr_u64)bio, now;
	struct host_io *io = bpf_map_lookup_elem(&host_ios, &key);
	struct rec_host_io *rec;
	struct emit e;

	if (!io)
		return;
	e.pid = io->pid;
	e.tid = io->tid;
	e.vcpu = RECORD_NO_VCPU;
	ring_here(&e);
	rec = e.ring ? reserve(&e, host_io) : NULL;
	if (rec) {
		now = rec->hdr.time;
		rec->total_ns = now - io->submit_ns;
		rec->device_ns = io->dispatch_ns ? now - io->dispatch_ns : 0;
		rec->sector = io->sector;
		rec->inode = io->inode;
		rec->offset = io->offset;
		rec->bytes = io->bytes;
		rec->dev = io->dev;
		rec->op = BPF_CORE_READ(bio, bi_opf) & REQ_OP_MASK;
		rec->status = status;
		emit_publish(&e);
	}
	if (!bpf_map_delete_elem(&host_ios, &key))
		__sync_fetch_and_add(&host_ios_open, -1);
}

/* The bios that are complete with these bytes of the request. */
SEC("tp_btf/block_rq_complete")
int BPF_PROG(tp_host_io_request, struct request *rq, hr_u8 status, unsigned int bytes)
{
	struct bio *bio = BPF_CORE_READ(rq, bio);

	for (int i = 0; i < BIOS_MERGED_MAX && bio; i++) {
		struct bio *next = BPF_CORE_READ(bio, bi_next);
		hr_u32 size = BPF_CORE_READ(bio, bi_iter.bi_size);

		if (size > bytes)
			break;
		completed(bio, status);
		bytes -= size;
		bio = next;
	}
	return 0;
}

SEC("tp_btf/block_bio_complete")
int BPF_PROG(tp_host_io, void *q, struct bio *bio)
{
	completed(bio, BPF_CORE_READ(bio, bi_status));
	return 0;
}
