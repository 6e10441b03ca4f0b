/* The static codes of format 2 as the kernels read them, PZI_TABLES_BYTES of them (words.h). */
#ifndef PZI_GPU_TABLES_H
#define PZI_GPU_TABLES_H

#include <stdint.h>

void pzi_gpu_tables(uint8_t *tables);

#endif
