#define _GNU_SOURCE
#include <errno.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/loop.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "mounts.h"

#define BIT(capability) (1U << (capability))

/*
 * To mount, and to walk folders of the sandbox's user. The last three because an overlay does what programs do in it
 * with the rights of whoever mounted it: it copies up files of theirs.
 */
#define KEPT                                                                                                           \
	(BIT(CAP_SYS_ADMIN) | BIT(CAP_DAC_OVERRIDE) | BIT(CAP_DAC_READ_SEARCH) | BIT(CAP_CHOWN) | BIT(CAP_FOWNER) |     \
	 BIT(CAP_FSETID))

static bool drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};

	if (syscall(SYS_capget, &header, data) != 0)
		return false;
	if ((data[0].effective & BIT(CAP_SYS_ADMIN)) == 0) {
		errno = EPERM;
		return false;
	}
	for (int capability = 0; prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; capability++)
		if ((capability >= 32 || (KEPT & BIT(capability)) == 0) && prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0)
			return false;
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	data[0].permitted &= KEPT;
	data[0].effective = data[0].permitted;
	data[0].inheritable = 0;
	data[1].permitted = data[1].effective = data[1].inheritable = 0;
	return syscall(SYS_capset, &header, data) == 0;
}

#if defined(__x86_64__)
#define THIS_ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define THIS_ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

#define ALLOW(call)                                                                                                    \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* Of a call's arguments, the one that says what an ioctl is to do. */
#define ARGUMENT(number) (offsetof(struct seccomp_data, args) + (number) * sizeof(uint64_t))

/* All it does from now on; it starts nothing and maps nothing. */
static bool filter_calls(void)
{
#ifdef THIS_ARCHITECTURE
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, THIS_ARCHITECTURE, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_read),
		ALLOW(SYS_write),
		ALLOW(SYS_close),
		ALLOW(SYS_openat2),
		ALLOW(SYS_statx),
		ALLOW(SYS_open_tree),
		ALLOW(SYS_mount_setattr),
		ALLOW(SYS_move_mount),
		ALLOW(SYS_fsopen),
		ALLOW(SYS_fsconfig),
		ALLOW(SYS_fsmount),
		ALLOW(SYS_umount2),
		ALLOW(SYS_restart_syscall),
		ALLOW(SYS_rt_sigreturn),
		ALLOW(SYS_exit_group),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(1)),
		ALLOW(LOOP_CTL_GET_FREE),
		ALLOW(LOOP_CONFIGURE),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog filter = {.len = sizeof program / sizeof program[0], .filter = program};

	return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter, 0, 0) == 0;
#else
	return true;
#endif
}

bool confine(void)
{
	return drop_capabilities() && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && filter_calls();
}
