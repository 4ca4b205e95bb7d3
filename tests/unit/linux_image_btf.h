/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The BTF of the made-up kernel and its module; a part of linux_image.h. */
#ifndef HOSTRACE_TEST_LINUX_IMAGE_BTF_H
#define HOSTRACE_TEST_LINUX_IMAGE_BTF_H

struct image_btf {
	uint8_t *type, *string, *strings;
	uint32_t before; /* bytes of strings of the base */
};

static uint32_t image_string(struct image_btf *b, const char *text)
{
	uint32_t at = b->before + (uint32_t)(b->string - b->strings);

	b->string += sprintf((char *)b->string, "%s", text) + 1;
	return at;
}

struct image_member {
	const char *name;
	unsigned int offset, type;
};

/* Members end with one without a name. All structs have 256 bytes. */
static void image_struct(struct image_btf *b, const char *name, const struct image_member *member)
{
	uint32_t nr = 0;

	while (member[nr].name)
		nr++;
	b->type = image_put(b->type, image_string(b, name), 4);
	b->type = image_put(b->type, 4u << 24 | nr, 4); /* BTF_KIND_STRUCT */
	b->type = image_put(b->type, 256, 4);
	for (uint32_t i = 0; i < nr; i++) {
		b->type = image_put(b->type, image_string(b, member[i].name), 4);
		b->type = image_put(b->type, member[i].type, 4);
		b->type = image_put(b->type, member[i].offset * 8, 4);
	}
}

/* As since 6.4: 6 bytes, of which the last two are bitfields. */
static void image_orc_type(struct image_btf *b)
{
	static const struct {
		const char *name;
		uint32_t bits, at;
	} members[] = {{"sp_offset", 0, 0}, {"bp_offset", 0, 16}, {"sp_reg", 4, 32},
		       {"bp_reg", 4, 36},   {"type", 3, 40},	  {"signal", 1, 43}};
	const uint32_t nr = sizeof(members) / sizeof(*members);

	b->type = image_put(b->type, image_string(b, "orc_entry"), 4);
	b->type = image_put(b->type, 1u << 31 | 4u << 24 | nr, 4);
	b->type = image_put(b->type, 6, 4);
	for (uint32_t i = 0; i < nr; i++) {
		b->type = image_put(b->type, image_string(b, members[i].name), 4);
		b->type = image_put(b->type, 0, 4);
		b->type = image_put(b->type, members[i].bits << 24 | members[i].at, 4);
	}
}

/* In front of the types; those end at `types_end`, the strings begin at half of the size. */
static void image_btf_head(uint8_t *head, const uint8_t *types_end, uint32_t bytes)
{
	uint8_t *p = image_put(image_put(head, 0x0001eb9f, 4), 24, 4);

	p = image_put(image_put(p, 0, 4), (uint64_t)(types_end - (head + 24)), 4);
	image_put(image_put(p, bytes / 2 - 24, 4), bytes / 2, 4);
}

enum { IMAGE_TYPES = 46, IMAGE_VRING = 33 }; /* types of the kernel's BTF; id of one */

/* Of the module virtio_ring: its ids and strings follow those of the kernel. */
static void image_module_btf(uint8_t *image)
{
	uint8_t *head = image + IMAGE_MODULE_BTF, *half = head + IMAGE_MODULE_BTF_BYTES / 2;
	struct image_btf b = {head + 24, half, half, IMAGE_BTF_BYTES / 2};

	image_struct(&b, "vring_virtqueue_split",
		     (const struct image_member[]){
			     {"vring", 0, IMAGE_VRING}, {"avail_idx_shadow", 32, 0}, {0}});
	image_struct(
		&b, "vring_packed",
		(const struct image_member[]){
			{"num", 0, 0}, {"desc", 8, 0}, {"driver", 16, 0}, {"device", 24, 0}, {0}});
	image_struct(&b, "vring_virtqueue_packed",
		     (const struct image_member[]){
			     {"vring", 0, IMAGE_TYPES + 2}, {"next_avail_idx", 32, 0}, {0}});
	image_struct(&b, "vring_virtqueue",
		     (const struct image_member[]){{"vq", 0, 0},
						   {"packed_ring", 40, 0},
						   {"broken", 41, 0},
						   {"event", 42, 0},
						   {"num_added", 44, 0},
						   {"last_used_idx", 48, 0},
						   {"split", 64, IMAGE_TYPES + 1},
						   {"packed", 64, IMAGE_TYPES + 3},
						   {0}});
	image_btf_head(head, b.type, IMAGE_MODULE_BTF_BYTES);
}

