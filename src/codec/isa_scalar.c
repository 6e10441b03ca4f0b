/* The codec in plain C: what every CPU can run, and what all else is compared with. */
#include <limits.h>
#include <stdbool.h>
#include <string.h>

#include "codec/group_scalar.h"
#include "codec/isa.h"
#include "codec/planecode.h"
#include "codec/vec_scalar.h"
#include "codec/width.h"
#include "codec/window2.h"

#define PZ_W 8
#include "codec/marks.tmpl.h"

#include "codec/vec_scalar.tmpl.h"

#include "codec/vec_move.tmpl.h"

#include "codec/vec_run.tmpl.h"

#include "codec/block.tmpl.h"

#include "codec/group_scalar.tmpl.h"

#include "codec/chunk2.tmpl.h"
#undef PZ_W

#define PZ_W 16
#include "codec/marks.tmpl.h"

#include "codec/vec_scalar.tmpl.h"

#include "codec/vec_move.tmpl.h"

#include "codec/vec_run.tmpl.h"

#include "codec/block.tmpl.h"

#include "codec/group_scalar.tmpl.h"

#include "codec/chunk2.tmpl.h"
#undef PZ_W

#define PZ_W 32
#include "codec/marks.tmpl.h"

#include "codec/vec_scalar.tmpl.h"

#include "codec/vec_move.tmpl.h"

#include "codec/vec_run.tmpl.h"

#include "codec/block.tmpl.h"

#include "codec/group_scalar.tmpl.h"

#include "codec/chunk2.tmpl.h"
#undef PZ_W

#define PZ_W 64
#include "codec/marks.tmpl.h"

#include "codec/vec_scalar.tmpl.h"

#include "codec/vec_move.tmpl.h"

#include "codec/vec_run.tmpl.h"

#include "codec/block.tmpl.h"

#include "codec/group_scalar.tmpl.h"

#include "codec/chunk2.tmpl.h"
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
    {
        {encode2_w8, measure2_w8, decode2_w8},
        {encode2_w16, measure2_w16, decode2_w16},
        {encode2_w32, measure2_w32, decode2_w32},
        {encode2_w64, measure2_w64, decode2_w64},
    },
};
