/*
 * The root that a command sees: the host's programs, read-only, and its own three folders. An allow-list: what is
 * not named here is not there.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launcher.h"

#define ROOT "/tmp"
#define PATH_ROOM (PATH_MAX + 64)

/* The kernel's, which not every library of this age knows. */
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#define RECURSIVE 0x8000
#define ATTR_RDONLY 0x1
#define ATTR_NOSUID 0x2
#define ATTR_NODEV 0x4

struct attributes {
	uint64_t set, clear, propagation, userns_fd;
};

static const char *const programs[] = { "bin", "etc", "lib", "lib32", "lib64", "libx32", "nix", "opt", "sbin", "usr" };
static const char *const devices[] = { "full", "null", "random", "urandom", "zero" };

static void make_folder(const char *path, mode_t mode)
{
	if (mkdir(path, mode) != 0 && errno != EEXIST)
		fail("make", path);
	if (chmod(path, mode) != 0)
		fail("make", path);
}

static void make_tmpfs(const char *path, const char *options, unsigned long more)
{
	if (mount("secbox", path, "tmpfs", MS_NOSUID | MS_NODEV | more, options) != 0)
		fail("mount", path);
}

static void bind(const char *from, const char *to, uint64_t attributes)
{
	struct attributes set = { .set = ATTR_NOSUID | attributes };

	if (mount(from, to, NULL, MS_BIND | MS_REC, NULL) != 0 ||
	    syscall(SYS_mount_setattr, AT_FDCWD, to, RECURSIVE, &set, sizeof set) != 0)
		fail("bind", to);
}

static void show_programs(void)
{
	for (size_t i = 0; i < sizeof programs / sizeof programs[0]; i++) {
		char from[64], to[64], link[PATH_ROOM];
		struct stat found;
		ssize_t length;

		snprintf(from, sizeof from, "/%s", programs[i]);
		snprintf(to, sizeof to, ROOT "/%s", programs[i]);
		if (lstat(from, &found) != 0)
			continue;
		if (S_ISDIR(found.st_mode)) {
			make_folder(to, 0755);
			bind(from, to, ATTR_RDONLY | ATTR_NODEV);
		} else if (S_ISLNK(found.st_mode)) {
			length = readlink(from, link, sizeof link - 1);
			if (length < 0)
				fail("read", from);
			link[length] = '\0';
			if (symlink(link, to) != 0)
				fail("make", to);
		}
	}
}

static void show_devices(void)
{
	static const char *const streams[][2] = {
		{ "/proc/self/fd", ROOT "/dev/fd" },
		{ "/proc/self/fd/0", ROOT "/dev/stdin" },
		{ "/proc/self/fd/1", ROOT "/dev/stdout" },
		{ "/proc/self/fd/2", ROOT "/dev/stderr" },
	};

	make_folder(ROOT "/dev", 0755);
	for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
		char from[64], to[64];
		int made;

		snprintf(from, sizeof from, "/dev/%s", devices[i]);
		snprintf(to, sizeof to, ROOT "/dev/%s", devices[i]);
		made = open(to, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
		if (made < 0)
			fail("make", to);
		close(made);
		bind(from, to, 0);
	}
	for (size_t i = 0; i < sizeof streams / sizeof streams[0]; i++)
		if (symlink(streams[i][0], streams[i][1]) != 0)
			fail("make", streams[i][1]);
	make_folder(ROOT "/dev/shm", 0755);
	make_tmpfs(ROOT "/dev/shm", "mode=1777,size=16m", MS_NOEXEC);
}

/* What was opened is what is shown, whatever its name points to by then. */
static int open_folder(const char *path)
{
	int folder = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (folder < 0)
		fail("open", path);
	return folder;
}

static void show_folder(int folder, const char *to, uint64_t attributes)
{
	char from[64];

	snprintf(from, sizeof from, "/proc/self/fd/%d", folder);
	make_folder(to, 0755);
	bind(from, to, ATTR_NODEV | attributes);
	close(folder);
}

/* Of a folder that is there, below what is shown, nothing is left to see. */
static void hide(const char *path)
{
	char to[PATH_ROOM];
	struct stat found;

	if (snprintf(to, sizeof to, ROOT "%s", path) >= (int)sizeof to) {
		errno = ENAMETOOLONG;
		fail("hide", path);
	}
	if (stat(to, &found) == 0)
		make_tmpfs(to, "mode=0555,size=4k", MS_RDONLY);
	else if (errno != ENOENT && errno != ENOTDIR)
		fail("hide", path);
}

static void enter(void)
{
	if (chdir(ROOT) != 0 || syscall(SYS_pivot_root, ".", ".") != 0 || umount2(".", MNT_DETACH) != 0 || chdir("/") != 0)
		fail("enter", "the new root");
	/* All that is to be written to is mounted on it. */
	if (mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) != 0)
		fail("shut", "the new root");
}

void enter_root(const struct options *options)
{
	char home[64];
	int inputs, work, artifacts;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		fail("leave", "the host's mounts");
	/* Before anything is mounted, which may hide where they lie. */
	inputs = open_folder(options->inputs);
	work = open_folder(options->work);
	artifacts = open_folder(options->artifacts);
	make_tmpfs(ROOT, "mode=0755,size=1m", 0);
	show_programs();
	show_devices();
	make_folder(ROOT "/proc", 0555);
	if (mount("proc", ROOT "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0)
		fail("mount", ROOT "/proc");
	make_folder(ROOT "/tmp", 0755);
	make_tmpfs(ROOT "/tmp", "mode=1777,size=128m", 0);
	make_folder(ROOT "/home", 0755);
	make_folder(ROOT "/home/sandbox", 0755);
	snprintf(home, sizeof home, "mode=0700,size=64m,uid=%u,gid=%u", options->uid, options->gid);
	make_tmpfs(ROOT "/home/sandbox", home, 0);
	for (unsigned i = 0; i < options->hidden_count; i++)
		hide(options->hidden[i]);
	make_folder(ROOT "/workspace", 0755);
	show_folder(inputs, ROOT "/workspace/inputs", ATTR_RDONLY);
	show_folder(work, ROOT "/workspace/work", 0);
	show_folder(artifacts, ROOT "/workspace/artifacts", 0);
	enter();
}
