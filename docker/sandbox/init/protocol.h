/*
 * The wire format of secbox-init. docs/init-protocol.md explains it and
 * packages/container-engine/src/init/protocol.ts mirrors it; a test keeps the three in step.
 */
#ifndef SECBOX_PROTOCOL_H
#define SECBOX_PROTOCOL_H

/* Every frame: 'S' 'b' type 0, then the payload's length as a big-endian u32, then the payload. */
#define MAGIC_0 'S'
#define MAGIC_1 'b'

#define PROTOCOL_VERSION 1
#define HEADER_BYTES 8
#define MAX_REQUEST_BYTES 1048576
#define MAX_ARGV 4096
#define MAX_ENV 4096
#define MAX_RLIMITS 8
#define MAX_DATA_BYTES 65536
#define STDIN_WINDOW_BYTES 65536

/* init to host */
#define FRAME_READY 0x01
#define FRAME_STARTED 0x02
#define FRAME_FAILED 0x03
#define FRAME_STDOUT 0x04
#define FRAME_STDERR 0x05
#define FRAME_STDIN_CREDIT 0x06
#define FRAME_STDIN_CLOSED 0x07
#define FRAME_EXIT 0x08
#define FRAME_FAULT 0x09
#define FRAME_AHEAD 0x0a

/* host to init */
#define FRAME_REQUEST 0x81
#define FRAME_STDIN 0x82
#define FRAME_STDIN_END 0x83
#define FRAME_KILL 0x84
#define FRAME_CLEAR 0x85

/* REQUEST: fixed part, then rlimits of 9 bytes, then NUL-terminated cwd, argv, env. */
#define REQUEST_FIXED_BYTES 16
#define RLIMIT_BYTES 9
#define REQUEST_FLAG_STDIN 0x0001

/* Our own numbers, because the kernel's differ between architectures. */
#define LIMIT_NOFILE 1
#define LIMIT_FSIZE 2
#define LIMIT_CPU 3
#define LIMIT_AS 4
#define LIMIT_STACK 5

#define KILL_BYTES 8

/* READY: what is started ahead of the request. */
#define PRESTART_NONE 0
#define PRESTART_PYTHON 1

/* AHEAD: what became of it before the request. STARTED: how the command was started. */
#define AHEAD_STATE_UP 1
#define AHEAD_STATE_LOST 2
#define START_PLAIN 0
#define START_AHEAD 1

/* FAILED: which step of starting the command failed. */
#define STEP_DESCRIPTORS 1
#define STEP_FORK 2
#define STEP_LIMITS 3
#define STEP_CHDIR 4
#define STEP_EXEC 5
#define STEP_INTERPRETER 6
#define STEP_SHIELD 7

/* EXIT */
#define EXIT_BYTES 40
#define HOW_EXITED 0
#define HOW_SIGNALED 1
#define EXIT_FLAG_ALONE 0x01
#define MEASURED_OOM 0x01
#define MEASURED_CPU 0x02
#define MEASURED_PEAK 0x04

/* FAULT: what the host did wrong. */
#define FAULT_MAGIC 1
#define FAULT_TYPE 2
#define FAULT_LENGTH 3
#define FAULT_ORDER 4
#define FAULT_REQUEST 5
#define FAULT_WINDOW 6
#define FAULT_KILL 7

#endif
