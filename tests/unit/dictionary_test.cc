// The dictionary's inside: growth, the library's own references, every allocation failing, numbers
// running out, and threads that intern, list and release the same things.

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/dictionary_cases.h"

namespace
{

ovx_string_t of(const std::string &string)
{
    return {string.data(), string.size()};
}

std::string to_string(ovx_string_t text)
{
    return text.ptr ? std::string(text.ptr, text.length) : "(none)";
}

struct DictionaryInside : testing::Test {
    DictionaryInside() : heap(fr_test_heap_create()), dictionary(dictionary_open(heap))
    {
        client = dictionary_client(dictionary);
    }
    ~DictionaryInside() override
    {
        dictionary_close(dictionary);
        EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u) << "bytes lost";
    }
    bool good(const ovx_api_result_t &result)
    {
        path_dictionary_release_error(client, result.error);
        return result.status == OVX_API_SUCCESS;
    }
    std::string text(const ovx_api_result_t &result)
    {
        const std::string copy = to_string(result.error);
        path_dictionary_release_error(client, result.error);
        return copy;
    }
    ovx_primpath_t path(const std::string &string)
    {
        ovx_primpath_t out = 0;
        const ovx_string_t in = of(string);
        EXPECT_TRUE(good(path_dictionary_create_paths_from_strings(client, &in, 1, &out)));
        return out;
    }
    bool known(ovx_primpath_list_t handle)
    {
        size_t count;
        return good(path_dictionary_get_num_paths_from_path_list(client, handle, &count));
    }
    ovx_primpath_list_t list(const std::vector<ovx_primpath_t> &paths)
    {
        ovx_primpath_list_t out = 0;
        EXPECT_TRUE(good(
            path_dictionary_create_path_list_from_paths(client, paths.data(), paths.size(), &out)));
        return out;
    }
    bool add(ovx_primpath_list_t handle)
    {
        return good(path_dictionary_add_path_list_reference(client, handle));
    }
    bool release(ovx_primpath_list_t handle)
    {
        return good(path_dictionary_release_path_list_reference(client, handle));
    }

    fr_test_heap *heap;
    fr_dictionary *dictionary;
    path_dictionary_instance_t *client;
};

TEST_F(DictionaryInside, NumbersAreDenseAndParentsComeFirst)
{
    EXPECT_EQ(path("/"), 1u);
    std::vector<ovx_primpath_t> seen;
    const ovx_primpath_t leaf = path("/a/b/c");
    for (ovx_primpath_t at = leaf; at != 0; at = dictionary_path_parent(dictionary, at))
        seen.push_back(at);
    EXPECT_EQ(seen, (std::vector<ovx_primpath_t>{4, 3, 2, 1}));
    EXPECT_EQ(path("/a/b"), 3u);
    EXPECT_EQ(to_string(dictionary_path_text(dictionary, 3)), "/a/b");
    EXPECT_EQ(path("/x"), 5u);
    EXPECT_TRUE(dictionary_path_known(dictionary, 5));
    for (const uint64_t unknown : {uint64_t{0}, uint64_t{6}, uint64_t{1} << 32, UINT64_MAX}) {
        EXPECT_FALSE(dictionary_path_known(dictionary, unknown));
        EXPECT_EQ(dictionary_path_text(dictionary, unknown).ptr, nullptr);
        EXPECT_EQ(dictionary_path_parent(dictionary, unknown), 0u);
        EXPECT_EQ(dictionary_path_child(dictionary, unknown), 0u);
        EXPECT_EQ(dictionary_path_sibling(dictionary, unknown), 0u);
        EXPECT_EQ(dictionary_path_next(dictionary, 1, unknown), 0u);
        EXPECT_EQ(dictionary_path_depth(dictionary, unknown), 0u);
        EXPECT_EQ(dictionary_path_name(dictionary, unknown), 0u);
        EXPECT_FALSE(dictionary_token_known(dictionary, unknown));
        EXPECT_EQ(dictionary_token_text(dictionary, unknown).ptr, nullptr);
    }
}

