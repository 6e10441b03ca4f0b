/* Bit writer and bit reader, least significant bit first (docs/format.md, "Bit order"), over 64-bit
 * accumulators.  Neither ever touches a byte outside the buffer that it was given: the writer drops
 * what does not fit and says so, the reader yields zeros past the end but refuses to consume them.
 */
#ifndef PZI_BITS_H
#define PZI_BITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/le.h"

struct pzi_bit_writer {
    uint8_t *next;
    uint8_t *end;
    uint64_t held;      /* bits not yet stored; zero from held_bits up */
    unsigned held_bits; /* 0..63 */
    bool full;          /* something did not fit */
};

static inline void pzi_writer_init(struct pzi_bit_writer *writer, uint8_t *to, size_t bytes)
{
    writer->next = to;
    writer->end = to + bytes;
    writer->held = 0;
    writer->held_bits = 0;
    writer->full = false;
}

/* Stores the low `bytes` (at most 8) bytes of word, or marks the writer full. */
static inline void pzi_writer_store(struct pzi_bit_writer *writer, uint64_t word, size_t bytes)
{
    uint8_t piece[8];

    if ((size_t)(writer->end - writer->next) < bytes) {
        writer->full = true;
        return;
    }
    pzi_store_le64(piece, word);
    memcpy(writer->next, piece, bytes);
    writer->next += bytes;
}

/* Appends 1..64 bits; value has no ones above them. */
static inline void pzi_put(struct pzi_bit_writer *writer, uint64_t value, unsigned bits)
{
    unsigned end = writer->held_bits + bits;

    writer->held |= value << writer->held_bits;
    if (end >= 64) {
        pzi_writer_store(writer, writer->held, 8);
        end -= 64;
        /* What of value did not fit: its top `end` bits; two shifts, as one could be by 64. */
        writer->held = value >> 1 >> (bits - 1 - end);
    }
    writer->held_bits = end;
}

/* Pads with zero bits to a byte and stores what is held. */
static inline void pzi_writer_finish(struct pzi_bit_writer *writer)
{
    pzi_writer_store(writer, writer->held, (writer->held_bits + 7) / 8);
    writer->held = 0;
    writer->held_bits = 0;
}

struct pzi_bit_reader {
    const uint8_t *next;
    const uint8_t *end;
    uint64_t held;      /* the next bits; above held_bits: right or zero */
    unsigned held_bits; /* 0..64 */
    size_t left_bits;   /* not yet consumed */
    size_t all_bits;
};

/* Of at most SIZE_MAX / 8 bytes. */
static inline void pzi_reader_init(struct pzi_bit_reader *reader, const uint8_t *from, size_t bytes)
{
    reader->next = from;
    reader->end = from + bytes;
    reader->held = 0;
    reader->held_bits = 0;
    reader->left_bits = reader->all_bits = bytes * 8;
}

/* Where the next bit stands, counted from the start. */
static inline size_t pzi_reader_position(const struct pzi_bit_reader *reader)
{
    return reader->all_bits - reader->left_bits;
}

static inline void pzi_refill_bytewise(struct pzi_bit_reader *reader)
{
    while (reader->held_bits <= 56 && reader->next < reader->end) {
        reader->held |= (uint64_t)*reader->next++ << reader->held_bits;
        reader->held_bits += 8;
    }
}

/* The next bits without consuming them: at least 56, those past the end zero.  Bits above
 * held_bits may already be there; the refill then writes the same bits again. */
static inline uint64_t pzi_peek(struct pzi_bit_reader *reader)
{
    if (reader->held_bits >= 56)
        return reader->held;
    if (reader->end - reader->next >= 8) {
        reader->held |= pzi_load_le64(reader->next) << reader->held_bits;
        reader->next += (63 - reader->held_bits) >> 3;
        reader->held_bits |= 56;
    } else {
        pzi_refill_bytewise(reader);
    }
    return reader->held;
}

/* Consumes 1..56 bits that are there (left_bits) and that pzi_peek() has returned. */
static inline void pzi_skip(struct pzi_bit_reader *reader, unsigned bits)
{
    reader->held >>= bits;
    reader->held_bits -= bits;
    reader->left_bits -= bits;
}

/* Consumes 1..64 bits that are there (left_bits). */
static inline uint64_t pzi_get(struct pzi_bit_reader *reader, unsigned bits)
{
    const unsigned low_bits = bits < 32 ? bits : 32;
    uint64_t value = pzi_peek(reader) & (UINT64_MAX >> (64 - low_bits));

    pzi_skip(reader, low_bits);
    if (bits > 32) {
        value |= (pzi_peek(reader) & (UINT64_MAX >> (96 - bits))) << 32;
        pzi_skip(reader, bits - 32);
    }
    return value;
}

#endif
