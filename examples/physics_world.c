#include "examples/physics_world.h"

#include <math.h>
#include <ode/ode.h>
#include <stdlib.h>

#define STEP_SECONDS (1.0 / 120.0)
#define BALL_RADIUS 0.25
#define CHAIN_LENGTH 8u
#define CHAIN_SPACING 2.5
/* Soft enough that stacked contacts do not make dWorldStep's equations singular. */
#define SOFTNESS 1e-4

struct physics_world {
    dThreadingImplementationID threading;
    dWorldID world;
    dJointGroupID contacts;
    uint64_t step_count;
    uint32_t body_count;
    dBodyID bodies[];
};

bool physics_start(void)
{
    return dInitODE2(0) != 0 && physics_prepare_thread();
}

void physics_stop(void)
{
    dCloseODE();
}

bool physics_prepare_thread(void)
{
    return dAllocateODEDataForThread(dAllocateFlagBasicData) != 0;
}

/* xorshift64*: each world has its own, so that the order in which worlds are made does not matter.
 */
static double next_random(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)(*state * 0x2545f4914f6cdd1dull >> 11) / 9007199254740992.0;
}

static dBodyID create_ball(dWorldID world, double x, double y, double z)
{
    dBodyID body = dBodyCreate(world);
    dMass mass;
    dMassSetSphereTotal(&mass, 1.0, BALL_RADIUS);
    dBodySetMass(body, &mass);
    dBodySetPosition(body, x, y, z);
    return body;
}

static void link_balls(dWorldID world, dBodyID a, dBodyID b)
{
    const dReal *from = dBodyGetPosition(a), *to = dBodyGetPosition(b);
    dJointID joint = dJointCreateBall(world, NULL);
    dJointAttach(joint, a, b);
    dJointSetBallAnchor(joint, (from[0] + to[0]) / 2, (from[1] + to[1]) / 2, (from[2] + to[2]) / 2);
}

/* Chains stand in rows, each ball a little to the side of the one below, so that they fall over and
 * coil up. */
static void fill_world(physics_world *world, uint32_t index)
{
    uint64_t random = 0x9e3779b97f4a7c15ull * (index + 1);
    for (uint32_t i = 0; i < world->body_count; i++) {
        uint32_t chain = i / CHAIN_LENGTH, link = i % CHAIN_LENGTH;
        double x = CHAIN_SPACING * (chain % 8) + 0.3 * next_random(&random);
        double y = CHAIN_SPACING * (chain / 8) + 0.3 * next_random(&random);
        double z = 0.4 + 0.2 * next_random(&random) + 2.1 * BALL_RADIUS * link;
        world->bodies[i] = create_ball(world->world, x, y, z);
        if (link > 0)
            link_balls(world->world, world->bodies[i - 1], world->bodies[i]);
    }
}

physics_world *physics_world_create(uint32_t index, uint32_t body_count)
{
    physics_world *world = calloc(1, sizeof(*world) + body_count * sizeof(world->bodies[0]));
    if (!world)
        return NULL;
    world->body_count = body_count;
    world->world = dWorldCreate();
    world->contacts = dJointGroupCreate(0);
    /* The engine's default is one object for the whole process, which two worlds must not use at
     * the same time. */
    world->threading = dThreadingAllocateSelfThreadedImplementation();
    if (!world->world || !world->contacts || !world->threading) {
        physics_world_destroy(world);
        return NULL;
    }
    dWorldSetStepThreadingImplementation(
        world->world, dThreadingImplementationGetFunctions(world->threading), world->threading);
    dWorldSetCFM(world->world, SOFTNESS);
    fill_world(world, index);
    return world;
}

void physics_world_destroy(physics_world *world)
{
    if (!world)
        return;
    if (world->contacts)
        dJointGroupDestroy(world->contacts);
    if (world->world)
        dWorldDestroy(world->world);
    if (world->threading)
        dThreadingFreeImplementation(world->threading);
    free(world);
}

/* b is NULL for the floor. */
static void add_contact(physics_world *world, dBodyID a, dBodyID b, const dReal position[3],
                        const dReal normal[3], dReal depth)
{
    dContact contact = {0};
    contact.surface.mode = dContactApprox1 | dContactSoftCFM;
    contact.surface.mu = 0.5;
    contact.surface.soft_cfm = SOFTNESS;
    for (int i = 0; i < 3; i++) {
        contact.geom.pos[i] = position[i];
        contact.geom.normal[i] = normal[i];
    }
    contact.geom.depth = depth;
    dJointAttach(dJointCreateContact(world->world, world->contacts, &contact), a, b);
}

static void touch_floor(physics_world *world, dBodyID ball)
{
    const dReal *center = dBodyGetPosition(ball);
    const dReal up[3] = {0, 0, 1}, position[3] = {center[0], center[1], 0};
    if (center[2] < BALL_RADIUS)
        add_contact(world, ball, NULL, position, up, BALL_RADIUS - center[2]);
}

static void touch_ball(physics_world *world, dBodyID a, dBodyID b)
{
    const dReal *from = dBodyGetPosition(b), *to = dBodyGetPosition(a);
    dReal way[3] = {to[0] - from[0], to[1] - from[1], to[2] - from[2]};
    dReal square = way[0] * way[0] + way[1] * way[1] + way[2] * way[2];
    if (square >= 4 * BALL_RADIUS * BALL_RADIUS || square == 0)
        return;
    dReal distance = sqrt(square), position[3];
    for (int i = 0; i < 3; i++) {
        position[i] = (from[i] + to[i]) / 2;
        way[i] /= distance;
    }
    add_contact(world, a, b, position, way, 2 * BALL_RADIUS - distance);
}

/* Balls need no more than this, and the engine's own collision functions, as Debian builds them, do
 * not promise that several threads may use them at once. */
static void find_contacts(physics_world *world)
{
    for (uint32_t i = 0; i < world->body_count; i++) {
        touch_floor(world, world->bodies[i]);
        for (uint32_t k = i + 1; k < world->body_count; k++)
            touch_ball(world, world->bodies[i], world->bodies[k]);
    }
}

/* The floor rocks slowly, so that nothing ever comes to rest. */
static void rock_floor(physics_world *world)
{
    double angle = 0.3 * sin(1.5 * STEP_SECONDS * (double)world->step_count++);
    dWorldSetGravity(world->world, 9.81 * sin(angle), 0, -9.81 * cos(angle));
}

void physics_world_step(physics_world *world)
{
    rock_floor(world);
    find_contacts(world);
    dWorldStep(world->world, STEP_SECONDS);
    dJointGroupEmpty(world->contacts);
}

void physics_world_get_state(const physics_world *world, double (*transform)[16],
                             float (*velocity)[3], float (*angular_velocity)[3])
{
    for (uint32_t i = 0; i < world->body_count; i++) {
        const dReal *rotation =
            dBodyGetRotation(world->bodies[i]); /* 3 rows of 4, for column vectors */
        const dReal *position = dBodyGetPosition(world->bodies[i]);
        const dReal *linear = dBodyGetLinearVel(world->bodies[i]);
        const dReal *angular = dBodyGetAngularVel(world->bodies[i]);
        for (int row = 0; row < 3; row++) {
            for (int column = 0; column < 3; column++)
                transform[i][4 * row + column] = rotation[4 * column + row];
            transform[i][4 * row + 3] = 0;
            transform[i][12 + row] = position[row];
            velocity[i][row] = (float)linear[row];
            angular_velocity[i][row] = (float)angular[row];
        }
        transform[i][15] = 1;
    }
}
