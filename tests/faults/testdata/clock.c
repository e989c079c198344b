// A clock that can be stepped, for LD_PRELOAD: it adds the seconds in the file $FAULTS_CLOCK, a 64-bit integer, to
// the time of day. Monotonic clocks are not changed.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t none, *step = &none;

__attribute__((constructor)) static void open_step(void) {
	const char *path = getenv("FAULTS_CLOCK");
	int file = path ? open(path, O_RDONLY) : -1;
	if (file < 0) return;
	void *memory = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
	close(file);
	if (memory != MAP_FAILED) step = memory;
}

int clock_gettime(clockid_t clock, struct timespec *t) {
	int result = syscall(SYS_clock_gettime, clock, t);
	if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) t->tv_sec += *step;
	return result;
}

int gettimeofday(struct timeval *restrict t, void *restrict zone) {
	struct timespec now;
	(void)zone;
	clock_gettime(CLOCK_REALTIME, &now);
	t->tv_sec = now.tv_sec;
	t->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *t) {
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (t) *t = now.tv_sec;
	return now.tv_sec;
}
