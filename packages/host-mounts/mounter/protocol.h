/*
 * The wire format of secbox-mounts; src/protocol.ts mirrors it, and a test keeps the two in step.
 *
 * Numbers are big-endian. A request: u32 length of what follows, u32 id, u8 verb, u8 flags, u16 number of strings, then
 * the strings, each ended by a NUL. Its answer: u32 length of what follows, u32 id, u8 ANSWER_, then, where it failed,
 * the step and the name of the error, with a space between. Answers come in the order of the requests; the first, with
 * id 0 and without a request, says that the program is ready.
 */
#ifndef SECBOX_MOUNTS_PROTOCOL_H
#define SECBOX_MOUNTS_PROTOCOL_H

#define LENGTH_BYTES 4
#define REQUEST_FIXED_BYTES 8
#define MAX_REQUEST_BYTES 65536
#define MAX_LOWER 8

/* source, target */
#define VERB_BIND 1
/* target, upper, work, then the lower folders, topmost first */
#define VERB_OVERLAY 2
/* target, or a root of targets */
#define VERB_UNMOUNT 3
/* a root of targets */
#define VERB_SHARE 4
/* an image of ext4 below a root of sources, target */
#define VERB_DISK 5

#define FLAG_READ_ONLY 0x01

#define ANSWER_DONE 0
#define ANSWER_FAILED 1

#endif
