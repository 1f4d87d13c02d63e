/*
 * The life of one request. One loop, one thread, no allocation: it listens to the host on fd 0 at
 * every turn, whatever else is stuck, and moves through the stages in one direction only.
 *
 * It waits with select(2): poll(2) fails when somebody lowers our RLIMIT_NOFILE, and epoll draws on a
 * quota shared by every process of this uid on the host.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "init.h"

#define REAPED_PER_TURN 256
#define SWEEP_RETRY_US 10000
#define FOREIGN_PROCESS_PATIENCE_US 2000000

enum stage {
	WAITING,  /* for the request */
	CLEARING, /* what was started ahead is of no use to the request; its end is waited for */
	STARTING, /* forked, or handed over; that has neither failed nor succeeded yet */
	RUNNING,
	SWEEPING, /* the command has ended: nothing else may live on */
	DRAINING, /* nothing can write any more; what is in the pipes goes to the host */
	ENDED,    /* the last frame is on its way; the host closes fd 0 when it has it */
};

static enum stage stage;
static struct inbox inbox;
static int fault;
/* Before the request: what was started ahead, if anything. */
static struct child child;
/* Its strings lie in request_payload until that is forgotten. */
static struct request request;
static struct start_failure failure;
static bool started, ahead_up, ahead_unwanted, ahead_used, tell_ready = true, tell_started;
static unsigned prestart, tell_ahead;
/* The last signal that the host sent before the command had started. */
static int early_signal;
static bool child_ended, reaped, maybe_more_to_reap, childless, alone;
static int wait_status;
static size_t stdout_left = MAX_DATA_BYTES, stderr_left = MAX_DATA_BYTES;
/* Moments in microseconds; 0: not set. */
static uint64_t started_at, ended_at, kill_at, childless_since;

/* ---- what the host asks for ---- */

static void start_plainly(void)
{
	counters_start();
	started_at = now_us();
	reaped = false;
	stage = STARTING;
	if (spawn(&request, &child, &failure)) {
		failure.step = 0;
		stdin_open(child.stdin);
		if (early_signal == SIGKILL)
			kill_everything(SIGKILL);
	} else {
		stage = SWEEPING;
	}
	request_forget();
}

/* It dies while the host is still at other things. */
void on_clear(void)
{
	ahead_unwanted = true;
	if (child.pid > 0 && !reaped)
		kill(child.pid, SIGKILL);
}

/* Nothing of the request has run in it. */
static void clear_ahead(void)
{
	ahead_used = false;
	stage = CLEARING;
	if (!reaped)
		kill(child.pid, SIGKILL);
}

void on_request(const struct request *asked, size_t payload_bytes)
{
	request = *asked;
	if (child.pid < 0) {
		start_plainly();
	} else if (!reaped && !ahead_unwanted && ahead_fits(&request, payload_bytes) &&
		   ahead_give(&child, payload_bytes)) {
		counters_start();
		started_at = now_us();
		ahead_used = true;
		stage = STARTING;
	} else {
		clear_ahead();
	}
}

/*
 * What was started ahead may die of a signal that was meant for the command: that gets it too. A
 * command ignores signals until shortly before its execve, as init does: it gets them after that.
 */
static void signal_everything(int signal)
{
	if (stage == CLEARING || stage == STARTING)
		early_signal = signal;
	if (stage != STARTING || ahead_used || signal == SIGKILL)
		kill_everything(signal);
}

void on_kill(int signal, uint32_t grace_ms)
{
	if (stage != CLEARING && stage != STARTING && stage != RUNNING)
		return;
	signal_everything(signal);
	if (signal != SIGKILL)
		kill_at = now_us() + (uint64_t)grace_ms * 1000;
}

/* False: the host is gone, or has closed fd 0 to say that it needs nothing more. */
static bool hear_host(void)
{
	static unsigned char bytes[65536];
	ssize_t count = read(0, bytes, sizeof bytes);

	if (count < 0)
		return errno == EAGAIN || errno == EINTR;
	if (count == 0)
		return false;
	if (fault == 0 && stage != ENDED) {
		fault = inbox_feed(&inbox, bytes, (size_t)count);
		if (fault != 0)
			stage = SWEEPING;
	}
	return true;
}

