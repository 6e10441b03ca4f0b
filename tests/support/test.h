/* The whole test harness.  A test program includes this header in exactly one file, which then
 * holds main(); TEST(name) { ... } registers itself.  A failed CHECK prints file, line and values,
 * counts against its test and lets it go on; every CHECK yields whether it held, so that a test can
 * stop: if (!CHECK(p != NULL)) return;   Needs nothing but a C library.
 *
 * Usage of the program: NAME_test [SUBSTRING]   runs the tests whose name contains SUBSTRING. */
#ifndef PZ_TEST_H
#define PZ_TEST_H

#include <inttypes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define TEST(name)                                                      \
    static void test_body_##name(void);                                 \
    __attribute__((constructor)) static void test_register_##name(void) \
    {                                                                   \
        static struct test_case test = {#name, test_body_##name, NULL}; \
        test_register(&test);                                           \
    }                                                                   \
    static void test_body_##name(void)

#define CHECK(cond) test_check(__FILE__, __LINE__, #cond, (cond))
#define CHECK_EQ_U64(a, b) test_eq_u64(__FILE__, __LINE__, #a, #b, (uint64_t)(a), (uint64_t)(b))
#define CHECK_EQ_I64(a, b) test_eq_i64(__FILE__, __LINE__, #a, #b, (int64_t)(a), (int64_t)(b))
#define CHECK_STR(a, b) test_eq_str(__FILE__, __LINE__, #a, #b, (a), (b))
#define CHECK_MEM(a, b, bytes) test_eq_mem(__FILE__, __LINE__, #a, #b, (a), (b), (bytes))

/* Names the case at hand (a width, a file, a seed) in the failures that follow, printf style; each
 * test starts without one. */
#define TEST_CONTEXT(...) ((void)snprintf(test_context, sizeof test_context, __VA_ARGS__))

/* Under ASan, where a case takes several times as long, loops may do with fewer. */
#if defined(__SANITIZE_ADDRESS__)
#define TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TEST_SANITIZED 1
#endif
#endif
#ifndef TEST_SANITIZED
#define TEST_SANITIZED 0
#endif
#define TEST_CASES(count) (TEST_SANITIZED ? (count) / 4 : (count))

/* A loop that fails everywhere prints this many lines; the rest is only counted. */
enum { TEST_MAX_PRINTED = 20 };

struct test_case {
    const char *name;
    void (*body)(void);
    struct test_case *next;
};

static struct test_case *test_first;
static struct test_case **test_end = &test_first;
static const char *test_name = "?";
static char test_context[256];
static unsigned test_failures; /* of the running test */

static inline void test_register(struct test_case *test)
{
    *test_end = test;
    test_end = &test->next;
}

/* Counts a failure; true if its message is to be printed, and then begins the line. */
static inline bool test_fail(const char *file, int line)
{
    test_failures++;
    if (test_failures > TEST_MAX_PRINTED)
        return false;
    printf("%s:%d: %s: ", file, line, test_name);
    if (test_context[0] != '\0')
        printf("[%s] ", test_context);
    return true;
}

static inline bool test_check(const char *file, int line, const char *text, bool held)
{
    if (!held && test_fail(file, line))
        printf("%s is false\n", text);
    return held;
}

static inline bool test_eq_u64(const char *file, int line, const char *a_text, const char *b_text,
                               uint64_t a, uint64_t b)
{
    if (a != b && test_fail(file, line))
        printf("%s = %" PRIu64 " (0x%" PRIx64 "), %s = %" PRIu64 " (0x%" PRIx64 ")\n", a_text, a, a,
               b_text, b, b);
    return a == b;
}

static inline bool test_eq_i64(const char *file, int line, const char *a_text, const char *b_text,
                               int64_t a, int64_t b)
{
    if (a != b && test_fail(file, line))
        printf("%s = %" PRId64 ", %s = %" PRId64 "\n", a_text, a, b_text, b);
    return a == b;
}

/* NULL equals only NULL. */
static inline bool test_eq_str(const char *file, int line, const char *a_text, const char *b_text,
                               const char *a, const char *b)
{
    bool same = a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);

    if (!same && test_fail(file, line))
        printf("%s = \"%s\", %s = \"%s\"\n", a_text, a ? a : "(null)", b_text, b ? b : "(null)");
    return same;
}

static inline bool test_eq_mem(const char *file, int line, const char *a_text, const char *b_text,
                               const void *a, const void *b, size_t bytes)
{
    const unsigned char *x = a, *y = b;
    size_t i = 0;

    while (i < bytes && x[i] == y[i])
        i++;
    if (i < bytes && test_fail(file, line))
        printf("byte %zu of %zu: %s has 0x%02x, %s has 0x%02x\n", i, bytes, a_text, (unsigned)x[i],
               b_text, (unsigned)y[i]);
    return i == bytes;
}

/* True if the test passed. */
static inline bool test_run(const struct test_case *test)
{
    test_name = test->name;
    test_context[0] = '\0';
    test_failures = 0;
    test->body();
    if (test_failures != 0)
        printf("FAILED %s: %u checks\n", test->name, test_failures);
    return test_failures == 0;
}

int main(int argc, char **argv)
{
    unsigned passed = 0, failed = 0;

    for (const struct test_case *test = test_first; test != NULL; test = test->next) {
        if (argc > 1 && strstr(test->name, argv[1]) == NULL)
            continue;
        if (test_run(test))
            passed++;
        else
            failed++;
    }
    printf("%u passed, %u failed\n", passed, failed);
    return failed == 0 && passed > 0 ? 0 : 1;
}

#endif