TEST_F(DictionaryInside, WalksGoThroughASubtreeAndNoFurther)
{
    for (const char *text : {"/a/b/c", "/ab", "/a/d", "/a/b/e/f", "/a-", "/z"})
        path(text);
    const auto walk = [&](ovx_primpath_t root) {
        std::vector<std::string> texts;
        for (ovx_primpath_t at = root; at != 0; at = dictionary_path_next(dictionary, root, at))
            texts.push_back(to_string(dictionary_path_text(dictionary, at)));
        return texts;
    };
    using texts = std::vector<std::string>;
    EXPECT_EQ(walk(path("/a")), (texts{"/a", "/a/d", "/a/b", "/a/b/e", "/a/b/e/f", "/a/b/c"}));
    EXPECT_EQ(walk(path("/a/b/e/f")), (texts{"/a/b/e/f"}));
    EXPECT_EQ(walk(path("/")).size(), 10u);
    EXPECT_EQ(dictionary_path_child(dictionary, path("/a")), path("/a/d"));
    EXPECT_EQ(dictionary_path_sibling(dictionary, path("/a/d")), path("/a/b"));
    EXPECT_EQ(dictionary_path_sibling(dictionary, path("/a/b")), 0u);
    EXPECT_EQ(dictionary_path_sibling(dictionary, path("/")), 0u);
    EXPECT_EQ(dictionary_path_depth(dictionary, path("/")), 0u);
    EXPECT_EQ(dictionary_path_depth(dictionary, path("/a/b/e/f")), 4u);
    EXPECT_EQ(dictionary_path_name(dictionary, path("/")), 0u);
    const ovx_token_t name = dictionary_path_name(dictionary, path("/a/b/e"));
    EXPECT_EQ(to_string(dictionary_token_text(dictionary, name)), "e");
}

TEST_F(DictionaryInside, GrowthKeepsEverything)
{
    const size_t count = 10000;
    std::vector<std::string> names;
    for (size_t i = 0; i < count; i++)
        names.push_back("/env_" + std::to_string(i) + std::string(i % 90, 'x'));
    for (size_t i = 0; i < count; i++)
        ASSERT_EQ(path(names[i]), i + 2);
    for (size_t i = 0; i < count; i++) {
        ASSERT_EQ(path(names[i]), i + 2) << "found again";
        const ovx_string_t text = dictionary_path_text(dictionary, i + 2);
        ASSERT_EQ(to_string(text), names[i]);
        ASSERT_EQ(text.ptr[text.length], '\0');
        ASSERT_EQ(dictionary_path_parent(dictionary, i + 2), 1u);
    }
}

TEST_F(DictionaryInside, TokensOfAllLengths)
{
    std::vector<ovx_token_t> tokens;
    std::vector<std::string> texts;
    for (size_t length = 1; length < 70000; length += 1 + length / 3) {
        texts.push_back(std::string(length, static_cast<char>('a' + length % 26)));
        ovx_token_t token = 0;
        ASSERT_EQ(dictionary_token_intern(dictionary, of(texts.back()), &token), OVSTAGE_OK);
        tokens.push_back(token);
    }
    for (size_t i = 0; i < tokens.size(); i++) {
        EXPECT_EQ(to_string(dictionary_token_text(dictionary, tokens[i])), texts[i]);
        ovx_token_t again = 0;
        EXPECT_EQ(dictionary_token_intern(dictionary, of(texts[i]), &again), OVSTAGE_OK);
        EXPECT_EQ(again, tokens[i]);
    }
}

TEST_F(DictionaryInside, TokenInternAnswersStatuses)
{
    ovx_token_t token = 5;
    EXPECT_EQ(dictionary_token_intern(dictionary, {"", 0}, &token), OVSTAGE_ERROR_INVALID_ARGUMENT);
    EXPECT_EQ(token, 0u);
    for (const ovx_string_t bad :
         {ovx_string_t{nullptr, 3}, ovx_string_t{"a\0b", 3}, ovx_string_t{"a", SIZE_MAX}})
        EXPECT_EQ(dictionary_token_intern(dictionary, bad, &token), OVSTAGE_ERROR_INVALID_ARGUMENT);
    fr_test_heap_fail(heap, 1, 1);
    const std::string big(100000, 'q');
    EXPECT_EQ(dictionary_token_intern(dictionary, of(big), &token), OVSTAGE_ERROR_OUT_OF_MEMORY);
    fr_test_heap_fail(heap, 0, 0);
    EXPECT_EQ(dictionary_token_intern(dictionary, of(big), &token), OVSTAGE_OK);
    EXPECT_TRUE(dictionary_token_known(dictionary, token));
}

