/* Prints how C lays out what the Python package mirrors, for test_library.py: a line for each
 * structure, its fields, and each constant. */
#include <planezip/planezip.h>

#include <stdio.h>

#define CONSTANT(name) printf("constant %s %llu\n", #name, (unsigned long long)(name))
#define STRUCT(type) printf("struct %s %zu\n", #type, sizeof(type))
#define FIELD(type, field) \
    printf("field %s %s %zu %zu\n", #type, #field, offsetof(type, field), sizeof((type){0}.field))

static void constants(void)
{
    CONSTANT(PZ_OK);
    CONSTANT(PZ_ERR_MEMORY);
    CONSTANT(PZ_ERR_IO);
    CONSTANT(PZ_ENCODINGS);
    CONSTANT(PZ_DTYPES);
    CONSTANT(PZ_THREADS_MAX);
}

static void small_structures(void)
{
    STRUCT(pz_where);
    FIELD(pz_where, chunk);
    FIELD(pz_where, block);
    FIELD(pz_where, bit);
    STRUCT(pz_diag);
    FIELD(pz_diag, line);
    FIELD(pz_diag, column);
    FIELD(pz_diag, path);
    FIELD(pz_diag, text);
    STRUCT(pz_mode);
    FIELD(pz_mode, width_bits);
    FIELD(pz_mode, encodings);
    FIELD(pz_mode, format);
    FIELD(pz_mode, exponent_bits);
    STRUCT(pz_threads_options);
    FIELD(pz_threads_options, size);
    FIELD(pz_threads_options, threads);
    FIELD(pz_threads_options, run);
    FIELD(pz_threads_options, user);
}

static void results(void)
{
    STRUCT(pz_stats);
    FIELD(pz_stats, raw_bytes);
    FIELD(pz_stats, coded_bytes);
    FIELD(pz_stats, chunks);
    FIELD(pz_stats, raw_chunks);
    FIELD(pz_stats, blocks);
    FIELD(pz_stats, payload_bits);
}

static void container(void)
{
    STRUCT(pz_metadata);
    FIELD(pz_metadata, key);
    FIELD(pz_metadata, value);
    FIELD(pz_metadata, value_bytes);
    STRUCT(pz_tensor);
    FIELD(pz_tensor, size);
    FIELD(pz_tensor, name);
    FIELD(pz_tensor, dtype);
    FIELD(pz_tensor, mode);
    FIELD(pz_tensor, rank);
    FIELD(pz_tensor, shape);
    FIELD(pz_tensor, metadata);
    FIELD(pz_tensor, metadata_count);
    FIELD(pz_tensor, raw_bytes);
    FIELD(pz_tensor, stream_bytes);
    FIELD(pz_tensor, stored_bytes);
    FIELD(pz_tensor, segments);
    FIELD(pz_tensor, chunks);
    FIELD(pz_tensor, raw_chunks);
    FIELD(pz_tensor, blocks);
}

static void options(void)
{
    STRUCT(pz_writer_options);
    FIELD(pz_writer_options, size);
    FIELD(pz_writer_options, write);
    FIELD(pz_writer_options, user);
    FIELD(pz_writer_options, segment_bytes);
    FIELD(pz_writer_options, threads);
    STRUCT(pz_reader_options);
    FIELD(pz_reader_options, size);
    FIELD(pz_reader_options, read);
    FIELD(pz_reader_options, read_at);
    FIELD(pz_reader_options, user);
    FIELD(pz_reader_options, file_bytes);
    FIELD(pz_reader_options, check_pages);
    FIELD(pz_reader_options, trust_index);
    FIELD(pz_reader_options, threads);
}

int main(void)
{
    constants();
    small_structures();
    results();
    container();
    options();
    return 0;
}
