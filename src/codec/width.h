/* What the templates (*.tmpl.h) derive from their parameter PZ_W, the symbol width in bits: 8, 16,
 * 32 or 64.  The macros look at PZ_W where they are used, so this file is included once. */
#ifndef PZI_WIDTH_H
#define PZI_WIDTH_H

#include "base/inline.h"
#include "base/le.h"
#include "codec/format.h"
#include "codec/plane.h"

#define PZ_PASTE_(a, b) a##b
#define PZ_PASTE(a, b) PZ_PASTE_(a, b)

/* PZ_CAT(name) is this width's instance of a function or type: name_w16. */
#define PZ_CAT(name) PZ_PASTE(name##_w, PZ_W)

/* N of the format. */
#define PZ_N (PZI_BLOCK_BITS / PZ_W)

/* PZ_P(op) is the operation on plane words (plane.h): pzi_p64_op, pzi_p128_op for w = 8. */
#define PZ_P(op) PZ_PASTE(PZ_P_, PZ_W)(op)
#define PZ_P_8(op) pzi_p128_##op
#define PZ_P_16(op) pzi_p64_##op
#define PZ_P_32(op) pzi_p64_##op
#define PZ_P_64(op) pzi_p64_##op

/* A plane has N bits, so that an array of planes is a block of 128 bytes, transposed; p64 takes and
 * gives the narrow ones as well. */
typedef pzi_p128 plane_w8;
typedef uint64_t plane_w16;
typedef uint32_t plane_w32;
typedef uint16_t plane_w64;

/* PZ_M(op) is the operation on sets of planes, bit j for plane j of at most w + 1. */
#define PZ_M(op) PZ_PASTE(PZ_M_, PZ_W)(op)
#define PZ_M_8(op) pzi_p64_##op
#define PZ_M_16(op) pzi_p64_##op
#define PZ_M_32(op) pzi_p64_##op
#define PZ_M_64(op) pzi_p128_##op

typedef pzi_p64 planeset_w8, planeset_w16, planeset_w32;
typedef pzi_p128 planeset_w64;

typedef uint8_t symbol_w8;
typedef uint16_t symbol_w16;
typedef uint32_t symbol_w32;
typedef uint64_t symbol_w64;

/* Holds an exponent, of floating-point symbols of format 2. */
typedef uint8_t exponent_w8, exponent_w16, exponent_w32;
typedef uint16_t exponent_w64;

#define PZ_PLANE PZ_CAT(plane)
#define PZ_EXPONENT PZ_CAT(exponent)
#define PZ_SET PZ_CAT(planeset)
#define PZ_SYMBOL PZ_CAT(symbol)

/* Types of the templates of format 2. */
#define PZ_SAMPLE struct PZ_CAT(sample)
#define PZ_LAYOUT struct PZ_CAT(layout)
#define PZ_CUT2 struct PZ_CAT(cut2)
#define PZ_NUMBERS struct PZ_CAT(numbers)
#define PZ_PARTS struct PZ_CAT(parts)
#define PZ_TAIL2 struct PZ_CAT(tail2)
#define PZ_QUOTA struct PZ_CAT(quota)

/* Calls PZ_CAT(name)(e, ...) with a constant e, which is one of those that this width has. */
#define PZ_WITH_E(e, name, ...) PZ_PASTE(PZ_WITH_E_, PZ_W)(e, PZ_CAT(name), __VA_ARGS__)
#define PZ_WITH_E_8(e, f, ...) ((e) == 4 ? f(4, __VA_ARGS__) : f(5, __VA_ARGS__))
#define PZ_WITH_E_16(e, f, ...) ((e) == 8 ? f(8, __VA_ARGS__) : f(5, __VA_ARGS__))
#define PZ_WITH_E_32(e, f, ...) f(8, __VA_ARGS__)
#define PZ_WITH_E_64(e, f, ...) f(11, __VA_ARGS__)

/* PZ_LE(load), PZ_LE(store) of a plane of one word. */
#define PZ_LE(op) PZ_PASTE(PZ_LE_, PZ_W)(op)
#define PZ_LE_16(op) pzi_##op##_le64
#define PZ_LE_32(op) pzi_##op##_le32
#define PZ_LE_64(op) pzi_##op##_le16

/* Symbol i of a block of bytes. */
#define PZ_LOAD(bytes, i) PZ_PASTE(pzi_load_le, PZ_W)((bytes) + (i) * (PZ_W / 8))
#define PZ_STORE(bytes, i, symbol) PZ_PASTE(pzi_store_le, PZ_W)((bytes) + (i) * (PZ_W / 8), symbol)

/* Planes in front of an array of them that an instruction set may read or write, as it works on
 * several at once. */
#define PZ_ROOM 8

#endif
