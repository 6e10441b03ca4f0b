/* The guard pages of the other tests: what lies beside a buffer cannot be touched. */
#define _DEFAULT_SOURCE /* fork() and waitpid() */
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/guard.h"
#include "support/test.h"

enum { TOUCHED = 77 };

/* Whether a child that reads, or writes, the byte ends by a signal. */
static bool is_forbidden(volatile uint8_t *byte, bool write)
{
    int status = 0;
    const pid_t child = fork();

    if (child == 0) {
        signal(SIGSEGV, SIG_DFL); /* whatever a sanitizer makes of it */
        signal(SIGBUS, SIG_DFL);
        if (write)
            *byte = 1;
        else
            (void)*byte;
        _exit(TOUCHED);
    }
    if (!CHECK(child > 0 && waitpid(child, &status, 0) == child))
        return false;
    CHECK(WIFSIGNALED(status) || WEXITSTATUS(status) == TOUCHED);
    return WIFSIGNALED(status);
}

static void check_beside(struct guard *guard, size_t bytes, bool write)
{
    uint8_t *const front = guard_place(guard, GUARD_FRONT, bytes);

    CHECK(is_forbidden(front - 1, write));
    CHECK(bytes == 0 || !is_forbidden(front, write));
    CHECK(bytes == 0 || !is_forbidden(front + bytes - 1, write));
    uint8_t *const back = guard_place(guard, GUARD_BACK, bytes);
    CHECK(is_forbidden(back + bytes, write));
    CHECK(bytes == 0 || !is_forbidden(back, write));
    CHECK(bytes == 0 || !is_forbidden(back + bytes - 1, write));
}

TEST(the_bytes_beside_a_buffer)
{
    static const size_t sizes[] = {0, 1, 129, 4095, 4096, 4097, 100000, 3};
    struct guard guard = {0};

    for (unsigned i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        TEST_CONTEXT("%zu bytes", sizes[i / 2]);
        check_beside(&guard, sizes[i / 2], i % 2 == 1);
    }
    guard_drop(&guard);
}

TEST(the_content_is_not_that_of_the_last_call)
{
    struct guard guard = {0};
    uint8_t *place = guard_copy(&guard, GUARD_BACK, "abc", 3);

    CHECK_MEM(place, "abc", 3);
    place = guard_place(&guard, GUARD_BACK, 3);
    CHECK(memcmp(place, "abc", 3) != 0);
    guard_drop(&guard);
    guard_drop(&guard);
}
