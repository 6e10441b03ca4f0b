/* Damage: no byte of a container can be changed or cut off without an error that says where, or
 * without effect on the data.  And headers that promise what is not there. */
#include <planezip/planezip.h>
#include <stdlib.h>
#include <xxhash.h>

#include "base/le.h"
#include "container/record.h"
#include "support/memfile.h"
#include "support/pzfiles.h"
#include "support/rng.h"
#include "support/test.h"

enum { SEGMENT = 3 * PZ_PAGE_BYTES };

/* A file of all tensors of a stream format, what they are, and room for one of them. */
struct scene {
    struct memfile file;
    uint8_t *raw[PZFILES_TENSORS];
    uint64_t bytes[PZFILES_TENSORS];
    uint8_t *to;
};

static void scene_make(struct scene *scene, unsigned format)
{
    scene->file = (struct memfile){0};
    CHECK(pzfiles_write(&scene->file, format, PZFILES_TENSORS, SEGMENT) == PZ_OK);
    for (size_t i = 0; i < PZFILES_TENSORS; i++)
        scene->raw[i] = pzfiles_raw(format, i, &scene->bytes[i]);
    scene->to = malloc(1 << 18);
}

static void scene_free(struct scene *scene)
{
    for (size_t i = 0; i < PZFILES_TENSORS; i++)
        free(scene->raw[i]);
    free(scene->to);
    free(scene->file.data);
}

/* Every error says what, and where unless it is not even a container. */
static void check_message(pz_status status, const pz_diag *diag)
{
    CHECK(diag->text[0] != '\0');
    CHECK(diag->path[0] != '\0' || status == PZ_ERR_FORMAT);
}

/* Reads everything front to back; whatever comes without an error must be right. */
static pz_status scan(struct scene *scene)
{
    const pz_tensor *tensor;
    pz_reader *reader = NULL;
    pz_diag diag = {0};
    pz_status status = memfile_scan(&scene->file, &reader, &diag);
    size_t index = 0;

    while (status == PZ_OK) {
        uint64_t at = 0;

        status = pz_reader_next(reader, &tensor, &diag);
        if (status != PZ_OK || tensor == NULL)
            break;
        for (size_t bytes = 1; bytes > 0 && status == PZ_OK; at += bytes) {
            const void *raw;

            status = pz_reader_segment(reader, &raw, &bytes, &diag);
            if (status != PZ_OK)
                break;
            CHECK(index < PZFILES_TENSORS && bytes <= scene->bytes[index] - at);
            if (bytes > 0 && index < PZFILES_TENSORS)
                CHECK_MEM(raw, scene->raw[index] + at, bytes);
        }
        if (status == PZ_OK)
            CHECK_EQ_U64(at, scene->bytes[index]);
        index++;
    }
    if (status == PZ_OK)
        CHECK_EQ_U64(index, PZFILES_TENSORS);
    else
        check_message(status, &diag);
    pz_reader_free(reader);
    return status;
}

/* The same by the index, every tensor at once and a range from the middle. */
static pz_status access_all(struct scene *scene)
{
    uint8_t *const to = scene->to;
    pz_reader *reader = NULL;
    pz_diag diag = {0};
    pz_status status = memfile_open(&scene->file, &reader, &diag);

    for (uint64_t i = 0; status == PZ_OK && i < pz_reader_count(reader); i++) {
        const uint64_t bytes = scene->bytes[i], from = bytes / 2;
        const size_t some = (size_t)(bytes - from < 100 ? bytes - from : 100);

        if (!CHECK(i < PZFILES_TENSORS && pz_reader_tensor(reader, i)->raw_bytes == bytes))
            break;
        status = pz_reader_read(reader, i, from, some, to, &diag);
        if (status == PZ_OK)
            CHECK_MEM(to, scene->raw[i] + from, some);
        if (status == PZ_OK)
            status = pz_reader_read(reader, i, 0, (size_t)bytes, to, &diag);
        if (status == PZ_OK)
            CHECK_MEM(to, scene->raw[i], (size_t)bytes);
    }
    if (status != PZ_OK)
        check_message(status, &diag);
    pz_reader_free(reader);
    return status;
}

