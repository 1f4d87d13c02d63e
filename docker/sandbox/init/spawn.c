/* Starts the one command: its own session, pipes, limits and environment, and nothing of init's. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "init.h"

#define DEFAULT_PATH "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
#define MAX_PATH_BYTES 4096

static int dev_null = -1;
static int oom_score_adj = -1;
static char own_oom_score_adj[16];

void spawn_prepare(void)
{
	dev_null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	oom_score_adj = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);
	if (oom_score_adj >= 0 && read(oom_score_adj, own_oom_score_adj, sizeof own_oom_score_adj - 1) <= 0)
		own_oom_score_adj[0] = '\0';
}

/*
 * The command is born as the OOM killer's first choice. Init sets its own score around the fork,
 * because a child that is not dumpable yet may not open its own file. Best effort: /proc may differ.
 */
static void score_next_child(const char *score)
{
	if (own_oom_score_adj[0] != '\0' && pwrite(oom_score_adj, score, strlen(score), 0) < 0)
		own_oom_score_adj[0] = '\0';
}

static _Noreturn void fail(int status, int step)
{
	struct start_failure failure = { .step = step, .error = errno };
	ssize_t written = write(status, &failure, sizeof failure);

	(void)written;
	_exit(127);
}

static bool limit(int resource, rlim_t value)
{
	struct rlimit both = { .rlim_cur = value, .rlim_max = value };

	return setrlimit(resource, &both) == 0;
}

/* Returns only on failure: ENOENT of a file that exists is a missing interpreter. */
static int try_exec(const char *path, const struct request *request)
{
	execve(path, request->argv, request->envp);

	int error = errno;
	int step = error == ENOENT && access(path, F_OK) == 0 ? STEP_INTERPRETER : STEP_EXEC;

	errno = error;
	return step;
}

static const char *search_path(char **envp)
{
	for (; *envp != NULL; envp++)
		if (strncmp(*envp, "PATH=", 5) == 0)
			return *envp + 5;
	return DEFAULT_PATH;
}

static bool keeps_searching(int error)
{
	return error == ENOENT || error == ENOTDIR || error == EACCES || error == ELOOP || error == ENAMETOOLONG;
}

/* As a shell finds a command, except that an empty element of PATH does not mean the current folder. */
static int exec_on_path(const struct request *request)
{
	static char candidate[MAX_PATH_BYTES];
	const char *name = request->argv[0];
	int refused = ENOENT;

	if (strchr(name, '/') != NULL)
		return try_exec(name, request);
	for (const char *at = search_path(request->envp); name[0] != '\0';) {
		int length = (int)strcspn(at, ":");

		if (length > 0 && length < MAX_PATH_BYTES &&
		    snprintf(candidate, sizeof candidate, "%.*s/%s", length, at, name) < MAX_PATH_BYTES) {
			int step = try_exec(candidate, request);

			if (step == STEP_INTERPRETER || !keeps_searching(errno))
				return step;
			if (errno == EACCES)
				refused = EACCES;
		}
		if (at[length] == '\0')
			break;
		at += length + 1;
	}
	errno = refused;
	return STEP_EXEC;
}

/* Descriptors that stay open over execve, at the numbers where the interpreter looks for them. */
static bool leave_open(const int fds[3])
{
	static const int numbers[3] = { AHEAD_REQUEST_FD, AHEAD_STATUS_FD, AHEAD_STDIN_FD };
	int copies[3];

	/* Out of the way first: one of them may have the number that another is to get. */
	for (int i = 0; i < 3; i++) {
		copies[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, AHEAD_STDIN_FD + 1);
		if (copies[i] < 0)
			return false;
	}
	for (int i = 0; i < 3; i++)
		if (dup2(copies[i], numbers[i]) < 0)
			return false;
	return true;
}

static _Noreturn void become_command(const struct request *request, int status, const int stdio[3],
				     const int *left_open)
{
	setsid();
	signals_restore();
	umask(request->umask);
	for (int fd = 0; fd < 3; fd++)
		if (dup2(stdio[fd], fd) < 0)
			fail(status, STEP_DESCRIPTORS);
	if (!limit(RLIMIT_CORE, 0))
		fail(status, STEP_LIMITS);
	for (size_t i = 0; i < request->rlimit_count; i++)
		if (!limit(request->rlimits[i].resource, request->rlimits[i].value))
			fail(status, STEP_LIMITS);
	if (chdir(request->cwd) != 0)
		fail(status, STEP_CHDIR);
	if (!shield_init())
		fail(status, STEP_SHIELD);
	if (left_open != NULL && !leave_open(left_open))
		fail(status, STEP_DESCRIPTORS);
	fail(status, exec_on_path(request));
}

static bool make_pipe(int *read_end, int *write_end)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return false;
	*read_end = ends[0];
	*write_end = ends[1];
	return true;
}

static bool set_nonblocking(int fd)
{
	return fd < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

const struct child no_child = { .pid = -1, .status = -1, .stdin = -1, .stdout = -1, .stderr = -1, .request = -1 };

void child_close(struct child *child)
{
	const int fds[] = { child->status, child->stdin, child->stdout, child->stderr, child->request };

	for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
		if (fds[i] >= 0)
			close(fds[i]);
	*child = no_child;
}

static bool outputs_made(struct child *child, int *status, int stdio[3])
{
	return make_pipe(&child->status, status) && make_pipe(&child->stdout, &stdio[1]) &&
	       make_pipe(&child->stderr, &stdio[2]) && set_nonblocking(child->status) &&
	       set_nonblocking(child->stdout) && set_nonblocking(child->stderr);
}

static bool input_made(int *read_end, int *write_end)
{
	return make_pipe(read_end, write_end) && set_nonblocking(*write_end);
}

static void close_ours(const int *fds, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (fds[i] >= 0 && fds[i] != dev_null)
			close(fds[i]);
}

static pid_t start(const struct request *request, int status, const int stdio[3], const int *left_open)
{
	score_next_child("1000");

	pid_t pid = fork();

	if (pid == 0)
		become_command(request, status, stdio, left_open);

	int error = errno;

	score_next_child(own_oom_score_adj);
	errno = error;
	return pid;
}

bool spawn(const struct request *request, struct child *child, struct start_failure *failure)
{
	int status = -1, stdio[3] = { dev_null, -1, -1 };

	*child = no_child;
	failure->step = STEP_DESCRIPTORS;
	if (!outputs_made(child, &status, stdio) ||
	    (request->streams_stdin && !input_made(&stdio[0], &child->stdin))) {
		failure->error = errno;
		return false;
	}
	child->pid = start(request, status, stdio, NULL);
	failure->step = STEP_FORK;
	failure->error = errno;
	close(status);
	close_ours(stdio, 3);
	return child->pid > 0;
}

/* Like any other command, with stdin that is yet to be decided and a pipe for the request. */
bool spawn_ahead(const struct request *request, struct child *child)
{
	int left_open[3] = { -1, -1, -1 }, stdio[3] = { dev_null, -1, -1 };

	*child = no_child;
	if (outputs_made(child, &left_open[1], stdio) && input_made(&left_open[0], &child->request) &&
	    input_made(&left_open[2], &child->stdin))
		child->pid = start(request, left_open[1], stdio, left_open);
	close_ours(stdio, 3);
	close_ours(left_open, 3);
	if (child->pid > 0)
		return true;
	child_close(child);
	return false;
}
