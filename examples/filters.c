/* Prims found by what they are: by path, by parent, by the columns that they have and by values. */
#include "examples/example.h"

enum { WHEELS = 4 };

static void print_matches(ovstage_instance_t *stage, const char *what,
                          const ovstage_predicate_t *predicates, size_t count)
{
    /* Submitted like any op: it sees what was accepted before it. Its handle may be read, written,
     * mapped and deleted at once, before anybody knows what it will match. */
    ovstage_filter_t filter = {predicates, count};
    ovstage_query_handle_t query;
    ovstage_query_result_t result;
    ovstage_op_id_t op = example_accepted(ovstage_query(stage, &filter, NULL, 0, &query), "query");
    example_must(ovstage_fetch_query_result(stage, query, OVSTAGE_TIMEOUT_INFINITE, &result) ==
                     OVSTAGE_OK,
                 "fetch_query_result");
    printf("%s: %zu\n", what, result.total_prim_count);
    ovstage_release_query_result(stage, &result);

    ovx_token_t path_column = example_token(stage, literal_to_ovx_string("usd-path"));
    ovstage_ordinal_range_t latest = {.end_ordinal = 1};
    ovstage_read_handle_t read;
    ovstage_read_group_t group;
    ovstage_op_id_t reading = example_accepted(
        ovstage_read_attributes(stage, query, &path_column, 1, latest, &read), "read_attributes");
    while (ovstage_fetch_read_next(stage, read, OVSTAGE_TIMEOUT_INFINITE, &group) == OVSTAGE_OK) {
        char path[64];
        for (uint32_t i = 0; i < group.prims.count; i++)
            printf("  %s\n", example_path(stage, &group.prims, i, path, sizeof(path)));
        ovstage_release_group(stage, &group);
    }
    example_forget(stage, ovstage_release_read(stage, read));
    example_forget(stage, ovstage_release_query(stage, query));
    example_finish(stage, reading);
    example_finish(stage, op);
}

int main(void)
{
    ovstage_instance_t *stage = NULL;
    example_must(ovstage_create_instance(NULL, &stage) == OVSTAGE_OK, "create_instance");
    const ovx_string_t paths[WHEELS + 1] = {literal_to_ovx_string("/Car/Body"),
                                            literal_to_ovx_string("/Car/Wheels/FrontLeft"),
                                            literal_to_ovx_string("/Car/Wheels/FrontRight"),
                                            literal_to_ovx_string("/Car/Wheels/RearLeft"),
                                            literal_to_ovx_string("/Car/Wheels/RearRight")};
    ovstage_query_handle_t all = example_query(stage, paths, WHEELS + 1);
    ovstage_query_handle_t wheels = example_query(stage, paths + 1, WHEELS);
    ovx_token_t mass = example_token(stage, literal_to_ovx_string("mass"));
    ovx_token_t pressure = example_token(stage, literal_to_ovx_string("pressure"));
    float masses[WHEELS + 1] = {900, 20, 20, 22, 22}, pressures[WHEELS] = {2.5f, 1.75f, 2.25f, 2};
    example_finish(stage, example_write(stage, all, mass, 1, masses, WHEELS + 1, 1));
    example_finish(stage, example_write(stage, wheels, pressure, 1, pressures, WHEELS, 1));
    example_finish(stage, example_seal(stage, 1));

    const ovx_string_t front = literal_to_ovx_string("/Car/Wheels/Front");
    const ovx_string_t least = literal_to_ovx_string("2.25"), heavy = literal_to_ovx_string("22");
    const ovstage_predicate_t by_path = {
        {.string = literal_to_ovx_string("usd-path")}, OVSTAGE_FILTER_OP_PREFIX, &front, 1};
    const ovstage_predicate_t has_mass = {{.token = mass}, OVSTAGE_FILTER_OP_HAS, NULL, 0};
    const ovstage_predicate_t low = {{.token = pressure}, OVSTAGE_FILTER_OP_LT, &least, 1};
    const ovstage_predicate_t low_and_heavy[2] = {
        low, {{.token = mass}, OVSTAGE_FILTER_OP_GE, &heavy, 1}};
    print_matches(stage, "in front", &by_path, 1);
    print_matches(stage, "with a mass", &has_mass, 1);
    print_matches(stage, "with less than 2.25 bar", &low, 1);
    print_matches(stage, "of these at least 22 kg", low_and_heavy, 2);

    example_forget(stage, ovstage_release_query(stage, all));
    example_forget(stage, ovstage_release_query(stage, wheels));
    example_must(ovstage_destroy_instance(stage) == OVSTAGE_OK, "destroy_instance");
    return 0;
}
