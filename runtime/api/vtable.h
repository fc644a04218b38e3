/* The table of functions behind every instance. */
#ifndef FR_RUNTIME_API_VTABLE_H
#define FR_RUNTIME_API_VTABLE_H

#include <ovstage/ovstage.h>

extern const ovstage_vtable_t fr_vtable;

#endif