TEST_F(DictionaryInside, HashesSpread)
{
    // Like a thrown die: 4,096 similar texts into 4,096 boxes leave about 1,507 boxes empty.
    std::set<uint32_t> boxes, tags;
    for (int i = 0; i < 4096; i++) {
        const std::string text = "/World/envs/env_" + std::to_string(i) + "/Robot/torso";
        const uint32_t hash = dictionary_hash(text.data(), text.size());
        boxes.insert(hash & 4095u);
        tags.insert(hash);
    }
    EXPECT_GT(boxes.size(), 4096u - 1507u - 200u);
    EXPECT_GT(tags.size(), 4096u - 8u);
    // Every byte and the length count.
    const std::string base(40, 'a');
    std::set<uint32_t> seen;
    for (size_t length = 0; length <= base.size(); length++)
        EXPECT_TRUE(seen.insert(dictionary_hash(base.data(), length)).second) << length;
    for (size_t at = 0; at < base.size(); at++) {
        std::string other = base;
        other[at] = 'b';
        EXPECT_TRUE(seen.insert(dictionary_hash(other.data(), other.size())).second) << at;
    }
}

TEST_F(DictionaryInside, ClientsCannotReleaseWhatTheLibraryHolds)
{
    const ovx_primpath_t paths[2] = {path("/a"), path("/b")};
    const dictionary_list *own = nullptr;
    ASSERT_EQ(dictionary_list_create(dictionary, paths, 2, &own), OVSTAGE_OK);
    const ovx_primpath_list_t handle = dictionary_list_handle(own);
    EXPECT_TRUE(known(handle)) << "groups name it";
    for (int i = 0; i < 3; i++)
        EXPECT_FALSE(release(handle)) << "no client has a reference";
    EXPECT_TRUE(add(handle));
    EXPECT_TRUE(add(handle));
    EXPECT_TRUE(release(handle));
    dictionary_list_release(own);
    EXPECT_TRUE(known(handle)) << "a client kept it";
    EXPECT_TRUE(release(handle));
    EXPECT_FALSE(known(handle));
    EXPECT_FALSE(add(handle));
    EXPECT_EQ(dictionary_list_acquire(dictionary, handle), nullptr);
    EXPECT_EQ(dictionary_list_acquire(dictionary, 0), nullptr);
    dictionary_list_release(nullptr);
}

TEST_F(DictionaryInside, ASharedListHasItsOwnHandleAndLife)
{
    const ovx_primpath_list_t theirs = list({path("/a"), path("/b")});
    const dictionary_list *held = dictionary_list_acquire(dictionary, theirs);
    const dictionary_list *shared = nullptr;
    const uint64_t before = fr_test_heap_calls(heap);
    ASSERT_EQ(dictionary_list_share(dictionary, held, &shared), OVSTAGE_OK);
    EXPECT_EQ(fr_test_heap_calls(heap), before);
    dictionary_list_release(held);
    EXPECT_NE(dictionary_list_handle(shared), theirs);
    EXPECT_TRUE(release(theirs));
    EXPECT_FALSE(known(theirs));
    ASSERT_EQ(dictionary_list_count(shared), 2u);
    EXPECT_EQ(dictionary_list_paths(shared)[1], path("/b"));
    dictionary_list_release(shared);

    const ovx_primpath_list_t empty = list({});
    held = dictionary_list_acquire(dictionary, empty);
    ASSERT_EQ(dictionary_list_share(dictionary, held, &shared), OVSTAGE_OK);
    EXPECT_EQ(dictionary_list_count(shared), 0u);
    dictionary_list_release(shared);
    dictionary_list_release(held);
    EXPECT_TRUE(release(empty));
}

TEST_F(DictionaryInside, ListsOfTheSameKindAllocateNothing)
{
    const std::vector<ovx_primpath_t> few(24, path("/a")), more(30, path("/b"));
    for (int i = 0; i < 3; i++) {
        const ovx_primpath_list_t a = list(few), b = list(more);
        EXPECT_TRUE(release(a));
        EXPECT_TRUE(release(b));
    }
    fr_test_heap_fail(heap, 0, 0);
    for (int i = 0; i < 100; i++) {
        const ovx_primpath_list_t a = list(few), b = list(more);
        EXPECT_TRUE(release(b));
        EXPECT_TRUE(release(a));
    }
    EXPECT_EQ(fr_test_heap_calls(heap), 0u);
}

