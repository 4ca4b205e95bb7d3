# hostrace-guest: a static program that runs in Linux guests of any distribution; needs only a C library.
AGENT	   = $(BUILD)/hostrace-guest
AGENT_SRCS = $(call sources,src/guestside/agent/*.c) src/base/clock.c src/base/crc32c.c
AGENT_CC   = $(CC) -D_GNU_SOURCE -Isrc -I$(BUILD) -std=gnu11 $(OPT) -g $(WARNINGS) $(if $(filter 1,$(WERROR)),-Werror) \
	     $(HARDEN_CFLAGS) $(PREFIX_MAP) $(COVERAGE_CFLAGS)
# If the C library has no startup code for static-pie, the program is linked to a fixed address.
AGENT_LINK = $(if $(wildcard $(shell $(CC) -print-file-name=rcrt1.o)),-static-pie,-static) $(HARDEN_LDFLAGS) \
	     $(if $(COVERAGE_CFLAGS),-fprofile-instr-generate)

all: $(AGENT)

$(AGENT): $(AGENT_SRCS) $(BUILD)/flags $(wildcard src/guestside/agent/*.h src/base/cleanup.h src/base/clock.h src/base/crc32c.h src/base/version.h) $(BUILD)/version_text.h
	$(call say,AGENT,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(AGENT_CC) $(AGENT_LINK) -o $@ $(AGENT_SRCS) -lpthread
