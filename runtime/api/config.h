/* An instance's configuration: defaults, checks, the environment's word. */
#ifndef FR_RUNTIME_API_CONFIG_H
#define FR_RUNTIME_API_CONFIG_H

#include <flyrail/flyrail.h>

#define FR_CONFIG_WORKERS_MAX 1024u

/* Checks `given` (NULL: the defaults), puts in what FLYRAIL_WORKERS says and resolves
 * FLYRAIL_WORKERS_AUTO. INVALID_ARGUMENT with the text set. */
ovstage_api_status_t fr_config_resolve(const flyrail_config_t *given, flyrail_config_t *out);

#endif