TEST_F(DictionaryInside, FreeArraysAreBounded)
{
    const std::vector<ovx_primpath_t> paths(100000, path("/a"));
    std::vector<ovx_primpath_list_t> lists;
    const uint64_t before = fr_test_heap_live_bytes(heap);
    for (int i = 0; i < 20; i++)
        lists.push_back(list(paths));
    EXPECT_GT(fr_test_heap_live_bytes(heap), before + 16000000);
    for (const ovx_primpath_list_t handle : lists)
        EXPECT_TRUE(release(handle));
    EXPECT_LT(fr_test_heap_live_bytes(heap), before + (4u << 20) + 65536);
    for (size_t count = 1; count < 200000; count += 1 + count / 7) {
        const ovx_primpath_list_t handle =
            list(std::vector<ovx_primpath_t>(paths.begin(), paths.begin() + count / 2));
        EXPECT_TRUE(release(handle));
    }
    EXPECT_LT(fr_test_heap_live_bytes(heap), before + (4u << 20) + 65536);
}

TEST_F(DictionaryInside, ASlotWithoutGenerationsStaysClosed)
{
    const ovx_primpath_t a = path("/a");
    const ovx_primpath_list_t first = list({a});
    EXPECT_TRUE(release(first));
    dictionary_wear_out(dictionary, first);
    const ovx_primpath_list_t last = list({a});
    EXPECT_EQ(dictionary_generation_of(last), (uint64_t{1} << 40) - 1);
    EXPECT_TRUE(known(last));
    EXPECT_TRUE(release(last));
    EXPECT_FALSE(known(last));
    const ovx_primpath_list_t next = list({a});
    EXPECT_NE(next & 0xffffffu, last & 0xffffffu) << "another slot";
    EXPECT_TRUE(release(next));
}

TEST_F(DictionaryInside, NumbersRunOut)
{
    const ovx_primpath_t a = path("/a");
    const ovx_primpath_list_t taken = list({a});
    dictionary_limit(dictionary, 1, 1, 1);
    const ovx_primpath_t b = path("/b");
    uint64_t out = 3;
    const std::string c = "/c", d = "/c/d", name = "e";
    const ovx_string_t texts[3] = {of(c), of(d), of(name)};
    EXPECT_EQ(text(path_dictionary_create_paths_from_strings(client, &texts[0], 1, &out)),
              "strings[0] cannot be kept: all 2 numbers are in use");
    EXPECT_FALSE(good(path_dictionary_create_paths_from_strings(client, &texts[1], 1, &out)));
    EXPECT_FALSE(good(path_dictionary_create_tokens_from_strings(client, &texts[2], 1, &out)));
    EXPECT_EQ(out, 3u);
    const ovx_primpath_list_t second = list({b});
    EXPECT_EQ(text(path_dictionary_create_path_list_from_paths(client, &a, 1, &out)),
              "paths[0] cannot be kept: all 2 numbers are in use");
    EXPECT_EQ(out, 3u);
    EXPECT_TRUE(release(taken));
    const ovx_primpath_list_t third = list({a});
    EXPECT_TRUE(release(second));
    EXPECT_TRUE(release(third));
    EXPECT_EQ(path("/a"), a) << "what is known stays";
}

// A short program, run with the k-th allocation failing, for every k.
TEST(DictionaryMemory, EveryAllocationMayFail)
{
    std::vector<std::string> names;
    for (int i = 0; i < 30; i++)
        names.push_back("/deep/" + std::to_string(i) + "/" + std::string(i * 30, 'n') + "/leaf");
    std::vector<ovx_string_t> strings;
    for (const std::string &name : names)
        strings.push_back(of(name));
    bool survived = false;
    for (uint64_t k = 1; !survived; k++) {
        for (const int ever_after : {0, 1}) {
            fr_test_heap *heap = fr_test_heap_create();
            fr_test_heap_fail(heap, k, ever_after);
            fr_dictionary *dictionary = dictionary_open(heap);
            if (dictionary) {
                path_dictionary_instance_t *client = dictionary_client(dictionary);
                std::vector<ovx_primpath_t> paths(strings.size(), 9);
                ovx_api_result_t result = path_dictionary_create_paths_from_strings(
                    client, strings.data(), strings.size(), paths.data());
                if (result.status != OVX_API_SUCCESS) {
                    EXPECT_EQ(to_string(result.error), "out of memory");
                    EXPECT_EQ(paths, std::vector<ovx_primpath_t>(strings.size(), 9));
                }
                path_dictionary_release_error(client, result.error);
                ovx_primpath_list_t lists[2] = {0, 0};
                const ovx_api_result_t made[2] = {path_dictionary_create_path_list_from_strings(
                                                      client, strings.data(), 20, &lists[0]),
                                                  path_dictionary_create_path_list_from_strings(
                                                      client, strings.data() + 10, 100, &lists[1])};
                for (int i = 0; i < 2; i++) {
                    EXPECT_EQ(lists[i] != 0, made[i].status == OVX_API_SUCCESS);
                    path_dictionary_release_error(client, made[i].error);
                }
                survived = fr_test_heap_calls(heap) < k;
                fr_test_heap_fail(heap, 0, 0);

                // Nothing is lost or half made: with memory it all works.
                result = path_dictionary_create_paths_from_strings(client, strings.data(),
                                                                   strings.size(), paths.data());
                EXPECT_EQ(result.status, OVX_API_SUCCESS) << k;
                for (size_t i = 0; i < names.size(); i++)
                    EXPECT_EQ(to_string(dictionary_path_text(dictionary, paths[i])).substr(0, 6),
                              "/deep/");
                for (const ovx_primpath_list_t handle : lists)
                    path_dictionary_release_path_list_reference(client, handle);
                dictionary_close(dictionary);
            }
            EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
            EXPECT_EQ(fr_test_heap_destroy(heap), 0u) << "lost at allocation " << k;
        }
        ASSERT_LT(k, 5000u);
    }
}

