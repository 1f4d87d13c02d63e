#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <string.h>
#include <unistd.h>

#include "mounts.h"

#define MAX_ROOTS 16

/*
 * A root is held by the folder above it and its name: what is mounted on the root later is then part of the way, as it
 * is for everybody else.
 */
static struct root {
	enum root_kind kind;
	const char *path, *name;
	size_t length;
	int above;
	bool shared;
	uint64_t mount;
} roots[MAX_ROOTS];
static size_t root_count;

/* Absolute, with nothing in it that a path that was built from checked parts would have. */
static bool well_formed(const char *path)
{
	if (strlen(path) >= PATH_MAX) {
		errno = ENAMETOOLONG;
		return false;
	}
	errno = EINVAL;
	if (path[0] != '/')
		return false;
	for (const char *part = path + 1;;) {
		size_t length = strcspn(part, "/");

		if (length == 0 || (length == 1 && part[0] == '.') || (length == 2 && part[0] == '.' && part[1] == '.'))
			return false;
		if (part[length] == '\0')
			return true;
		part += length + 1;
	}
}

bool roots_add(enum root_kind kind, const char *path)
{
	char above[PATH_MAX];

	if (root_count == MAX_ROOTS) {
		errno = E2BIG;
		return false;
	}
	if (!well_formed(path))
		return false;

	const char *name = strrchr(path, '/') + 1;
	size_t length = (size_t)(name - path);
	int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	memcpy(above, path, length);
	above[length] = '\0';

	int fd = length == 1 ? top : open_beneath(top, above + 1, 0);

	if (fd != top)
		close(top);
	if (fd < 0)
		return false;
	roots[root_count++] =
		(struct root){.kind = kind, .path = path, .name = name, .length = strlen(path), .above = fd};
	return true;
}

/* The part of a path that lies below a root, or empty for the root itself; NULL and errno. */
static const char *below_root(enum root_kind kind, const char *path, const struct root **found)
{
	if (!well_formed(path))
		return NULL;
	for (const struct root *root = roots; root < roots + root_count; root++) {
		if (root->kind != kind || strncmp(path, root->path, root->length) != 0)
			continue;
		*found = root;
		if (path[root->length] == '\0')
			return path + root->length;
		if (path[root->length] == '/')
			return path + root->length + 1;
	}
	errno = EACCES;
	return NULL;
}

static int then_close(int fd, int result)
{
	int error = errno;

	close(fd);
	errno = error;
	return result;
}

static int open_below_as(enum root_kind kind, const char *path, int flags, uint64_t resolve)
{
	const struct root *root;
	const char *rest = below_root(kind, path, &root);

	if (rest == NULL)
		return -1;
	if (*rest == '\0') {
		errno = EACCES;
		return -1;
	}

	int fd = open_beneath(root->above, root->name, 0);

	return fd < 0 ? -1 : then_close(fd, open_as(fd, rest, flags, resolve));
}

static int open_below(enum root_kind kind, const char *path, uint64_t resolve)
{
	return open_below_as(kind, path, O_PATH | O_DIRECTORY, resolve);
}

int open_source_file(const char *path)
{
	/* A pipe must not keep us waiting. */
	int fd = open_below_as(SOURCES, path, O_RDWR | O_NONBLOCK, 0);

	if (fd < 0 || is_regular(fd))
		return fd;
	errno = EINVAL;
	return then_close(fd, -1);
}

int open_source(const char *path)
{
	return open_below(SOURCES, path, 0);
}

int open_target(const char *path)
{
	const struct root *root;
	uint64_t mount;
	int fd = open_below(TARGETS, path, RESOLVE_NO_XDEV);

	if (fd < 0) {
		if (errno == EXDEV)
			errno = EBUSY;
		return -1;
	}
	below_root(TARGETS, path, &root);
	if (!root->shared)
		return fd;
	if (!mount_id(fd, &mount))
		return then_close(fd, -1);
	if (mount == root->mount)
		return fd;
	errno = ESTALE;
	return then_close(fd, -1);
}

bool expect_mount(const char *path, int mount)
{
	for (struct root *root = roots; root < roots + root_count; root++)
		if (root->kind == TARGETS && strcmp(path, root->path) == 0)
			return root->shared = mount_id(mount, &root->mount);
	errno = EACCES;
	return false;
}

int open_mounted(const char *path)
{
	const struct root *root;
	const char *rest = below_root(TARGETS, path, &root);

	if (rest == NULL)
		return -1;
	if (*rest == '\0')
		return open_beneath(root->above, root->name, 0);

	const char *slash = strrchr(rest, '/');
	int fd;

	if (slash == NULL)
		fd = open_beneath(root->above, root->name, 0);
	else {
		char above[PATH_MAX];
		size_t length = (size_t)(slash - path);

		memcpy(above, path, length);
		above[length] = '\0';
		fd = open_below(TARGETS, above, RESOLVE_NO_XDEV);
		if (fd < 0 && errno == EXDEV)
			errno = EBUSY;
	}
	return fd < 0 ? -1 : then_close(fd, open_beneath(fd, slash == NULL ? rest : slash + 1, 0));
}

int open_target_root(const char *path)
{
	const struct root *root;
	const char *rest = below_root(TARGETS, path, &root);

	if (rest != NULL && *rest == '\0')
		return open_beneath(root->above, root->name, 0);
	if (rest != NULL)
		errno = EACCES;
	return -1;
}
