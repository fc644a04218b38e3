/* Conditions on what a population takes over. The type is opaque: this library populates from
 * nothing. */
#ifndef OVSTAGE_POPULATION_PREDICATE_H
#define OVSTAGE_POPULATION_PREDICATE_H

typedef struct ovstage_population_predicate_t ovstage_population_predicate_t;

#endif
