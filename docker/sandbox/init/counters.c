/*
 * What the container's cgroup says about memory and processor time, version 1 or 2. The files are
 * opened and read once before the command starts: no later limit or lack of memory can hide them.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "init.h"

struct counter {
	const char *path;
	/* The line to take; NULL: the file is one number. */
	const char *key;
	uint64_t divisor;
	int fd;
	uint64_t before;
};

/* In version 2 the files are absent at the root of the hierarchy, where they would count the host. */
static struct counter oom_v2 = { "/sys/fs/cgroup/memory.events", "oom_kill", 1, -1, 0 };
static struct counter peak_v2 = { "/sys/fs/cgroup/memory.peak", NULL, 1, -1, 0 };
static struct counter cpu_v2 = { "/sys/fs/cgroup/cpu.stat", "usage_usec", 1, -1, 0 };
static struct counter oom_v1 = { "/sys/fs/cgroup/memory/memory.oom_control", "oom_kill", 1, -1, 0 };
static struct counter peak_v1 = { "/sys/fs/cgroup/memory/memory.max_usage_in_bytes", NULL, 1, -1, 0 };
static struct counter cpu_v1 = { "/sys/fs/cgroup/cpuacct/cpuacct.usage", NULL, 1000, -1, 0 };

static struct counter *oom, *peak, *cpu;
static uint64_t ended_cpu_us, ended_max_rss_bytes;

static bool counter_read(const struct counter *counter, uint64_t *value)
{
	char text[1024];
	ssize_t count = pread(counter->fd, text, sizeof text - 1, 0);
	const char *at = text;

	if (count <= 0)
		return false;
	text[count] = '\0';
	if (counter->key != NULL) {
		size_t length = strlen(counter->key);

		while (strncmp(at, counter->key, length) != 0 || at[length] != ' ') {
			at = strchr(at, '\n');
			if (at == NULL)
				return false;
			at++;
		}
		at += length + 1;
	}
	*value = strtoull(at, NULL, 10) / counter->divisor;
	return true;
}

static struct counter *usable(struct counter *counter)
{
	counter->fd = open(counter->path, O_RDONLY | O_CLOEXEC);
	return counter->fd >= 0 && counter_read(counter, &counter->before) ? counter : NULL;
}

void counters_open(void)
{
	oom = usable(&oom_v2);
	if (oom != NULL) {
		peak = usable(&peak_v2);
		cpu = usable(&cpu_v2);
	} else {
		oom = usable(&oom_v1);
		peak = usable(&peak_v1);
		cpu = usable(&cpu_v1);
	}
}

static bool counter_now(const struct counter *counter, uint64_t *value)
{
	return counter != NULL && counter_read(counter, value);
}

/* A pooled container has waited, and the runtime worked in this cgroup: neither is the command's. */
void counters_start(void)
{
	if (oom != NULL)
		counter_read(oom, &oom->before);
	if (cpu != NULL)
		counter_read(cpu, &cpu->before);
}

/* Not RUSAGE_CHILDREN, which would count an interpreter that was started ahead for nothing. */
void counters_add(const struct rusage *ended)
{
	uint64_t rss_bytes = (uint64_t)ended->ru_maxrss * 1024;

	if (rss_bytes > ended_max_rss_bytes)
		ended_max_rss_bytes = rss_bytes;
	ended_cpu_us += (uint64_t)(ended->ru_utime.tv_sec + ended->ru_stime.tv_sec) * 1000000 +
			(uint64_t)(ended->ru_utime.tv_usec + ended->ru_stime.tv_usec);
}

void counters_read(struct usage *usage)
{
	uint64_t value;

	*usage = (struct usage){ .cpu_us = ended_cpu_us, .max_rss_bytes = ended_max_rss_bytes };
	if (counter_now(oom, &value)) {
		usage->measured |= MEASURED_OOM;
		usage->oom_kills = (uint32_t)(value - oom->before);
	}
	if (counter_now(cpu, &value)) {
		usage->measured |= MEASURED_CPU;
		usage->cpu_us = value - cpu->before;
	}
	if (counter_now(peak, &value)) {
		usage->measured |= MEASURED_PEAK;
		usage->peak_bytes = value;
	}
}