/* Members that are structs name them by their place in this table, from 1. */
static const struct {
	const char *name;
	struct image_member member[20];
} image_types[] = {
	{"module",
	 {{"list", 8, 0}, {"name", 24, 0}, {"kallsyms", 80, 0}, {"arch", 128, 34}}},
	{"mod_kallsyms",
	 {{"symtab", 0, 0}, {"num_symtab", 8, 0}, {"strtab", 16, 0}, {"typetab", 24, 0}}},
	{"task_struct",
	 {{"pid", 0, 0},
	  {"tgid", 4, 0},
	  {"comm", 8, 0},
	  {"tasks", 24, 0},
	  {"signal", 40, 0},
	  {"thread_node", 48, 0},
	  {"real_parent", 64, 0},
	  {"__state", 72, 0},
	  {"exit_state", 76, 0},
	  {"mm", 80, 0},
	  {"cpu", 88, 0},
	  {"stack", 96, 0},
	  {"thread", 104, 35},
	  {"on_cpu", 112, 0},
	  {"nvcsw", 120, 0},
	  {"nivcsw", 128, 0}}},
	{"signal_struct", {{"thread_head", 0, 0}}},
	{"prb_desc_ring",
	 {{"count_bits", 0, 0},
	  {"descs", 8, 0},
	  {"infos", 16, 0},
	  {"head_id", 24, 0},
	  {"tail_id", 32, 0}}},
	{"prb_data_ring", {{"size_bits", 0, 0}, {"data", 8, 0}}},
	{"printk_ringbuffer", {{"desc_ring", 0, 5}, {"text_data_ring", 64, 6}}},
	{"prb_data_blk_lpos", {{"begin", 0, 0}, {"next", 8, 0}}},
	{"prb_desc", {{"state_var", 0, 0}, {"text_blk_lpos", 8, 8}}},
	{"printk_info",
	 {{"ts_nsec", 8, 0}, {"text_len", 16, 0}, {"facility", 18, 0}, {"level", 19, 0}}},
	{"irq_data", {{"irq", 0, 0}, {"hwirq", 8, 0}, {"chip", 16, 0}, {"domain", 24, 0}}},
	{"irq_desc",
	 {{"irq_data", 0, 11},
	  {"kstat_irqs", 40, 0},
	  {"action", 48, 0},
	  {"status_use_accessors", 56, 0},
	  {"name", 64, 0}}},
	{"irq_chip", {{"name", 0, 0}}},
	{"irqaction", {{"next", 0, 0}, {"name", 8, 0}}},
	{"xarray", {{"xa_head", 0, 0}}},
	{"xa_node", {{"shift", 0, 0}, {"slots", 8, 0}}},
	{"maple_tree", {{"ma_root", 8, 0}}},
	{"maple_range_64", {{"pivot", 8, 0}, {"slot", 128, 0}}},
	{"maple_arange_64", {{"pivot", 8, 0}, {"slot", 80, 0}}},
	{"irq_stat_info", {{"skip_vector", 0, 0}, {"symbol", 8, 0}, {"text", 16, 0}}},
	{"kset", {{"list", 0, 0}, {"kobj", 16, 0}}},
	{"kobject", {{"name", 0, 0}, {"entry", 8, 0}}},
	{"subsys_private", {{"subsys", 0, 0}, {"klist_devices", 128, 24}}},
	{"klist", {{"k_list", 8, 0}}},
	{"klist_node", {{"n_node", 8, 0}}},
	{"device_private", {{"knode_bus", 32, 0}, {"device", 64, 0}}},
	{"device", {{"kobj", 0, 22}, {"driver", 32, 0}}},
	{"device_driver", {{"name", 0, 0}}},
	{"virtio_device", {{"dev", 16, 0}, {"vqs", 128, 0}}},
	{"virtqueue",
	 {{"list", 0, 0}, {"name", 16, 0}, {"index", 24, 0}, {"num_free", 28, 0}}},
	{"btf_module", {{"list", 0, 0}, {"module", 16, 0}, {"btf", 24, 0}}},
	{"btf", {{"data", 0, 0}, {"data_size", 8, 0}}},
	{"vring", {{"num", 0, 0}, {"desc", 8, 0}, {"avail", 16, 0}, {"used", 24, 0}}},
	{"mod_arch_specific",
	 {{"num_orcs", 0, 0}, {"orc_unwind_ip", 8, 0}, {"orc_unwind", 16, 0}}},
	{"thread_struct", {{"sp", 0, 0}}},
	{"inactive_task_frame", {{"bp", 0, 0}, {"ret_addr", 8, 0}}},
	{"tk_read_base",
	 {{"clock", 0, 0},
	  {"mask", 8, 0},
	  {"cycle_last", 16, 0},
	  {"mult", 24, 0},
	  {"shift", 28, 0},
	  {"xtime_nsec", 32, 0}}},
	{"timekeeper", {{"tkr_mono", 0, 37}, {"xtime_sec", 48, 0}, {"cycle_interval", 56, 0}}},
	{"tk_data", {{"timekeeper", 8, 38}}},
	{"clocksource", {{"name", 0, 0}}},
	/* of the typedef irq_cpustat_t */
	{"", {{"__nmi_count", 0, 0}, {"apic_timer_irqs", 4, 0}, {"counts", 0, 0}}},
};

