/* What the files of secbox-subprocess offer each other. */
#ifndef SECBOX_LAUNCHER_H
#define SECBOX_LAUNCHER_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

#define MAX_HIDDEN 8

struct options {
	uid_t uid;
	gid_t gid;
	rlim_t processes;
	const char *inputs, *work, *artifacts;
	/* Folders of the host that must not be seen, wherever they lie. */
	const char *hidden[MAX_HIDDEN];
	unsigned hidden_count;
};

/* main.c: says why on stderr and ends. */
void fail(const char *what, const char *name) __attribute__((noreturn));

/* root.c: makes a root of the host's programs and the exec's three folders, and enters it. */
void enter_root(const struct options *options);

/* drop.c */
/* The user namespace of a caller who is not root, in which it may mount. */
void own_users(uid_t uid, gid_t gid);
/* Becomes that user, in a user namespace that counts its processes, without any capability. */
void drop_privileges(const struct options *options, bool was_root);

/* docker/sandbox/init/init.c */
int init_main(int argc, char **argv);

#endif
