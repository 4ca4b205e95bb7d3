# hostrace-guest: one static program for Linux guests of any distribution; nothing but libc.
AGENT	   = $(BUILD)/hostrace-guest
AGENT_SRCS = $(wildcard src/guestside/agent/*.c) src/base/crc32c.c
AGENT_CC   = $(CC) -D_GNU_SOURCE -Isrc -std=gnu11 -O2 -g -Wall -Wextra -Wshadow -Wmissing-prototypes \
	     -Wstrict-prototypes $(if $(filter 1,$(WERROR)),-Werror)

all: $(AGENT)

$(AGENT): $(AGENT_SRCS) $(wildcard src/guestside/agent/*.h src/base/clock.h src/base/crc32c.h)
	$(call say,AGENT,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(AGENT_CC) -static -o $@ $(AGENT_SRCS) -lpthread
