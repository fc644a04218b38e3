/* A C program outside the tree: what it prints last is what the test looks for. */
#include <flyrail/flyrail.h>
#include <ovstage/ovalign.h>
#include <ovx/path_dictionary/path_dictionary.h>

#include <stdio.h>
#include <string.h>

static int fail(const char *what)
{
    ovx_string_t text = ovstage_get_last_error();
    fprintf(stderr, "%s: %.*s\n", what, (int)text.length, text.ptr ? text.ptr : "");
    return 1;
}

/* The address is taken, so that the link needs the symbol. */
static int (*const align)(const ovalign_request_t *, ovalign_result_t *) = ovalign_align;

int main(void)
{
    char version[32];
    snprintf(version, sizeof version, "%d.%d.%d", FLYRAIL_VERSION_MAJOR, FLYRAIL_VERSION_MINOR,
             FLYRAIL_VERSION_PATCH);
    if (strcmp(version, flyrail_version_string()) != 0 || align == NULL)
        return fail("the headers and the library are of different versions");

    ovstage_instance_t *stage = NULL;
    if (ovstage_create_instance(NULL, &stage) != OVSTAGE_OK)
        return fail("create");
    uint32_t major = 99, minor = 99, patch = 99;
    ovstage_get_version(stage, &major, &minor, &patch);
    if (major != OVSTAGE_VERSION_MAJOR || minor != OVSTAGE_VERSION_MINOR)
        return fail("version of the interface");

    /* Work that goes through the pool: a seal, and the wait for it. */
    ovstage_write_floor_desc_t moment = {.ordinal = 1, .scope = OVSTAGE_SCOPE_ALL};
    ovstage_enqueue_result_t seal = ovstage_advance_write_floor(stage, &moment);
    ovstage_op_wait_result_t waited = {0};
    if (seal.status != OVSTAGE_OK)
        return fail("seal");
    if (ovstage_wait_op(stage, seal.op_index, OVSTAGE_TIMEOUT_INFINITE, &waited) != OVSTAGE_OK)
        return fail("wait");
    if (ovstage_destroy_instance(stage) != OVSTAGE_OK)
        return fail("destroy");
    printf("flyrail %s works\n", flyrail_version_string());
    return 0;
}
