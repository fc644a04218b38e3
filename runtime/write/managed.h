/* Managed tensors of a call: they belong to the stage from its entry on (R88), so that each one is
 * deleted exactly once, also when the call is refused, and also when one is named twice. */
#ifndef FR_RUNTIME_WRITE_MANAGED_H
#define FR_RUNTIME_WRITE_MANAGED_H

#include <ovstage/ovstage_api/ovstage_api_types.h>

#include "scheduler/memory.h"

/* Runs the deleter (NULL is none). tensor may be NULL. allocator: the instance's, which names it
 * (api/callout.h). */
void fr_managed_delete(const struct DLManagedTensorVersioned *tensor,
                       const fr_allocator *allocator);

/* No pointer is NULL and none occurs twice, over all entries (R113). Not OK: text says which.
 * OUT_OF_MEMORY. */
ovstage_api_status_t fr_managed_check(const ovstage_attribute_write_t *writes, size_t count,
                                      const fr_allocator *allocator, char *text, size_t text_bytes);

/* Deletes each pointer of all entries once, whatever else is wrong with the entries. */
void fr_managed_delete_all(const ovstage_attribute_write_t *writes, size_t count,
                           const fr_allocator *allocator);

#endif
