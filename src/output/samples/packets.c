// SPDX-License-Identifier: GPL-2.0-or-later
/* A packet is made an Ethernet frame; frames become pcap by libpcap, pcapng, or text by tcpdump, which reads pcap. */
#include <errno.h>
#include <inttypes.h>
#include <pcap/pcap.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "output/samples/compat.h"
#include "output/samples/packets.h"
#include "base/error.h"
#include "base/version.h"
#include "event/event.h"

enum { SNAPLEN = 1500, ETHERNET_HEADER = 14, PACKET_MAX = 65535 };

/* OSv's events in other traces are "osv:NAME". */
static const char *name_of(const struct sample *s)
{
	static const char osv[] = "osv:";

	return s->tp->name + (strncmp(s->tp->name, osv, strlen(osv)) ? 0 : strlen(osv));
}

bool sample_is_packet(const struct sample *s)
{
	return !strncmp(name_of(s), "net_packet_", 11);
}

static bool is_dumped(const struct sample *s)
{
	return !strcmp(name_of(s), "net_packet_in") || !strcmp(name_of(s), "net_packet_out");
}

/* OSv's number of a protocol as Ethernet's type; 0: it has none. 9 is a whole frame. */
enum { PROTO_ETHERNET = 9 };

static uint16_t ethernet_type(uint64_t proto)
{
	static const uint16_t types[] = {[1] = 0x0800, [3] = 0x8035, [4] = 0x0806,
					 [7] = 0x0806, [8] = 0x8137, [10] = 0x86dd};

	return proto < sizeof(types) / sizeof(types[0]) ? types[proto] : 0;
}

