#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/loop.h>
#include <linux/mount.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mounts.h"

/* Others on this host take free devices too. */
#define MAX_TRIES 64

static int control = -1, devices = -1;

void disks_open(void)
{
	control = open("/dev/loop-control", O_RDWR | O_CLOEXEC);
	devices = open("/dev", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The device goes with its last mount, or with us when it never gets one. */
static int attach_image(int image, char *path, size_t size)
{
	if (control < 0 || devices < 0) {
		errno = ENODEV;
		return -1;
	}

	struct loop_config config = {.fd = (unsigned)image, .info = {.lo_flags = LO_FLAGS_AUTOCLEAR}};

	for (int tries = 0; tries < MAX_TRIES; tries++) {
		int number = ioctl(control, LOOP_CTL_GET_FREE);

		if (number < 0)
			return -1;
		snprintf(path, size, "/dev/loop%d", number);

		int device = open_as(devices, path + strlen("/dev/"), O_RDWR, 0);

		if (device < 0)
			return -1;
		if (ioctl(device, LOOP_CONFIGURE, &config) == 0)
			return device;

		int error = errno;

		close(device);
		errno = error;
		if (error != EBUSY)
			return -1;
	}
	return -1;
}

int new_disk(int image)
{
	char path[32];
	int device = attach_image(image, path, sizeof path);

	if (device < 0)
		return -1;

	int context = (int)syscall(SYS_fsopen, "ext4", FSOPEN_CLOEXEC);
	int mount = -1;

	if (context >= 0 && set_option(context, "source", path) && set_option(context, "errors", "remount-ro") &&
	    set_flag(context, "discard") && create_superblock(context))
		mount = (int)syscall(SYS_fsmount, context, FSMOUNT_CLOEXEC,
				     MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOATIME);

	int error = errno;

	if (context >= 0)
		close(context);
	close(device);
	errno = error;
	return mount;
}
