/* A clock that is ahead, for every program that is started with this library (ld.so.preload). A
 * node has the host's clock, which it must not set. It calls the kernel itself, and needs no
 * headers: a node's compiler is there for kernel modules and has none of the C library. */

#define AHEAD_S 127
#define REALTIME 0        /* include/uapi/linux/time.h */
#define REALTIME_COARSE 5
#if defined(__x86_64__)
#define CLOCK_GETTIME 228 /* arch/x86/entry/syscalls/syscall_64.tbl */
#else
#define CLOCK_GETTIME 113 /* include/uapi/asm-generic/unistd.h */
#endif

struct moment {
    long seconds;
    long rest; /* nanoseconds, or microseconds of gettimeofday */
};

extern long syscall(long number, ...);

int clock_gettime(int clock, struct moment *now)
{
    int result = (int)syscall(CLOCK_GETTIME, (long)clock, now);
    if (result == 0 && (clock == REALTIME || clock == REALTIME_COARSE))
        now->seconds += AHEAD_S;
    return result;
}

int gettimeofday(struct moment *now, void *zone)
{
    (void)zone;
    if (clock_gettime(REALTIME, now) != 0)
        return -1;
    now->rest /= 1000;
    return 0;
}

long time(long *where)
{
    struct moment now;
    if (clock_gettime(REALTIME, &now) != 0)
        return -1;
    if (where)
        *where = now.seconds;
    return now.seconds;
}
