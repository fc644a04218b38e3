/* Columns whose rows differ in length: the contacts of each body, and texts; and tokens, the short
 * way to say one of a few words. */
#include <string.h>

#include "examples/example.h"

enum { BODIES = 3, CONTACTS_AT_MOST = 4 };

static DLTensor row_of(void *elements, int64_t *length, DLDataType type)
{
    return (DLTensor){elements, {kDLCPU, 0}, 1, type, length, NULL, 0};
}

/* One tensor for each prim. A row without elements needs no memory. */
static void write_arrays(ovstage_instance_t *stage, ovstage_query_handle_t bodies, ovx_token_t name,
                         const DLTensor *rows, ovstage_attribute_semantic_t semantic)
{
    ovstage_write_data_t data = {
        .tensors = rows, .tensor_count = BODIES, .semantic = semantic, .is_array = true};
    example_finish(stage,
                   example_accepted(ovstage_write_attribute(stage, bodies,
                                                            (ovx_string_or_token_t){.token = name},
                                                            1, data, OVSTAGE_PRIM_MODE_UPSERT),
                                    "write_attribute"));
}

static void write_contacts(ovstage_instance_t *stage, ovstage_query_handle_t bodies,
                           ovx_token_t contacts)
{
    int32_t ids[BODIES][CONTACTS_AT_MOST] = {{1, 2}, {0}, {0}};
    int64_t lengths[BODIES] = {2, 1, 0};
    DLTensor rows[BODIES];
    for (int b = 0; b < BODIES; b++)
        rows[b] = row_of(ids[b], &lengths[b], (DLDataType){kDLInt, 32, 1});
    write_arrays(stage, bodies, contacts, rows, OVSTAGE_SEMANTIC_NONE);
}

/* A text is an array of its bytes, without a NUL. */
static void write_labels(ovstage_instance_t *stage, ovstage_query_handle_t bodies,
                         ovx_token_t labels)
{
    char texts[BODIES][16] = {"crate", "ball", "a long plank"};
    int64_t lengths[BODIES];
    DLTensor rows[BODIES];
    for (int b = 0; b < BODIES; b++) {
        lengths[b] = (int64_t)strlen(texts[b]);
        rows[b] = row_of(texts[b], &lengths[b], (DLDataType){kDLUInt, 8, 1});
    }
    write_arrays(stage, bodies, labels, rows, OVSTAGE_SEMANTIC_STRING);
}

/* No array: a number a row, which the dictionary knows the word of. */
static void write_materials(ovstage_instance_t *stage, ovstage_query_handle_t bodies,
                            ovx_token_t materials)
{
    ovx_token_t wood = example_token(stage, literal_to_ovx_string("wood"));
    ovx_token_t rows[BODIES] = {wood, example_token(stage, literal_to_ovx_string("rubber")), wood};
    int64_t count = BODIES;
    DLTensor tensor = row_of(rows, &count, (DLDataType){kDLUInt, 64, 1});
    ovstage_write_data_t data = {
        .tensors = &tensor, .tensor_count = 1, .semantic = OVSTAGE_SEMANTIC_TOKEN_ID};
    example_finish(
        stage, example_accepted(ovstage_write_attribute(stage, bodies,
                                                        (ovx_string_or_token_t){.token = materials},
                                                        1, data, OVSTAGE_PRIM_MODE_UPSERT),
                                "write_attribute"));
}

static void print_row(ovstage_instance_t *stage, const ovstage_read_group_t *group, uint32_t i)
{
    uint32_t row = group->data.index_map ? group->data.index_map[i] : i;
    if (group->semantic == OVSTAGE_SEMANTIC_TOKEN_ID) {
        const ovx_token_t *tokens = group->data.tensors[0].data;
        ovx_string_t word;
        example_must(path_dictionary_get_strings_from_tokens(ovstage_get_path_dictionary(stage),
                                                             &tokens[row], 1, &word)
                             .status == OVX_API_SUCCESS,
                     "get_strings_from_tokens");
        printf("%.*s", (int)word.length, word.ptr);
        return;
    }
    const DLTensor *tensor = &group->data.tensors[row]; /* of an array column: one for each row */
    if (group->semantic == OVSTAGE_SEMANTIC_STRING)
        printf("%.*s", (int)tensor->shape[0], (const char *)tensor->data);
    else
        for (int64_t k = 0; k < tensor->shape[0]; k++)
            printf(" %d", ((const int32_t *)tensor->data)[k]);
}

static void print_column(ovstage_instance_t *stage, ovstage_query_handle_t bodies, ovx_token_t name)
{
    ovstage_ordinal_range_t latest = {.end_ordinal = 1};
    ovstage_read_handle_t read;
    ovstage_read_group_t group;
    example_forget(stage, ovstage_read_attributes(stage, bodies, &name, 1, latest, &read));
    while (ovstage_fetch_read_next(stage, read, OVSTAGE_TIMEOUT_INFINITE, &group) == OVSTAGE_OK) {
        char path[64];
        for (uint32_t i = 0; i < group.prims.count; i++) {
            printf("%s: ", example_path(stage, &group.prims, i, path, sizeof(path)));
            print_row(stage, &group, i);
            printf("\n");
        }
        ovstage_release_group(stage, &group);
    }
    example_forget(stage, ovstage_release_read(stage, read));
}

int main(void)
{
    ovstage_instance_t *stage = NULL;
    example_must(ovstage_create_instance(NULL, &stage) == OVSTAGE_OK, "create_instance");
    const ovx_string_t paths[BODIES] = {literal_to_ovx_string("/Body0"),
                                        literal_to_ovx_string("/Body1"),
                                        literal_to_ovx_string("/Body2")};
    ovstage_query_handle_t bodies = example_query(stage, paths, BODIES);
    ovx_token_t contacts = example_token(stage, literal_to_ovx_string("contacts"));
    ovx_token_t labels = example_token(stage, literal_to_ovx_string("label"));
    ovx_token_t materials = example_token(stage, literal_to_ovx_string("material"));
    write_contacts(stage, bodies, contacts);
    write_labels(stage, bodies, labels);
    write_materials(stage, bodies, materials);
    example_finish(stage, example_seal(stage, 1));
    print_column(stage, bodies, contacts);
    print_column(stage, bodies, labels);
    print_column(stage, bodies, materials);

    example_forget(stage, ovstage_release_query(stage, bodies));
    example_must(ovstage_destroy_instance(stage) == OVSTAGE_OK, "destroy_instance");
    return 0;
}