static void change_every_byte(unsigned format)
{
    struct scene scene;
    struct memfile *const file = &scene.file;
    size_t unnoticed = 0;

    scene_make(&scene, format);
    CHECK(scan(&scene) == PZ_OK);
    CHECK(access_all(&scene) == PZ_OK);
    for (size_t at = 0; at < file->bytes; at += TEST_SANITIZED ? 5 : 1) {
        const uint8_t before = file->data[at];

        TEST_CONTEXT("format %u, byte %zu of %zu", format, at, file->bytes);
        file->data[at] = at % 3 == 0 ? (uint8_t)~before : before ^ (uint8_t)(1u << at % 8);
        if (scan(&scene) == PZ_OK)
            unnoticed++;
        access_all(&scene);
        file->data[at] = before;
    }
    /* Only in a stream can two bits mean the same data. */
    CHECK(unnoticed < file->bytes / 100);
    scene_free(&scene);
}

TEST(every_byte_changed)
{
    for (unsigned format = 1; format <= PZFILES_FORMATS; format++)
        change_every_byte(format);
}

static void cut_everywhere(unsigned format)
{
    struct scene scene;
    struct memfile *const file = &scene.file;
    size_t all;

    scene_make(&scene, format);
    all = file->bytes;
    for (file->bytes = 0; file->bytes < all; file->bytes += TEST_SANITIZED ? 5 : 1) {
        pz_status status = scan(&scene);

        TEST_CONTEXT("format %u, %zu bytes of %zu", format, file->bytes, all);
        CHECK(status == (file->bytes < 8 ? PZ_ERR_FORMAT : PZ_ERR_TRUNCATED));
        CHECK(access_all(&scene) != PZ_OK);
    }
    file->data = realloc(file->data, all + 1);
    file->data[all] = 0;
    file->bytes = all + 1;
    CHECK(scan(&scene) == PZ_ERR_TRAILING);
    CHECK(access_all(&scene) == PZ_ERR_TRUNCATED);
    scene_free(&scene);
}

TEST(every_length)
{
    for (unsigned format = 1; format <= PZFILES_FORMATS; format++)
        cut_everywhere(format);
}

/* Where the n-th record of a kind begins. */
static size_t find_record(const struct memfile *file, uint32_t kind, unsigned n)
{
    size_t at = PZI_FILE_HEADER_BYTES;

    for (;;) {
        struct pzi_head head;

        if (!CHECK(at + PZI_HEAD_BYTES <= file->bytes && pzi_head_load(file->data + at, &head)))
            return 0;
        if (head.kind == kind && n-- == 0)
            return at;
        at += PZI_HEAD_BYTES + (size_t)head.body_bytes;
    }
}

/* The first error of a file, whose message must hold the text. */
static void check_error(struct memfile *file, pz_status expected, const char *path,
                        const char *text)
{
    const pz_tensor *tensor;
    pz_reader *reader = NULL;
    pz_diag diag = {0};
    pz_status status = memfile_scan(file, &reader, &diag);

    do {
        const void *raw;
        size_t bytes = 1;

        if (status == PZ_OK)
            status = pz_reader_next(reader, &tensor, &diag);
        while (status == PZ_OK && tensor != NULL && bytes > 0)
            status = pz_reader_segment(reader, &raw, &bytes, &diag);
    } while (status == PZ_OK && tensor != NULL);
    CHECK_STR(pz_status_name(status), pz_status_name(expected));
    if (!CHECK(strstr(diag.path, path) != NULL && strstr(diag.text, text) != NULL))
        printf("it says: %s (%s)\n", diag.text, diag.path);
    pz_reader_free(reader);
}

TEST(messages)
{
    struct memfile file = {0};
    size_t at;

    CHECK(pzfiles_write(&file, 1, PZFILES_TENSORS, SEGMENT) == PZ_OK);
    at = find_record(&file, PZI_SEGM, 0);
    file.data[at + 20] ^= 1;
    check_error(&file, PZ_ERR_CHECK, "tensor 'block.0/weight', segment 0, record at byte",
                "checksum of its head");
    file.data[at + 20] ^= 1;
    at = find_record(&file, PZI_SEGM, 1) + PZI_HEAD_BYTES + 2 * 16;
    file.data[at + 1] ^= 0xff;
    check_error(&file, PZ_ERR_CHUNK_SIZE, "tensor 'mask', segment 0, chunk 16",
                "stream is damaged");
    file.data[at + 1] ^= 0xff;
    at = find_record(&file, PZI_TEND, 1) - 1;
    file.data[at] ^= 1;
    check_error(&file, PZ_ERR_CHECK, "tensor 'mask', segment 0, chunks 32 to 36",
                "page is damaged, though the data is whole");
    file.data[at] ^= 1;
    at = find_record(&file, PZI_META, 0) + PZI_HEAD_BYTES + 9;
    file.data[at] ^= 1;
    check_error(&file, PZ_ERR_CHECK, "record at byte 16", "checksum of its body");
    file.data[at] ^= 1;
    at = find_record(&file, PZI_INDX, 0) + PZI_HEAD_BYTES + 9;
    file.data[at] ^= 1;
    check_error(&file, PZ_ERR_CHECK, "record at byte", "checksum of its body");
    file.data[at] ^= 1;
    file.data[8] = 2;
    check_error(&file, PZ_ERR_FORMAT, "", "version 2");
    file.data[8] = 1;
    file.data[3] = 'X';
    check_error(&file, PZ_ERR_FORMAT, "", "no .pz file");
    free(file.data);
}

