/* What learning tries, on a CPU and by the kernels of src/gpu: thresholds, and sizes of groups.  No
 * includes, since compilers read it that run with the program. */
#ifndef PZI_IBP_LEVELS_H
#define PZI_IBP_LEVELS_H

enum {
    PZI_IBP_LEVELS = 14,
    PZI_IBP_SIZES = 7,        /* groups of 8, 16 ... 512 bits */
    PZI_IBP_COLUMN_BYTES = 64 /* the largest group; columns are learned one by one */
};

/* Falling thresholds, in 10000ths of the rows. */
#define PZI_IBP_THRESHOLDS \
    10000, 9995, 9990, 9980, 9950, 9900, 9800, 9600, 9300, 9000, 8500, 8000, 7500, 7000

#endif
