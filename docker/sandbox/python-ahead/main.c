/*
 * Loaded into the image's own python (LD_PRELOAD) when init starts it ahead of the request. It stands
 * between the two halves of python's main function: the interpreter is initialised as ever, then waits
 * for the request, takes its arguments, environment and place, and goes on as if it had just come up.
 * Everything after that is Python's own code, so there is no imitation of `python -c` or `python file`.
 */
#define _GNU_SOURCE
#include <Python.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ahead.h"
#include "bytes.h"
#include "python-ahead.h"

/* Whatever goes wrong before the request is taken ends this process, and init starts a plain one. */
static _Noreturn void give_up(void)
{
	_exit(127);
}

static void tell(int step, int error)
{
	struct start_failure told = { .step = step, .error = error };

	if (write(AHEAD_STATUS_FD, &told, sizeof told) != (ssize_t)sizeof told)
		give_up();
}

static _Noreturn void fail(int step)
{
	tell(step, errno);
	give_up();
}

static void read_all(unsigned char *at, size_t count)
{
	while (count > 0) {
		ssize_t got = read(AHEAD_REQUEST_FD, at, count);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			give_up();
		at += got;
		count -= (size_t)got;
	}
}

/* In pages of its own, for good: the environment and /proc point into it. */
static char *wait_for_request(struct request *request)
{
	unsigned char length_bytes[AHEAD_LENGTH_BYTES];

	read_all(length_bytes, sizeof length_bytes);

	size_t length = get_u32(length_bytes);
	unsigned char *payload = length > AHEAD_MAX_BYTES ? MAP_FAILED
							  : mmap(NULL, AHEAD_MAX_BYTES, PROT_READ | PROT_WRITE,
								 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (payload == MAP_FAILED)
		give_up();
	read_all(payload, length);
	if (!request_parse(payload, length, request))
		give_up();
	return (char *)payload + length;
}

/* In the order in which init does it for a plain start, so that the same step is told to have failed. */
static void take_place(const struct request *request)
{
	umask(request->umask);
	for (size_t i = 0; i < request->rlimit_count; i++) {
		rlim_t value = request->rlimits[i].value;
		struct rlimit both = { .rlim_cur = value, .rlim_max = value };

		if (setrlimit((__rlimit_resource_t)request->rlimits[i].resource, &both) != 0)
			fail(STEP_LIMITS);
	}
	if (chdir(request->cwd) != 0)
		fail(STEP_CHDIR);
	if (request->streams_stdin && dup2(AHEAD_STDIN_FD, 0) < 0)
		fail(STEP_DESCRIPTORS);
	close(AHEAD_STDIN_FD);
}

/* As in Py_BytesMain, up to Py_RunMain. */
static bool initialise(int argc, char **argv)
{
	PyPreConfig preconfig;
	PyConfig config;

	PyPreConfig_InitPythonConfig(&preconfig);
	if (PyStatus_Exception(Py_PreInitializeFromBytesArgs(&preconfig, argc, argv)))
		return false;
	PyConfig_InitPythonConfig(&config);

	bool up = !PyStatus_Exception(PyConfig_SetBytesArgv(&config, argc, argv)) &&
		  !PyStatus_Exception(Py_InitializeFromConfig(&config));

	PyConfig_Clear(&config);
	return up;
}

static int wait_and_run(int argc, char **argv, char **envp)
{
	struct request request;

	(void)envp;
	unsetenv("LD_PRELOAD");
	if (!initialise(argc, argv))
		give_up();
	tell(AHEAD_UP, 0);

	char *end = wait_for_request(&request);

	take_place(&request);
	if (!interpreter_adopt(&request))
		give_up();
	proc_show(&request, end);
	close(AHEAD_REQUEST_FD);
	tell(AHEAD_TAKEN, 0);
	close(AHEAD_STATUS_FD);
	return Py_RunMain();
}

typedef int main_function(int argc, char **argv, char **envp);
typedef int start_function(main_function *main, int argc, char **argv, void (*init)(void), void (*fini)(void),
			   void (*rtld_fini)(void), void *stack_end);

/* The C library calls what it is given here as the program's main function. */
__attribute__((visibility("default"))) int __libc_start_main(main_function *main, int argc, char **argv,
							     void (*init)(void), void (*fini)(void),
							     void (*rtld_fini)(void), void *stack_end)
{
	start_function *start = (start_function *)dlsym(RTLD_NEXT, "__libc_start_main");

	(void)main;
	return start(wait_and_run, argc, argv, init, fini, rtld_fini, stack_end);
}
