# `make install` and `make uninstall` (PREFIX=/usr/local, DESTDIR for packages) use one table.

PREFIX	?= /usr/local
DESTDIR	?=
# Libraries, below PREFIX: lib64, lib/x86_64-linux-gnu, ...
LIBDIR	?= lib

# Modules of Python, below PREFIX, where Debian's python3 looks for them. They depend on no version; /usr/local has a
# directory for each.
PYTHONDIR ?= $(if $(filter /usr,$(PREFIX)),lib/python3,lib/$(shell python3 -c \
	'import sys; print("python%d.%d" % sys.version_info[:2])' 2>/dev/null || echo python3))/dist-packages

# MODE:DESTINATION:SOURCE
INSTALLED = \
	755:bin/hostrace:$(BUILD)/hostrace \
	755:sbin/hostrace-guest:$(AGENT) \
	755:libexec/hostrace/$(notdir $(HTTP)):$(HTTP) \
	$(if $(filter 1,$(LIVE)),755:libexec/hostrace/$(notdir $(HTTPD)):$(HTTPD) 755:libexec/hostrace/$(notdir $(DECODE)):$(DECODE)) \
	644:libexec/hostrace/$(notdir $(DEMO_GUEST)):$(DEMO_GUEST) \
	644:$(LIBDIR)/$(notdir $(LIBRARY_SO)):$(LIBRARY_SO) \
	644:$(LIBDIR)/$(notdir $(LIBRARY_A)):$(LIBRARY_A) \
	644:$(LIBDIR)/pkgconfig/libhostrace.pc:src/library/libhostrace.pc.in \
	644:include/hostrace.h:src/library/hostrace.h \
	$(foreach f,$(wildcard src/library/python/hostrace/*.*),644:$(PYTHONDIR)/hostrace/$(notdir $(f)):$(f)) \
	644:share/bash-completion/completions/hostrace:$(BUILD)/hostrace.bash \
	644:lib/systemd/system/hostrace-record@.service:scripts/hostrace-record@.service \
	644:lib/systemd/system/hostrace-exporter.service:scripts/hostrace-exporter.service \
	$(foreach f,$(wildcard examples/prometheus/*),644:share/hostrace/prometheus/$(notdir $(f)):$(f)) \
	$(foreach f,$(wildcard examples/clickhouse/*),644:share/hostrace/clickhouse/$(notdir $(f)):$(f)) \
	644:share/zsh/site-functions/_hostrace:$(BUILD)/hostrace.zsh \
	644:share/fish/vendor_completions.d/hostrace.fish:$(BUILD)/hostrace.fish \
	644:share/systemtap/tapset/hostrace.stp:stap/tapset/hostrace.stp \
	644:share/systemtap/tapset/hostrace-inside.stp:stap/tapset/inside.stp \
	$(foreach f,$(wildcard stap/*.stp),755:share/hostrace/stap/$(notdir $(f)):$(f)) \
	$(foreach f,$(MAN_PAGES),644:share/man/man$(subst .,,$(suffix $(f)))/$(notdir $(f)):$(f)) \
	$(foreach f,$(DOCS),644:share/doc/hostrace/$(f):$(f))

# Pages refer to each other, so they are in the same folders as here.
DOCS := $(wildcard *.md) LICENSE $(filter-out %.mk %.sh,$(wildcard doc/*.* doc/schema/* doc/tutorial/* doc/pictures/* examples/*/*))

# Directories that only hostrace uses; uninstall removes them.
INSTALLED_DIRS = $(PYTHONDIR)/hostrace libexec/hostrace share/hostrace/stap share/hostrace/prometheus share/hostrace/clickhouse share/hostrace \
	$(addprefix share/doc/hostrace/,$(sort $(dir $(filter examples/%,$(DOCS)))) examples doc/schema doc/tutorial doc/pictures doc) \
	share/doc/hostrace

# Runs a command for each entry, with $$mode, $$to and $$from.
each_installed = for i in $(INSTALLED); do \
	IFS=: read -r mode to from <<<"$$i"; to=$(DESTDIR)$(PREFIX)/$$to; $(1) || exit; done

install uninstall: SHELL = /bin/bash

install: all man
	@$(call each_installed,install -D -m "$$mode" "$$from" "$$to")
	@sed -i 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(LIBDIR)|; s|@VERSION@|$(VERSION)|' $(DESTDIR)$(PREFIX)/$(LIBDIR)/pkgconfig/libhostrace.pc
	@ln -sf $(notdir $(LIBRARY_SO)) $(DESTDIR)$(PREFIX)/$(LIBDIR)/libhostrace.so
	@scripts/plain-links.sh $(DESTDIR)$(PREFIX)/share/doc/hostrace
	@echo "installed into $(DESTDIR)$(PREFIX)"

uninstall:
	@$(call each_installed,rm -f "$$to")
	@rm -f $(DESTDIR)$(PREFIX)/$(LIBDIR)/libhostrace.so
	@cd $(DESTDIR)$(PREFIX) && rmdir $(INSTALLED_DIRS) 2>/dev/null || true

# ---- releases ----

.PHONY: dist check-package

# The files of HEAD, with its version in VERSION and in the spec. A tag on it must be that of the file VERSION.
DIST_DIR = $(BUILD)/dist/hostrace-$(VERSION)

dist:
	$(Q)tag=$$(git tag --points-at HEAD 'v[0-9]*') && case "$$tag" in ''|v$$(cat VERSION)) ;; \
		*) echo "HEAD has the tag $$tag, but VERSION is $$(cat VERSION)" >&2; exit 1 ;; esac
	$(Q)rm -rf $(BUILD)/dist && mkdir -p $(BUILD)/dist
	$(Q)git archive --prefix=hostrace-$(VERSION)/ HEAD | tar -x -C $(BUILD)/dist
	$(Q)echo '$(VERSION)' >$(DIST_DIR)/VERSION
	$(Q)sed -i 's/^\(Version: *\).*/\1$(VERSION)/' $(DIST_DIR)/packaging/hostrace.spec
	$(Q)tar -c -C $(BUILD)/dist --sort=name --owner=0 --group=0 --numeric-owner --mtime="$$(git log -1 --format=@%ct)" \
		hostrace-$(VERSION) | gzip -n9 >$(BUILD)/hostrace-$(VERSION).tar.gz
	$(Q)rm -rf $(BUILD)/dist
	@echo $(BUILD)/hostrace-$(VERSION).tar.gz

# Builds the Debian package from the archive, checks it with lintian, installs it into a new root folder and runs it there.
check-package: dist
	@scripts/deps.sh build docs package
	$(Q)tests/package/run.sh $(BUILD)/hostrace-$(VERSION).tar.gz
