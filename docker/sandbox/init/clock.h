/* A clock that nobody sets. */
#ifndef SECBOX_CLOCK_H
#define SECBOX_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

#endif
