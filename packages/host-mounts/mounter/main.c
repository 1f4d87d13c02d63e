/*
 * secbox-mounts: mounts folders for a service that runs beside it, and with --disks images too. It is started with the
 * folders below which sources and targets may lie, takes requests on fd 0, answers on fd 1, and ends with fd 0. It trusts nothing that it is sent:
 * every path is checked, and opened without following a link, right here.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mounts.h"

int say(const char *text, int status)
{
	char line[256];
	int length = snprintf(line, sizeof line, "secbox-mounts: %s\n", text);
	ssize_t written = write(2, line, (size_t)length < sizeof line ? (size_t)length : sizeof line - 1);

	(void)written;
	return status;
}

static int say_errno(const char *what)
{
	char text[200];

	snprintf(text, sizeof text, "%s: %s", what, strerror(errno));
	return say(text, STATUS_SETUP);
}

static int usage(void)
{
	return say("usage: secbox-mounts [--disks] (--source <folder> | --target <folder>)...", STATUS_USAGE);
}

int main(int argc, char **argv)
{
	bool disks = argc > 1 && strcmp(argv[1], "--disks") == 0;
	int first = disks ? 2 : 1;

	if (argc == first || (argc - first) % 2 != 0)
		return usage();
	syscall(SYS_close_range, 3U, ~0U, 0U);
	signal(SIGPIPE, SIG_IGN);
	if (chdir("/") != 0)
		return say_errno("cannot leave the current folder");
	if (!kernel_can_mount())
		return say("this kernel is older than Linux 5.12", STATUS_SETUP);
	for (int at = first; at < argc; at += 2) {
		bool source = strcmp(argv[at], "--source") == 0;

		if (!source && strcmp(argv[at], "--target") != 0)
			return usage();
		if (!roots_add(source ? SOURCES : TARGETS, argv[at + 1]))
			return say_errno("a root cannot be opened");
	}
	if (disks)
		disks_open();
	if (!confine())
		return say_errno(errno == EPERM ? "the right to mount is missing" : "cannot give up rights");
	answer_ready();
	return serve();
}
