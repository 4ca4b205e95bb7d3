# `make check-live`: hostrace on a KVM host that itself runs in a VM (tests/rig/rig.sh). RIG=DIR keeps the output.
check-live:
	@scripts/deps.sh build check live rig
	$(Q)$(MAKE) --no-print-directory check-rig

.PHONY: check-rig

RIG_DIR = $(BUILD)/check-rig$(addprefix -,$(RIG_CPU))

RIG_NEEDS = $(BUILD)/hostrace $(HTTPD) $(DECODE) $(BUILD)/demo-guest.elf $(BUILD)/sampleguest.elf $(BUILD)/blameguest-touch.elf \
	$(BUILD)/slowmem.so $(BUILD)/ring-guest.elf $(BUILD)/minivmm

check-rig: $(RIG_NEEDS) $(BUILD)/hostrace-guest
	$(Q)rm -rf $(RIG_DIR)
	$(Q)RIG_CPU=$(RIG_CPU) RIG_PARTS="$(RIG_PARTS)" RIG_CHECKS="$(RIG_CHECKS)" CHECK_DIR=$(RIG_DIR) \
		TAP_PARTIAL=$(if $(RIG_PARTS)$(RIG_CHECKS),1,0) \
		tests/tap.sh --show rig 2400 tests/rig/check.sh $(BUILD)/hostrace $(RIG)
	$(Q)CHECK_DIR=$(RIG_DIR) tests/tap.sh --summary

# The SystemTap scripts (stap/) in the same host, compared with hostrace: at night (.ci/run stap).
check-stap:
	@scripts/deps.sh build check live rig
	$(Q)$(MAKE) --no-print-directory check-rig RIG_PARTS=stap RIG_CHECKS=80-stap

.PHONY: check-stap

# The same on a host with Intel's VMX, which Bochs emulates. Five minutes on an idle machine.
check-vmx:
	@scripts/deps.sh build check live rig vmx
	$(Q)$(MAKE) --no-print-directory check-rig RIG_CPU=vmx RIG_PARTS=vmx RIG_CHECKS=98-vmx

.PHONY: check-vmx

# What check-live and check-vmx need, so that both may then run at once.
rigs-ready:
	@scripts/deps.sh build check live rig vmx
	$(Q)$(MAKE) --no-print-directory rigs-ready-run

rigs-ready-run: $(RIG_NEEDS) $(BUILD)/hostrace-guest
	@:

.PHONY: rigs-ready rigs-ready-run

# The kernels of Debian and its backports, each with three QEMUs, on SVM and VMX; writes doc/tested.md. RIG_HOSTS chooses some.
check-matrix: $(RIG_NEEDS)
	@scripts/deps.sh build check live rig vmx
	$(Q)RIG_HOSTS="$(RIG_HOSTS)" tests/rig/matrix.sh $(BUILD)/hostrace $(RIG)

.PHONY: check-matrix

# The same guest under a QEMU with USDT probes (built from Debian's source, 3 minutes the first time) and one without.
check-usdt:
	@scripts/deps.sh build check live rig usdt
	$(Q)$(MAKE) --no-print-directory check-marks

.PHONY: check-usdt check-marks

check-marks: $(BUILD)/hostrace
	$(Q)tests/rig/check-usdt.sh $(BUILD)/hostrace $(RIG)

# The leak cases on Linux guests under QEMU (tests/rig/leaks/). LEAKS="20 60" runs only these groups.
LEAKS_GROUPS = $(if $(LEAKS),$(foreach g,$(LEAKS),$(wildcard tests/rig/leaks/$(g)-*.sh)),$(wildcard tests/rig/leaks/[0-9]*.sh))

check-leaks:
	@scripts/deps.sh build check live rig
	$(Q)$(MAKE) --no-print-directory check-leaks-run

.PHONY: check-leaks check-leaks-run

check-leaks-run: $(BUILD)/hostrace
	$(Q)rm -rf $(BUILD)/check-leaks && mkdir -p $(BUILD)/check-leaks
	$(Q)$(foreach g,$(LEAKS_GROUPS),CHECK_DIR=$(BUILD)/check-leaks HOSTRACE=$(BUILD)/hostrace tests/tap.sh \
		leaks/$(notdir $(basename $(g))) 900 bash $(g);) CHECK_DIR=$(BUILD)/check-leaks tests/tap.sh --summary

# The part of check-live that tests hostrace-guest: in an L2 guest over virtio-serial and vsock, reading a guest's ring
# from its memory, and in a Linux guest under TCG.
check-agent:
	@scripts/deps.sh build check live rig
	$(Q)$(MAKE) --no-print-directory check-rig RIG_PARTS=agent RIG_CHECKS="95-agent 96-agent-linux"

.PHONY: check-agent
