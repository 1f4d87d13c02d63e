/*
 * What init and the interpreter that it starts ahead say to each other. The interpreter finds these
 * descriptors open, and closes them before it runs a line of the request.
 */
#ifndef SECBOX_AHEAD_H
#define SECBOX_AHEAD_H

/* From init: a u32 length and the payload of the REQUEST. Its end: there will be none. */
#define AHEAD_REQUEST_FD 3
/* To init: one struct start_failure for each step; its end before TAKEN: nothing of the request has run. */
#define AHEAD_STATUS_FD 4
/* Becomes stdin if the request streams it. */
#define AHEAD_STDIN_FD 5

/* In the place of a failed step. */
#define AHEAD_TAKEN 0
#define AHEAD_UP (-1)

#define AHEAD_LENGTH_BYTES 4
/* What an empty pipe takes in one write, and less than what execve would refuse. */
#define AHEAD_MAX_BYTES (65536 - AHEAD_LENGTH_BYTES)

#define AHEAD_LIBRARY "/usr/lib/secbox/python-ahead.so"

struct start_failure {
	int step, error;
};

#endif
