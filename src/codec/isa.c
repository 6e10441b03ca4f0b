/* Which instruction set runs.  The list stands in the order of speed; the active entry is an atomic
 * pointer that the first use sets. */
#include "codec/isa.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu.h"

static const struct pzi_ops *const compiled_in[] = {
    &pzi_ops_scalar,
#if defined(__x86_64__)
    &pzi_ops_avx2,
    &pzi_ops_avx512bw,
    &pzi_ops_avx512,
#elif defined(__aarch64__) && defined(__AARCH64EL__)
    &pzi_ops_neon,
#endif
};

enum { COMPILED_IN = sizeof compiled_in / sizeof compiled_in[0] };

static _Atomic(const struct pzi_ops *) active;

/* Asked once, as the question is slow, above all in virtual machines. */
static uint32_t cpu_features(void)
{
    static _Atomic uint32_t known; /* with the highest bit set */
    const uint32_t is_known = 1u << 31;
    uint32_t features = atomic_load(&known);

    if (features == 0) {
        features = pzi_cpu_features() | is_known;
        atomic_store(&known, features);
    }
    return features & ~is_known;
}

/* The entry number `index` of those that this CPU can run, or NULL. */
static const struct pzi_ops *supported(unsigned index)
{
    const uint32_t features = cpu_features();

    for (unsigned i = 0; i < COMPILED_IN; i++)
        if ((compiled_in[i]->cpu_features & ~features) == 0 && index-- == 0)
            return compiled_in[i];
    return NULL;
}

static const struct pzi_ops *supported_named(const char *name)
{
    const struct pzi_ops *ops;

    for (unsigned i = 0; (ops = supported(i)) != NULL; i++)
        if (strcmp(ops->name, name) == 0)
            return ops;
    return NULL;
}

/* A PZ_ISA that cannot be had is no reason to fail, as every entry gives the same bytes. */
static const struct pzi_ops *first_choice(void)
{
    const char *wanted = getenv("PZ_ISA");
    const struct pzi_ops *ops = wanted != NULL ? supported_named(wanted) : NULL;

    return ops != NULL ? ops : supported(pz_isa_count() - 1);
}

static const struct pzi_ops *active_ops(void)
{
    const struct pzi_ops *ops = atomic_load(&active), *first;

    if (ops != NULL)
        return ops;
    first = first_choice();
    /* Where another thread was faster, what it chose or selected stands, and is now in ops. */
    return atomic_compare_exchange_strong(&active, &ops, first) ? first : ops;
}

static unsigned index_of(uint32_t width_bits)
{
    return width_bits == 8 ? 0 : width_bits == 16 ? 1 : width_bits == 32 ? 2 : 3;
}

const struct pzi_width_ops *pzi_active_ops(uint32_t width_bits)
{
    return &active_ops()->width[index_of(width_bits)];
}

const struct pzi_width2_ops *pzi_active_ops2(uint32_t width_bits)
{
    return &active_ops()->width2[index_of(width_bits)];
}

unsigned pz_isa_count(void)
{
    unsigned count = 0;

    while (supported(count) != NULL)
        count++;
    return count;
}

const char *pz_isa_name(unsigned index)
{
    const struct pzi_ops *ops = supported(index);

    return ops != NULL ? ops->name : NULL;
}

const char *pz_isa_active(void)
{
    return active_ops()->name;
}

pz_status pz_isa_select(const char *name)
{
    const struct pzi_ops *ops = name != NULL ? supported_named(name) : NULL;

    if (ops == NULL)
        return PZ_ERR_ARGUMENT;
    atomic_store(&active, ops);
    return PZ_OK;
}
