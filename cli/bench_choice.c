/* What bench times: see bench_choice.h. */
#define _POSIX_C_SOURCE 200809L
#include "bench_choice.h"

#include "baselines/baselines.h"
#include "bench_codec.h"
#include "errors.h"
#include "memory.h"
#include "names.h"
#include "units.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What is timed without --codec, besides all peers that are there. */
static const char *const default_codecs[] = {"planezip2", "planezip"};
static const char *const known_codecs = "planezip2, planezip2-fast, planezip, zvc, bpc, bx, zbx";

/* ---- Codecs ---- */

/* The names of all peers after those of our codecs. */
static const char *known_names(void)
{
    const char *names = known_codecs;

    for (unsigned i = 0; pzb_peer_name(i) != NULL; i++)
        names = memory_text("%s, %s", names, pzb_peer_name(i));
    return names;
}

static bool is_there(unsigned peer)
{
    pzb_peer *opened;

    if (pzb_peer_open(peer, 1, &opened) != PZ_OK)
        return false;
    pzb_peer_close(opened);
    return true;
}

static void add_peer(bench_choice *choice, unsigned peer)
{
    if (is_there(peer))
        choice->peers[choice->peer_count++] = peer;
    else
        choice->missing_peers[choice->missing_count++] = pzb_peer_name(peer);
}

static bool has_peer(const bench_choice *choice, unsigned peer)
{
    for (size_t i = 0; i < choice->peer_count; i++)
        if (choice->peers[i] == peer)
            return true;
    return false;
}

static bool has_ours(const bench_choice *choice, const char *name)
{
    for (size_t i = 0; i < choice->ours_count; i++)
        if (strcmp(choice->ours[i], name) == 0)
            return true;
    return false;
}

/* The index of a peer; past the last one if there is none of that name. */
static unsigned find_peer(const char *name)
{
    unsigned peer = 0;

    while (pzb_peer_name(peer) != NULL && strcmp(pzb_peer_name(peer), name) != 0)
        peer++;
    return peer;
}

/* Once, however often it is named. */
static int choose_named(const char *name, bench_choice *choice)
{
    const unsigned peer = find_peer(name);

    if (bench_codec_is_ours(name)) {
        if (!has_ours(choice, name))
            choice->ours[choice->ours_count++] = name;
        return STATUS_OK;
    }
    if (pzb_peer_name(peer) == NULL)
        return fail_usage("--codec '%s': known are %s", name, known_names());
    if (!is_there(peer))
        return fail(NULL, NULL, "install it, or leave the codec out",
                    "codec %s needs %s, which is not on this machine", name,
                    pzb_peer_library(peer));
    if (!has_peer(choice, peer))
        add_peer(choice, peer);
    return STATUS_OK;
}

static int choose_codecs(const word_list *wishes, bench_choice *choice)
{
    const size_t most = wishes->count + LENGTH(default_codecs) + find_peer("");
    int status = STATUS_OK;

    choice->ours = memory_keep(most, sizeof *choice->ours);
    choice->peers = memory_keep(most, sizeof *choice->peers);
    choice->missing_peers = memory_keep(most, sizeof *choice->missing_peers);
    for (size_t i = 0; i < wishes->count && status == STATUS_OK; i++)
        status = choose_named(wishes->words[i], choice);
    if (wishes->count > 0)
        return status;
    for (size_t i = 0; i < LENGTH(default_codecs); i++)
        choice->ours[choice->ours_count++] = default_codecs[i];
    for (unsigned peer = 0; pzb_peer_name(peer) != NULL; peer++)
        add_peer(choice, peer);
    return STATUS_OK;
}

/* ---- Instruction sets ---- */

static bool is_wanted(const word_list *wishes, const char *name)
{
    for (size_t i = 0; i < wishes->count; i++)
        if (strcmp(wishes->words[i], name) == 0)
            return true;
    return wishes->count == 0;
}

static int check_isas(const word_list *wishes)
{
    for (size_t i = 0; i < wishes->count; i++) {
        unsigned k = 0;

        while (k < pz_isa_count() && strcmp(pz_isa_name(k), wishes->words[i]) != 0)
            k++;
        if (k == pz_isa_count())
            return fail_usage("--isa '%s': this machine has %s", wishes->words[i], names_isas());
    }
    return STATUS_OK;
}

