/* What the files of secbox-mounts offer each other, file by file. */
#ifndef SECBOX_MOUNTS_H
#define SECBOX_MOUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "protocol.h"

#define MAX_STRINGS (3 + MAX_LOWER)

/* kernel.c: calls that the C library has no, or no stable, wrapper for. As those, -1 and errno. */
int open_beneath(int folder, const char *path, uint64_t resolve);
/* The same for what is no folder. */
int open_as(int folder, const char *path, int flags, uint64_t resolve);
bool kernel_can_mount(void);
/* A detached, private copy of what is mounted there, without what is mounted below it. */
int clone_mount(int folder, bool read_only);
int attach_mount(int mount, int target);
int make_shared(int mount);
int detach_mount(int mount);
/* Whether the folder is the root of a mount; -1 and errno. */
int is_mount_root(int folder);
bool is_regular(int file);
/* Tells the mount from every other that is there now. */
bool mount_id(int folder, uint64_t *id);
int new_overlay(const char *lower, const char *upper, const char *work, bool read_only);
bool set_option(int context, const char *key, const char *value);
bool set_flag(int context, const char *key);
bool create_superblock(int context);

/* disks.c: an image of ext4 as a detached mount; ENODEV when no devices were opened, or there are none. -1 and errno. */
void disks_open(void);
int new_disk(int image);

/* roots.c: which folders may be named, and the only way in which one is opened. -1 and errno. */
enum root_kind { SOURCES, TARGETS };
bool roots_add(enum root_kind kind, const char *path);
int open_source(const char *path);
/* A regular file, to be read and written. */
int open_source_file(const char *path);
/*
 * A folder on which nothing is mounted, with no mount on the way from its root. ESTALE: the root is not on the mount any
 * more that was shared, so that no container would see what is mounted there.
 */
int open_target(const char *path);
/* From now on targets below this root lie on this very mount. */
bool expect_mount(const char *root, int mount);
/* The same, or what is mounted on it. */
int open_mounted(const char *path);
int open_target_root(const char *path);

/* verbs.c: the step that failed, with errno, or NULL. */
struct request {
	uint32_t id;
	unsigned verb, flags, count;
	const char *strings[MAX_STRINGS];
};
const char *carry_out(const struct request *request);

/* frames.c: serves until stdin ends; the status to exit with. */
void answer_ready(void);
int serve(void);

/* confine.c: gives up everything that is not needed any more. */
bool confine(void);

/* main.c */
int say(const char *text, int status);
#define STATUS_USAGE 64
#define STATUS_FRAME 65
#define STATUS_SETUP 71

#endif