/* ---- what the processes do ---- */

static void reap(void)
{
	maybe_more_to_reap = false;
	for (int i = 0; i < REAPED_PER_TURN; i++) {
		int status;
		struct rusage usage;
		pid_t pid = wait4(-1, &status, WNOHANG | __WALL, &usage);

		if (pid <= 0) {
			childless = pid < 0 && errno == ECHILD;
			return;
		}
		if (stage != WAITING && stage != CLEARING)
			counters_add(&usage);
		if (pid == child.pid && !reaped) {
			reaped = true;
			wait_status = status;
			ended_at = now_us();
		}
	}
	maybe_more_to_reap = true;
}

static void begin(void)
{
	failure.step = 0;
	started = tell_started = true;
	stage = RUNNING;
	close(child.status);
	child.status = -1;
	if (early_signal != 0 && !ahead_used)
		kill_everything(early_signal);
}

/* The descriptor ends at execve, so it is settled in any case once the child is reaped. */
static void settle_start(void)
{
	ssize_t count = read(child.status, &failure, sizeof failure);

	if (count == (ssize_t)sizeof failure)
		stage = SWEEPING;
	else if (count >= 0)
		begin();
}

/* What was started ahead says itself what it does; if it ends first, the request is still ours to start. */
static void settle_handover(void)
{
	struct start_failure told;
	ssize_t count = read(child.status, &told, sizeof told);

	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (count == (ssize_t)sizeof told && told.step == AHEAD_UP) {
		ahead_up = true;
	} else if (count != (ssize_t)sizeof told || !ahead_up) {
		clear_ahead();
	} else if (told.step != AHEAD_TAKEN) {
		failure = told;
		stage = SWEEPING;
		request_forget();
	} else {
		request_forget();
		if (request.streams_stdin)
			stdin_open(child.stdin);
		else
			close(child.stdin);
		begin();
	}
}

static void watch_ahead(void)
{
	struct start_failure told;
	ssize_t count = child.status < 0 ? -1 : read(child.status, &told, sizeof told);

	if (count == (ssize_t)sizeof told && told.step == AHEAD_UP) {
		ahead_up = true;
		tell_ahead = AHEAD_STATE_UP;
	} else if (count >= 0) {
		/* It has ended, or could not be started; it is reaped when the kernel says so. */
		tell_ahead = AHEAD_STATE_LOST;
		close(child.status);
		child.status = -1;
	}
}

/*
 * A copy of the pipe's other end may have been passed to a process outside, so its end of file is not
 * to be waited for. What our processes wrote is what is in it now.
 */
static size_t bytes_in(int fd)
{
	return started && fault == 0 ? outbox_waiting(fd) : 0;
}

static void sweep_on(void)
{
	alone = sweep();
	if (!childless)
		childless_since = 0;
	else if (childless_since == 0)
		childless_since = now_us();
	/* Not ours and not ours to kill: somebody entered the namespace from outside. EXIT tells it. */
	if (alone || (childless && now_us() - childless_since > FOREIGN_PROCESS_PATIENCE_US)) {
		stdout_left = bytes_in(child.stdout);
		stderr_left = bytes_in(child.stderr);
		stage = DRAINING;
	}
}

static void step(void)
{
	if (kill_at != 0 && now_us() >= kill_at) {
		signal_everything(SIGKILL);
		kill_at = 0;
	}
	if (stage == WAITING)
		watch_ahead();
	if (stage == STARTING && ahead_used)
		settle_handover();
	else if (stage == STARTING)
		settle_start();
	if (stage == CLEARING && reaped) {
		child_close(&child);
		start_plainly();
	}
	if (stage == RUNNING && reaped)
		stage = SWEEPING;
	if (stage == SWEEPING)
		sweep_on();
}

/* ---- what the host is told ---- */

static void tell_last(void)
{
	if (fault != 0)
		frame_fault(fault, inbox.header);
	else if (failure.step != 0)
		frame_failed(&failure);
	else
		frame_exit(wait_status, alone, ended_at - started_at);
}

