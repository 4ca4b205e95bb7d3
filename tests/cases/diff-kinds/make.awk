# Prints a recording of 4 s. Every 4 ms, times as random() has them: an exit that is preempted for 100 us, a request of
# 200 us that is notified 50 us later, and the guest's task dd runs for 1 ms, then sh.
# -v seed=N; -v preempted=, -v request=, -v notify=, -v dd=: factors.
function random() {
	seed = (seed * 16807) % 2147483647
	return 0.5 + seed / 2147483647
}

function at(us) {
	return sprintf("%.6f", t + us / 1e6)
}

function task(us, prev, next_one) {
	print at(us) " guest:sched_switch tid=1 cpu=0 vcpu=0 text=\"prev_comm=" prev " prev_pid=1 prev_state=S ==> next_comm=" \
		next_one " next_pid=2 next_prio=120\""
}

BEGIN {
	print "# hostrace text 1"
	print "# type {\"name\":\"guest:sched_switch\",\"size\":220,\"fields\":[{\"name\":\"text\",\"kind\":\"text\",\"offset\":24,\"size\":196}]}"
	print "0.5 virtio_device pid=10 tid=10 vdev=0x500 path=/machine/peripheral/disk/virtio-backend"
	for (i = 0; i < 1000; i++) {
		t = 1 + i * 0.004
		p = 100 * random() * (preempted ? preempted : 1)
		print at(0) " kvm_exit pid=10 tid=11 cpu=3 vcpu=0 rip=0x1000 reason=1 isa=1"
		print at(2) " sched_switch pid=10 tid=11 cpu=3 vcpu=0 prev_tid=11 prev_state=0 next_tid=55 next_comm=stress"
		print at(2 + p) " sched_switch pid=10 tid=11 cpu=3 vcpu=0 prev_tid=55 prev_comm=stress next_tid=11 next_comm=\"CPU 0/KVM\""
		print at(5 + p) " kvm_entry pid=10 tid=11 cpu=3 vcpu=0"
		r = 1000 + 200 * random() * (request ? request : 1)
		print at(1000) " virtqueue_pop pid=10 tid=12 vdev=0x500 vq=0x700 elem=0x9010 head=1 in_num=2 out_num=1 ndescs=3 queue=0"
		print at(r) " virtqueue_fill pid=10 tid=12 vdev=0x500 vq=0x700 elem=0x9010 head=1 len=513 queue=0"
		print at(r + 50 * random() * (notify ? notify : 1)) " virtio_notify pid=10 tid=12 vdev=0x500 vq=0x700 queue=0 irqfd=1"
		d = 1000 * random() * (dd ? dd : 1)
		task(2000, "sh", "dd")
		task(2000 + d, "dd", "sh")
	}
}