/* ---- Heads that are whole and wrong ---- */

static void change_head(struct memfile *file, size_t at, size_t field, uint64_t value)
{
    pzi_store_le64(file->data + at + field, value);
    pzi_store_le64(file->data + at + 40, XXH3_64bits(file->data + at, 40));
}

TEST(huge_sizes_take_no_memory)
{
    static const uint64_t sizes[] = {UINT64_MAX, INT64_MAX, UINT64_C(1) << 62, UINT32_MAX,
                                     UINT64_C(1) << 40};
    static const uint32_t kinds[] = {PZI_META, PZI_TENS, PZI_SEGM, PZI_TEND, PZI_INDX};

    for (size_t kind = 0; kind < sizeof kinds / sizeof kinds[0]; kind++)
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
            for (size_t field = 8; field <= 24; field += 8) {
                struct scene scene;

                TEST_CONTEXT("kind %zu, size %zu, field %zu", kind, i, field);
                scene_make(&scene, 1 + i % PZFILES_FORMATS);
                change_head(&scene.file, find_record(&scene.file, kinds[kind], 0), field, sizes[i]);
                CHECK(scan(&scene) != PZ_OK);
                access_all(&scene);
                scene_free(&scene);
            }
}

/* Puts a number into the body of the first record of a kind, with its checks put right. */
static void change_body(struct memfile *file, uint32_t kind, size_t field, uint64_t value)
{
    const size_t at = find_record(file, kind, 0);
    uint8_t *const body = file->data + at + PZI_HEAD_BYTES;

    if (kind == PZI_TENS)
        pzi_store_le32(body + field, (uint32_t)value);
    else
        pzi_store_le64(body + field, value);
    change_head(file, at, 32, XXH3_64bits(body, (size_t)pzi_load_le64(file->data + at + 24)));
}

/* Fields of TENS and TEND, docs/container.md, that are whole and mean nothing. */
TEST(fields_that_contradict_one_another)
{
    static const struct {
        unsigned format;
        uint32_t kind;
        size_t field;
        uint64_t value;
        pz_status status;
    } cases[] = {
        {1, PZI_TENS, 4, 0, PZ_ERR_FORMAT},      {1, PZI_TENS, 4, 2, PZ_ERR_MEANING},
        {1, PZI_TENS, 4, 3, PZ_ERR_FORMAT},      {1, PZI_TENS, 8, 24, PZ_ERR_MEANING},
        {1, PZI_TENS, 12, 8, PZ_ERR_MEANING},    {1, PZI_TENS, 16, 0x1e, PZ_ERR_MEANING},
        {1, PZI_TENS, 16, 0x3f, PZ_ERR_MEANING}, {1, PZI_TEND, 40, 4, PZ_ERR_MEANING},
        {2, PZI_TENS, 4, 1, PZ_ERR_MEANING},     {2, PZI_TENS, 8, 16 + 8, PZ_ERR_MEANING},
        {2, PZI_TENS, 12, 5, PZ_ERR_MEANING},    {2, PZI_TENS, 12, 11, PZ_ERR_MEANING},
        {2, PZI_TENS, 16, 0x1f, PZ_ERR_MEANING}, {2, PZI_TENS, 16, 0x1e0, PZ_ERR_MEANING},
        {2, PZI_TENS, 16, 0x21, PZ_ERR_MEANING}, {2, PZI_TEND, 40, 5, PZ_ERR_MEANING},
        {2, PZI_TEND, 40, 0, PZ_ERR_MEANING},    {2, PZI_TEND, 48, 0, PZ_ERR_MEANING},
        {2, PZI_TEND, 80, 1, PZ_ERR_MEANING},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct memfile file = {0};

        TEST_CONTEXT("case %zu", i);
        CHECK(pzfiles_write(&file, cases[i].format, PZFILES_TENSORS, SEGMENT) == PZ_OK);
        change_body(&file, cases[i].kind, cases[i].field, cases[i].value);
        check_error(&file, cases[i].status, "tensor", "");
        free(file.data);
    }
}