// Runs body(thread, meeting) on so many threads, which answers how much went wrong.
template <class Body> void together(uint32_t threads, Body body)
{
    dictionary_meeting *meeting = dictionary_meeting_create(threads);
    std::vector<uint32_t> wrong(threads, 0);
    std::vector<std::thread> pool;
    for (uint32_t t = 0; t < threads; t++)
        pool.emplace_back([&, t] { wrong[t] = body(t, meeting); });
    for (auto &thread : pool)
        thread.join();
    EXPECT_EQ(wrong, std::vector<uint32_t>(threads, 0));
    dictionary_meeting_destroy(meeting);
}

TEST_F(DictionaryInside, R165_ThreadsAgreeOnNumbers)
{
    constexpr uint32_t threads = 4, count = 3000;
    std::vector<std::string> names;
    std::vector<ovx_string_t> texts;
    for (uint32_t i = 0; i < count; i++)
        names.push_back("/t/" + std::to_string(i / 10) + "/" + std::to_string(i));
    for (const std::string &name : names)
        texts.push_back(of(name));
    std::vector<std::vector<ovx_primpath_t>> seen(threads, std::vector<ovx_primpath_t>(count));
    together(threads, [&](uint32_t t, dictionary_meeting *meeting) {
        return dictionary_thread_interns(dictionary, meeting, t, texts.data(), count,
                                         seen[t].data());
    });
    for (uint32_t t = 1; t < threads; t++)
        EXPECT_EQ(seen[t], seen[0]);
    const std::set<ovx_primpath_t> distinct(seen[0].begin(), seen[0].end());
    EXPECT_EQ(distinct.size(), count);
    const uint64_t last = 2 + count / 10 + count; // the root, /t, and what lies below
    EXPECT_TRUE(dictionary_path_known(dictionary, last));
    EXPECT_FALSE(dictionary_path_known(dictionary, last + 1)) << "no number is wasted";
}

TEST_F(DictionaryInside, R165_ThreadsMakeShareAndReleaseLists)
{
    const std::vector<ovx_primpath_t> paths = {path("/a"), path("/b"), path("/c")};
    together(4, [&](uint32_t t, dictionary_meeting *meeting) {
        return dictionary_thread_lists(dictionary, meeting, t, paths.data(), 1500);
    });
}

// Instances come and go on several threads: whoever is there sees one dictionary.
TEST(DictionaryLife, ThreadsAcquireAndRelease)
{
    fr_test_heap *heap = fr_test_heap_create();
    std::vector<std::thread> pool;
    for (int t = 0; t < 4; t++)
        pool.emplace_back([&] {
            for (int i = 0; i < 60; i++) {
                fr_dictionary *first = dictionary_open(heap), *second = dictionary_open(heap);
                EXPECT_EQ(first, second);
                ovx_token_t a = 0, b = 0;
                EXPECT_EQ(dictionary_token_intern(first, {"name", 4}, &a), OVSTAGE_OK);
                EXPECT_EQ(dictionary_token_intern(second, {"name", 4}, &b), OVSTAGE_OK);
                EXPECT_EQ(a, b);
                dictionary_close(first);
                dictionary_close(second);
            }
        });
    for (auto &thread : pool)
        thread.join();
    dictionary_close(nullptr);
    EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
    EXPECT_EQ(fr_test_heap_destroy(heap), 0u);
}

} // namespace
