/* planezip bench: how fast the codec is on data of the user's, beside memcpy and the peers that the
 * machine has, all in one run. */
#include "bench_choice.h"
#include "bench_data.h"
#include "bench_device.h"
#include "bench_report.h"
#include "bench_run.h"
#include "commands.h"
#include "errors.h"
#include "memory.h"
#include "progress.h"
#include "table.h"
#include "units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_DEFAULT = 64 << 20, SIZE_MAX_BYTES = 1 << 30, RUNS_DEFAULT = 5 };

static struct {
    tensors_options file;
    bench_wishes wishes;
    const char *index, *device, *driver;
    uint64_t size_bytes, runs;
    bool csv, json;
} options = {.size_bytes = SIZE_DEFAULT, .runs = RUNS_DEFAULT};

static const char *parse_size(const char *text, void *target)
{
    uint64_t bytes;
    const char *problem = units_parse_bytes(text, &bytes);

    if (problem != NULL)
        return problem;
    if (bytes == 0 || bytes % PZ_CHUNK_BYTES != 0 || bytes > SIZE_MAX_BYTES)
        return "it must be a multiple of 4096, and at most 1GiB";
    *(uint64_t *)target = bytes;
    return NULL;
}

static const char *parse_runs(const char *text, void *target)
{
    uint64_t runs;
    const char *problem = units_parse_count(text, &runs);

    if (problem != NULL)
        return problem;
    if (runs == 0 || runs > BENCH_RUNS_MAX)
        return "it must be 1 to 99";
    *(uint64_t *)target = runs;
    return NULL;
}

static const char *parse_device(const char *text, void *target)
{
    if (strcmp(text, "cuda") != 0 && strcmp(text, "opencl") != 0)
        return "it must be cuda or opencl";
    *(const char **)target = text;
    return NULL;
}

static const option bench_options[] = {
    OPTION('d', "dtype", "TYPE", option_dtype, &options.file.dtype,
           "type of the elements of raw files, and of .npy files\n"
           "that do not name it: bf16, f32, i64, bool, ...; a file\n"
           "that names another one is refused"),
    OPTION(0, "format", "KIND", option_kind, &options.file.kind,
           "raw, npy or safetensors; auto (default) looks at the file"),
    OPTION(0, "index", "CSV", option_text, &options.index,
           "the chunks that an index of activations names"),
    OPTION_LIST('c', "codec", "LIST", option_words, &options.wishes.codecs,
                "planezip2, planezip2-fast, planezip, zvc, bpc, bx, zbx,\n"
                "or peers: lz4, zstd, bitshuffle+lz4, shuffle+zstd; by\n"
                "default planezip2, planezip and all peers whose libraries\n"
                "are installed"),
    OPTION_LIST(0, "isa", "LIST", option_words, &options.wishes.isas,
                "instruction sets; by default all of this machine"),
    OPTION_LIST('T', "threads", "LIST", option_words, &options.wishes.threads,
                "numbers of threads, for the fastest instruction set; 0 is\n"
                "all cores; by default 1, 2, 4, ... up to all cores"),
    OPTION_LIST('p', "profile", "LIST", option_words, &options.wishes.profiles,
                "symbol widths: native (default) or paper, as in compress"),
    OPTION(0, "device", "KIND", parse_device, &options.device,
           "time our codecs on the first device of cuda or opencl,\n"
           "from and to its memory, and nothing else"),
    OPTION(0, "driver", "FILE", option_text, &options.driver,
           "the library of that instead of the system's; it is the\n"
           "compiler's too, if it has the functions of NVRTC"),
    OPTION(0, "size", "SIZE", parse_size, &options.size_bytes,
           "bytes that are coded at once, 64MiB by default"),
    OPTION(0, "runs", "N", parse_runs, &options.runs,
           "runs of each measurement, whose median counts; 5 by default"),
    SWITCH(0, "csv", &options.csv, "print CSV"),
    SWITCH(0, "json", &options.json, "print JSON"),
    COMMON_OPTIONS};

/* ---- Measuring ---- */

static struct {
    bench_choice choice;
    bench_sets sets;
    bench_buffers buffers;
    double *memcpy_bps, *copy_bps; /* beside sets */
    double core_hz;
    bench_row *rows;
    size_t count;
    bench_device *device; /* NULL: this processor */
} bench;

static int add_row(const bench_codec *codec, bench_row line)
{
    int status = line.clock == BENCH_DEVICE
                     ? bench_device_run(bench.device, codec, &line.result)
                     : bench_run(&bench.buffers, codec, line.clock, &line.result);

    if (status != STATUS_OK)
        return status;
    line.codec = codec->name;
    line.memcpy_bps = bench.memcpy_bps[line.set - bench.sets.list];
    bench.rows = memory_resize(bench.rows, bench.count + 1, sizeof *bench.rows);
    bench.rows[bench.count++] = line;
    return STATUS_OK;
}

