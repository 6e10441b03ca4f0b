/* For the small functions of hot loops, and for those whose arguments are constants where they are
 * called: they are inlined whatever else stands in the file.  A compiler's own choice depends on
 * how large that is, and an instruction set is one file. */
#ifndef PZI_BASE_INLINE_H
#define PZI_BASE_INLINE_H

#define PZI_INLINE __attribute__((always_inline)) static inline

/* For a loop that compilers make worse if they see its callers. */
#define PZI_NOINLINE __attribute__((noinline, unused)) static

#endif