static int choose_isas(const word_list *wishes, bench_choice *choice)
{
    const char *forced = getenv("PZ_ISA");

    if (wishes->count > 0 && forced != NULL && forced[0] != '\0')
        return fail_usage("--isa: PZ_ISA='%s' forces one; give one of them", forced);
    choice->isas = memory_keep(pz_isa_count(), sizeof *choice->isas);
    for (unsigned i = pz_isa_count(); i-- > 0;)
        if (is_wanted(wishes, pz_isa_name(i)))
            choice->isas[choice->isa_count++] = pz_isa_name(i);
    return check_isas(wishes);
}

/* ---- Threads ---- */

static unsigned processors(void)
{
    const long count = sysconf(_SC_NPROCESSORS_ONLN);

    if (count < 1)
        return 1;
    return count < PZ_THREADS_MAX ? (unsigned)count : PZ_THREADS_MAX;
}

/* Powers of two below the number of processors, and all of them. */
static void choose_default_threads(bench_choice *choice)
{
    const unsigned all = processors();

    for (unsigned count = 1; count < all; count *= 2)
        choice->threads[choice->thread_count++] = count;
    choice->threads[choice->thread_count++] = all;
}

static void add_threads(bench_choice *choice, unsigned count)
{
    for (size_t i = 0; i < choice->thread_count; i++)
        if (choice->threads[i] == count)
            return;
    choice->threads[choice->thread_count++] = count;
}

static int choose_threads(const word_list *wishes, bench_choice *choice)
{
    enum { DEFAULTS_MAX = 32 };

    choice->threads = memory_keep(wishes->count + DEFAULTS_MAX, sizeof *choice->threads);
    for (size_t i = 0; i < wishes->count; i++) {
        uint64_t count;

        if (units_parse_count(wishes->words[i], &count) != NULL || count > PZ_THREADS_MAX)
            return fail_usage("--threads '%s': it must be a number from 0 to %d", wishes->words[i],
                              PZ_THREADS_MAX);
        add_threads(choice, count > 0 ? (unsigned)count : processors());
    }
    if (wishes->count == 0)
        choose_default_threads(choice);
    /* One thread is timed for every instruction set anyway. */
    if (choice->thread_count == 1 && choice->threads[0] == 1)
        choice->thread_count = 0;
    return STATUS_OK;
}

static bool is_for_profiles(const char *codec)
{
    pz_mode mode;

    return pz_mode_named(codec, 8, &mode) == PZ_OK && mode.format == PZ_FORMAT_1;
}

/* Format 2 and the peers take their symbols from the type. */
static int check_profiles(const bench_choice *choice)
{
    bool paper = false, used = false;

    for (size_t i = 0; i < choice->profile_count; i++)
        paper |= choice->profiles[i] == PZ_PROFILE_PAPER;
    for (size_t i = 0; i < choice->ours_count; i++)
        used |= is_for_profiles(choice->ours[i]);
    if (paper && !used)
        return fail_usage("--profile paper is for the paper's format, as in --codec planezip");
    return STATUS_OK;
}

static int choose_profiles(const word_list *wishes, bench_choice *choice)
{
    choice->profiles = memory_keep(wishes->count + 1, sizeof *choice->profiles);
    for (size_t i = 0; i < wishes->count; i++)
        if (pz_profile_named(wishes->words[i], &choice->profiles[choice->profile_count++]) != PZ_OK)
            return fail_usage("--profile '%s': known are native and paper", wishes->words[i]);
    if (wishes->count == 0)
        choice->profiles[choice->profile_count++] = PZ_PROFILE_NATIVE;
    return check_profiles(choice);
}

int bench_choose(const bench_wishes *wishes, bench_choice *choice)
{
    int status;

    *choice = (bench_choice){0};
    status = choose_codecs(&wishes->codecs, choice);
    if (status == STATUS_OK)
        status = choose_isas(&wishes->isas, choice);
    if (status == STATUS_OK)
        status = choose_threads(&wishes->threads, choice);
    return status == STATUS_OK ? choose_profiles(&wishes->profiles, choice) : status;
}
