/* The codec in plain C: what every CPU can run, and what all else is compared with. */
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "codec/isa.h"
#include "codec/planecode.h"
#include "codec/vec_scalar.h"
#include "codec/width.h"

#define PZ_W 8
#include "codec/marks.tmpl.h"

#include "codec/vec_scalar.tmpl.h"

#include "codec/vec_move.tmpl.h"

#include "codec/block.tmpl.h"
#undef PZ_W

#define PZ_W 16
#include "codec/marks.tmpl.h"

#include "codec/vec_scalar.tmpl.h"

#include "codec/vec_move.tmpl.h"

#include "codec/block.tmpl.h"
#undef PZ_W

#define PZ_W 32
#include "codec/marks.tmpl.h"

#include "codec/vec_scalar.tmpl.h"

#include "codec/vec_move.tmpl.h"

#include "codec/block.tmpl.h"
#undef PZ_W

#define PZ_W 64
#include "codec/marks.tmpl.h"

#include "codec/vec_scalar.tmpl.h"

#include "codec/vec_move.tmpl.h"

#include "codec/block.tmpl.h"
#undef PZ_W

const struct pzi_ops pzi_ops_scalar = {
    "scalar",
    0,
    {
        {measure_blocks_w8, encode_blocks_w8, decode_blocks_w8},
        {measure_blocks_w16, encode_blocks_w16, decode_blocks_w16},
        {measure_blocks_w32, encode_blocks_w32, decode_blocks_w32},
        {measure_blocks_w64, encode_blocks_w64, decode_blocks_w64},
    },
};
