# Makes a part of a guest's memory slow.
check-build: $(BUILD)/slowmem.so

$(BUILD)/slowmem.so: tests/live/slowmem.c
	$(call say,CC,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu11 -O2 -Wall -Wextra -fPIC -shared -o $@ $< -lpthread
