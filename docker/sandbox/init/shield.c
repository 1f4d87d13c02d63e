/*
 * Most calls on another process ask whether the caller may trace it, and init may not be traced. A few
 * ask only for the same uid: with prlimit the command could have the kernel kill init for its processor
 * time; with SCHED_IDLE and a crowd of busy processes it could starve init until not even the engine's
 * SIGKILL gets through. So the command and all it starts are refused these calls on process 1, by a
 * filter of their own that holds whatever profile the engine applies.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "init.h"

/* The native calls, and those of the 32-bit programs that the same kernel runs. */
#if defined(__x86_64__)
#define NATIVE AUDIT_ARCH_X86_64
#define COMPAT AUDIT_ARCH_I386
#define COMPAT_PRLIMIT64 340
#define COMPAT_SCHED_SETATTR 351
#elif defined(__aarch64__)
#define NATIVE AUDIT_ARCH_AARCH64
#define COMPAT AUDIT_ARCH_ARM
#define COMPAT_PRLIMIT64 369
#define COMPAT_SCHED_SETATTR 380
#else
#error "Say which calls this architecture has."
#endif
/* The same on both. */
#define COMPAT_SETPRIORITY 97
#define COMPAT_SCHED_SETPARAM 154
#define COMPAT_SCHED_SETSCHEDULER 156
#define COMPAT_SCHED_SETAFFINITY 241
/* Marks a call of the third ABI of x86-64, which shares the numbers of the first. */
#define X32_BIT 0x40000000U

/* Places in the program that it jumps to. */
enum { OF_COMPAT = 10, ON_PROCESS = 18, ON_PRIORITY = 20, ALLOW = 24, DENY = 25 };

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define IF(here, value, then, otherwise) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), (then) - (here) - 1, (otherwise) - (here) - 1)

/* A process is an int, so the lower half of an argument is all of it; both architectures put it first. */
static struct sock_filter program[] = {
	[0] = LOAD(arch),
	[1] = IF(1, NATIVE, 2, OF_COMPAT),
	[2] = LOAD(nr),
	[3] = BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~X32_BIT),
	[4] = IF(4, SYS_prlimit64, ON_PROCESS, 5),
	[5] = IF(5, SYS_sched_setscheduler, ON_PROCESS, 6),
	[6] = IF(6, SYS_sched_setparam, ON_PROCESS, 7),
	[7] = IF(7, SYS_sched_setattr, ON_PROCESS, 8),
	[8] = IF(8, SYS_sched_setaffinity, ON_PROCESS, 9),
	[9] = IF(9, SYS_setpriority, ON_PRIORITY, ALLOW),
	[OF_COMPAT] = IF(OF_COMPAT, COMPAT, 11, DENY),
	[11] = LOAD(nr),
	[12] = IF(12, COMPAT_PRLIMIT64, ON_PROCESS, 13),
	[13] = IF(13, COMPAT_SCHED_SETSCHEDULER, ON_PROCESS, 14),
	[14] = IF(14, COMPAT_SCHED_SETPARAM, ON_PROCESS, 15),
	[15] = IF(15, COMPAT_SCHED_SETATTR, ON_PROCESS, 16),
	[16] = IF(16, COMPAT_SCHED_SETAFFINITY, ON_PROCESS, 17),
	[17] = IF(17, COMPAT_SETPRIORITY, ON_PRIORITY, ALLOW),
	[ON_PROCESS] = LOAD(args[0]),
	[19] = IF(19, 1, DENY, ALLOW),
	/* setpriority(which, who): of a user it would reach init too. */
	[ON_PRIORITY] = LOAD(args[0]),
	[21] = IF(21, PRIO_USER, DENY, 22),
	[22] = LOAD(args[1]),
	[23] = IF(23, 1, DENY, ALLOW),
	[ALLOW] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	[DENY] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
};

bool shield_init(void)
{
	struct sock_fprog filter = { .len = sizeof program / sizeof program[0], .filter = program };

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
}
