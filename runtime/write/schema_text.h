/* Schemas in words, for texts about them.
 *
 * Threads: pure functions. */
#ifndef FR_RUNTIME_WRITE_SCHEMA_TEXT_H
#define FR_RUNTIME_WRITE_SCHEMA_TEXT_H

#include "runtime/store/store.h"

typedef struct fr_dtype_text {
    char text[40];
} fr_dtype_text;
typedef struct fr_schema_text {
    char text[80];
} fr_schema_text;

/* "float32 x3"; also of a dtype that nothing can store. */
fr_dtype_text fr_dtype_tell(uint32_t code, uint32_t bits, uint32_t lanes);
/* "float32 x3, of fixed size, POINT". */
fr_schema_text fr_schema_tell(const fr_schema *schema);
/* "POINT"; NULL for a value outside the enum. */
const char *fr_semantic_name(ovstage_attribute_semantic_t semantic);

#endif
