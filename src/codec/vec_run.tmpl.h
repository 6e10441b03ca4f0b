/* Template, parameter PZ_W: the part of the vocabulary of block.tmpl.h that puts and gets runs of
 * verbatim planes, where nothing is gained over one plane after another. */

/* Puts of the planes j-1 .. end as many as it can at once, verbatim, p bits each; j-1 is the first
 * plane that is left.  PZ_ROOM planes in front of b may be read. */
PZI_INLINE unsigned PZ_CAT(put_run)(struct pzi_bit_writer *writer, const PZ_PLANE *b, unsigned j,
                                    unsigned end, unsigned p)
{
    (void)writer, (void)b, (void)end, (void)p;
    return j;
}
