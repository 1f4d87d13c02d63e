/* The payload of a REQUEST, parsed in place: argv and env point into it, nothing is allocated. */
#include <string.h>

#include "bytes.h"
#include "init.h"

static char *argv_pointers[MAX_ARGV + 1];
static char *env_pointers[MAX_ENV + 1];

static int resource_of(unsigned limit)
{
	switch (limit) {
	case LIMIT_NOFILE:
		return RLIMIT_NOFILE;
	case LIMIT_FSIZE:
		return RLIMIT_FSIZE;
	case LIMIT_CPU:
		return RLIMIT_CPU;
	case LIMIT_AS:
		return RLIMIT_AS;
	case LIMIT_STACK:
		return RLIMIT_STACK;
	default:
		return -1;
	}
}

/* The string at *at, past which *at is moved; NULL when it does not end before end. */
static char *next_string(char **at, const char *end)
{
	char *start = *at;
	char *nul = start < end ? memchr(start, '\0', (size_t)(end - start)) : NULL;

	if (nul != NULL)
		*at = nul + 1;
	return nul == NULL ? NULL : start;
}

static bool next_strings(char **at, const char *end, char **into, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		into[i] = next_string(at, end);
		if (into[i] == NULL)
			return false;
	}
	into[count] = NULL;
	return true;
}

static bool env_is_sane(void)
{
	for (char **entry = env_pointers; *entry != NULL; entry++) {
		const char *equals = strchr(*entry, '=');

		if (equals == NULL || equals == *entry)
			return false;
	}
	return true;
}

bool request_parse(unsigned char *payload, size_t length, struct request *request)
{
	if (length < REQUEST_FIXED_BYTES || get_u16(payload) != PROTOCOL_VERSION)
		return false;

	unsigned flags = get_u16(payload + 2);
	unsigned umask = get_u16(payload + 4);
	size_t rlimit_count = get_u16(payload + 6);
	size_t argc = get_u32(payload + 8);
	size_t envc = get_u32(payload + 12);
	unsigned char *rlimits = payload + REQUEST_FIXED_BYTES;

	if ((flags & ~(unsigned)REQUEST_FLAG_STDIN) != 0 || umask > 0777 || rlimit_count > MAX_RLIMITS ||
	    argc < 1 || argc > MAX_ARGV || envc > MAX_ENV ||
	    length - REQUEST_FIXED_BYTES < rlimit_count * RLIMIT_BYTES)
		return false;

	request->streams_stdin = (flags & REQUEST_FLAG_STDIN) != 0;
	request->umask = (mode_t)umask;
	request->rlimit_count = rlimit_count;
	for (size_t i = 0; i < rlimit_count; i++) {
		request->rlimits[i].resource = resource_of(rlimits[i * RLIMIT_BYTES]);
		request->rlimits[i].value = (rlim_t)get_u64(rlimits + i * RLIMIT_BYTES + 1);
		if (request->rlimits[i].resource < 0)
			return false;
	}

	char *at = (char *)(rlimits + rlimit_count * RLIMIT_BYTES);
	const char *end = (const char *)(payload + length);

	request->cwd = next_string(&at, end);
	request->argv = argv_pointers;
	request->envp = env_pointers;
	return request->cwd != NULL && request->cwd[0] == '/' && next_strings(&at, end, argv_pointers, argc) &&
	       next_strings(&at, end, env_pointers, envc) && at == end && env_is_sane();
}
