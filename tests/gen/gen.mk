# Programs that generate input files of known content for cases; tests/run-cases.sh adds them to PATH.
GENERATORS = $(BUILD)/tests/gen/tracedat $(BUILD)/tests/gen/perfdata $(BUILD)/tests/gen/kernelevents

bench-tools check-build check-fast-run check-cases check-case check-unit check-units: $(GENERATORS)

$(GENERATORS): $(BUILD)/tests/gen/%: tests/gen/%.c tests/gen/script.c tests/gen/script.h $(wildcard tests/gen/kernel_formats*.def)
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -D_GNU_SOURCE -std=gnu11 $(OPT) -g -Wall -Wextra -Wshadow -Wno-sign-compare -o $@ $< tests/gen/script.c -lz -lzstd
