# `make check-arm64`: hostrace, cross-built, on an emulated arm64 host with KVM (tests/arm64/check.sh).
ARM64_SYSROOT = $(BUILD)/arm64-sysroot
ARM64_BUILD   = $(BUILD)/arm64

check-arm64:
	@scripts/deps.sh build arm64
	$(Q)tests/arm64/sysroot.sh $(ARM64_SYSROOT)
	$(Q)$(MAKE) --no-print-directory all
	$(Q)$(MAKE) --no-print-directory CROSS_COMPILE=aarch64-linux-gnu- SYSROOT=$(abspath $(ARM64_SYSROOT)/root) \
		BUILD=$(ARM64_BUILD) all
	$(Q)rm -rf $(ARM64_BUILD)/check
	$(Q)CHECK_DIR=$(ARM64_BUILD)/check tests/tap.sh --show arm64 600 tests/arm64/check.sh $(ARM64_BUILD) $(ARM64_SYSROOT) \
		$(BUILD)/hostrace
	$(Q)CHECK_DIR=$(ARM64_BUILD)/check tests/tap.sh --summary

.PHONY: check-arm64
