/* Bit writer and bit reader, least significant bit first (docs/format.md, "Bit order").  Neither
 * checks where its buffer ends, which is what makes them fast: the writer is given room for all
 * that it will be told to put and PZI_BITS_SLACK bytes more, the reader may load as many bytes past
 * the end, and who reads asks pzi_left() first.
 */
#ifndef PZI_BITS_H
#define PZI_BITS_H

#include <stddef.h>
#include <stdint.h>

#include "base/inline.h"
#include "base/le.h"

/* Bytes behind the last bit that a store may write or a load may read; here that is 16. */
#define PZI_BITS_SLACK 64

struct pzi_bit_writer {
    uint8_t *next;
    uint64_t held;      /* the bits of the byte at next; zero from held_bits up */
    unsigned held_bits; /* 0..7 */
};

PZI_INLINE void pzi_writer_init(struct pzi_bit_writer *writer, uint8_t *to)
{
    writer->next = to;
    writer->held = 0;
    writer->held_bits = 0;
}

/* Appends 0..56 bits; value has no ones above them.  Without a branch: eight bytes are stored, and
 * as many of them are kept as are full. */
PZI_INLINE void pzi_put_short(struct pzi_bit_writer *writer, uint64_t value, unsigned bits)
{
    const uint64_t word = writer->held | value << writer->held_bits;
    const unsigned end = writer->held_bits + bits;

    pzi_store_le64(writer->next, word);
    writer->next += end / 8;
    writer->held = word >> end / 8 * 8;
    writer->held_bits = end % 8;
}

/* Appends 0..64 bits; value has no ones above them. */
PZI_INLINE void pzi_put(struct pzi_bit_writer *writer, uint64_t value, unsigned bits)
{
    const unsigned begin = writer->held_bits;

    if (begin + bits < 64) {
        pzi_put_short(writer, value, bits);
        return;
    }
    pzi_store_le64(writer->next, writer->held | value << begin);
    writer->next += 8;
    writer->held = value >> 1 >> (63 - begin); /* two shifts, as one could be by 64 */
    writer->held_bits = begin + bits - 64;
}

/* Pads with zero bits to a byte; next is then the end. */
PZI_INLINE void pzi_writer_finish(struct pzi_bit_writer *writer)
{
    pzi_store_le64(writer->next, writer->held);
    writer->next += writer->held_bits != 0;
    writer->held = 0;
    writer->held_bits = 0;
}

struct pzi_bit_reader {
    const uint8_t *bytes;
    size_t position; /* of the next bit, counted from the start */
    size_t end;      /* in bits */
};

/* Of at most SIZE_MAX / 8 bytes. */
PZI_INLINE void pzi_reader_init(struct pzi_bit_reader *reader, const uint8_t *from, size_t bytes)
{
    reader->bytes = from;
    reader->position = 0;
    reader->end = bytes * 8;
}

/* Bits that are not yet consumed. */
PZI_INLINE size_t pzi_left(const struct pzi_bit_reader *reader)
{
    return reader->end - reader->position;
}

/* The next bits without consuming them, 57 at least; past the end they are arbitrary. */
PZI_INLINE uint64_t pzi_peek(const struct pzi_bit_reader *reader)
{
    return pzi_load_le64(reader->bytes + reader->position / 8) >> reader->position % 8;
}

/* Consumes bits that are there. */
PZI_INLINE void pzi_skip(struct pzi_bit_reader *reader, unsigned bits)
{
    reader->position += bits;
}

/* Consumes 1..64 bits that are there. */
PZI_INLINE uint64_t pzi_get(struct pzi_bit_reader *reader, unsigned bits)
{
    const uint8_t *const from = reader->bytes + reader->position / 8;
    const unsigned begin = reader->position % 8;
    const uint64_t value = pzi_load_le64(from) >> begin | (uint64_t)from[8] << 1 << (63 - begin);

    reader->position += bits;
    return value & UINT64_MAX >> (64 - bits);
}

#endif
