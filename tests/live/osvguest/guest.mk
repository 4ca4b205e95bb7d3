# A guest that has OSv's data structures, with OSv's names, and DWARF: what `hostrace guest extract` and similar
# commands read. clang, since it compiles C++ without a C++ library.
check-build: $(BUILD)/osvguest.elf $(BUILD)/osvguest/lib/libtest.so $(BUILD)/osvguest/lib/libsolaris.so

OSVGUEST = tests/live/osvguest
OSVGUEST_CXX = $(CLANG) -x c++ -std=c++17 -m64 -O1 -g -gdwarf-aranges -Wall -Wextra -Wno-invalid-offsetof -ffreestanding \
	-fno-pic -fno-pie -fno-exceptions -fno-rtti -fno-stack-protector -fcf-protection=none -mno-red-zone \
	-mgeneral-regs-only -fno-threadsafe-statics -fasynchronous-unwind-tables -fno-optimize-sibling-calls
OSVGUEST_OBJECTS = $(patsubst $(OSVGUEST)/%.cc,$(BUILD)/osvguest/%.o,$(wildcard $(OSVGUEST)/*.cc)) $(BUILD)/osvguest/start.o

$(BUILD)/osvguest/%.o: $(OSVGUEST)/%.cc $(wildcard $(OSVGUEST)/*.h*) $(OSVGUEST)/guest.mk
	$(Q)mkdir -p $(@D)
	$(Q)$(OSVGUEST_CXX) $(if $(filter mutex,$*),-fomit-frame-pointer,-fno-omit-frame-pointer) -c -o $@ $<

$(BUILD)/osvguest/start.o: $(OSVGUEST)/start.S tests/live/pvh.inc
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -m64 -g -c -o $@ $<

$(BUILD)/osvguest.elf: $(OSVGUEST_OBJECTS) $(OSVGUEST)/guest.lds
	$(call say,GUEST,$@)
	$(Q)ld -m elf_x86_64 -nostdlib --build-id=none --no-warn-rwx-segments --eh-frame-hdr -z noexecstack \
		-T $(OSVGUEST)/guest.lds -o $@ $(OSVGUEST_OBJECTS)

$(BUILD)/osvguest/lib/libtest.so: tests/live/osvguest/libtest.c
	$(call say,GUEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -m64 -g -O1 -fPIC -shared -nostdlib -fcf-protection=none -Wl,--build-id=none \
		-Wl,-Ttext=0x1000 -o $@ $<

$(BUILD)/osvguest/lib/libsolaris.so: tests/live/osvguest/libsolaris.c
	$(call say,GUEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -m64 -g -O1 -fPIC -shared -nostdlib -Wl,--build-id=none -Wl,--section-start=.zfs=0x3000 -o $@ $<
