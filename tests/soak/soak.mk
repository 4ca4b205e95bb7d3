# make soak [MINUTES=30]: recorders that must not grow, and the short tests of VMs that change.
MINUTES ?= 30
SOAK_TESTS = $(call sources,tests/live/vm-*.sh tests/live/record-stopped.sh tests/live/record-full.sh)

soak:
	@scripts/deps.sh build check live
	$(Q)$(MAKE) --no-print-directory soak-run

.PHONY: soak soak-run

soak-run: $(BUILD)/hostrace $(BUILD)/countguest.bin $(BUILD)/minivmm
	$(Q)rm -rf $(BUILD)/soak && mkdir -p $(BUILD)/soak
	$(Q)CHECK_DIR=$(BUILD)/soak BUILD=$(BUILD) HOSTRACE=$(BUILD)/hostrace tests/run-live.sh $(SOAK_TESTS)
	$(Q)CHECK_DIR=$(BUILD)/soak BUILD=$(BUILD) HOSTRACE=$(BUILD)/hostrace SOAK_KEEP=$(abspath $(BUILD)/soak) tests/tap.sh soak \
		$$(($(MINUTES) * 60 + 900)) bash tests/soak/soak.sh $(MINUTES)
	$(Q)CHECK_DIR=$(BUILD)/soak tests/tap.sh --summary
