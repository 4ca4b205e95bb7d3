# The manual: doc/man/*.scd through scdoc, options filled in from the program's own --help. `hostrace help COMMAND`
# finds the pages beside the program (build/man) or, once installed, in PREFIX/share/man.

PREFIX	?= /usr/local
DESTDIR	?=
MAN_PAGES = $(patsubst doc/man/%.scd,$(BUILD)/man/%,$(wildcard doc/man/*.scd))

docs:
	@scripts/deps.sh build docs
	$(Q)scripts/events-page.sh > doc/events.new && mv doc/events.new doc/events.md
	$(Q)scripts/catalogue-page.sh > doc/catalogue.new && mv doc/catalogue.new doc/catalogue.md
	$(Q)stap/inside.sh
	$(Q)$(MAKE) --no-print-directory man

.PHONY: man

man: $(MAN_PAGES) $(BUILD)/hostrace.bash

$(BUILD)/man/%: doc/man/%.scd doc/options.sh $(BUILD)/hostrace
	$(call say,MAN,$@)
	$(Q)mkdir -p $(@D)
	$(Q)doc/options.sh $(BUILD)/hostrace $< > $@.scd
	$(Q)scdoc < $@.scd > $@
	$(Q)rm $@.scd

# Completion knows the commands and options of the program it was made from.
$(BUILD)/hostrace.bash: doc/completion.sh $(BUILD)/hostrace
	$(Q)doc/completion.sh $(BUILD)/hostrace > $@

ifneq ($(SAN),1)
check-build: man
endif

install: all man
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/libexec/hostrace \
		$(DESTDIR)$(PREFIX)/sbin \
		$(DESTDIR)$(PREFIX)/share/man/man1 $(DESTDIR)$(PREFIX)/share/man/man5 $(DESTDIR)$(PREFIX)/share/man/man8 \
		$(DESTDIR)$(PREFIX)/share/doc/hostrace $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
		$(DESTDIR)$(PREFIX)/share/hostrace/stap $(DESTDIR)$(PREFIX)/share/systemtap/tapset
	install -m 755 $(BUILD)/hostrace $(DESTDIR)$(PREFIX)/bin/
	install -m 755 $(AGENT) $(DESTDIR)$(PREFIX)/sbin/
	install -m 644 $(DEMO_GUEST) $(DESTDIR)$(PREFIX)/libexec/hostrace/
	install -m 644 $(filter %.1,$(MAN_PAGES)) $(DESTDIR)$(PREFIX)/share/man/man1/
	install -m 644 $(filter %.5,$(MAN_PAGES)) $(DESTDIR)$(PREFIX)/share/man/man5/
	install -m 644 $(filter %.8,$(MAN_PAGES)) $(DESTDIR)$(PREFIX)/share/man/man8/
	install -m 644 README.md LICENSE $(wildcard doc/*.md) $(DESTDIR)$(PREFIX)/share/doc/hostrace/
	install -m 644 $(BUILD)/hostrace.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/hostrace
	install -m 755 $(wildcard stap/*.stp) $(DESTDIR)$(PREFIX)/share/hostrace/stap/
	install -m 644 stap/tapset/hostrace.stp $(DESTDIR)$(PREFIX)/share/systemtap/tapset/hostrace.stp
	install -m 644 stap/tapset/inside.stp $(DESTDIR)$(PREFIX)/share/systemtap/tapset/hostrace-inside.stp
