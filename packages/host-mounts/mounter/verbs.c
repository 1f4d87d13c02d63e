#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mounts.h"

/* More mounts than this on one folder are nobody's mistake. */
#define MAX_STACKED 64

/* Holds its folders open while an overlay is made of them by number. */
struct layers {
	int fds[2 + MAX_LOWER];
	size_t count;
};

static const char *failed(const char *step, int fd)
{
	int error = errno;

	if (fd >= 0)
		close(fd);
	errno = error;
	return step;
}

static const char *attach(int mount, const char *target)
{
	int fd = open_target(target);

	if (fd < 0)
		return failed("target", mount);
	if (attach_mount(mount, fd) != 0) {
		failed("attach", fd);
		return failed("attach", mount);
	}
	close(fd);
	close(mount);
	return NULL;
}

static const char *bind_folder(const char *source, const char *target, bool read_only)
{
	int fd = open_source(source);

	if (fd < 0)
		return "source";

	int mount = clone_mount(fd, read_only);

	if (mount < 0)
		return failed("clone", fd);
	close(fd);
	return attach(mount, target);
}

static const char *disk(const char *image, const char *target)
{
	int fd = open_source_file(image);

	if (fd < 0)
		return "source";

	int mount = new_disk(fd);

	if (mount < 0)
		return failed("disk", fd);
	close(fd);
	return attach(mount, target);
}

static void close_layers(const struct layers *layers)
{
	int error = errno;

	for (size_t at = 0; at < layers->count; at++)
		close(layers->fds[at]);
	errno = error;
}

static bool open_layer(struct layers *layers, const char *path, char *name, size_t size)
{
	int fd = open_source(path);

	if (fd < 0)
		return false;
	layers->fds[layers->count++] = fd;
	/* The options of an overlay know paths only, with rules of their own for ':' and ','. */
	snprintf(name, size, "/proc/self/fd/%d", fd);
	return true;
}

static const char *overlay(const struct request *request)
{
	struct layers layers = {.count = 0};
	char upper[32], work[32], lower[32 * MAX_LOWER] = "";
	bool open = open_layer(&layers, request->strings[1], upper, sizeof upper) &&
		    open_layer(&layers, request->strings[2], work, sizeof work);

	for (unsigned at = 3; open && at < request->count; at++) {
		size_t length = strlen(lower);

		if (length > 0)
			lower[length++] = ':';
		open = open_layer(&layers, request->strings[at], lower + length, sizeof lower - length);
	}

	int mount = open ? new_overlay(lower, upper, work, (request->flags & FLAG_READ_ONLY) != 0) : -1;

	close_layers(&layers);
	if (!open)
		return "source";
	return mount < 0 ? "overlay" : attach(mount, request->strings[0]);
}

/* Whatever is mounted there is gone afterwards; nothing mounted is as good. */
static const char *unmount(const char *target)
{
	for (int tries = 0; tries < MAX_STACKED; tries++) {
		int fd = open_mounted(target);

		if (fd < 0)
			return "target";

		int mounted = is_mount_root(fd);

		if (mounted < 0)
			return failed("target", fd);
		if (!mounted) {
			close(fd);
			return NULL;
		}
		if (detach_mount(fd) != 0)
			return failed("unmount", fd);
		close(fd);
	}
	errno = EBUSY;
	return "unmount";
}

static const char *share(const char *path)
{
	int fd = open_target_root(path);

	if (fd < 0)
		return "target";

	int mounted = is_mount_root(fd);

	if (mounted < 0)
		return failed("target", fd);
	if (!mounted) {
		int mount = clone_mount(fd, false);

		if (mount < 0)
			return failed("clone", fd);
		if (attach_mount(mount, fd) != 0) {
			failed("attach", fd);
			return failed("attach", mount);
		}
		close(fd);
		fd = mount;
	}
	if (make_shared(fd) != 0 || !expect_mount(path, fd))
		return failed("share", fd);
	close(fd);
	return NULL;
}

const char *carry_out(const struct request *request)
{
	bool read_only = (request->flags & FLAG_READ_ONLY) != 0;
	bool plain = request->flags == 0;

	errno = EINVAL;
	if ((request->flags & ~(unsigned)FLAG_READ_ONLY) != 0)
		return "request";
	switch (request->verb) {
	case VERB_BIND:
		return request->count == 2 ? bind_folder(request->strings[0], request->strings[1], read_only) : "request";
	case VERB_OVERLAY:
		return request->count > 3 ? overlay(request) : "request";
	case VERB_UNMOUNT:
		return request->count == 1 && plain ? unmount(request->strings[0]) : "request";
	case VERB_SHARE:
		return request->count == 1 && plain ? share(request->strings[0]) : "request";
	case VERB_DISK:
		return request->count == 2 && plain ? disk(request->strings[0], request->strings[1]) : "request";
	default:
		return "request";
	}
}
