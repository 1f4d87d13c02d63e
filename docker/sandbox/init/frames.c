/* The frames to the host that are not data, as docs/init-protocol.md lays them out. */
#include <sys/wait.h>

#include "bytes.h"
#include "init.h"

void frame_ready(unsigned prestart)
{
	unsigned char payload[12] = { 0 };

	put_u16(payload, PROTOCOL_VERSION);
	put_u16(payload + 2, (uint16_t)prestart);
	put_u32(payload + 4, MAX_REQUEST_BYTES);
	put_u32(payload + 8, STDIN_WINDOW_BYTES);
	outbox_frame(FRAME_READY, payload, sizeof payload);
}

void frame_ahead(unsigned state)
{
	unsigned char payload[4] = { (unsigned char)state };

	outbox_frame(FRAME_AHEAD, payload, sizeof payload);
}

void frame_started(pid_t pid, unsigned how)
{
	unsigned char payload[8];

	put_u32(payload, (uint32_t)pid);
	put_u32(payload + 4, how);
	outbox_frame(FRAME_STARTED, payload, sizeof payload);
}

void frame_credit(size_t credit)
{
	unsigned char payload[4];

	put_u32(payload, (uint32_t)credit);
	outbox_frame(FRAME_STDIN_CREDIT, payload, sizeof payload);
}

void frame_failed(const struct start_failure *failure)
{
	unsigned char payload[8] = { (unsigned char)failure->step };

	put_u32(payload + 4, (uint32_t)failure->error);
	outbox_frame(FRAME_FAILED, payload, sizeof payload);
}

void frame_fault(int fault, const unsigned char *header)
{
	unsigned char payload[8] = { (unsigned char)fault, header[2] };

	put_u32(payload + 4, get_u32(header + 4));
	outbox_frame(FRAME_FAULT, payload, sizeof payload);
}

void frame_exit(int wait_status, bool alone, uint64_t wall_us)
{
	unsigned char payload[EXIT_BYTES] = { 0 };
	struct usage usage;

	counters_read(&usage);
	payload[0] = WIFSIGNALED(wait_status) ? HOW_SIGNALED : HOW_EXITED;
	payload[1] = (unsigned char)(WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status));
	payload[2] = alone ? EXIT_FLAG_ALONE : 0;
	payload[3] = (unsigned char)usage.measured;
	put_u32(payload + 4, usage.oom_kills);
	put_u64(payload + 8, wall_us);
	put_u64(payload + 16, usage.cpu_us);
	put_u64(payload + 24, usage.peak_bytes);
	put_u64(payload + 32, usage.max_rss_bytes);
	outbox_frame(FRAME_EXIT, payload, sizeof payload);
}
