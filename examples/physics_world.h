/* One simulated world: chains of balls that fall on a floor, stepped by the Open Dynamics Engine.
 *
 * It knows nothing of the stage. A world gives the same bits on every run, on whichever thread it
 * is stepped: its start positions come from a generator of its own, dWorldStep uses no random
 * numbers (dWorldQuickStep draws from a process-wide state), and its contacts are listed in a fixed
 * order.
 *
 * Threads: different worlds may be stepped at the same time; one world by one thread at a time. */
#ifndef PHYSICS_WORLD_H
#define PHYSICS_WORLD_H

#include <stdbool.h>
#include <stdint.h>

typedef struct physics_world physics_world;

/* Once per process, before anything else here, and after everything else. */
bool physics_start(void);
void physics_stop(void);
/* On every thread that will step a world, before it does. */
bool physics_prepare_thread(void);

/* Worlds of different index differ. NULL: out of memory. */
physics_world *physics_world_create(uint32_t index, uint32_t body_count);
void physics_world_destroy(physics_world *world);

/* Moves the world on by one step of fixed length. */
void physics_world_step(physics_world *world);

/* Writes the state of all bodies, one row each: the transform as a row-major matrix for row vectors
 * (the translation in elements 12 to 14), and both velocities. */
void physics_world_get_state(const physics_world *world, double (*transform)[16],
                             float (*velocity)[3], float (*angular_velocity)[3]);

#endif
