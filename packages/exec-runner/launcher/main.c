/*
 * secbox-subprocess: runs the sandbox's init, and through it one command, as a process of this host. It has
 * namespaces of its own and ends with whoever started it; no container engine is asked.
 *
 * The first process stays outside and waits; the second is PID 1 of a new PID namespace, prepares its root, gives
 * up its rights and becomes the init. When PID 1 ends, for whatever reason, the kernel kills everything in the
 * namespace, whatever sessions were made there, and the first process hears of it only then.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <getopt.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher.h"

#define STATUS_USAGE 64
#define STATUS_SETUP 71
#define NAMESPACES (CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS)

void fail(const char *what, const char *name)
{
	dprintf(2, "secbox-subprocess: cannot %s%s%s: %s\n", what, *name == '\0' ? "" : " ", name, strerror(errno));
	_exit(STATUS_SETUP);
}

static void refuse(const char *why)
{
	dprintf(2, "secbox-subprocess: %s\n", why);
	_exit(STATUS_USAGE);
}

static unsigned long number(const char *text)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end != '\0' || errno != 0 || value == 0 || value > 1U << 30)
		refuse("a number must be whole and above 0");
	return value;
}

static const char *folder(const char *text)
{
	if (*text != '/')
		refuse("a folder must be absolute");
	return text;
}

static struct options read_options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "uid", required_argument, NULL, 'u' },       { "gid", required_argument, NULL, 'g' },
		{ "processes", required_argument, NULL, 'p' }, { "inputs", required_argument, NULL, 'i' },
		{ "work", required_argument, NULL, 'w' },      { "artifacts", required_argument, NULL, 'a' },
		{ "hide", required_argument, NULL, 'h' },      { NULL, 0, NULL, 0 },
	};
	struct options options = { 0 };
	int option;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (option == 'u')
			options.uid = (uid_t)number(optarg);
		else if (option == 'g')
			options.gid = (gid_t)number(optarg);
		else if (option == 'p')
			options.processes = number(optarg);
		else if (option == 'i')
			options.inputs = folder(optarg);
		else if (option == 'w')
			options.work = folder(optarg);
		else if (option == 'a')
			options.artifacts = folder(optarg);
		else if (option == 'h' && options.hidden_count < MAX_HIDDEN)
			options.hidden[options.hidden_count++] = folder(optarg);
		else
			refuse("unknown arguments");
	}
	if (optind != argc || options.uid == 0 || options.gid == 0 || options.processes == 0 ||
	    options.inputs == NULL || options.work == NULL || options.artifacts == NULL)
		refuse("--uid, --gid, --processes, --inputs, --work and --artifacts must be given, none of them root's");
	return options;
}

/* As a container without a network has it. */
static void raise_loopback(void)
{
	struct ifreq request = { .ifr_flags = IFF_UP | IFF_RUNNING };
	int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	strcpy(request.ifr_name, "lo");
	if (any < 0 || ioctl(any, SIOCSIFFLAGS, &request) != 0)
		fail("raise the loopback interface", "");
	close(any);
}

/* The command may read what its PID 1 was started with, and need not know the host's folders. */
static void forget_arguments(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		memset(argv[i], 0, strlen(argv[i]));
}

static int wait_for(pid_t child)
{
	int status;

	/* The pipes are the child's alone: their ends are its end. */
	close(0);
	close(1);
	close(2);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return STATUS_SETUP;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	struct options options = read_options(argc, argv);
	bool is_root = geteuid() == 0;
	pid_t child;

	if (!is_root && (geteuid() != options.uid || getegid() != options.gid))
		refuse("only root can become another user");
	/* The server may have given itself precedence; what it runs for others has none. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || setpriority(PRIO_PROCESS, 0, 0) != 0)
		fail("bind itself to its parent", "");
	if (!is_root)
		own_users(options.uid, options.gid);
	if (unshare(NAMESPACES) != 0)
		fail("make namespaces", "");
	child = fork();
	if (child < 0)
		fail("fork", "");
	if (child > 0)
		return wait_for(child);
	if (setsid() < 0 || sethostname("sandbox", strlen("sandbox")) != 0)
		fail("make a session", "");
	raise_loopback();
	enter_root(&options);
	drop_privileges(&options, is_root);
	forget_arguments(argc, argv);
	/* Only now: a change of user forgets it. A parent that is gone already has closed fd 0, which ends the init. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0)
		fail("bind itself to its parent", "");
	return init_main(1, (char *[]){ "secbox-init", NULL });
}
