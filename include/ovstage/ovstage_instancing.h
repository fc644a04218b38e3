/* Instances and prototypes of a stage that was populated from a scene description. Stages that
 * clients write have none. */
#ifndef OVSTAGE_INSTANCING_H
#define OVSTAGE_INSTANCING_H

#include "ovstage_api/ovstage_api.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All three read the latest committed data and may be called from any thread (R184). A list that
 * they hand out is new, maybe empty, and has one reference that the caller gives back to the path
 * dictionary. On failure the out value is 0 and ovstage_get_last_error has the text. A NULL
 * instance or out pointer (D8), or a path that the dictionary does not know: INVALID_ARGUMENT. */

/* The roots of the instances of one prototype. prototype: path handle of the prototype's root. */
OVSTAGE_EXPORT ovstage_api_status_t
ovstage_instancing_get_instance_roots(ovstage_instance_t *instance, ovx_primpath_t prototype,
                                      ovx_primpath_list_t *out_instance_roots);

/* The prototype behind an instance. NOT_FOUND if instance_root is no instance. */
OVSTAGE_EXPORT ovstage_api_status_t ovstage_instancing_get_prototype_root(
    ovstage_instance_t *instance, ovx_primpath_t instance_root, ovx_primpath_t *out_prototype_root);

/* The roots of all prototypes. */
OVSTAGE_EXPORT ovstage_api_status_t ovstage_instancing_get_prototype_roots(
    ovstage_instance_t *instance, ovx_primpath_list_t *out_prototype_roots);

#ifdef __cplusplus
}
#endif

#endif
