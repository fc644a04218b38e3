/* Writing a stage back to a scene description: not part of this library. The header exists for
 * programs that include it. */
#ifndef OVSTAGE_POPULATION_EXPORT_H
#define OVSTAGE_POPULATION_EXPORT_H

#include "ovstage_population.h"

#endif
