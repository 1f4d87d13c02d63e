/*
 * Frames to the host. The outbox takes a batch, hands it to fd 1 as fast as the host reads, and only
 * then takes the next: so the child's pipes are left full while nobody reads, and memory stays fixed.
 */
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "bytes.h"
#include "init.h"

/* One data frame for each stream and every control frame that can come before them. */
#define BATCH_BYTES (2 * (HEADER_BYTES + MAX_DATA_BYTES) + 256)

static unsigned char batch[BATCH_BYTES];
static size_t filled, sent;

bool outbox_empty(void)
{
	return filled == 0;
}

static void put_header(unsigned char *at, unsigned type, size_t length)
{
	at[0] = MAGIC_0;
	at[1] = MAGIC_1;
	at[2] = (unsigned char)type;
	at[3] = 0;
	put_u32(at + 4, (uint32_t)length);
}

void outbox_frame(unsigned type, const unsigned char *payload, size_t length)
{
	put_header(batch + filled, type, length);
	if (length > 0)
		memcpy(batch + filled + HEADER_BYTES, payload, length);
	filled += HEADER_BYTES + length;
}

ssize_t outbox_read(unsigned type, int fd, size_t limit)
{
	ssize_t count = read(fd, batch + filled + HEADER_BYTES, limit < MAX_DATA_BYTES ? limit : MAX_DATA_BYTES);

	if (count > 0) {
		put_header(batch + filled, type, (size_t)count);
		filled += HEADER_BYTES + (size_t)count;
	}
	return count;
}

size_t outbox_waiting(int fd)
{
	int count;

	return fd >= 0 && ioctl(fd, FIONREAD, &count) == 0 ? (size_t)count : 0;
}

bool outbox_flush(void)
{
	while (sent < filled) {
		ssize_t count = write(1, batch + sent, filled - sent);

		if (count < 0)
			return errno == EAGAIN || errno == EINTR;
		sent += (size_t)count;
	}
	filled = sent = 0;
	return true;
}
