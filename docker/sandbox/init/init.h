/* What the files of secbox-init offer each other, file by file. */
#ifndef SECBOX_INIT_H
#define SECBOX_INIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "ahead.h"
#include "protocol.h"

/* request.c */
struct request {
	bool streams_stdin;
	mode_t umask;
	size_t rlimit_count;
	struct {
		int resource;
		rlim_t value;
	} rlimits[MAX_RLIMITS];
	char *cwd;
	char **argv;
	char **envp;
};
/* The result points into payload. False: malformed. */
bool request_parse(unsigned char *payload, size_t length, struct request *request);

/* inbox.c: frames from the host, fed in pieces of any size. Zero, or a FAULT_ code that ends the talk. */
struct inbox {
	unsigned char header[HEADER_BYTES];
	size_t header_have;
	unsigned type;
	size_t length, have;
	bool requested, stdin_open;
	size_t window;
	unsigned char kill[KILL_BYTES];
};
int inbox_feed(struct inbox *inbox, const unsigned char *bytes, size_t count);
/* Page-aligned, so that its pages can be given back once the command has its own copy. */
extern unsigned char request_payload[MAX_REQUEST_BYTES];
void request_forget(void);

/* what the inbox calls (relay.c). The request holds until it is forgotten. */
void on_request(const struct request *request, size_t payload_bytes);
void on_kill(int signal, uint32_t grace_ms);
void on_clear(void);

/* stdin.c: what the host streams to the command's stdin; never more than one window is held. */
/* What came before is held until then. */
void stdin_open(int fd);
void stdin_put(const unsigned char *bytes, size_t count);
void stdin_end(void);
/* The descriptor to wait for until it takes bytes, or -1. */
int stdin_waits_for(void);
void stdin_pump(void);
/* How many bytes more the host may send; told once. */
size_t stdin_take_credit(void);
/* True once, when the command has closed its stdin before the host ended it. */
bool stdin_take_closed(void);

/* outbox.c: one batch of frames at a time; it is refilled only when the host has taken all of it. */
bool outbox_empty(void);
void outbox_frame(unsigned type, const unsigned char *payload, size_t length);
/* Reads what is there, at most limit bytes, into a data frame. As read(2). */
ssize_t outbox_read(unsigned type, int fd, size_t limit);
/* How many bytes a pipe holds. */
size_t outbox_waiting(int fd);
/* False: nobody will ever read fd 1 again. */
bool outbox_flush(void);

/* frames.c: puts one of the frames that are not data into the outbox. */
void frame_ready(unsigned prestart);
void frame_ahead(unsigned state);
void frame_started(pid_t pid, unsigned how);
void frame_credit(size_t credit);
void frame_failed(const struct start_failure *failure);
void frame_fault(int fault, const unsigned char *header);
void frame_exit(int wait_status, bool alone, uint64_t wall_us);

/* spawn.c */
struct child {
	pid_t pid;
	/* Ends at a successful execve; carries a struct start_failure otherwise. Ahead: see ahead.h. */
	int status;
	int stdin, stdout, stderr;
	/* Ahead only: where it waits for the request. */
	int request;
};
extern const struct child no_child;
/* What must be opened while there is no other process yet. */
void spawn_prepare(void);
bool spawn(const struct request *request, struct child *child, struct start_failure *failure);
bool spawn_ahead(const struct request *request, struct child *child);
void child_close(struct child *child);

/* ahead.c: one interpreter, up before the request is there. */
/* False: there is none, and requests start plainly. */
bool ahead_start(struct child *child);
/* Whether this request starts nothing but what is up already. */
bool ahead_fits(const struct request *request, size_t payload_bytes);
/* False: it is not there any more. */
bool ahead_give(struct child *child, size_t payload_bytes);

/* signals.c */
/* Ignores everything but SIGCHLD; a descriptor that is readable when a child may have ended. */
int signals_shut(void);
/* For a child before execve: default dispositions, nothing blocked. */
void signals_restore(void);

/* shield.c: for a child before execve. False: it must not run. */
bool shield_init(void);

/* sweep.c */
void kill_everything(int signal);
/* Kills everything else; true when there was nothing else. To be repeated, reaping in between. */
bool sweep(void);

/* counters.c */
struct usage {
	unsigned measured;
	uint32_t oom_kills;
	uint64_t cpu_us, peak_bytes, max_rss_bytes;
};
void counters_open(void);
void counters_start(void);
/* A process of the command's has been waited for. */
void counters_add(const struct rusage *ended);
void counters_read(struct usage *usage);

/* relay.c: from ready to the end; returns the status init exits with. */
#define STATUS_DONE 0
#define STATUS_FAULT 2
#define STATUS_ABANDONED 3
int relay(int child_signals, bool python_ahead);

#endif
