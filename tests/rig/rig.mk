# `make check-live`: hostrace on a real KVM host in a box (tests/rig/rig.sh). RIG=DIR keeps what comes out of it.
check-live:
	@scripts/deps.sh build check live rig
	$(Q)$(MAKE) --no-print-directory check-rig

.PHONY: check-rig

check-rig: $(BUILD)/hostrace
	$(Q)tests/rig/check.sh $(BUILD)/hostrace $(RIG)
