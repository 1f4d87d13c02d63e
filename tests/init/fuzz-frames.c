/*
 * Feeds the init's parser with frames that are nearly right, cut anywhere, from a fixed seed. Built with
 * the sanitizers: a byte read or written outside its buffer ends it.
 *
 *   fuzz-frames <rounds> <seed>
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "init.h"

#define MAX_TALK (2 * MAX_REQUEST_BYTES)

static uint64_t state;
static unsigned long requests, stdin_bytes, kills, faults, fitting;
static struct inbox inbox;

static uint32_t dice(uint32_t sides)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 11) % sides;
}

void on_request(const struct request *request, size_t payload_bytes)
{
	size_t total = strlen(request->cwd);

	/* Every string that is handed out ends, and every list. */
	for (char **at = request->argv; *at != NULL; at++)
		total += strlen(*at) + 1;
	for (char **at = request->envp; *at != NULL; at++)
		total += strlen(*at) + 1;
	if (payload_bytes > MAX_REQUEST_BYTES || request->cwd[0] != '/' || request->argv[0] == NULL || request->rlimit_count > MAX_RLIMITS ||
	    total >= MAX_REQUEST_BYTES)
		abort();
	requests++;
	if (ahead_fits(request, payload_bytes)) {
		if (payload_bytes > AHEAD_MAX_BYTES || strncmp(request->argv[0], "python", 6) != 0 ||
		    request->argv[1] == NULL)
			abort();
		fitting++;
	}
	request_forget();
}

/* The init's own way to start something ahead is not what is tried here. */
bool spawn_ahead(const struct request *request, struct child *child)
{
	(void)request;
	(void)child;
	abort();
}

void stdin_put(const unsigned char *bytes, size_t count)
{
	static unsigned char kept[STDIN_WINDOW_BYTES];

	memcpy(kept, bytes, count);
	stdin_bytes += count;
	if (dice(2) == 0)
		inbox.window += count;
}

void stdin_end(void)
{
}

void on_clear(void)
{
}

void on_kill(int signal, uint32_t grace_ms)
{
	(void)grace_ms;
	if (signal < 1 || signal > 64)
		abort();
	kills++;
}

static size_t put_frame(unsigned char *at, unsigned type, size_t length)
{
	at[0] = MAGIC_0;
	at[1] = MAGIC_1;
	at[2] = (unsigned char)type;
	at[3] = 0;
	put_u32(at + 4, (uint32_t)length);
	return HEADER_BYTES + length;
}

/* The length without the NUL and the byte that every text has at least. */
static size_t put_text(unsigned char *at, const char *text)
{
	memcpy(at, text, strlen(text) + 1);
	return strlen(text) - 1;
}

static size_t put_request(unsigned char *frame)
{
	unsigned char *payload = frame + HEADER_BYTES;
	size_t rlimits = dice(4) == 0 ? dice(MAX_RLIMITS + 2) : 0;
	size_t argc = dice(50) == 0 ? dice(MAX_ARGV + 2) : dice(6);
	size_t envc = dice(50) == 0 ? dice(MAX_ENV + 2) : dice(6);
	unsigned char *at = payload + REQUEST_FIXED_BYTES;

	put_u16(payload, PROTOCOL_VERSION);
	put_u16(payload + 2, (uint16_t)dice(2));
	put_u16(payload + 4, (uint16_t)dice(0777));
	put_u16(payload + 6, (uint16_t)rlimits);
	put_u32(payload + 8, (uint32_t)argc);
	put_u32(payload + 12, (uint32_t)envc);
	for (size_t i = 0; i < rlimits; i++, at += RLIMIT_BYTES) {
		at[0] = (unsigned char)(1 + dice(5));
		put_u64(at + 1, dice(1000));
	}
	for (size_t i = 0; i < 1 + argc + envc; i++) {
		size_t length = dice(2000) == 0 ? dice(200000) : dice(12);

		if (at + length + 2 > payload + MAX_REQUEST_BYTES)
			break;
		memset(at, 'a' + (int)dice(26), length + 1);
		at[0] = '/';
		if (i > argc && length > 1)
			at[1] = '=';
		at[length + 1] = '\0';
		/* Often what a python that is up would be asked for, or nearly that. */
		if (i == 1 && dice(2) == 0)
			length = put_text(at, dice(4) == 0 ? "python3" : "python");
		else if (i == 2 && argc > 1 && dice(2) == 0)
			length = put_text(at, dice(4) == 0 ? "-m" : "-c");
		else if (i > argc && dice(20) == 0)
			length = put_text(at, dice(2) == 0 ? "LC_ALL=C" : "PYTHONX=");
		at += length + 2;
	}
	return put_frame(frame, FRAME_REQUEST, (size_t)(at - payload));
}

static size_t make_talk(unsigned char *talk)
{
	size_t length = dice(4) == 0 ? put_frame(talk, FRAME_CLEAR, 0) : 0;

	length += put_request(talk + length);
	for (uint32_t frames = dice(5); frames > 0 && length < MAX_REQUEST_BYTES; frames--) {
		unsigned char *at = talk + length;

		switch (dice(4)) {
		case 0:
			length += put_frame(at, FRAME_STDIN, 1 + dice(dice(4) == 0 ? STDIN_WINDOW_BYTES : 100));
			break;
		case 1:
			length += put_frame(at, FRAME_STDIN_END, 0);
			break;
		case 2:
			length += put_frame(at, FRAME_KILL, KILL_BYTES);
			memset(at + HEADER_BYTES, 0, KILL_BYTES);
			at[HEADER_BYTES] = (unsigned char)dice(66);
			break;
		default:
			length += put_frame(at, dice(256), dice(64));
		}
	}
	/* Spoil a few bytes, mostly where the numbers are. */
	for (uint32_t spoils = dice(4); spoils > 0; spoils--)
		talk[dice(2) == 0 && length > 40 ? dice(40) : dice((uint32_t)length)] = (unsigned char)dice(256);
	return dice(5) == 0 ? dice((uint32_t)length) : length;
}

int main(int argc, char **argv)
{
	unsigned char *talk = calloc(1, MAX_TALK);
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;

	state = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	state = state * 0x9e3779b97f4a7c15U + 1;
	for (unsigned long round = 0; round < rounds; round++) {
		size_t length = make_talk(talk);
		int fault = 0;

		memset(&inbox, 0, sizeof inbox);
		for (size_t at = 0; at < length && fault == 0;) {
			size_t piece = 1 + dice(dice(2) == 0 ? 16 : 65536);

			/* A copy of its own size, so that a read past the piece is caught. */
			piece = piece < length - at ? piece : length - at;
			unsigned char *copy = malloc(piece);
			memcpy(copy, talk + at, piece);
			fault = inbox_feed(&inbox, copy, piece);
			free(copy);
			at += piece;
		}
		if (fault < 0 || fault > FAULT_KILL)
			abort();
		faults += fault != 0;
	}
	free(talk);
	printf("rounds=%lu requests=%lu stdin=%lu kills=%lu faults=%lu fitting=%lu\n", rounds, requests, stdin_bytes,
	       kills, faults, fitting);
	return 0;
}
