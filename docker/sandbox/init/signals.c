/*
 * PID 1 has no signal handler at all. The kernel then drops every signal that code in the namespace
 * sends it, SIGKILL and SIGSTOP included; ignoring them as well keeps them from ever being queued.
 * SIGCHLD alone is blocked and read from a descriptor: a forged one is an idle turn of the loop.
 */
#include <signal.h>
#include <stddef.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "init.h"

#define LAST_SIGNAL 64

/* By system call, because libc keeps signals 32 and 33 to itself. */
static void dispose(int signal, void (*handler)(int))
{
	struct {
		void (*handler)(int);
		unsigned long rest[4];
	} action = { .handler = handler };

	syscall(SYS_rt_sigaction, signal, &action, NULL, LAST_SIGNAL / 8);
}

int signals_shut(void)
{
	sigset_t child_signals;

	for (int signal = 1; signal <= LAST_SIGNAL; signal++)
		dispose(signal, signal == SIGCHLD ? SIG_DFL : SIG_IGN);
	sigemptyset(&child_signals);
	sigaddset(&child_signals, SIGCHLD);
	if (sigprocmask(SIG_SETMASK, &child_signals, NULL) != 0)
		return -1;
	return signalfd(-1, &child_signals, SFD_CLOEXEC | SFD_NONBLOCK);
}

void signals_restore(void)
{
	sigset_t none;

	for (int signal = 1; signal <= LAST_SIGNAL; signal++)
		dispose(signal, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}
