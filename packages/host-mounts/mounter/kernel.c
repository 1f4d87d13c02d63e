#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h>
#include <linux/openat2.h>
#include <linux/stat.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mounts.h"

/* <sys/mount.h> would say so, but does not go together with <linux/mount.h> in every C library. */
#ifndef MNT_DETACH
#define MNT_DETACH 2
#endif

int open_beneath(int folder, const char *path, uint64_t resolve)
{
	return open_as(folder, path, O_PATH | O_DIRECTORY, resolve);
}

int open_as(int folder, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = {
		.flags = (uint64_t)flags | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | resolve,
	};
	int fd;

	/* EAGAIN: something on this system was renamed meanwhile, and the kernel cannot be sure. */
	do
		fd = (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
	while (fd < 0 && (errno == EAGAIN || errno == EINTR));
	return fd;
}

/* The newest call that is needed came with Linux 5.12. */
bool kernel_can_mount(void)
{
	struct mount_attr nothing = {0};

	return syscall(SYS_mount_setattr, -1, "", AT_EMPTY_PATH, &nothing, sizeof nothing) == 0 || errno != ENOSYS;
}

int clone_mount(int folder, bool read_only)
{
	struct mount_attr attributes = {
		.attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (read_only ? MOUNT_ATTR_RDONLY : 0),
		/* Else it would stay a peer of what it was copied from, and mounts made there would show here. */
		.propagation = MS_PRIVATE,
	};
	int mount = (int)syscall(SYS_open_tree, folder, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);

	if (mount < 0)
		return -1;
	/* Before it is attached: a mount reaches the containers as it is then, and a later change does not. */
	if (syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH, &attributes, sizeof attributes) == 0)
		return mount;

	int error = errno;

	close(mount);
	errno = error;
	return -1;
}

int attach_mount(int mount, int target)
{
	return (int)syscall(SYS_move_mount, mount, "", target, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

int make_shared(int mount)
{
	struct mount_attr attributes = {.propagation = MS_SHARED};

	return (int)syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH, &attributes, sizeof attributes);
}

int detach_mount(int mount)
{
	char path[32];

	/* umount2 knows paths only; this one leads to the open folder, wherever names point by now. */
	snprintf(path, sizeof path, "/proc/self/fd/%d", mount);
	return (int)syscall(SYS_umount2, path, MNT_DETACH);
}

int is_mount_root(int folder)
{
	struct statx about;

	if (syscall(SYS_statx, folder, "", AT_EMPTY_PATH, 0, &about) != 0)
		return -1;
	return (about.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

bool is_regular(int file)
{
	struct statx about;

	return syscall(SYS_statx, file, "", AT_EMPTY_PATH, STATX_TYPE, &about) == 0 &&
	       (about.stx_mode & S_IFMT) == S_IFREG;
}

bool mount_id(int folder, uint64_t *id)
{
	struct statx about;

	if (syscall(SYS_statx, folder, "", AT_EMPTY_PATH, STATX_MNT_ID, &about) != 0)
		return false;
	*id = about.stx_mnt_id;
	return true;
}

bool set_option(int context, const char *key, const char *value)
{
	return syscall(SYS_fsconfig, context, FSCONFIG_SET_STRING, key, value, 0) == 0;
}

bool set_flag(int context, const char *key)
{
	return syscall(SYS_fsconfig, context, FSCONFIG_SET_FLAG, key, NULL, 0) == 0;
}

bool create_superblock(int context)
{
	return syscall(SYS_fsconfig, context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0;
}

int new_overlay(const char *lower, const char *upper, const char *work, bool read_only)
{
	int context = (int)syscall(SYS_fsopen, "overlay", FSOPEN_CLOEXEC);
	int mount = -1;

	if (context < 0)
		return -1;
	if (set_option(context, "source", "overlay") && set_option(context, "lowerdir", lower) &&
	    set_option(context, "upperdir", upper) && set_option(context, "workdir", work) &&
	    set_option(context, "metacopy", "off") && set_option(context, "redirect_dir", "off") &&
	    set_option(context, "index", "off") && create_superblock(context))
		mount = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC,
				     MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (read_only ? MOUNT_ATTR_RDONLY : 0));

	int error = errno;

	close(context);
	errno = error;
	return mount;
}