static void relay_stream(unsigned type, int *fd, size_t *left)
{
	if (*fd < 0 || *left == 0)
		return;

	ssize_t count = outbox_read(type, *fd, *left);

	if (stage == DRAINING)
		*left = count > 0 ? *left - (size_t)count : 0;
	if (count == 0) {
		close(*fd);
		*fd = -1;
		*left = 0;
	}
}

static void fill_outbox(void)
{
	size_t credit = stdin_take_credit();

	if (tell_ready)
		frame_ready(prestart);
	if (tell_ahead != 0)
		frame_ahead(tell_ahead);
	if (tell_started)
		frame_started(child.pid, ahead_used ? START_AHEAD : START_PLAIN);
	tell_ready = tell_started = false;
	tell_ahead = 0;
	if (credit > 0)
		frame_credit(credit);
	inbox.window += credit;
	if (stdin_take_closed())
		outbox_frame(FRAME_STDIN_CLOSED, NULL, 0);
	if (started && fault == 0) {
		relay_stream(FRAME_STDOUT, &child.stdout, &stdout_left);
		relay_stream(FRAME_STDERR, &child.stderr, &stderr_left);
	}
	if (stage == DRAINING && stdout_left == 0 && stderr_left == 0) {
		tell_last();
		stage = ENDED;
	}
}

/* ---- the loop ---- */

static struct timeval *patience(struct timeval *limit)
{
	uint64_t wait_us;

	if (maybe_more_to_reap || (stage == DRAINING && outbox_empty())) {
		wait_us = 0;
	} else if (stage == SWEEPING) {
		wait_us = SWEEP_RETRY_US;
	} else if (kill_at != 0) {
		uint64_t now = now_us();

		wait_us = kill_at > now ? kill_at - now : 0;
	} else {
		return NULL;
	}
	*limit = (struct timeval){ .tv_sec = (time_t)(wait_us / 1000000), .tv_usec = (long)(wait_us % 1000000) };
	return limit;
}

static void listen_to(int fd, fd_set *set, int *highest)
{
	if (fd < 0)
		return;
	FD_SET(fd, set);
	if (fd > *highest)
		*highest = fd;
}

/* Waits until there is something to do; true when the host has something to say. */
static bool wait_for_news(int child_signals)
{
	struct signalfd_siginfo cleared;
	struct timeval limit;
	fd_set readable, writable;
	int highest = 0;

	FD_ZERO(&readable);
	FD_ZERO(&writable);
	listen_to(0, &readable, &highest);
	listen_to(child_signals, &readable, &highest);
	listen_to(stage == STARTING || stage == WAITING ? child.status : -1, &readable, &highest);
	listen_to(stdin_waits_for(), &writable, &highest);
	if (!outbox_empty()) {
		listen_to(1, &writable, &highest);
	} else if (started && fault == 0) {
		listen_to(child.stdout, &readable, &highest);
		listen_to(child.stderr, &readable, &highest);
	}
	if (select(highest + 1, &readable, &writable, NULL, patience(&limit)) < 0)
		FD_ZERO(&readable);
	/* Cleared before the children are reaped, so that an ending in between wakes us again. */
	child_ended = FD_ISSET(child_signals, &readable) && read(child_signals, &cleared, sizeof cleared) > 0;
	return FD_ISSET(0, &readable);
}

int relay(int child_signals, bool python_ahead)
{
	child = no_child;
	if (python_ahead) {
		prestart = PRESTART_PYTHON;
		if (!ahead_start(&child))
			tell_ahead = AHEAD_STATE_LOST;
	}
	for (;;) {
		if (outbox_empty())
			fill_outbox();
		if (!outbox_flush())
			return stage == ENDED ? STATUS_DONE : STATUS_ABANDONED;
		if (wait_for_news(child_signals) && !hear_host())
			break;
		stdin_pump();
		if (child_ended || maybe_more_to_reap || stage == SWEEPING)
			reap();
		step();
	}
	if (stage != WAITING && stage != ENDED)
		return STATUS_ABANDONED;
	return fault != 0 ? STATUS_FAULT : STATUS_DONE;
}