static int run_isas(const bench_set *set, const bench_codec *codec)
{
    const bench_choice *choice = &bench.choice;
    int status = STATUS_OK;

    for (size_t i = 0; i < choice->isa_count && status == STATUS_OK; i++) {
        pz_isa_select(choice->isas[i]);
        status = add_row(codec, (bench_row){.set = set,
                                            .isa = choice->isas[i],
                                            .width_bits = codec->mode.width_bits,
                                            .threads = 1,
                                            .clock = BENCH_CPU});
    }
    return status;
}

/* All by the same clock, one thread too, so that they can be compared. */
static int run_threads(const bench_set *set, bench_codec *codec)
{
    const bench_choice *choice = &bench.choice;
    int status = STATUS_OK;

    pz_isa_select(choice->isas[0]);
    for (size_t i = 0; i < choice->thread_count && status == STATUS_OK; i++) {
        const pz_threads_options wanted = {.size = sizeof wanted, .threads = choice->threads[i]};

        if (pz_threads_new(&wanted, &codec->threads) != PZ_OK)
            memory_fail();
        status = add_row(codec, (bench_row){.set = set,
                                            .isa = choice->isas[0],
                                            .width_bits = codec->mode.width_bits,
                                            .threads = choice->threads[i],
                                            .clock = BENCH_WALL});
        pz_threads_free(codec->threads);
        codec->threads = NULL;
    }
    return status;
}

static int run_device(const bench_set *set, const bench_codec *codec)
{
    return add_row(codec, (bench_row){.set = set,
                                      .isa = bench_device_name(bench.device),
                                      .width_bits = codec->mode.width_bits,
                                      .threads = 1,
                                      .clock = BENCH_DEVICE});
}

static bool same_mode(pz_mode a, pz_mode b)
{
    return a.width_bits == b.width_bits && a.encodings == b.encodings && a.format == b.format &&
           a.exponent_bits == b.exponent_bits;
}

/* Whether a profile gives the type other symbols than those before it. */
static bool is_new(const char *name, pz_dtype dtype, size_t profile)
{
    const pz_profile *profiles = bench.choice.profiles;
    bench_codec codec, earlier;

    if (bench_codec_ours(name, profiles[profile], dtype, &codec) != PZ_OK)
        return false;
    for (size_t i = 0; i < profile; i++)
        if (bench_codec_ours(name, profiles[i], dtype, &earlier) == PZ_OK &&
            same_mode(codec.mode, earlier.mode))
            return false;
    return true;
}

static int run_ours(const bench_set *set, const char *name)
{
    const bench_choice *choice = &bench.choice;
    int status = STATUS_OK;

    for (size_t i = 0; i < choice->profile_count && status == STATUS_OK; i++) {
        bench_codec codec;

        if (!is_new(name, set->dtype, i))
            continue;
        bench_codec_ours(name, choice->profiles[i], set->dtype, &codec);
        if (bench.device != NULL) {
            status = run_device(set, &codec);
            continue;
        }
        status = run_isas(set, &codec);
        if (status == STATUS_OK)
            status = run_threads(set, &codec);
    }
    return status;
}

static int run_peer(const bench_set *set, unsigned index)
{
    const unsigned bits = pz_dtype_bits(set->dtype);
    bench_codec codec = {.name = pzb_peer_name(index)};
    int status;

    if (pzb_peer_open(index, bits >= 8 ? bits / 8 : 1, &codec.peer) != PZ_OK)
        memory_fail();
    status = add_row(&codec, (bench_row){.set = set,
                                         .version = memory_text("%s", pzb_peer_version(codec.peer)),
                                         .threads = 1,
                                         .clock = BENCH_CPU});
    pzb_peer_close(codec.peer);
    return status;
}

/* Data that repeats within the window of a peer would shrink by that alone. */
static bool is_for_peers(const bench_set *set)
{
    enum { WINDOW_BYTES = 2 << 20 };

    if (set->bytes >= bench.buffers.raw_bytes || set->bytes >= WINDOW_BYTES)
        return true;
    if (bench.choice.peer_count > 0)
        warn("%s, %s: less than 2 MiB of data, which is repeated; peers, which would find that, "
             "are left out",
             set->name, pz_dtype_name(set->dtype));
    return false;
}

