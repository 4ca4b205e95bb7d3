# 2,000 requests of a disk, each with one I/O request of the host, which takes `slow` times as long.
function random() { return (seed = (seed * 69069 + 12345) % 4294967296) / 4294967296 }
BEGIN {
	print "# hostrace text 1"
	print "0.9 virtio_device pid=10 tid=10 vdev=0x500 path=/machine/peripheral/disk/virtio-backend"
	print "0.9 virtio_kind pid=10 tid=10 vdev=0x500 kind=virtio-blk"
	queue = "pid=10 tid=13 cpu=1 vdev=0x500 vq=0x700"
	for (i = 0; i < 2000; i++) {
		t = 1 + i * 0.005
		wait = int(20000 + random() * 20000)
		disk = int((300000 + random() * 200000) * slow)
		done = t + 0.00002 + (wait + disk) / 1e9
		printf "%.9f virtqueue_pop %s elem=0x9000 head=0 in_num=1 out_num=1 ndescs=2 queue=0\n", t, queue
		printf "%.9f host_io pid=10 tid=13 cpu=0 total_ns=%d device_ns=%d sector=8 bytes=4096\n", done, wait + disk, disk
		printf "%.9f virtqueue_fill %s elem=0x9000 head=0 len=4097 queue=0\n", done + 0.00003 + random() / 1e5, queue
	}
}
