/*
 * What others read of this process in /proc: its arguments, its environment, its name. The payload holds
 * them as execve would lay them out, so the kernel only has to be told where they are.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "python-ahead.h"

#define NO_FILE ((__u32)-1)

/* The fields of /proc/self/stat from the state, which is the third, on. */
enum { STATE = 3, START_CODE = 26, END_CODE, START_STACK, START_DATA = 45, END_DATA, START_BRK, FIELDS };

static bool read_stat(unsigned long long fields[FIELDS])
{
	char text[1024];
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t count = fd < 0 ? -1 : read(fd, text, sizeof text - 1);

	if (fd >= 0)
		close(fd);
	if (count <= 0)
		return false;
	text[count] = '\0';

	/* The second field is the name, which may hold anything but ends with the last of these. */
	char *at = strrchr(text, ')');
	int field = STATE;

	for (char *word = at == NULL ? NULL : strtok(at + 1, " "); word != NULL; word = strtok(NULL, " ")) {
		if (field < FIELDS)
			sscanf(word, "%llu", &fields[field]);
		field++;
	}
	return field > FIELDS;
}

void proc_show(const struct request *request, char *end)
{
	unsigned long long fields[FIELDS] = { 0 };
	char **last = request->argv;

	prctl(PR_SET_NAME, request->argv[0], 0, 0, 0);
	/* Of the C library, which names the program in messages of its own. */
	program_invocation_name = program_invocation_short_name = request->argv[0];
	if (!read_stat(fields))
		return;
	while (last[1] != NULL)
		last++;

	char *arguments_end = *last + strlen(*last) + 1;
	struct prctl_mm_map map = {
		.start_code = fields[START_CODE],
		.end_code = fields[END_CODE],
		.start_data = fields[START_DATA],
		.end_data = fields[END_DATA],
		.start_brk = fields[START_BRK],
		.brk = (__u64)sbrk(0),
		.start_stack = fields[START_STACK],
		.arg_start = (__u64)request->argv[0],
		.arg_end = (__u64)arguments_end,
		.env_start = (__u64)arguments_end,
		.env_end = (__u64)end,
		.exe_fd = NO_FILE,
	};

	prctl(PR_SET_MM, PR_SET_MM_MAP, &map, sizeof map, 0);
}