static int nibble(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The protocol and the bytes in an event's fields, where blobs are hexadecimal text. */
static bool event_packet(const struct sample *s, uint64_t *proto, uint8_t *ret, uint32_t *len)
{
	const struct event_type *type = s->tp->kind->type;
	const struct event ev = {.type = type, .data = s->args, .size = (uint16_t)s->args_len};
	const struct field *bytes = event_field(type, "a1"), *a0 = event_field(type, "a0");
	char hex[EVENT_RECORD_MAX];

	if (!bytes || bytes->kind < FIELD_TEXT)
		return false;
	*proto = a0 ? event_u64(&ev, a0) : 0;
	event_text(&ev, bytes, hex, sizeof(hex));
	for (*len = 0; nibble(hex[2 * *len]) >= 0 && nibble(hex[2 * *len + 1]) >= 0; ++*len)
		ret[*len] = (uint8_t)(nibble(hex[2 * *len]) << 4 | nibble(hex[2 * *len + 1]));
	return *len > 0;
}

static bool osv_packet(const struct sample *s, uint64_t *proto, uint8_t *ret, uint32_t *len)
{
	struct sample_arg args[SAMPLE_ARGS_MAX];
	size_t args_len;

	if (sample_args(s->tp, s->args, s->args_len, args, &args_len) < 2 || args[1].type != '*')
		return false;
	*proto = args[0].u;
	*len = args[1].len;
	memcpy(ret, args[1].bytes, args[1].len);
	return true;
}

/*
 * The packet as an Ethernet frame. False if its protocol has no Ethernet type, or the sample has no packet.
 */
static bool frame_make(const struct sample *s, uint8_t ret[ETHERNET_HEADER + PACKET_MAX],
		       uint32_t *ret_len)
{
	uint64_t proto = 0;
	bool found = s->tp->kind && s->tp->kind->type
			     ? event_packet(s, &proto, ret + ETHERNET_HEADER, ret_len)
			     : osv_packet(s, &proto, ret + ETHERNET_HEADER, ret_len);
	uint16_t type;

	if (found && proto == PROTO_ETHERNET) {
		memmove(ret, ret + ETHERNET_HEADER, *ret_len);
		return true;
	}
	type = found ? ethernet_type(proto) : 0;
	if (!type)
		return false;
	memset(ret, 0, ETHERNET_HEADER); /* the guest traced no addresses */
	ret[12] = (uint8_t)(type >> 8);
	ret[13] = (uint8_t)type;
	*ret_len += ETHERNET_HEADER;
	return true;
}

static struct timeval packet_time(uint64_t ns)
{
	uint64_t us = ns / 1000 + (ns % 1000 >= 500);

	return (struct timeval){(time_t)(us / 1000000), (suseconds_t)(us % 1000000)};
}

/* A pcap file being written. */
struct writer {
	pcap_t *pcap;
	pcap_dumper_t *dumper;
	uint8_t *frame;
	bool compat;
	const struct time_range *range;
	const struct packets_clock *clock; /* NULL: pcap */
	FILE *out;			   /* of pcapng */
	struct packet_counts n;
};

static int writer_open(struct writer *w, FILE *out, bool compat)
{
	*w = (struct writer){.compat = compat};
	w->frame = malloc(ETHERNET_HEADER + PACKET_MAX);
	w->pcap = pcap_open_dead(DLT_EN10MB, SNAPLEN);
	w->dumper = w->pcap && w->frame ? pcap_dump_fopen(w->pcap, out) : NULL;
	return w->dumper ? 0
			 : fail(-EIO, "pcap: %s", w->pcap ? pcap_geterr(w->pcap) : "out of memory");
}

/* The FILE stays open: it is its owner's. */
static void writer_close(struct writer *w)
{
	if (w->dumper)
		pcap_dump_flush(w->dumper);
	if (w->pcap)
		pcap_close(w->pcap);
	free(w->frame);
}

static int writer_put(struct writer *w, const struct sample *s, struct timeval when)
{
	struct pcap_pkthdr head = {.ts = when};
	uint32_t len;

	if (!frame_make(s, w->frame, &len)) {
		w->n.skipped++;
		return w->compat ? fail(-EPROTO,
					"%s at %" PRIu64 " ns: its protocol has no Ethernet type; "
							 "it is skipped without --compat",
					s->tp->name, s->time_ns)
				 : -EPROTO;
	}
	head.caplen = head.len = len;
	pcap_dump((u_char *)w->dumper, &head, w->frame);
	w->n.written++;
	return 0;
}

/* ---- pcapng ---- */

/*
 * draft-ietf-opsawg-pcapng; libpcap reads this format and does not write it. A file is a row of blocks: type, length,
 * body, options, length. Numbers are little-endian, as this machine's.
 */
enum { BLOCK_SECTION = 0x0a0d0d0a, BLOCK_INTERFACE = 1, BLOCK_PACKET = 6 };
enum { OPTION_END = 0, OPTION_COMMENT = 1 };
enum { SECTION_PROGRAM = 4 };
enum { INTERFACE_NAME = 2, INTERFACE_RESOLUTION = 9 };
enum { PACKET_FLAGS = 2, FLAG_INBOUND = 1, FLAG_OUTBOUND = 2 };
enum { BYTE_ORDER_MAGIC = 0x1a2b3c4d, LINK_ETHERNET = 1, RESOLUTION_NS = 9 };
enum { OPTION_BYTES_MAX = UINT16_MAX };

struct pcapng_packet {
	uint64_t time_ns;
	const void *data; /* an Ethernet frame */
	uint32_t len;
	bool outbound; /* the guest sent it */
	const char *comment;
};

struct pcapng_option {
	uint16_t code;
	const void *data;
	size_t len;
};

struct pcapng_part {
	const void *data;
	size_t len;
};

static uint32_t padded(size_t len)
{
	return (uint32_t)(len + 3) & ~3u;
}

static void put_padded(const void *data, size_t len, FILE *out)
{
	static const uint8_t zeros[3];

	fwrite(data, 1, len, out);
	fwrite(zeros, 1, padded(len) - len, out);
}

static void option_put(const struct pcapng_option *o, FILE *out)
{
	const uint16_t head[] = {o->code, (uint16_t)o->len};

	fwrite(head, sizeof(head), 1, out);
	put_padded(o->data, o->len, out);
}

static struct pcapng_option text_option(uint16_t code, const char *text)
{
	size_t len = strlen(text);

	return (struct pcapng_option){code, text, len < OPTION_BYTES_MAX ? len : OPTION_BYTES_MAX};
}

/* The body is a head and, for packets, data. */
static void block_put(uint32_t type, const struct pcapng_part *head, const struct pcapng_part *data,
		      const struct pcapng_option *options, unsigned int nr, FILE *out)
{
	const struct pcapng_option end = {OPTION_END, "", 0};
	uint32_t len = 3 * sizeof(uint32_t) + padded(head->len) + padded(data->len) +
		       2 * sizeof(uint16_t);

	for (unsigned int i = 0; i < nr; i++)
		len += 2 * (uint32_t)sizeof(uint16_t) + padded(options[i].len);
	fwrite(&type, sizeof(type), 1, out);
	fwrite(&len, sizeof(len), 1, out);
	put_padded(head->data, head->len, out);
	put_padded(data->data, data->len, out);
	for (unsigned int i = 0; i < nr; i++)
		option_put(&options[i], out);
	option_put(&end, out);
	fwrite(&len, sizeof(len), 1, out);
}

/* The beginning of the file: a section with one interface. `clock`: which one timestamps are of, for people. */
static void pcapng_begin(const char *program, const char *interface, const char *clock, FILE *out)
{
	const struct {
		uint32_t magic;
		uint16_t major, minor;
		uint64_t length;
	} section = {BYTE_ORDER_MAGIC, 1, 0, UINT64_MAX /* unknown */};
	const struct {
		uint16_t link, reserved;
		uint32_t snaplen;
	} link = {LINK_ETHERNET, 0, 0 /* no limit */};
	const uint8_t resolution = RESOLUTION_NS;
	const struct pcapng_option about = text_option(SECTION_PROGRAM, program);
	const struct pcapng_option options[] = {text_option(INTERFACE_NAME, interface),
					 {INTERFACE_RESOLUTION, &resolution, sizeof(resolution)},
					 text_option(OPTION_COMMENT, clock)};
	const struct pcapng_part none = {"", 0};

	block_put(BLOCK_SECTION, &(struct pcapng_part){&section, sizeof(section)}, &none, &about, 1,
		  out);
	block_put(BLOCK_INTERFACE, &(struct pcapng_part){&link, sizeof(link)}, &none, options,
		  sizeof(options) / sizeof(options[0]), out);
}

static void pcapng_packet(const struct pcapng_packet *p, FILE *out)
{
	const uint32_t head[] = {0 /* interface */, (uint32_t)(p->time_ns >> 32),
				 (uint32_t)p->time_ns, p->len, p->len};
	const uint32_t flags = p->outbound ? FLAG_OUTBOUND : FLAG_INBOUND;
	const struct pcapng_option options[] = {text_option(OPTION_COMMENT, p->comment),
					 {PACKET_FLAGS, &flags, sizeof(flags)}};

	block_put(BLOCK_PACKET, &(struct pcapng_part){head, sizeof(head)},
		  &(struct pcapng_part){p->data, p->len}, options,
		  sizeof(options) / sizeof(options[0]), out);
}

/*
 * Where host and guest are merged, a packet has the host's timestamp, of its wall clock if that is known; the comment
 * has all its clocks.
 */
static int packet_put_ng(const struct sample *s, int64_t realtime_offset, uint8_t *frame, FILE *out)
{
	char guest[64], comment[192], host[64] = "";
	uint64_t guest_ns = s->guest_ns ? s->guest_ns : s->time_ns;
	struct pcapng_packet p = {.time_ns = s->time_ns + (uint64_t)realtime_offset,
				  .data = frame,
				  .outbound = !strcmp(name_of(s), "net_packet_out"),
				  .comment = comment};

	if (!frame_make(s, frame, &p.len))
		return 0;
	if (s->guest_ns)
		snprintf(host, sizeof(host), "host %" PRIu64 " ns, ", s->time_ns);
	snprintf(guest, sizeof(guest), "guest %" PRIu64 " ns, CPU %u", guest_ns, s->cpu);
	snprintf(comment, sizeof(comment), "%s%s%s%s", host, guest,
		 *s->thread_name ? ", thread " : "", s->thread_name);
	pcapng_packet(&p, out);
	return 1;
}

static int packet_sample(void *writer, const struct sample *s)
{
	struct writer *w = writer;

	if (!is_dumped(s) || !time_range_has(w->range, s->time_ns))
		return 0;
	if (w->clock) {
		bool put = packet_put_ng(s, w->clock->realtime_offset, w->frame, w->out);

		w->n.written += put;
		w->n.skipped += !put;
		return 0;
	}
	int err = writer_put(w, s,
			     w->compat ? compat_packet_time(s->time_ns) : packet_time(s->time_ns));

	return err == -EPROTO && !w->compat ? 0 : err;
}

int packets_pcap_dump(struct sample_trace *t, const struct time_range *range, bool compat,
		      FILE *out, struct packet_counts *ret)
{
	struct writer w;
	int err = writer_open(&w, out, compat);

	w.range = range;
	if (!err)
		err = sample_each(t, packet_sample, &w);
	*ret = w.n;
	writer_close(&w);
	return err;
}

int packets_pcapng(struct sample_trace *t, const struct time_range *range,
		   const struct packets_clock *clock, FILE *out, struct packet_counts *ret)
{
	struct writer w = {.range = range, .clock = clock, .out = out};
	int err;

	w.frame = malloc(ETHERNET_HEADER + PACKET_MAX);
	if (!w.frame)
		return fail(-ENOMEM, "out of memory");
	pcapng_begin("hostrace " HOSTRACE_VERSION, "net_packet", clock->name, out);
	err = sample_each(t, packet_sample, &w);
	*ret = w.n;
	free(w.frame);
	return err;
}

/* ---- tcpdump ---- */

/* Runs tcpdump on `in`; its text and messages go to `out`. 0 or -errno. */
static int tcpdump_run(FILE *in, int out, const char *const *argv)
{
	pid_t pid;
	int status;

	fflush(in);
	rewind(in);
	pid = fork();
	if (pid < 0)
		return fail(-errno, "fork: %s", strerror(errno));
	if (!pid) {
		signal(SIGPIPE, SIG_DFL);
		if (dup2(fileno(in), STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
		    dup2(out, STDERR_FILENO) >= 0 &&
		    !syscall(SYS_close_range, STDERR_FILENO + 1, ~0u, 0))
			execvp(argv[0], (char *const *)argv);
		_exit(127);
	}
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return fail(-errno, "waitpid: %s", strerror(errno));
	if (WIFSIGNALED(status))
		return fail(-EINTR, "tcpdump was ended by signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status) == 127)
		return fail(-ENOENT, "cannot run tcpdump; install it, or write a file with "
				     "pcap-dump and read it elsewhere");
	return 0;
}

int packets_tcpdump(struct sample_trace *t, const struct time_range *range, bool compat, FILE *out,
		    struct packet_counts *ret)
{
	static const char *const argv[] = {"tcpdump", "-nn", "-r", "-", NULL};
	_cleanup_fclose_ FILE *pcap = tmpfile();
	int err = pcap ? 0 : fail(-errno, "cannot write a temporary file: %s", strerror(errno));

	if (!err)
		err = packets_pcap_dump(t, range, compat, pcap, ret);
	fflush(out);
	return err ? err : tcpdump_run(pcap, fileno(out), argv);
}

/* ---- one line per packet ---- */

/*
 * All packets are given to one tcpdump, packet n with a timestamp of n seconds: the line that begins
 * with that number is the packet's first one. With -S (absolute sequence numbers) tcpdump prints for each
 * packet what it would print for it alone.
 */
struct packet_texts {
	bool compat;
	FILE *pcap, *text;
	struct writer writer;
	uint64_t nr, next;
	char line[PACKET_TEXT_MAX]; /* read ahead: that of packet `line_of`, 0: none */
	uint64_t line_of;
	bool ended;
};

int packet_texts_open(bool compat, struct packet_texts **ret)
{
	struct packet_texts *p = calloc(1, sizeof(*p));
	int err = p ? 0 : fail(-ENOMEM, "out of memory");

	if (err)
		return err;
	p->compat = compat;
	p->pcap = tmpfile();
	p->text = tmpfile();
	if (!p->pcap || !p->text)
		err = fail(-errno, "cannot write a temporary file: %s", strerror(errno));
	else
		err = writer_open(&p->writer, p->pcap, compat);
	if (err)
		packet_texts_close(p);
	else
		*ret = p;
	return err;
}

void packet_texts_close(struct packet_texts *p)
{
	if (!p)
		return;
	writer_close(&p->writer);
	if (p->pcap)
		fclose(p->pcap);
	if (p->text)
		fclose(p->text);
	free(p);
}

int packet_texts_add(struct packet_texts *p, const struct sample *s)
{
	int err = writer_put(&p->writer, s, (struct timeval){(time_t)++p->nr, 0});

	return err == -EPROTO && !p->compat ? 0 : err;
}

int packet_texts_run(struct packet_texts *p)
{
	static const char *const argv[] = {"tcpdump", "-nn", "-tt", "-S", "-r", "-", NULL};
	int err = 0;

	pcap_dump_flush(p->writer.dumper);
	if (p->nr)
		err = tcpdump_run(p->pcap, fileno(p->text), argv);
	rewind(p->text);
	return err;
}

/* "17.000000 IP ..." is packet 17's; lines of other shape continue the one before. */
static void read_ahead(struct packet_texts *p)
{
	char line[PACKET_TEXT_MAX + 32];

	p->line_of = 0;
	while (!p->ended && !p->line_of) {
		char *end;

		if (!fgets(line, sizeof(line), p->text)) {
			p->ended = true;
			return;
		}
		line[strcspn(line, "\n")] = 0;
		uint64_t number = strtoull(line, &end, 10);

		if (end == line || strncmp(end, ".000000 ", 8))
			continue;
		p->line_of = number;
		snprintf(p->line, sizeof(p->line), "%s", end + 8);
	}
}

int packet_text(struct packet_texts *p, char *buf, size_t size)
{
	p->next++;
	while (!p->ended && p->line_of < p->next)
		read_ahead(p);
	if (p->line_of != p->next) {
		if (p->compat)
			return fail(-EPROTO,
				    "tcpdump did not print packet %" PRIu64
				    ": its protocol has no Ethernet type",
				    p->next);
		snprintf(buf, size, "(no Ethernet packet)");
		return 0;
	}
	size_t len = strlen(p->line);

	while (len && p->line[len - 1] == ' ')
		p->line[--len] = 0;
	if (p->compat)
		compat_bytes_repr(p->line, buf, size);
	else
		snprintf(buf, size, "%s", p->line);
	return 0;
}

/* ---- TCP states ---- */

static const char *const tcp_states[] = {
	"CLOSED",     "LISTEN",	 "SYN_SENT", "SYN_RECEIVED", "ESTABLISHED", "CLOSE_WAIT",
	"FIN_WAIT_1", "CLOSING", "LAST_ACK", "FIN_WAIT_2",   "TIME_WAIT",
};

static const char *tcp_state_name(unsigned long number)
{
	return number < sizeof(tcp_states) / sizeof(tcp_states[0]) ? tcp_states[number] : NULL;
}

char *tcp_state_text(char *text, char *end, bool compat)
{
	static const char arrow[] = " -> ";
	char *at = end, *from;

	*end = 0;
	while (at > text && (at[-1] >= '0' && at[-1] <= '9'))
		at--;
	if (at - text < 5 || at == end || memcmp(at - 4, arrow, 4))
		return end;
	const char *to_name = tcp_state_name(strtoul(at, NULL, 10));

	from = at - 4;
	if (compat)
		return compat_tcp_states(tcp_state_name((unsigned long)(from[-1] - '0')), to_name,
					 end);
	while (from > text && from[-1] >= '0' && from[-1] <= '9')
		from--;
	bool negative = from > text && from[-1] == '-';
	const char *from_name = negative ? NULL : tcp_state_name(strtoul(from, NULL, 10));

	if (!from_name || !to_name)
		return end;
	return from + sprintf(from, "%s -> %s", from_name, to_name);
}
