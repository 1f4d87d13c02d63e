/* From whoever started it to a user without any right. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher.h"

static void write_file(const char *path, const char *text)
{
	int file = open(path, O_WRONLY | O_CLOEXEC);

	if (file < 0 || write(file, text, strlen(text)) != (ssize_t)strlen(text))
		fail("write", path);
	close(file);
}

void own_users(uid_t uid, gid_t gid)
{
	char map[64];

	if (unshare(CLONE_NEWUSER) != 0)
		fail("make", "a user namespace");
	write_file("/proc/self/setgroups", "deny");
	snprintf(map, sizeof map, "%u %u 1", uid, uid);
	write_file("/proc/self/uid_map", map);
	snprintf(map, sizeof map, "%u %u 1", gid, gid);
	write_file("/proc/self/gid_map", map);
}

static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	for (int capability = 0; prctl(PR_CAPBSET_READ, capability) >= 0; capability++)
		if (prctl(PR_CAPBSET_DROP, capability) != 0)
			fail("give up", "a capability");
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 || syscall(SYS_capset, &header, none) != 0)
		fail("give up", "its capabilities");
}

/* Whoever makes a user namespace has every capability in it, and with them much more of the kernel. */
static void forbid_namespaces(void)
{
	write_file("/proc/sys/user/max_user_namespaces", "0");
}

/* What the server's own session may hold was inherited. */
static void leave_keys(void)
{
	if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0 && errno != ENOSYS)
		fail("leave", "the keys of its parent");
}

void drop_privileges(const struct options *options, bool was_root)
{
	struct rlimit processes = { options->processes, options->processes };

	if (was_root) {
		if (setgroups(0, NULL) != 0 || setresgid(options->gid, options->gid, options->gid) != 0 ||
		    setresuid(options->uid, options->uid, options->uid) != 0)
			fail("become", "another user");
		/* Its own files in /proc are root's until then. */
		if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) != 0)
			fail("become", "another user");
		/* Containers have the same user: within a namespace, the limit of processes counts only those of the command. */
		own_users(options->uid, options->gid);
	}
	leave_keys();
	forbid_namespaces();
	drop_capabilities();
	if (setrlimit(RLIMIT_NPROC, &processes) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		fail("limit", "itself");
}
