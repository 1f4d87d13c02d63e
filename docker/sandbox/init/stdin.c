/*
 * The command's stdin. The host sends only what it has credit for, so there is always room for it:
 * init never stops reading fd 0, and a KILL is never stuck behind input that nobody wants.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "init.h"

/* Small credits are worth a frame only to a host that has run dry. */
#define WORTHWHILE_CREDIT (STDIN_WINDOW_BYTES / 4)

static unsigned char ring[STDIN_WINDOW_BYTES];
static size_t head, held, credit;
static int pipe_fd = -1;
static bool ended, over, closed_early;

static void shut(void)
{
	over = true;
	if (pipe_fd >= 0)
		close(pipe_fd);
	pipe_fd = -1;
	held = credit = 0;
}

void stdin_open(int fd)
{
	pipe_fd = fd;
	if (fd < 0 || (ended && held == 0))
		shut();
}

void stdin_put(const unsigned char *bytes, size_t count)
{
	for (size_t i = 0; !over && i < count;) {
		size_t at = (head + held) % sizeof ring;
		size_t room = count - i < sizeof ring - at ? count - i : sizeof ring - at;

		memcpy(ring + at, bytes + i, room);
		held += room;
		i += room;
	}
}

void stdin_end(void)
{
	ended = true;
	if (held == 0 && pipe_fd >= 0)
		shut();
}

int stdin_waits_for(void)
{
	return held > 0 ? pipe_fd : -1;
}

void stdin_pump(void)
{
	while (held > 0 && pipe_fd >= 0) {
		size_t run = held < sizeof ring - head ? held : sizeof ring - head;
		ssize_t count = write(pipe_fd, ring + head, run);

		if (count < 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (count < 0) {
			closed_early = !ended;
			shut();
			return;
		}
		head = (head + (size_t)count) % sizeof ring;
		held -= (size_t)count;
		credit += (size_t)count;
	}
	if (ended && pipe_fd >= 0)
		shut();
}

size_t stdin_take_credit(void)
{
	size_t due = ended || (held > 0 && credit < WORTHWHILE_CREDIT) ? 0 : credit;

	credit -= due;
	return due;
}

bool stdin_take_closed(void)
{
	bool due = closed_early;

	closed_early = false;
	return due;
}
