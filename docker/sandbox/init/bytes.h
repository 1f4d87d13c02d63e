/* Big-endian numbers at any alignment. */
#ifndef SECBOX_BYTES_H
#define SECBOX_BYTES_H

#include <stdint.h>

static inline uint16_t get_u16(const unsigned char *at)
{
	return (uint16_t)((unsigned)at[0] << 8 | at[1]);
}

static inline uint32_t get_u32(const unsigned char *at)
{
	return (uint32_t)get_u16(at) << 16 | get_u16(at + 2);
}

static inline uint64_t get_u64(const unsigned char *at)
{
	return (uint64_t)get_u32(at) << 32 | get_u32(at + 4);
}

static inline void put_u16(unsigned char *at, uint16_t value)
{
	at[0] = (unsigned char)(value >> 8);
	at[1] = (unsigned char)value;
}

static inline void put_u32(unsigned char *at, uint32_t value)
{
	put_u16(at, (uint16_t)(value >> 16));
	put_u16(at + 2, (uint16_t)value);
}

static inline void put_u64(unsigned char *at, uint64_t value)
{
	put_u32(at, (uint32_t)(value >> 32));
	put_u32(at + 4, (uint32_t)value);
}

#endif
