/*
 * Frames from the host. A header is judged before a byte of its payload is taken, so that nothing
 * longer than its buffer is ever stored and an impossible frame ends the talk at once.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "bytes.h"
#include "init.h"

unsigned char request_payload[MAX_REQUEST_BYTES] __attribute__((aligned(4096)));

/* Env may hold secrets, and a small init is the last the OOM killer looks at. */
void request_forget(void)
{
	if (madvise(request_payload, MAX_REQUEST_BYTES, MADV_DONTNEED) != 0)
		explicit_bzero(request_payload, MAX_REQUEST_BYTES);
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

static int judge_header(const struct inbox *inbox)
{
	switch (inbox->type) {
	case FRAME_REQUEST:
		if (inbox->requested)
			return FAULT_ORDER;
		return inbox->length < REQUEST_FIXED_BYTES || inbox->length > MAX_REQUEST_BYTES ? FAULT_LENGTH : 0;
	case FRAME_STDIN:
		if (!inbox->stdin_open)
			return FAULT_ORDER;
		if (inbox->length == 0 || inbox->length > STDIN_WINDOW_BYTES)
			return FAULT_LENGTH;
		return inbox->length > inbox->window ? FAULT_WINDOW : 0;
	case FRAME_STDIN_END:
		if (!inbox->stdin_open)
			return FAULT_ORDER;
		return inbox->length != 0 ? FAULT_LENGTH : 0;
	case FRAME_KILL:
		if (!inbox->requested)
			return FAULT_ORDER;
		return inbox->length != KILL_BYTES ? FAULT_LENGTH : 0;
	case FRAME_CLEAR:
		if (inbox->requested)
			return FAULT_ORDER;
		return inbox->length != 0 ? FAULT_LENGTH : 0;
	default:
		return FAULT_TYPE;
	}
}

static int open_frame(struct inbox *inbox)
{
	const unsigned char *header = inbox->header;

	if (header[0] != MAGIC_0 || header[1] != MAGIC_1 || header[3] != 0)
		return FAULT_MAGIC;
	inbox->type = header[2];
	inbox->length = get_u32(header + 4);
	inbox->have = 0;

	int fault = judge_header(inbox);

	if (fault == 0 && inbox->type == FRAME_STDIN)
		inbox->window -= inbox->length;
	return fault;
}

static void take_payload(struct inbox *inbox, const unsigned char *bytes, size_t count)
{
	if (inbox->type == FRAME_REQUEST)
		memcpy(request_payload + inbox->have, bytes, count);
	else if (inbox->type == FRAME_KILL)
		memcpy(inbox->kill + inbox->have, bytes, count);
	else if (count > 0)
		stdin_put(bytes, count);
	inbox->have += count;
}

static int close_frame(struct inbox *inbox)
{
	struct request request;

	switch (inbox->type) {
	case FRAME_REQUEST:
		if (!request_parse(request_payload, inbox->length, &request))
			return FAULT_REQUEST;
		inbox->requested = true;
		inbox->stdin_open = request.streams_stdin;
		inbox->window = STDIN_WINDOW_BYTES;
		on_request(&request, inbox->length);
		return 0;
	case FRAME_STDIN_END:
		inbox->stdin_open = false;
		stdin_end();
		return 0;
	case FRAME_KILL:
		if (inbox->kill[0] < 1 || inbox->kill[0] > 64 || inbox->kill[1] != 0 || get_u16(inbox->kill + 2) != 0)
			return FAULT_KILL;
		on_kill(inbox->kill[0], get_u32(inbox->kill + 4));
		return 0;
	case FRAME_CLEAR:
		on_clear();
		return 0;
	default:
		return 0;
	}
}

int inbox_feed(struct inbox *inbox, const unsigned char *bytes, size_t count)
{
	while (count > 0) {
		bool in_header = inbox->header_have < HEADER_BYTES;
		size_t want = in_header ? HEADER_BYTES - inbox->header_have : inbox->length - inbox->have;
		size_t taken = smaller(want, count);
		int fault = 0;

		if (in_header) {
			memcpy(inbox->header + inbox->header_have, bytes, taken);
			inbox->header_have += taken;
			if (inbox->header_have == HEADER_BYTES)
				fault = open_frame(inbox);
		} else {
			take_payload(inbox, bytes, taken);
		}
		if (fault == 0 && inbox->header_have == HEADER_BYTES && inbox->have == inbox->length) {
			inbox->header_have = 0;
			fault = close_frame(inbox);
		}
		if (fault != 0)
			return fault;
		bytes += taken;
		count -= taken;
	}
	return 0;
}
