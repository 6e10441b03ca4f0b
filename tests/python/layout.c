/* Prints how C lays out what the Python package mirrors, for test_library.py: a line for each
 * structure, its fields, and each constant. */
#include <planezip/engine.h>
#include <planezip/ibp.h>
#include <planezip/plan.h>

#include <stdio.h>

#define CONSTANT(name) printf("constant %s %llu\n", #name, (unsigned long long)(name))
#define STRUCT(type) printf("struct %s %zu\n", #type, sizeof(type))
#define FIELD(type, field) \
    printf("field %s %s %zu %zu\n", #type, #field, offsetof(type, field), sizeof((type){0}.field))

static void constants(void)
{
    CONSTANT(PZ_OK);
    CONSTANT(PZ_ERR_ARGUMENT);
    CONSTANT(PZ_ERR_MEMORY);
    CONSTANT(PZ_ERR_IO);
    CONSTANT(PZ_ERR_INFEASIBLE);
    CONSTANT(PZ_ERR_FULL);
    CONSTANT(PZ_ERR_BUSY);
    CONSTANT(PZ_ERR_CANCELLED);
    CONSTANT(PZ_ENCODINGS);
    CONSTANT(PZ_DTYPES);
    CONSTANT(PZ_THREADS_MAX);
    CONSTANT(PZ_OUT);
    CONSTANT(PZ_IN);
    CONSTANT(PZ_DIRECTIONS);
    CONSTANT(PZ_TIER_MEMORY);
    CONSTANT(PZ_TIER_DISK);
    CONSTANT(PZ_TIER_HOST);
    CONSTANT(PZ_GPU_CUDA);
    CONSTANT(PZ_BYPASS_AUTO);
    CONSTANT(PZ_BYPASS_NEVER);
    CONSTANT(PZ_BYPASS_ALWAYS);
    CONSTANT(PZ_IBP_ROW_MAX_BYTES);
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

static void pool(void)
{
    STRUCT(pz_pool_options);
    FIELD(pz_pool_options, size);
    FIELD(pz_pool_options, budget_bytes);
    FIELD(pz_pool_options, chunk_bytes);
    FIELD(pz_pool_options, mapping_bytes);
    FIELD(pz_pool_options, all_at_once);
    FIELD(pz_pool_options, pin);
    FIELD(pz_pool_options, unpin);
    FIELD(pz_pool_options, pinned_only);
    FIELD(pz_pool_options, warn);
    FIELD(pz_pool_options, user);
    STRUCT(pz_pool_stats);
    FIELD(pz_pool_stats, size);
    FIELD(pz_pool_stats, chunk_bytes);
    FIELD(pz_pool_stats, budget_bytes);
    FIELD(pz_pool_stats, mapped_bytes);
    FIELD(pz_pool_stats, pinned_bytes);
    FIELD(pz_pool_stats, used_bytes);
    FIELD(pz_pool_stats, peak_bytes);
    FIELD(pz_pool_stats, mappings);
    FIELD(pz_pool_stats, taken);
    FIELD(pz_pool_stats, refused);
}

static void engine_options(void)
{
    STRUCT(pz_engine_options);
    FIELD(pz_engine_options, size);
    FIELD(pz_engine_options, tier);
    FIELD(pz_engine_options, pool);
    FIELD(pz_engine_options, directory);
    FIELD(pz_engine_options, disk_bytes);
    FIELD(pz_engine_options, cached);
    FIELD(pz_engine_options, codec);
    FIELD(pz_engine_options, bypass);
    FIELD(pz_engine_options, codec_bps);
    FIELD(pz_engine_options, link_bps);
    FIELD(pz_engine_options, queue_bytes);
    FIELD(pz_engine_options, segment_bytes);
    FIELD(pz_engine_options, threads);
    FIELD(pz_engine_options, event);
    FIELD(pz_engine_options, done);
    FIELD(pz_engine_options, user);
    FIELD(pz_engine_options, gpu);
    FIELD(pz_engine_options, groups);
    STRUCT(pz_swap_options);
    FIELD(pz_swap_options, size);
    FIELD(pz_swap_options, data);
    FIELD(pz_swap_options, bytes);
    FIELD(pz_swap_options, dtype);
    FIELD(pz_swap_options, token);
    FIELD(pz_swap_options, ratio);
    FIELD(pz_swap_options, measure);
    FIELD(pz_swap_options, stream);
    STRUCT(pz_gpu_options);
    FIELD(pz_gpu_options, size);
    FIELD(pz_gpu_options, kind);
    FIELD(pz_gpu_options, device);
    FIELD(pz_gpu_options, driver);
    FIELD(pz_gpu_options, compiler);
}

static void engine_stats(void)
{
    STRUCT(pz_swap_stats);
    FIELD(pz_swap_stats, size);
    FIELD(pz_swap_stats, token);
    FIELD(pz_swap_stats, raw_bytes);
    FIELD(pz_swap_stats, coded_bytes);
    FIELD(pz_swap_stats, bypassed);
    FIELD(pz_swap_stats, system_error);
    FIELD(pz_swap_stats, swapped_in);
    FIELD(pz_swap_stats, queued_ns);
    FIELD(pz_swap_stats, code_ns);
    FIELD(pz_swap_stats, move_ns);
    STRUCT(pz_direction_stats);
    FIELD(pz_direction_stats, transfers);
    FIELD(pz_direction_stats, failed);
    FIELD(pz_direction_stats, cancelled);
    FIELD(pz_direction_stats, bypassed);
    FIELD(pz_direction_stats, raw_bytes);
    FIELD(pz_direction_stats, coded_bytes);
    FIELD(pz_direction_stats, queue_bytes);
    FIELD(pz_direction_stats, queue_peak_bytes);
    FIELD(pz_direction_stats, code_ns);
    FIELD(pz_direction_stats, move_ns);
    FIELD(pz_direction_stats, blocked_ns);
    FIELD(pz_direction_stats, link_bps);
    FIELD(pz_direction_stats, coded_bps);
    FIELD(pz_direction_stats, moved_bps);
    STRUCT(pz_engine_stats);
    FIELD(pz_engine_stats, size);
    FIELD(pz_engine_stats, directions);
    FIELD(pz_engine_stats, swaps);
    FIELD(pz_engine_stats, staging_bytes);
    FIELD(pz_engine_stats, disk_bytes);
    FIELD(pz_engine_stats, is_direct);
}

static void planning(void)
{
    STRUCT(pz_platform);
    FIELD(pz_platform, name);
    FIELD(pz_platform, description);
    FIELD(pz_platform, source);
    FIELD(pz_platform, math_flops);
    FIELD(pz_platform, math_fraction);
    FIELD(pz_platform, memory_bps);
    FIELD(pz_platform, memory_fraction);
    FIELD(pz_platform, d2h_bps);
    FIELD(pz_platform, h2d_bps);
    FIELD(pz_platform, gpus_per_link);
    FIELD(pz_platform, launch_ns);
    FIELD(pz_platform, transfer_ns);
    FIELD(pz_platform, engine_bps);
    FIELD(pz_platform, software_bps);
    FIELD(pz_platform, software_share);
    FIELD(pz_platform, precision);
    FIELD(pz_platform, memory_bytes);
    STRUCT(pz_setup);
    FIELD(pz_setup, size);
    FIELD(pz_setup, trace);
    FIELD(pz_setup, platform);
    FIELD(pz_setup, predicted);
    FIELD(pz_setup, actual);
    FIELD(pz_setup, budget_bytes);
    FIELD(pz_setup, replay);
    FIELD(pz_setup, compress);
    FIELD(pz_setup, slot_bytes);
    FIELD(pz_setup, search_evaluations);
    FIELD(pz_setup, search_seconds);
    FIELD(pz_setup, search_seed);
    STRUCT(pz_report);
    FIELD(pz_report, total_ns);
    FIELD(pz_report, unlimited_ns);
    FIELD(pz_report, compute_ns);
    FIELD(pz_report, optimizer_ns);
    FIELD(pz_report, replay_ns);
    FIELD(pz_report, stall_memory_ns);
    FIELD(pz_report, stall_prefetch_ns);
    FIELD(pz_report, codec_ns);
    FIELD(pz_report, d2h_busy_ns);
    FIELD(pz_report, h2d_busy_ns);
    FIELD(pz_report, swapped_bytes);
    FIELD(pz_report, d2h_wire_bytes);
    FIELD(pz_report, h2d_wire_bytes);
    FIELD(pz_report, replayed_ops);
    FIELD(pz_report, peak_bytes);
    FIELD(pz_report, peak_ns);
    FIELD(pz_report, peak_op);
    FIELD(pz_report, kept);
    FIELD(pz_report, swapped);
    FIELD(pz_report, dropped);
    FIELD(pz_report, compressed);
    FIELD(pz_report, compressed_bytes);
    FIELD(pz_report, packed_bytes);
    FIELD(pz_report, overhead);
}

static void ibp(void)
{
    STRUCT(pz_ibp_shape);
    FIELD(pz_ibp_shape, width_bits);
    FIELD(pz_ibp_shape, group_bits);
    FIELD(pz_ibp_shape, row_elements);
    STRUCT(pz_ibp_learn_options);
    FIELD(pz_ibp_learn_options, size);
    FIELD(pz_ibp_learn_options, width_bits);
    FIELD(pz_ibp_learn_options, group_bits);
    FIELD(pz_ibp_learn_options, row_elements);
    FIELD(pz_ibp_learn_options, threshold);
    FIELD(pz_ibp_learn_options, sample_bytes);
    STRUCT(pz_ibp_rows);
    FIELD(pz_ibp_rows, size);
    FIELD(pz_ibp_rows, table);
    FIELD(pz_ibp_rows, data);
    FIELD(pz_ibp_rows, count);
    FIELD(pz_ibp_rows, data_bytes);
    FIELD(pz_ibp_rows, stride_bytes);
    FIELD(pz_ibp_rows, packed);
    FIELD(pz_ibp_rows, offsets);
    STRUCT(pz_ibp_stats);
    FIELD(pz_ibp_stats, rows);
    FIELD(pz_ibp_stats, raw_rows);
    FIELD(pz_ibp_stats, groups);
    FIELD(pz_ibp_stats, packed_groups);
    FIELD(pz_ibp_stats, raw_bytes);
    FIELD(pz_ibp_stats, packed_bytes);
}

int main(void)
{
    constants();
    small_structures();
    results();
    container();
    options();
    pool();
    engine_options();
    engine_stats();
    planning();
    ibp();
    return 0;
}
