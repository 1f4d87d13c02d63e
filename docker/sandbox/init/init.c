/*
 * secbox-init: PID 1 of the sandbox. It waits on fd 0 for one request, runs it, relays its output on
 * fd 1, ends everything it left behind, and only then reports. See docs/init-protocol.md.
 *
 * Code of init's own uid is hostile once the request runs. So everything init will need is opened,
 * allocated and touched here, before that; afterwards it allocates nothing and opens nothing.
 */
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "init.h"

#define STATUS_USAGE 64
#define STATUS_SETUP 71
#define STACK_BYTES 65536

#define TEXT_OF(number) #number
#define TEXT(macro) TEXT_OF(macro)

static int say(int fd, const char *text, int status)
{
	ssize_t written = write(fd, text, strlen(text));

	(void)written;
	return status;
}

static bool descriptors_ready(void)
{
	if (fcntl(0, F_GETFD) < 0 || fcntl(1, F_GETFD) < 0)
		return false;
	if (fcntl(2, F_GETFD) < 0 && open("/dev/null", O_WRONLY) != 2)
		return false;
	/* Whatever the runtime left open is neither ours nor the command's. */
	if (syscall(SYS_close_range, 3U, ~0U, 0U) != 0)
		for (int fd = 3; fd < 1024; fd++)
			close(fd);
	return fcntl(0, F_SETFL, fcntl(0, F_GETFL) | O_NONBLOCK) == 0 &&
	       fcntl(1, F_SETFL, fcntl(1, F_GETFL) | O_NONBLOCK) == 0;
}

/* A stack that had still to grow could be stopped from growing by a limit set from outside. */
static __attribute__((noinline)) void touch_stack(void)
{
	volatile unsigned char stack[STACK_BYTES];

	for (size_t at = 0; at < sizeof stack; at += 1024)
		stack[at] = 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return say(1, "secbox-init, protocol " TEXT(PROTOCOL_VERSION) "\n", 0);

	bool python_ahead = argc == 2 && strcmp(argv[1], "--prestart=python") == 0;

	if (argc != 1 && !python_ahead)
		return say(2, "usage: secbox-init [--version | --prestart=python]\n", STATUS_USAGE);
	/* Its sweep kills every process it may: only in a PID namespace of its own is that the sandbox's. */
	if (getpid() != 1)
		return say(2, "secbox-init: must be PID 1\n", STATUS_USAGE);
	if (!descriptors_ready())
		return say(2, "secbox-init: stdin and stdout must be open\n", STATUS_SETUP);

	/* Opened while still dumpable: afterwards /proc/self belongs to root. */
	spawn_prepare();
	counters_open();
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return say(2, "secbox-init: cannot protect itself\n", STATUS_SETUP);

	int child_signals = signals_shut();

	/* Not in a folder that is a mount point, or becomes one while a pooled container waits. */
	if (child_signals < 0 || chdir("/") != 0)
		return say(2, "secbox-init: cannot set itself up\n", STATUS_SETUP);
	touch_stack();
	return relay(child_signals, python_ahead);
}
