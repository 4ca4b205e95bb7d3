# Prints a recording of 3 s: an io exit (port 0x71) every 500 us, an hlt exit every 2 ms. Latencies vary by a factor of
# four. -v seed=N; -v slow=1.3: factor of the io exits' latency; -v hlt=2: so many hlt exits; -v burst=1: one slow burst.
function random() {
	seed = (seed * 16807) % 2147483647
	return seed / 2147483647
}

function one(t, rip, reason, info, tid, us) {
	printf "%.6f kvm_exit pid=10 tid=%d cpu=0 vcpu=%d rip=%s reason=%d isa=2 info1=%s\n", t, tid, tid - 11, rip, reason, info
	printf "%.6f kvm_entry pid=10 tid=%d cpu=0 vcpu=%d rip=%s\n", t + us / 1e6, tid, tid - 11, rip
}

BEGIN {
	print "# hostrace text 1"
	for (i = 0; i < 6000; i++) {
		t = 1 + i * 0.0005
		io = 20 + 60 * random()
		if (slow)
			io *= slow
		if (burst && i >= 3000 && i < 3040)
			io = 490
		one(t, "0x1000", 123, "0x710011", 11, io)
		for (k = 0; i % 4 == 0 && k < (hlt ? hlt : 1); k++)
			one(t + 0.0006 * k + 0.0001, "0x2000", 120, "0x0", 12, 50 + 100 * random())
	}
}
