# hostrace: `make` builds it, `make demo` runs a demo, `make check` runs the tests, `make help` lists the targets.
# Source lists are wildcards: a new command, analyzer, view, format, reader or test needs no change here.

# All CPUs, unless -j says how many.
ifeq ($(MAKELEVEL)$(filter -j% --jobs% --jobserver%,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc)
endif

BUILD	?= build
# For another machine: CROSS_COMPILE=aarch64-linux-gnu- SYSROOT=DIR, which has its packages (scripts/deps.sh cross-arm64).
CC	= $(CROSS_COMPILE)gcc$(SYSROOT:%= --sysroot=%)
MACHINE	:= $(firstword $(subst -, ,$(shell $(CC) -dumpmachine)))
ARCH	:= $(if $(filter aarch64,$(MACHINE)),arm64,x86)
PKG_CONFIG = $(if $(SYSROOT),PKG_CONFIG_SYSROOT_DIR=$(SYSROOT) PKG_CONFIG_LIBDIR=$(SYSROOT)/usr/lib/$(MACHINE)-linux-gnu/pkgconfig )pkg-config
CLANG	?= clang
OBJCOPY	?= $(CROSS_COMPILE)objcopy
LD	= $(CROSS_COMPILE)ld
AR	= $(CROSS_COMPILE)ar
ifeq ($(origin BPFTOOL),undefined)
# Ubuntu's command looks for the one of the running kernel, which may not be installed; any of them will do.
BPFTOOL	:= $(firstword $(shell for b in bpftool $$(ls -t /usr/lib/linux-tools*/*/bpftool /usr/lib/linux-tools-*/bpftool 2>/dev/null); do \
		$$b version >/dev/null 2>&1 && command -v $$b; done) /usr/sbin/bpftool)
endif
PKGS	= jansson libzstd libelf libdw libtraceevent libpcap zlib libseccomp libprotobuf-c sqlite3
HTTP_PKGS = libcurl libseccomp
LIVE_PKGS = libbpf ncursesw
# Edits lines of the prompt of `hostrace sql`, where it is.
READLINE ?= $(if $(shell $(PKG_CONFIG) --exists readline 2>/dev/null && echo 1),1,0)
V	?= 0
Q	= $(if $(filter 1,$(V)),,@)
say	= @printf '  %-7s %s\n' $(1) $(2)
sources	= $(sort $(wildcard $(1)))
ifeq ($(SAN),1)
override BUILD := $(BUILD)/san
endif

# Recording needs libbpf 1.0, clang and bpftool; without them (LIVE=0), everything else is built.
LIVE	?= $(if $(and $(wildcard $(BPFTOOL)),$(shell $(PKG_CONFIG) --atleast-version=1.0 libbpf && echo 1)),1,0)

# The folders of src/folders; agent.mk, demo.mk and library.mk build those, fetch/http is hostrace-http, exporter/httpd is
# hostrace-httpd, symbols/decode is hostrace-decode.
SRC_DIRS := $(filter-out guestside/agent guestside/demo fetch/http exporter/httpd symbols/decode library,$(shell sed -n 's/^\([a-z][a-z/]*\).*/\1/p' src/folders))
LIVE_DIRS = collector output/live commands/live
SRCS	:= src/main.c $(call sources,$(patsubst %,src/%/*.c,$(filter-out $(LIVE_DIRS),$(SRC_DIRS))))
ifeq ($(LIVE),1)
SRCS	+= $(call sources,$(LIVE_DIRS:%=src/%/*.c))
PKGS	+= $(LIVE_PKGS)
CPPFLAGS += -DHOSTRACE_LIVE
BPF_SRCS := $(call sources,bpf/*.bpf.c)
endif
ifeq ($(READLINE),1)
PKGS	+= readline
$(BUILD)/src/commands/prompt.o: CPPFLAGS += -DHOSTRACE_READLINE
endif
PROTOS	:= prometheus opentelemetry perfetto profile ftrace_packets
OBJS	:= $(SRCS:%.c=$(BUILD)/%.o) $(PROTOS:%=$(BUILD)/%.pb-c.o)
LIB_OBJS := $(filter-out $(BUILD)/src/main.o,$(OBJS)) $(if $(filter 1,$(LIVE)),$(BUILD)/src/symbols/decode/decode.o)
LIB	 := $(BUILD)/hostrace.a

# Of each helper, src/base/helper.h.
HELPER_SRCS := $(call sources,src/confine/*.c) $(addprefix src/base/,array.c clock.c decimal.c error.c helper.c process.c progress.c read_full.c safe_path.c temporary.c units.c user_rights.c)

# The only program that is linked to libcurl, which brings 30 libraries with it.
HTTP	  := $(BUILD)/hostrace-http
HTTP_SRCS := $(call sources,src/fetch/http/*.c) $(HELPER_SRCS)
HTTP_OBJS := $(HTTP_SRCS:%.c=$(BUILD)/%.o)

# The server of `hostrace exporter` and `hostrace view`, the only program that is linked to libmicrohttpd.
HTTPD	   := $(BUILD)/hostrace-httpd
HTTPD_PKGS = libmicrohttpd libseccomp
HTTPD_SRCS := $(call sources,src/exporter/httpd/*.c) src/exporter/format.c src/exporter/hosts.c $(HELPER_SRCS)
HTTPD_OBJS := $(HTTPD_SRCS:%.c=$(BUILD)/%.o)
HTTPD_BUILT := $(if $(filter 1,$(LIVE))$(shell $(PKG_CONFIG) --exists libmicrohttpd 2>/dev/null && echo 1),$(HTTPD))

# Decodes code of a VM's executable, the only program that is linked to libcapstone.
DECODE	    := $(BUILD)/hostrace-decode
DECODE_PKGS = capstone libseccomp
DECODE_SRCS := $(call sources,src/symbols/decode/*.c) $(HELPER_SRCS)
DECODE_LIBS = $(if $(filter 1,$(LIVE)),$(shell $(PKG_CONFIG) --libs capstone 2>/dev/null))
DECODE_OBJS := $(DECODE_SRCS:%.c=$(BUILD)/%.o)

OPT	?= -O2
WARNINGS = -Wall -Wextra -Wshadow -Wmissing-prototypes -Wstrict-prototypes -Wpointer-arith -Wno-missing-field-initializers
CPPFLAGS += -D_GNU_SOURCE -Isrc -Ibpf -I$(BUILD) $(shell $(PKG_CONFIG) --cflags $(PKGS) $(HTTP_PKGS) $(HTTPD_PKGS) $(if $(filter 1,$(LIVE)),$(DECODE_PKGS)) 2>/dev/null)
CFLAGS	 += -std=gnu11 $(OPT) -g $(WARNINGS) -fno-strict-aliasing
LDFLAGS	 += -Wl,--as-needed
# libtraceevent 1.3 knows no fields of this kind (__rel_loc).
CPPFLAGS += $(if $(shell $(PKG_CONFIG) --atleast-version=1.5 libtraceevent && echo 1),,-DTEP_FIELD_IS_RELATIVE=0)
LDLIBS	 += $(shell $(PKG_CONFIG) --libs $(PKGS) 2>/dev/null) -liberty -lm -lpthread $(WRAP)
# src/base/memory.h
WRAP	 = $(foreach f,free malloc calloc realloc reallocarray strdup strndup asprintf vasprintf __asprintf_chk \
	   __vasprintf_chk,-Wl,--wrap=$(f))
# For guests without a C library: keeps the compiler from replacing loops with calls to memset() and the like.
NO_LIBC	 = -fno-builtin $(if $(findstring clang,$(CC)),,-fno-tree-loop-distribute-patterns)

# Hardening; not together with sanitizers, which do the same checks and do not see into _FORTIFY_SOURCE's functions.
HARDEN_CFLAGS := -fPIC -fno-semantic-interposition -fstack-protector-strong $(if $(filter -O0,$(OPT)),,-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2) \
	    $(if $(findstring x86_64,$(shell $(CC) -dumpmachine)),-fcf-protection=full)
HARDEN_LDFLAGS = -Wl,-z,relro,-z,now,-z,noexecstack $(if $(findstring x86_64,$(shell $(CC) -dumpmachine)),-z shstk)
# float-cast-overflow is not part of gcc's "undefined".
SANITIZE := -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=undefined,float-cast-overflow
# clang's counters, mapped into the profile file: SIGKILL, _exit() and a changed user do not lose them.
COVERAGE_CFLAGS := $(if $(filter 1,$(COVERAGE)),-fprofile-instr-generate -fcoverage-mapping -mllvm -runtime-counter-relocation)
ifeq ($(SAN),1)
CPPFLAGS += -DHOSTRACE_UNCONFINED
CFLAGS	 += $(SANITIZE) -fno-omit-frame-pointer
LDFLAGS	 += $(SANITIZE)
else ifneq ($(FUZZ),)
FUZZ_FLAGS := $(if $(filter cov,$(FUZZ)),-fprofile-instr-generate -fcoverage-mapping,$(SANITIZE))
CPPFLAGS += -DHOSTRACE_UNCONFINED
# Without a call for each comparison, targets are up to twice as fast, and reach more in the same time.
CFLAGS	 += $(FUZZ_FLAGS) -fsanitize=fuzzer-no-link -fno-sanitize-coverage=trace-cmp -fno-omit-frame-pointer
else ifeq ($(COVERAGE),1)
CFLAGS	 += $(COVERAGE_CFLAGS)
LDFLAGS	 += -fprofile-instr-generate
# clang's library, which is linked last, allocates.
WRAP	 += -Wl,--undefined=__wrap_calloc
else
CFLAGS	 += $(HARDEN_CFLAGS)
LDFLAGS	 += -pie $(HARDEN_LDFLAGS)
endif

# Objects depend on these flags: they are rebuilt when the flags change. Flags added below do not change the code.
FLAGS	:= $(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS)
CPPFLAGS := $(CPPFLAGS)
LDLIBS	:= $(LDLIBS)
# Reproducible build: the program does not depend on the paths of the source tree and of the build directory.
PREFIX_MAP = -ffile-prefix-map=$(CURDIR)=. -ffile-prefix-map=$(BUILD)/=build/
CFLAGS	:= $(CFLAGS) $(PREFIX_MAP) -MMD -MP $(if $(filter 1,$(WERROR)),-Werror)

.DELETE_ON_ERROR:
.PHONY: all help deps demo check check-live bench fuzz lint docs install uninstall clean FORCE

all: $(BUILD)/hostrace $(HTTP) $(HTTPD_BUILT) $(if $(filter 1,$(LIVE)),$(DECODE))

$(BUILD)/hostrace: $(OBJS)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LDLIBS)

$(HTTP): $(HTTP_OBJS)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(shell $(PKG_CONFIG) --libs $(HTTP_PKGS) 2>/dev/null) -lm

$(HTTPD): $(HTTPD_OBJS)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(shell $(PKG_CONFIG) --libs $(HTTPD_PKGS) 2>/dev/null) -lm -lcrypt

$(DECODE): $(DECODE_OBJS)
	$(call say,LD,$@)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(shell $(PKG_CONFIG) --libs $(DECODE_PKGS) 2>/dev/null) -lm

ifneq ($(strip $(FLAGS)),$(strip $(file <$(BUILD)/flags)))
$(BUILD)/flags: FORCE
endif
$(BUILD)/flags:
	$(Q)mkdir -p $(@D)
	$(Q)printf '%s\n' '$(FLAGS)' >$@

# Simple loops over columns: -O3 vectorizes them.
$(addprefix $(BUILD)/src/,tracefile/columns.o tracefile/columns_form.o tracefile/columns_pack.o pairing/fast_load.o): CFLAGS += -O3

# Rewritten when the version changes, as with each commit after a tag.
VERSION := $(shell scripts/version.sh)
ifneq ($(VERSION),$(lastword $(subst ", ,$(file <$(BUILD)/version_text.h))))
$(BUILD)/version_text.h: FORCE
endif
$(BUILD)/version_text.h:
	$(Q)mkdir -p $(@D)
	$(Q)echo '#define HOSTRACE_VERSION "$(VERSION)"' >$@

$(BUILD)/%.o: %.c $(BUILD)/flags | $(BUILD)/version_text.h
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<

# Messages of protobuf as structs.
vpath %.proto src/exporter src/output src/readers/perfetto
$(BUILD)/%.pb-c.h: %.proto
	$(call say,PROTO,$@)
	$(Q)mkdir -p $(@D)
	$(Q)protoc-c --proto_path=$(<D) --c_out=$(@D) $(<F)
$(PROTOS:%=$(BUILD)/%.pb-c.c): %.c: %.h ;
$(PROTOS:%=$(BUILD)/%.pb-c.o): %.o: %.c $(BUILD)/flags
	$(call say,CC,$<)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -c -o $@ $<
$(BUILD)/src/exporter/otlp.o: $(BUILD)/opentelemetry.pb-c.h
$(BUILD)/src/exporter/text.o: $(BUILD)/prometheus.pb-c.h
$(BUILD)/src/output/perfetto.o: $(BUILD)/perfetto.pb-c.h
$(BUILD)/src/output/pprof.o: $(BUILD)/profile.pb-c.h
$(patsubst %.c,$(BUILD)/%.o,$(call sources,src/readers/perfetto/*.c)): $(BUILD)/ftrace_packets.pb-c.h

# Scripts of pictures as C strings: what all of them use, then their own part.
$(BUILD)/%_js.h: src/output/picture.js src/output/%.js Makefile
	$(call say,GEN,$@)
	$(Q)mkdir -p $(@D)
	$(Q){ echo 'static const char $*_js[] ='; \
		sed '/^\/\//d; s/^[[:blank:]]*//; s/[\\"]/\\&/g; s/.*/"&\\n"/' $(filter %.js,$^); echo ';'; } > $@
$(BUILD)/src/output/timeline_svg.o: $(BUILD)/timeline_js.h
$(BUILD)/src/output/flame_svg.o: $(BUILD)/flame_js.h

# BPF: the files are compiled separately, linked into one object, and converted to a skeleton. clang's bpf target does
# not search this system's directory of <asm/...>.
BPF_SYS	= $(SYSROOT:%=-isystem %/usr/include )-I$(SYSROOT)/usr/include/$(MACHINE)-linux-gnu
BPF_FLAGS = -target bpf -mcpu=v3 -O2 -g -Wall -Werror -D__TARGET_ARCH_$(ARCH) $(PREFIX_MAP) -Ibpf -Iprobes $(BPF_SYS)
BPF_OBJS = $(BPF_SRCS:%.c=$(BUILD)/%.o)

$(BUILD)/bpf/%.bpf.o: bpf/%.bpf.c $(call sources,bpf/*.h bpf/*.def probes/*.def)
	$(call say,BPF,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CLANG) $(BPF_FLAGS) -c -o $@ $<

$(BUILD)/hostrace.bpf.o: $(BPF_OBJS)
	$(Q)$(BPFTOOL) gen object $@ $^

$(BUILD)/hostrace.skel.h: $(BUILD)/hostrace.bpf.o
	$(call say,SKEL,$@)
	$(Q)$(BPFTOOL) gen skeleton $< name hostrace > $@

$(patsubst %.c,$(BUILD)/%.o,$(call sources,src/collector/*.c)): $(BUILD)/hostrace.skel.h

-include $(OBJS:.o=.d) $(HTTP_OBJS:.o=.d) $(HTTPD_OBJS:.o=.d) $(DECODE_OBJS:.o=.d)

# For editors and language servers.
C_COMMAND = $(CC) $(CPPFLAGS) $(filter-out -MMD -MP,$(CFLAGS))
BPF_COMMAND = $(CLANG) $(BPF_FLAGS)
commands = for f in $(1); do printf '%b{"directory": "%s", "file": "%s", "command": "%s -c %s"}' \
	"$$separator" '$(CURDIR)' $$f '$(subst ",\",$(2))' $$f; separator=',\n'; done

compile_commands.json: $(if $(BPF_SRCS),$(BUILD)/hostrace.skel.h) FORCE
	$(Q){ echo '['; $(call commands,$(sort $(SRCS) $(HTTP_SRCS) $(HTTPD_SRCS) $(DECODE_SRCS) $(AGENT_SRCS) $(TEST_SRCS)),$(C_COMMAND)); \
		$(call commands,$(BPF_SRCS),$(BPF_COMMAND)); \
		printf '\n]\n'; } >$@

deps:
	@scripts/deps.sh

clean:
	rm -rf $(BUILD)

define HELP
make               build hostrace, its helpers and hostrace-guest in $(BUILD)
make demo          boot a small VM, record it, and explain the trace
make install       install to PREFIX=/usr/local, below DESTDIR; `make uninstall` removes it
make dist          pack the sources of HEAD; make check-package builds, checks and installs the Debian package
make deps          install the packages that building and testing need
make clean         remove $(BUILD)

make check-fast    run unit tests, cases and lints: about a minute
make check         run all tests that this machine can run (SAN=1: with sanitizers)
make check-live    record nested VMs under kvm_amd in an emulated host (RIG_PARTS, RIG_CHECKS: only a part)
make check-vmx     the same under kvm_intel
make check-arm64   build hostrace for arm64 and record there
make check-stap    the SystemTap scripts in that host
make check-matrix  the recorder on other kernels and QEMUs
make check-units, check-cases, check-fuzz, lint      run one kind of test
make check-unit U=clock_fit, check-case C=exits      run one test and show its output
make check-crash   end recorders and the power at N=100 random moments
make soak          record four VMs for MINUTES=30: memory and descriptors must not grow
make check-fleet   test the exporter; Prometheus scrapes two, of FLEET_VMS=20 VMs; upload to two ClickHouse servers
make check-faults  let N=100 allocations and system calls of each command fail (N=all)
make coverage      measure which lines and branches the tests execute (COVERAGE_PARTS="units cases broken live")
make mutate        change N=200 lines of FOLDER=src one at a time and see whether a test fails
make fuzz          search for new crashes (T=60 seconds per target, RUNS=-1, FUZZ_NAMES=hrt)
make fuzz-check    the same for some seconds from the corpora, as CI does
make fuzz-nightly  the same for 10,000,000 runs or half an hour of CPU time per target; continues where it was ended
make fuzz-coverage print how much of the parsers the fuzz inputs reach
make bench         measure the cost of recording and the speed of reading
make bench-diagnose  inject faults into VMs and count how often diagnose names them (VARIATIONS=12, KINDS=quota,disk)
make bench-ratios  compare the reading speed next to other tools with what it was

make docs          generate the manual and the pages made from tables
make format        break long lines (FILES=...)
make compile_commands.json    write compiler commands for editors

BUILD=build        build directory
JOBS=2             number of tests to run at once (default: one per CPU)
LIVE=0             build without libbpf: read traces, do not record
READLINE=0         build without libreadline: the prompt of hostrace sql does not edit lines
WERROR=1           treat warnings as errors
V=1                show commands
endef

help:
	$(info $(HELP))
	@:

# Tests, the rig, the demo guest, the manual.
include $(call sources,tests/*.mk tests/*/*.mk tests/live/*/*.mk src/library/*.mk src/guestside/*/*.mk src/output/*/*.mk src/browse/*.mk doc/*.mk)