/* Types in the first half, strings in the second. */
static void image_btf(uint8_t *image)
{
	uint8_t *head = image + IMAGE_BTF, *half = head + IMAGE_BTF_BYTES / 2;
	struct image_btf b = {.type = head + 24, .string = half + 1, .strings = half};
	size_t nr = sizeof(image_types) / sizeof(*image_types);

	for (size_t i = 0; i < nr; i++)
		image_struct(&b, image_types[i].name, image_types[i].member);
	image_orc_type(&b);
	b.type = image_put(b.type, image_string(&b, "unsigned short"), 4);
	b.type = image_put(b.type, 1u << 24, 4); /* BTF_KIND_INT */
	b.type = image_put(image_put(b.type, 2, 4), 16, 4);
	b.type = image_put(b.type, image_string(&b, "x86_cpu_to_apicid"), 4);
	b.type = image_put(b.type, 14u << 24, 4); /* BTF_KIND_VAR */
	b.type = image_put(image_put(b.type, nr + 2, 4), 1, 4);
	b.type = image_put(b.type, image_string(&b, "irq_cpustat_t"), 4);
	b.type = image_put(b.type, 8u << 24, 4); /* BTF_KIND_TYPEDEF */
	b.type = image_put(b.type, nr, 4);
	b.type = image_put(b.type, image_string(&b, "irq_stat_counts"), 4);
	b.type = image_put(b.type, 6u << 24 | 1, 4); /* BTF_KIND_ENUM */
	b.type = image_put(b.type, 4, 4);
	b.type = image_put(image_put(b.type, image_string(&b, "IRQ_COUNT_MAX"), 4), 2, 4);
	image_btf_head(head, b.type, IMAGE_BTF_BYTES);
}

#endif
