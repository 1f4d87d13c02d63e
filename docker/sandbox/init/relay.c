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
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bytes.h"
#include "init.h"

#define REAPED_PER_TURN 256
#define SWEEP_RETRY_US 10000
#define FOREIGN_PROCESS_PATIENCE_US 2000000

enum stage {
	WAITING,  /* for the request */
	STARTING, /* forked; execve has neither failed nor succeeded yet */
	RUNNING,
	SWEEPING, /* the command has ended: nothing else may live on */
	DRAINING, /* nothing can write any more; what is in the pipes goes to the host */
	ENDED,    /* the last frame is on its way; the host closes fd 0 when it has it */
};

static enum stage stage;
static struct inbox inbox;
static int fault;
static struct child child = { .pid = -1, .status = -1, .stdin = -1, .stdout = -1, .stderr = -1 };
static struct start_failure failure;
static bool started, tell_ready = true, tell_started;
static bool child_ended, reaped, maybe_more_to_reap, childless, alone;
static int wait_status;
static size_t stdout_left = MAX_DATA_BYTES, stderr_left = MAX_DATA_BYTES;
/* Moments in microseconds; 0: not set. */
static uint64_t started_at, ended_at, kill_at, childless_since;

static uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

/* ---- what the host asks for ---- */

void on_request(const struct request *request)
{
	counters_start();
	started_at = now_us();
	stage = STARTING;
	if (spawn(request, &child, &failure)) {
		failure.step = 0;
		stdin_open(child.stdin);
	} else {
		stage = SWEEPING;
	}
	request_forget();
}

void on_stdin(const unsigned char *bytes, size_t count)
{
	stdin_put(bytes, count);
}

void on_stdin_end(void)
{
	stdin_end();
}

void on_kill(int signal, uint32_t grace_ms)
{
	if (stage != STARTING && stage != RUNNING)
		return;
	kill_everything(signal);
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
		pid_t pid = waitpid(-1, &status, WNOHANG | __WALL);

		if (pid <= 0) {
			childless = pid < 0 && errno == ECHILD;
			return;
		}
		if (pid == child.pid && !reaped) {
			reaped = true;
			wait_status = status;
			ended_at = now_us();
		}
	}
	maybe_more_to_reap = true;
}

/* The descriptor ends at execve, so it is settled in any case once the child is reaped. */
static void settle_start(void)
{
	ssize_t count = read(child.status, &failure, sizeof failure);

	if (count < 0)
		return;
	if (count == (ssize_t)sizeof failure) {
		stage = SWEEPING;
		return;
	}
	failure.step = 0;
	started = tell_started = true;
	stage = RUNNING;
	close(child.status);
	child.status = -1;
}

/*
 * A copy of the pipe's other end may have been passed to a process outside, so its end of file is not
 * to be waited for. What our processes wrote is what is in it now.
 */
static size_t bytes_in(int fd)
{
	int count;

	return fd >= 0 && started && fault == 0 && ioctl(fd, FIONREAD, &count) == 0 ? (size_t)count : 0;
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
		kill_everything(SIGKILL);
		kill_at = 0;
	}
	if (stage == STARTING)
		settle_start();
	if (stage == RUNNING && reaped)
		stage = SWEEPING;
	if (stage == SWEEPING)
		sweep_on();
}

/* ---- what the host is told ---- */

static void frame_ready(void)
{
	unsigned char payload[12] = { 0 };

	put_u16(payload, PROTOCOL_VERSION);
	put_u32(payload + 4, MAX_REQUEST_BYTES);
	put_u32(payload + 8, STDIN_WINDOW_BYTES);
	outbox_frame(FRAME_READY, payload, sizeof payload);
}

static void frame_started(void)
{
	unsigned char payload[8] = { 0 };

	put_u32(payload, (uint32_t)child.pid);
	outbox_frame(FRAME_STARTED, payload, sizeof payload);
}

static void frame_credit(size_t credit)
{
	unsigned char payload[4];

	inbox.window += credit;
	put_u32(payload, (uint32_t)credit);
	outbox_frame(FRAME_STDIN_CREDIT, payload, sizeof payload);
}

static void frame_exit(void)
{
	unsigned char payload[EXIT_BYTES] = { 0 };
	struct usage usage;

	counters_read(&usage);
	payload[0] = WIFSIGNALED(wait_status) ? HOW_SIGNALED : HOW_EXITED;
	payload[1] = (unsigned char)(WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status));
	payload[2] = alone ? EXIT_FLAG_ALONE : 0;
	payload[3] = (unsigned char)usage.measured;
	put_u32(payload + 4, usage.oom_kills);
	put_u64(payload + 8, ended_at - started_at);
	put_u64(payload + 16, usage.cpu_us);
	put_u64(payload + 24, usage.peak_bytes);
	put_u64(payload + 32, usage.max_rss_bytes);
	outbox_frame(FRAME_EXIT, payload, sizeof payload);
}

static void frame_last(void)
{
	unsigned char payload[8] = { 0 };

	if (fault != 0) {
		payload[0] = (unsigned char)fault;
		payload[1] = inbox.header[2];
		put_u32(payload + 4, get_u32(inbox.header + 4));
		outbox_frame(FRAME_FAULT, payload, sizeof payload);
	} else if (failure.step != 0) {
		payload[0] = (unsigned char)failure.step;
		put_u32(payload + 4, (uint32_t)failure.error);
		outbox_frame(FRAME_FAILED, payload, sizeof payload);
	} else {
		frame_exit();
	}
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
		frame_ready();
	if (tell_started)
		frame_started();
	tell_ready = tell_started = false;
	if (credit > 0)
		frame_credit(credit);
	if (stdin_take_closed())
		outbox_frame(FRAME_STDIN_CLOSED, NULL, 0);
	if (started && fault == 0) {
		relay_stream(FRAME_STDOUT, &child.stdout, &stdout_left);
		relay_stream(FRAME_STDERR, &child.stderr, &stderr_left);
	}
	if (stage == DRAINING && stdout_left == 0 && stderr_left == 0) {
		frame_last();
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
	listen_to(stage == STARTING ? child.status : -1, &readable, &highest);
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

int relay(int child_signals)
{
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
