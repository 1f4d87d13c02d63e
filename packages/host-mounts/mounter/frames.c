#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mounts.h"

#define ANSWER_BYTES 128

static uint32_t get_u32(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void put_u32(unsigned char *at, uint32_t value)
{
	for (int byte = 0; byte < 4; byte++)
		at[byte] = (unsigned char)(value >> (24 - 8 * byte));
}

/* False: nobody reads any more. */
static bool answer(uint32_t id, const char *step, int error)
{
	unsigned char frame[ANSWER_BYTES];
	char *reason = (char *)frame + LENGTH_BYTES + 5;
	size_t size = sizeof frame - LENGTH_BYTES - 5, length = 0;

	if (step != NULL) {
		const char *name = strerrorname_np(error);
		int written = name == NULL ? snprintf(reason, size, "%s errno %d", step, error)
					   : snprintf(reason, size, "%s %s", step, name);

		length = (size_t)written < size ? (size_t)written : size - 1;
	}
	put_u32(frame, (uint32_t)(5 + length));
	put_u32(frame + LENGTH_BYTES, id);
	frame[LENGTH_BYTES + 4] = step == NULL ? ANSWER_DONE : ANSWER_FAILED;

	size_t whole = LENGTH_BYTES + 5 + length;

	for (size_t sent = 0; sent < whole;) {
		ssize_t count = write(1, frame + sent, whole - sent);

		if (count < 0 && errno != EINTR)
			return false;
		if (count > 0)
			sent += (size_t)count;
	}
	return true;
}

void answer_ready(void)
{
	answer(0, NULL, 0);
}

static bool parse(const unsigned char *bytes, size_t length, struct request *request)
{
	const char *at = (const char *)bytes + REQUEST_FIXED_BYTES, *end = (const char *)bytes + length;

	request->verb = bytes[4];
	request->flags = bytes[5];
	request->count = (unsigned)bytes[6] << 8 | bytes[7];
	if (request->count > MAX_STRINGS)
		return false;
	for (unsigned n = 0; n < request->count; n++) {
		const char *nul = memchr(at, '\0', (size_t)(end - at));

		if (nul == NULL)
			return false;
		request->strings[n] = at;
		at = nul + 1;
	}
	return at == end;
}

/* A request that makes no sense is refused; the ones after it are still where they should be. */
static bool handle(const unsigned char *bytes, size_t length)
{
	struct request request = {.id = get_u32(bytes)};

	if (!parse(bytes, length, &request))
		return answer(request.id, "request", EINVAL);

	const char *step = carry_out(&request);

	return answer(request.id, step, errno);
}

int serve(void)
{
	static unsigned char buffer[2 * (LENGTH_BYTES + MAX_REQUEST_BYTES)];
	size_t have = 0;

	for (;;) {
		ssize_t count = read(0, buffer + have, sizeof buffer - have);

		if (count < 0 && errno == EINTR)
			continue;
		if (count <= 0)
			return have == 0 ? 0 : say("stdin ended within a request", STATUS_FRAME);
		have += (size_t)count;

		size_t done = 0;

		while (have - done >= LENGTH_BYTES) {
			size_t length = get_u32(buffer + done);

			/* What follows a wrong length could be anything, so that nothing after it is looked at. */
			if (length < REQUEST_FIXED_BYTES || length > MAX_REQUEST_BYTES)
				return say("a request of a length that none has", STATUS_FRAME);
			if (have - done < LENGTH_BYTES + length)
				break;
			if (!handle(buffer + done + LENGTH_BYTES, length))
				return 0;
			done += LENGTH_BYTES + length;
		}
		memmove(buffer, buffer + done, have - done);
		have -= done;
	}
}
