// The path dictionary: R157 to R167, R26, D18 and D26. Every call goes through the table, as a
// client's does.

#include <set>
#include <thread>

#include <ovstage/ovstage.h>

#include "tests/support/dictionary_fixture.h"

namespace
{

TEST_F(Dictionary, R157_equal_input_gives_equal_handles_that_are_never_zero)
{
    const ovx_token_t a = token("points"), b = token("normals");
    EXPECT_NE(a, b);
    EXPECT_EQ(token("points"), a);
    const ovx_primpath_t p = path("/World/A");
    EXPECT_EQ(path("/World/A"), p);
    EXPECT_NE(path("/World/B"), p);

    const std::vector<std::string> names = {"x", "points", "x", "y", "points"};
    const std::vector<ovx_string_t> in = of(names);
    ovx_token_t out[5];
    EXPECT_EQ(text(path_dictionary_create_tokens_from_strings(it, in.data(), 5, out)), "");
    EXPECT_EQ(out[0], out[2]);
    EXPECT_EQ(out[1], a);
    EXPECT_EQ(out[4], a);
    EXPECT_NE(out[3], out[0]);
    const ovx_token_t tokens[2] = {token("World"), token("A")};
    const size_t counts[1] = {2};
    ovx_primpath_t q = 0;
    EXPECT_EQ(text(path_dictionary_create_paths_from_tokens(it, tokens, counts, 1, &q)), "");
    EXPECT_EQ(q, p) << "the same path from text and from tokens";
}

TEST_F(Dictionary, R157_texts_are_compared_by_length_and_bytes)
{
    const std::string text = "abcdefghijklmnopqrstuvwxyz";
    std::vector<ovx_token_t> tokens;
    for (size_t n = 1; n <= text.size(); n++)
        tokens.push_back(token(text.substr(0, n)));
    for (size_t n = 1; n <= text.size(); n++) {
        EXPECT_EQ(token(text.substr(0, n)), tokens[n - 1]);
        EXPECT_EQ(text_of_token(tokens[n - 1]), text.substr(0, n));
    }
    const ovx_string_t not_terminated = {text.data(), 5};
    ovx_token_t out = 0;
    EXPECT_EQ(this->text(path_dictionary_create_tokens_from_strings(it, &not_terminated, 1, &out)),
              "");
    EXPECT_EQ(out, tokens[4]);
}

TEST_F(Dictionary, R165_many_threads_intern_and_list_the_same)
{
    constexpr int threads = 4, names = 200;
    std::vector<std::vector<uint64_t>> seen(threads);
    std::vector<std::thread> running;
    for (int t = 0; t < threads; t++)
        running.emplace_back([&, t] {
            for (int n = 0; n < names; n++) {
                const std::string name = "n" + std::to_string((n * 7 + t) % names);
                const std::string under = "/p/" + name;
                const ovx_string_t text = of(name), path = of(under);
                uint64_t ids[3] = {0, 0, 0};
                size_t count = 0;
                path_dictionary_create_tokens_from_strings(it, &text, 1, &ids[0]);
                path_dictionary_create_paths_from_strings(it, &path, 1, &ids[1]);
                path_dictionary_create_path_list_from_paths(it, &ids[1], 1, &ids[2]);
                path_dictionary_add_path_list_reference(it, ids[2]);
                path_dictionary_release_path_list_reference(it, ids[2]);
                path_dictionary_get_num_paths_from_path_list(it, ids[2], &count);
                path_dictionary_release_path_list_reference(it, ids[2]);
                if (count == 1)
                    seen[static_cast<size_t>(t)].insert(seen[static_cast<size_t>(t)].end(),
                                                        {ids[0], ids[1]});
            }
        });
    for (std::thread &thread : running)
        thread.join();
    std::set<uint64_t> tokens, paths;
    for (const std::vector<uint64_t> &ids : seen) {
        ASSERT_EQ(ids.size(), 2u * names);
        for (size_t k = 0; k < ids.size(); k += 2) {
            tokens.insert(ids[k]);
            paths.insert(ids[k + 1]);
        }
    }
    EXPECT_EQ(tokens.size(), size_t{names});
    EXPECT_EQ(paths.size(), size_t{names});
    EXPECT_EQ(tokens.count(0), 0u);
    EXPECT_EQ(tokens.count(token("n7")), 1u);
    EXPECT_EQ(paths.count(path("/p/n7")), 1u);
}

TEST_F(Dictionary, R158_empty_texts_and_embedded_nuls_are_errors)
{
    const ovx_string_t bad[] = {{"", 0}, {nullptr, 0}, {"a\0b", 3}, {"\0", 1}, {nullptr, 5}};
    for (const ovx_string_t &one : bad) {
        const ovx_string_t in[2] = {literal_to_ovx_string("fine"), one};
        uint64_t out[2] = {5, 6};
        EXPECT_NE(text(path_dictionary_create_tokens_from_strings(it, in, 2, out)), "");
        EXPECT_NE(text(path_dictionary_create_paths_from_strings(it, in, 2, out)), "");
        EXPECT_NE(text(path_dictionary_create_path_list_from_strings(it, in, 2, out)), "");
        EXPECT_EQ(out[0], 5u) << "nothing is written by a call that fails";
        EXPECT_EQ(out[1], 6u);
    }
    const ovx_string_t nul = {"ab\0c", 4};
    ovx_token_t out = 0;
    EXPECT_EQ(text(path_dictionary_create_tokens_from_strings(it, &nul, 1, &out)),
              "strings[0] has a NUL at byte 2 of 4");
}

TEST_F(Dictionary, R158_no_paths_make_a_real_empty_list)
{
    ovx_primpath_list_t a = 0, b = 0;
    EXPECT_EQ(text(path_dictionary_create_path_list_from_paths(it, nullptr, 0, &a)), "");
    EXPECT_EQ(text(path_dictionary_create_path_list_from_strings(it, nullptr, 0, &b)), "");
    EXPECT_NE(a, OVX_INVALID_PRIMPATH_LIST);
    EXPECT_NE(b, OVX_INVALID_PRIMPATH_LIST);
    EXPECT_NE(a, b);
    EXPECT_TRUE(paths_of(a).empty());
    release(a);
    release(b);
    EXPECT_FALSE(known(a));
}

TEST_F(Dictionary, R158_nothing_to_create_needs_no_arrays)
{
    EXPECT_EQ(text(path_dictionary_create_tokens_from_strings(it, nullptr, 0, nullptr)), "");
    EXPECT_EQ(text(path_dictionary_create_paths_from_strings(it, nullptr, 0, nullptr)), "");
    EXPECT_EQ(text(path_dictionary_create_paths_from_tokens(it, nullptr, nullptr, 0, nullptr)), "");
    EXPECT_EQ(text(path_dictionary_get_strings_from_tokens(it, nullptr, 0, nullptr)), "");
}

TEST_F(Dictionary, R159_each_creation_is_a_new_handle_with_one_reference)
{
    const std::vector<ovx_primpath_t> paths = {path("/a"), path("/b"), path("/a")};
    const ovx_primpath_list_t a = list(paths), b = list(paths);
    EXPECT_NE(a, b);
    EXPECT_EQ(paths_of(a), paths);
    const std::vector<std::string> names = {"/a", "b/", "a"};
    const std::vector<ovx_string_t> strings = of(names);
    ovx_primpath_list_t c = 0;
    EXPECT_EQ(text(path_dictionary_create_path_list_from_strings(it, strings.data(), 3, &c)), "");
    EXPECT_EQ(paths_of(c), paths);
    EXPECT_NE(c, a);

    EXPECT_EQ(text(path_dictionary_add_path_list_reference(it, a)), "");
    release(a);
    EXPECT_TRUE(known(a));
    release(a);
    EXPECT_FALSE(known(a));
    EXPECT_TRUE(known(b));
    EXPECT_EQ(paths_of(b), paths);
    release(b);
    release(c);
}

TEST_F(Dictionary, R159_invalid_is_a_no_op_and_unknown_an_error)
{
    EXPECT_EQ(text(path_dictionary_add_path_list_reference(it, OVX_INVALID_PRIMPATH_LIST)), "");
    EXPECT_EQ(text(path_dictionary_release_path_list_reference(it, OVX_INVALID_PRIMPATH_LIST)), "");
    size_t count = 4;
    ovx_primpath_t out[1] = {5};
    const ovx_primpath_list_t gone = list({path("/a")});
    release(gone);
    for (const ovx_primpath_list_t bad :
         {gone, gone + 1, gone + 0x5000000u, UINT64_MAX, uint64_t{1}, uint64_t{1} << 63}) {
        EXPECT_NE(text(path_dictionary_add_path_list_reference(it, bad)), "");
        EXPECT_NE(text(path_dictionary_release_path_list_reference(it, bad)), "");
        EXPECT_NE(text(path_dictionary_get_num_paths_from_path_list(it, bad, &count)), "");
        EXPECT_NE(text(path_dictionary_get_paths_from_path_list(it, bad, 0, 1, out, &count)), "");
    }
    EXPECT_NE(text(path_dictionary_get_num_paths_from_path_list(it, 0, &count)), "");
    EXPECT_NE(text(path_dictionary_get_paths_from_path_list(it, 0, 0, 1, out, &count)), "");
    EXPECT_EQ(count, 4u);
    EXPECT_EQ(out[0], 5u);
}

TEST_F(Dictionary, R159_handles_never_occur_twice)
{
    const ovx_primpath_t a = path("/a");
    std::vector<ovx_primpath_list_t> seen;
    for (int i = 0; i < 200; i++) {
        seen.push_back(list({a}));
        release(seen.back());
    }
    const ovx_primpath_list_t live = list({a});
    for (const ovx_primpath_list_t old : seen) {
        EXPECT_NE(old, live);
        EXPECT_FALSE(known(old));
    }
    release(live);
}

TEST_F(Dictionary, R160_texts_of_tokens)
{
    const ovx_token_t tokens[3] = {token("omni:xform"), OVX_INVALID_TOKEN, token("b c/\xc3\xa9.")};
    ovx_string_t out[3];
    EXPECT_EQ(text(path_dictionary_get_strings_from_tokens(it, tokens, 3, out)), "");
    EXPECT_EQ(std::string(out[0].ptr, out[0].length), "omni:xform");
    EXPECT_NE(out[1].ptr, nullptr);
    EXPECT_EQ(out[1].length, 0u);
    EXPECT_EQ(std::string(out[2].ptr, out[2].length), "b c/\xc3\xa9.");
    ovx_string_t again;
    EXPECT_EQ(text(path_dictionary_get_strings_from_tokens(it, tokens, 1, &again)), "");
    EXPECT_EQ(again.ptr, out[0].ptr) << "the dictionary's own text";
}

TEST_F(Dictionary, R161_paths_are_split_into_the_buffer)
{
    const ovx_primpath_t paths[4] = {path("/a/b/c"), path("/"), path("/d"), path("/a/b")};
    ovx_token_t buffer[7] = {0, 0, 0, 0, 0, 0, 1234}, *begins[4];
    size_t counts[4], done = 9;
    EXPECT_EQ(
        text(path_dictionary_get_tokens_from_paths(it, paths, 4, buffer, 6, begins, counts, &done)),
        "");
    ASSERT_EQ(done, 4u);
    EXPECT_EQ(counts[0], 3u);
    EXPECT_EQ(counts[1], 0u);
    EXPECT_EQ(counts[2], 1u);
    EXPECT_EQ(counts[3], 2u);
    EXPECT_EQ(begins[0], buffer);
    EXPECT_EQ(begins[2], buffer + 3);
    EXPECT_EQ(begins[3], buffer + 4);
    const ovx_token_t expected[7] = {token("a"), token("b"), token("c"), token("d"),
                                     token("a"), token("b"), 1234};
    for (int i = 0; i < 7; i++)
        EXPECT_EQ(buffer[i], expected[i]) << i;

    // Stops before the first path that does not fit, and leaves the rest alone.
    size_t few[4] = {7, 7, 7, 7};
    EXPECT_EQ(
        text(path_dictionary_get_tokens_from_paths(it, paths, 4, buffer, 5, begins, few, &done)),
        "");
    EXPECT_EQ(done, 3u);
    EXPECT_EQ(few[3], 7u);
}

TEST_F(Dictionary, R161_an_unknown_path_is_an_error_that_touches_nothing)
{
    for (const ovx_primpath_t bad : {uint64_t{0}, uint64_t{1} << 40, UINT64_MAX}) {
        const ovx_primpath_t paths[2] = {path("/a"), bad};
        ovx_token_t buffer[2] = {8, 8}, *begins[2] = {buffer, buffer};
        size_t counts[2] = {9, 9}, done = 9;
        EXPECT_NE(text(path_dictionary_get_tokens_from_paths(it, paths, 2, buffer, 2, begins,
                                                             counts, &done)),
                  "");
        EXPECT_EQ(done, 0u);
        EXPECT_EQ(buffer[0], 8u);
        EXPECT_EQ(counts[0], 9u);
    }
}

TEST_F(Dictionary, R162_the_root_is_a_path_and_relative_texts_get_a_slash)
{
    EXPECT_EQ(text_of_path(path("/")), "/");
    EXPECT_EQ(path("World/A"), path("/World/A"));
    EXPECT_EQ(text_of_path(path("World/A")), "/World/A");
}

TEST_F(Dictionary, R163_parts_of_lists_and_paths_that_outlive_them)
{
    std::vector<ovx_primpath_t> paths;
    for (int i = 0; i < 10; i++)
        paths.push_back(path("/p" + std::to_string(i)));
    const ovx_primpath_list_t handle = list(paths);
    ovx_primpath_t out[4] = {0, 0, 0, 55};
    size_t got = 0;
    EXPECT_EQ(text(path_dictionary_get_paths_from_path_list(it, handle, 4, 3, out, &got)), "");
    EXPECT_EQ(got, 3u);
    EXPECT_EQ(out[0], paths[4]);
    EXPECT_EQ(out[2], paths[6]);
    EXPECT_EQ(out[3], 55u);
    EXPECT_EQ(text(path_dictionary_get_paths_from_path_list(it, handle, 8, 4, out, &got)), "");
    EXPECT_EQ(got, 2u);
    EXPECT_EQ(out[1], paths[9]);
    EXPECT_EQ(text(path_dictionary_get_paths_from_path_list(it, handle, 2, 0, nullptr, &got)), "");
    EXPECT_EQ(got, 0u);
    EXPECT_NE(text(path_dictionary_get_paths_from_path_list(it, handle, 11, 1, out, &got)), "");
    release(handle);
    EXPECT_EQ(text_of_path(paths[4]), "/p4");
}

TEST_F(Dictionary, R164_an_error_is_freed_once)
{
    ovx_primpath_t out = 0;
    const ovx_string_t empty = {"", 0};
    const uint64_t before = fr_test_heap_live_bytes(heap);
    const ovx_api_result_t result = path_dictionary_create_paths_from_strings(it, &empty, 1, &out);
    EXPECT_GT(fr_test_heap_live_bytes(heap), before);
    path_dictionary_release_error(it, result.error);
    EXPECT_EQ(fr_test_heap_live_bytes(heap), before);
    path_dictionary_release_error(it, ovx_string_t{nullptr, 0});

    fr_test_heap_fail(heap, 1, 1);
    const ovx_api_result_t none = path_dictionary_create_paths_from_strings(it, &empty, 1, &out);
    EXPECT_EQ(text(none), "out of memory") << "a static text, which may be released too";
    fr_test_heap_fail(heap, 0, 0);
}

TEST_F(Dictionary, R166_every_instance_hands_out_the_dictionary)
{
    ovstage_instance_t *first = nullptr, *second = nullptr;
    ASSERT_EQ(ovstage_create_instance(nullptr, &first), OVSTAGE_OK);
    ASSERT_EQ(ovstage_create_instance(nullptr, &second), OVSTAGE_OK);
    EXPECT_EQ(ovstage_get_path_dictionary(first), it);
    EXPECT_EQ(ovstage_get_path_dictionary(second), it);
    EXPECT_EQ(ovstage_get_path_dictionary(nullptr), nullptr);
    EXPECT_EQ(ovstage_destroy_instance(first), OVSTAGE_OK);
    EXPECT_EQ(ovstage_get_path_dictionary(second), it);
    EXPECT_EQ(ovstage_destroy_instance(second), OVSTAGE_OK);
}

TEST_F(Dictionary, R167_one_dictionary_until_the_last_is_gone)
{
    fr_test_heap *unused = fr_test_heap_create();
    path_dictionary_instance_t *second = fr_test_dictionary_open(unused);
    EXPECT_EQ(second, it);
    EXPECT_EQ(fr_test_heap_calls(unused), 0u);
    const ovx_primpath_t a = path("/a");
    const ovx_primpath_list_t handle = list({a});
    fr_test_dictionary_close(second);
    EXPECT_EQ(fr_test_heap_destroy(unused), 0u);
    EXPECT_TRUE(known(handle));

    // A list that nobody released goes with it, and its handle is unknown to the next one.
    fr_test_dictionary_close(it);
    EXPECT_EQ(fr_test_heap_live_bytes(heap), 0u);
    it = fr_test_dictionary_open(heap);
    const ovx_primpath_list_t other = list({path("/b")});
    EXPECT_NE(other, handle);
    EXPECT_FALSE(known(handle));
    release(other);
}

TEST_F(Dictionary, D18_slashes_are_folded_and_dots_are_errors)
{
    const ovx_primpath_t a = path("/World/A");
    for (const char *same : {"World/A", "/World/A/", "//World///A", "World//A//", "///World/A"})
        EXPECT_EQ(path(same), a) << same;
    for (const char *root : {"//", "///"})
        EXPECT_EQ(path(root), path("/"));
    for (const char *bad : {".", "..", "/.", "/a/./b", "/a/..", "../a", "a/../b", "/a//./"})
        bad_path(bad);
    EXPECT_EQ(bad_path("/a/../b"), "strings[0] has the element . or .. at byte 3");
    for (const char *fine : {"/...", "/.a", "/a.", "/..a", "/a b", "/a.b:c", "/\xc3\xa9"})
        EXPECT_EQ(text_of_path(path(fine)), fine);
}

TEST_F(Dictionary, D18_paths_from_tokens)
{
    const ovx_token_t a = token("a"), b = token("b"), slash = token("c/d"), dots = token("..");
    const ovx_token_t unknown = 1u << 30;
    {
        const ovx_token_t tokens[4] = {a, b, a, b};
        const size_t counts[4] = {1, 0, 2, 1};
        ovx_primpath_t out[4];
        EXPECT_EQ(text(path_dictionary_create_paths_from_tokens(it, tokens, counts, 4, out)), "");
        EXPECT_EQ(out[0], path("/a"));
        EXPECT_EQ(out[1], path("/"));
        EXPECT_EQ(out[2], path("/b/a"));
        EXPECT_EQ(out[3], path("/b"));
        const size_t none[2] = {0, 0};
        EXPECT_EQ(text(path_dictionary_create_paths_from_tokens(it, nullptr, none, 2, out)), "");
        EXPECT_EQ(out[0], path("/"));
    }
    for (const ovx_token_t bad : {slash, dots, unknown, OVX_INVALID_TOKEN, UINT64_MAX}) {
        const ovx_token_t tokens[3] = {a, b, bad};
        const size_t counts[2] = {1, 2};
        ovx_primpath_t out[2] = {5, 6};
        EXPECT_NE(text(path_dictionary_create_paths_from_tokens(it, tokens, counts, 2, out)), "");
        EXPECT_EQ(out[0], 5u);
        EXPECT_EQ(out[1], 6u);
    }
    const size_t huge[1] = {SIZE_MAX};
    ovx_primpath_t out = 7;
    EXPECT_NE(text(path_dictionary_create_paths_from_tokens(it, &a, huge, 1, &out)), "");
    EXPECT_EQ(out, 7u);
}

TEST_F(Dictionary, D18_unknown_tokens_and_paths_are_errors)
{
    const ovx_token_t tokens[2] = {token("a"), uint64_t{1} << 33};
    ovx_string_t texts[2] = {{"x", 1}, {"y", 1}};
    EXPECT_EQ(text(path_dictionary_get_strings_from_tokens(it, tokens, 2, texts)),
              "tokens[1] = 8589934592 is not known");
    EXPECT_EQ(texts[0].length, 1u);
    EXPECT_EQ(texts[0].ptr[0], 'x');
    for (const ovx_primpath_t bad :
         {uint64_t{0}, uint64_t{1} << 33, uint64_t{1} << 63, UINT64_MAX}) {
        std::vector<ovx_primpath_t> paths(100, path("/a"));
        paths[42] = bad;
        ovx_primpath_list_t out = 3;
        EXPECT_EQ(text(path_dictionary_create_path_list_from_paths(it, paths.data(), 100, &out)),
                  "paths[42] = " + std::to_string(bad) + " is not known");
        EXPECT_EQ(out, 3u);
    }
}

TEST_F(Dictionary, D18_an_unknown_path_is_found_at_every_place)
{
    const ovx_primpath_t last = path("/last");
    for (size_t count = 1; count < 8; count++)
        for (size_t at = 0; at < count; at++)
            for (const ovx_primpath_t bad :
                 {uint64_t{0}, last + 1, uint64_t{1} << 63, UINT64_MAX}) {
                std::vector<ovx_primpath_t> paths(count, last);
                const ovx_primpath_list_t fine = list(paths);
                EXPECT_EQ(paths_of(fine), paths);
                release(fine);
                paths[at] = bad;
                ovx_primpath_list_t out = 3;
                EXPECT_EQ(text(path_dictionary_create_path_list_from_paths(it, paths.data(), count,
                                                                           &out)),
                          "paths[" + std::to_string(at) + "] = " + std::to_string(bad) +
                              " is not known");
            }
}

TEST_F(Dictionary, D26_a_buffer_too_small_and_the_end_of_a_list_are_successes)
{
    const ovx_primpath_t p = path("/a/b");
    ovx_token_t buffer[1] = {6}, *begin = buffer;
    size_t count = 9, done = 9;
    EXPECT_EQ(
        text(path_dictionary_get_tokens_from_paths(it, &p, 1, buffer, 1, &begin, &count, &done)),
        "");
    EXPECT_EQ(done, 0u);
    EXPECT_EQ(buffer[0], 6u);
    EXPECT_EQ(
        text(path_dictionary_get_tokens_from_paths(it, &p, 1, nullptr, 0, &begin, &count, &done)),
        "");
    EXPECT_EQ(done, 0u);

    const ovx_primpath_list_t handle = list({p});
    ovx_primpath_t out = 5;
    EXPECT_EQ(text(path_dictionary_get_paths_from_path_list(it, handle, 1, 1, &out, &done)), "");
    EXPECT_EQ(done, 0u);
    EXPECT_EQ(out, 5u);
    release(handle);
}

TEST_F(Dictionary, LargeArrays)
{
    std::vector<std::string> names;
    for (int i = 0; i < 5000; i++)
        names.push_back("/World/env_" + std::to_string(i % 4096) + "/body");
    const std::vector<ovx_string_t> in = of(names);
    std::vector<ovx_primpath_t> paths(in.size()), again(in.size());
    EXPECT_EQ(
        text(path_dictionary_create_paths_from_strings(it, in.data(), in.size(), paths.data())),
        "");
    EXPECT_EQ(
        text(path_dictionary_create_paths_from_strings(it, in.data(), in.size(), again.data())),
        "");
    EXPECT_EQ(paths, again);
    for (int i = 0; i < 5000; i += 37)
        EXPECT_EQ(text_of_path(paths[i]), names[i]);
    const ovx_primpath_list_t handle = list(paths);
    EXPECT_EQ(paths_of(handle), paths);
    release(handle);
}

} // namespace