static int run_set(size_t index)
{
    const bench_set *set = &bench.sets.list[index];
    const size_t peer_count =
        bench.device == NULL && is_for_peers(set) ? bench.choice.peer_count : 0;
    int status = STATUS_OK;

    bench_fill(set, bench.buffers.raw, bench.buffers.raw_bytes);
    progress_start(set->name, PZ_UNKNOWN);
    bench.memcpy_bps[index] = bench_memcpy_bps(&bench.buffers);
    bench.copy_bps[index] = bench_copy_bps(&bench.buffers);
    if (bench.device == NULL) /* a device has other cycles */
        bench.core_hz = fmax(bench.core_hz, bench_core_hz());
    for (size_t i = 0; i < bench.choice.ours_count && status == STATUS_OK; i++)
        status = run_ours(set, bench.choice.ours[i]);
    for (size_t i = 0; i < peer_count && status == STATUS_OK; i++)
        status = run_peer(set, bench.choice.peers[i]);
    progress_end();
    return status;
}

static void release_rows(void *unused)
{
    (void)unused;
    free(bench.rows);
}

static int run_sets(void)
{
    int status = STATUS_OK;

    own(&bench, release_rows);
    bench_buffers_make(&bench.buffers, (size_t)options.size_bytes, (unsigned)options.runs);
    if (options.device != NULL)
        status = bench_device_open(options.device, options.driver, &bench.buffers, &bench.device);
    bench.memcpy_bps = memory_keep(bench.sets.count, sizeof *bench.memcpy_bps);
    bench.copy_bps = memory_keep(bench.sets.count, sizeof *bench.copy_bps);
    for (size_t i = 0; i < bench.sets.count && status == STATUS_OK; i++)
        status = run_set(i);
    return status;
}

static void show(void)
{
    const bench_report report = {.rows = bench.rows,
                                 .count = bench.count,
                                 .raw_bytes = bench.buffers.raw_bytes,
                                 .runs = bench.buffers.runs,
                                 .memcpy_bps = bench_median(bench.memcpy_bps, bench.sets.count),
                                 .copy_bps = bench_median(bench.copy_bps, bench.sets.count),
                                 .core_hz = bench.core_hz,
                                 .missing_peers = bench.choice.missing_peers,
                                 .missing_count =
                                     bench.device == NULL ? bench.choice.missing_count : 0};

    if (options.csv)
        bench_report_csv(&report);
    else if (options.json)
        bench_report_json(&report);
    else
        bench_report_text(&report);
}

/* ---- Command ---- */

static int read_sets(char **files, size_t count)
{
    int status = STATUS_OK;

    bench.sets.limit_bytes = (size_t)options.size_bytes;
    if (options.index != NULL)
        return bench_read_index(&bench.sets, options.index);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = bench_read_file(&bench.sets, files[i], &options.file);
    return status;
}

static int run(char **files, size_t count)
{
    int status = table_check_formats(options.csv, options.json);

    if (status == STATUS_OK && options.index == NULL && count == 0)
        status = fail_usage("what to code is missing: give .npy or .safetensors files, or raw "
                            "files with their --dtype");
    if (status == STATUS_OK && options.index != NULL && (count > 0 || options.file.dtype != 0))
        status = fail_usage("--index takes no files and no --dtype");
    if (status == STATUS_OK && options.driver != NULL && options.device == NULL)
        status = fail_usage("--driver is that of a --device, which is missing");
    if (status == STATUS_OK && options.device != NULL &&
        (options.wishes.isas.count > 0 || options.wishes.threads.count > 0))
        status = fail_usage("--isa and --threads are of this processor, not of a --device");
    if (status == STATUS_OK)
        status = bench_choose(&options.wishes, &bench.choice);
    if (status == STATUS_OK && options.device != NULL && options.wishes.codecs.count > 0 &&
        bench.choice.peer_count + bench.choice.missing_count > 0)
        status = fail_usage("only our own codecs run on a --device");
    if (status == STATUS_OK)
        status = read_sets(files, count);
    if (status == STATUS_OK && bench.sets.count == 0)
        status = fail(options.index != NULL ? options.index : files[0], NULL, "give larger tensors",
                      "it has no data to be timed");
    if (status == STATUS_OK)
        status = run_sets();
    if (status == STATUS_OK)
        show();
    return status;
}

static const command commands[] = {{
    .name = "bench",
    .usage = "[OPTIONS] FILE...\n"
             "       planezip bench --index CSV [OPTIONS]",
    .summary = "Time size model, encoder and decoder on files, beside memcpy and peers.",
    .details =
        "Files are those of compress.  Data of at least --size is taken as it is, the first\n"
        "bytes of each type; less is repeated, its 4096-byte chunks in a new random order\n"
        "each time.  Rates are raw bytes per second.  One thread is timed by processor time\n"
        "(cpu), several by the time that passes (wall).  -v adds cycles per 128 bytes, and\n"
        "the time of a call for 256 bytes.  On a device the size model is the encoder without the\n"
        "stream that it makes.",
    .options = bench_options,
    .operands_max = SIZE_MAX,
    .run = run,
}};

const verb verb_bench = {.name = "bench", .commands = commands, .count = 1};
