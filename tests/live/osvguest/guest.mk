# A guest that has OSv's data structures, with OSv's names, and DWARF: what `hostrace guest extract` and similar
# commands read. clang, since it compiles C++ without a C++ library.
check-build: $(BUILD)/osvguest.elf $(BUILD)/osvguest/lib/libtest.so

OSVGUEST = tests/live/osvguest
OSVGUEST_CXX = $(CLANG) -x c++ -std=c++17 -m64 -O1 -g -gdwarf-aranges -Wall -Wextra -ffreestanding -fno-pic -fno-pie -fno-exceptions \
	-fno-rtti -fno-stack-protector -fcf-protection=none -fno-omit-frame-pointer -mno-red-zone \
	-mgeneral-regs-only -fno-threadsafe-statics -fno-asynchronous-unwind-tables -fstandalone-debug

$(BUILD)/osvguest.elf: $(wildcard tests/live/osvguest/*) tests/live/pvh.inc
	$(call say,GUEST,$@)
	$(Q)mkdir -p $(BUILD)/osvguest
	$(Q)$(CC) -m64 -c -o $(BUILD)/osvguest/start.o $(OSVGUEST)/start.S
	$(Q)$(OSVGUEST_CXX) -c -o $(BUILD)/osvguest/guest.o $(OSVGUEST)/guest.cc
	$(Q)ld -m elf_x86_64 -nostdlib --build-id=none -z noexecstack -T $(OSVGUEST)/guest.lds \
		-o $@ $(BUILD)/osvguest/start.o $(BUILD)/osvguest/guest.o

$(BUILD)/osvguest/lib/libtest.so: tests/live/osvguest/libtest.c
	$(call say,GUEST,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -m64 -g -O1 -fPIC -shared -nostdlib -fcf-protection=none -Wl,--build-id=none \
		-Wl,-Ttext=0x1000 -o $@ $<
