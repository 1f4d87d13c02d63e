/*
 * One plain python, started before the request is there and kept waiting, with the library of
 * ../python-ahead loaded into it. It may serve a request only if python's own start could not tell the
 * difference: what it read at its start from environment, limits and command line must be the same.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "bytes.h"
#include "init.h"

#define LEAST_OPEN_FILES 64
#define WORKSPACE "/workspace"

/* The beginnings of what the loader, the C library and the interpreter read when they start. */
static const char *const read_at_start[] = {
	"PYTHON", "LC_", "LANG", "LOCPATH=", "TZ", "LD_", "GLIBC_", "MALLOC_", "GCONV_PATH=", "NLSPATH=", "PATH=", "HOME=",
};

static char *python_argv[] = { "python", "-c", "", NULL };
static char *python_env[MAX_ENV + 2];

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

static bool is_read_at_start(const char *entry)
{
	for (size_t i = 0; i < sizeof read_at_start / sizeof read_at_start[0]; i++)
		if (begins(entry, read_at_start[i]))
			return true;
	return false;
}

static bool holds(char **entries, const char *wanted)
{
	for (; *entries != NULL; entries++)
		if (strcmp(*entries, wanted) == 0)
			return true;
	return false;
}

static size_t count_read_at_start(char **entries)
{
	size_t count = 0;

	for (; *entries != NULL; entries++)
		count += is_read_at_start(*entries);
	return count;
}

/* As many and each among the others; a name that comes twice is in nobody's environment for good. */
static bool starts_alike(char **envp)
{
	for (char **entry = envp; *entry != NULL; entry++)
		if (is_read_at_start(*entry) && !holds(environ, *entry))
			return false;
	return count_read_at_start(envp) == count_read_at_start(environ);
}

/* Found from another folder, a relative one would lead elsewhere; so would files that are mounted later. */
static bool is_fixed(const char *entry)
{
	if (begins(entry, "LD_PRELOAD=") || begins(entry, "HOME=" WORKSPACE))
		return false;
	if (!begins(entry, "PATH="))
		return true;
	for (const char *at = entry + strlen("PATH="); at != NULL; at = strchr(at, ':')) {
		at += *at == ':';
		if (*at != '/' || begins(at, WORKSPACE))
			return false;
	}
	return true;
}

bool ahead_start(struct child *child)
{
	struct request python = { .umask = 022, .cwd = "/", .argv = python_argv, .envp = python_env };
	size_t count = 0;

	for (char **entry = environ; *entry != NULL; entry++) {
		if (count == MAX_ENV || !is_fixed(*entry))
			return false;
		python_env[count++] = *entry;
	}
	python_env[count] = "LD_PRELOAD=" AHEAD_LIBRARY;
	/* The loader would only warn, and python would then run and end. */
	return access(AHEAD_LIBRARY, R_OK) == 0 && spawn_ahead(&python, child);
}

static bool is_python(char **argv)
{
	if ((strcmp(argv[0], "python") != 0 && strcmp(argv[0], "python3") != 0) || argv[1] == NULL)
		return false;
	if (strcmp(argv[1], "-c") == 0 || strcmp(argv[1], "-m") == 0)
		return argv[2] != NULL;
	return argv[1][0] != '-' && argv[1][0] != '\0';
}

/* The loader and the C library have looked at the other limits already. */
static bool limits_fit(const struct request *request)
{
	for (size_t i = 0; i < request->rlimit_count; i++) {
		int resource = request->rlimits[i].resource;

		if (resource == RLIMIT_NOFILE ? request->rlimits[i].value < LEAST_OPEN_FILES
					      : resource != RLIMIT_FSIZE && resource != RLIMIT_CPU)
			return false;
	}
	return true;
}

bool ahead_fits(const struct request *request, size_t payload_bytes)
{
	return payload_bytes <= AHEAD_MAX_BYTES && is_python(request->argv) && limits_fit(request) &&
	       starts_alike(request->envp);
}

/* All at once or not at all: what does not fit the pipe would have to be waited for. */
bool ahead_give(struct child *child, size_t payload_bytes)
{
	unsigned char length[AHEAD_LENGTH_BYTES];
	struct iovec parts[] = { { length, sizeof length }, { request_payload, payload_bytes } };

	put_u32(length, (uint32_t)payload_bytes);

	bool given = writev(child->request, parts, 2) == (ssize_t)(sizeof length + payload_bytes);

	close(child->request);
	child->request = -1;
	return given;
}
