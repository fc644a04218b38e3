/* Reading published frames: what the watchers have in common. */
#ifndef FRAME_READER_H
#define FRAME_READER_H

#include "examples/pipeline.h"

/* All columns of one frame, held: until it is let go nothing in it changes, whatever is published
 * meanwhile. */
typedef struct held_frame {
    uint32_t frame;
    ovstage_read_group_t groups[COLUMN_COUNT];
} held_frame;

typedef enum frame_read_result {
    FRAME_HELD,
    FRAME_GONE,   /* newer frames have taken its place before the read; take a newer one */
    FRAME_FAILED, /* a line is on stderr */
} frame_read_result;

/* The ordinal up to which everything is sealed; 0: nothing yet. */
bool newest_sealed(ovstage_instance_t *instance, ovstage_ordinal_t *out);

frame_read_result frame_hold(const pipeline *line, uint32_t frame, held_frame *out);
void frame_let_go(const pipeline *line, held_frame *held);
/* The rows of a column, one a body. */
const void *frame_column(const held_frame *held, int column);
/* Whether each column holds what the steps of that frame computed. So all columns are of one frame,
 * and of the right one. */
bool frame_is_whole(const pipeline *line, const held_frame *held);
/* Of every byte of the frame. */
uint64_t frame_checksum(const pipeline *line, const held_frame *held);

#endif