TEST(records_out_of_order)
{
    static const uint32_t kinds[] = {PZI_META, PZI_TENS, PZI_SEGM, PZI_TEND, PZI_INDX, 0};

    for (size_t from = 0; from < 5; from++)
        for (size_t to = 0; to < 6; to++) {
            struct memfile file = {0};
            size_t at;

            if (from == to)
                continue;
            TEST_CONTEXT("record %zu becomes %zu", from, to);
            CHECK(pzfiles_write(&file, 1, PZFILES_TENSORS, SEGMENT) == PZ_OK);
            at = find_record(&file, kinds[from], 0);
            pzi_store_le32(file.data + at, kinds[to]);
            pzi_store_le64(file.data + at + 40, XXH3_64bits(file.data + at, 40));
            /* Metadata as a tensor has a stream format that is not known. */
            check_error(&file, from == 0 && to == 1 ? PZ_ERR_FORMAT : PZ_ERR_MEANING, "", "");
            free(file.data);
        }
}

/* Two segments of one tensor change places: each is whole. */
TEST(segments_that_change_places)
{
    struct memfile file = {0};
    const uint64_t shape[] = {2 * PZ_CHUNK_BYTES};
    pz_tensor tensor = {
        .size = sizeof tensor, .name = "x", .dtype = PZ_DTYPE_U8, .rank = 1, .shape = shape};
    uint8_t raw[2 * PZ_CHUNK_BYTES], *first, *second, *copy;
    struct rng rng = {1};
    pz_writer *writer = memfile_writer(&file, PZ_CHUNK_BYTES);
    size_t bytes;

    rng_fill(&rng, raw, sizeof raw); /* both are stored raw, in one size */
    pz_mode_named("planezip", 8, &tensor.mode);
    CHECK(pz_writer_begin(writer, &tensor) == PZ_OK);
    CHECK(pz_writer_data(writer, raw, sizeof raw) == PZ_OK);
    CHECK(pz_writer_end(writer) == PZ_OK);
    CHECK(pz_writer_finish(writer) == PZ_OK);
    pz_writer_free(writer);
    first = file.data + find_record(&file, PZI_SEGM, 0);
    second = file.data + find_record(&file, PZI_SEGM, 1);
    bytes = (size_t)(second - first);
    if (!CHECK(find_record(&file, PZI_TEND, 0) == (size_t)(second - file.data) + bytes))
        return;
    copy = malloc(bytes);
    memcpy(copy, first, bytes);
    memmove(first, second, bytes);
    memcpy(second, copy, bytes);
    check_error(&file, PZ_ERR_MEANING, "tensor 'x', segment 0", "another segment");
    free(copy);
    free(file.data);
}

/* A reader goes on behind damage, and keeps the pages that are whole. */
static void damage_a_page(unsigned format)
{
    const pz_tensor *tensor;
    struct scene scene;
    struct memfile *const file = &scene.file;
    pz_reader *reader;
    const void *raw;
    size_t bytes, at;

    scene_make(&scene, format);
    at = find_record(file, PZI_TEND, 1) - 3 * 8 - 20; /* in the last page of the mask */
    file->data[at] ^= 0x10;
    CHECK(memfile_scan(file, &reader, NULL) == PZ_OK);
    CHECK(pz_reader_next(reader, &tensor, NULL) == PZ_OK);
    CHECK(pz_reader_next(reader, &tensor, NULL) == PZ_OK);
    CHECK(pz_reader_segment(reader, &raw, &bytes, NULL) != PZ_OK);
    CHECK_EQ_U64(bytes, 150000);
    CHECK_EQ_U64(pz_reader_lost(reader), 150000 - 2 * PZ_PAGE_BYTES);
    CHECK_MEM(raw, scene.raw[1], 2 * PZ_PAGE_BYTES);
    for (size_t i = 2 * PZ_PAGE_BYTES; i < bytes; i++)
        if (!CHECK(((const uint8_t *)raw)[i] == 0))
            break;
    CHECK(pz_reader_segment(reader, &raw, &bytes, NULL) == PZ_OK);
    CHECK_EQ_U64(bytes, 0);
    CHECK_EQ_U64(tensor->raw_bytes, 150000);
    for (int i = 0; i < 3; i++)
        CHECK(pz_reader_next(reader, &tensor, NULL) == PZ_OK);
    CHECK(tensor == NULL);
    pz_reader_free(reader);
    scene_free(&scene);
}

TEST(damage_costs_its_pages)
{
    for (unsigned format = 1; format <= PZFILES_FORMATS; format++)
        damage_a_page(format);
}
