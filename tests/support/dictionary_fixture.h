// A GoogleTest fixture around the process's path dictionary, used through its table as by a client.
#ifndef FR_TESTS_SUPPORT_DICTIONARY_FIXTURE_H
#define FR_TESTS_SUPPORT_DICTIONARY_FIXTURE_H

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/support/dictionary_client.h"

struct Dictionary : testing::Test {
    Dictionary() : heap(fr_test_heap_create()), it(fr_test_dictionary_open(heap))
    {
    }
    ~Dictionary() override
    {
        fr_test_dictionary_close(it);
        EXPECT_EQ(fr_test_heap_mistakes(heap), 0u);
        EXPECT_EQ(fr_test_heap_destroy(heap), 0u) << "bytes lost";
    }

    // Takes a result's text away: empty for a success.
    std::string text(const ovx_api_result_t &result)
    {
        if (result.status == OVX_API_SUCCESS) {
            EXPECT_EQ(result.error.ptr, nullptr);
            EXPECT_EQ(result.error.length, 0u);
            return "";
        }
        EXPECT_EQ(result.status, OVX_API_ERROR);
        EXPECT_NE(result.error.ptr, nullptr);
        EXPECT_EQ(result.error.ptr[result.error.length], '\0') << "R26";
        std::string copy(result.error.ptr, result.error.length);
        EXPECT_FALSE(copy.empty());
        path_dictionary_release_error(it, result.error);
        return copy;
    }
    static ovx_string_t of(const std::string &string)
    {
        return {string.data(), string.size()};
    }
    static std::vector<ovx_string_t> of(const std::vector<std::string> &strings)
    {
        std::vector<ovx_string_t> out;
        for (const auto &string : strings)
            out.push_back(of(string));
        return out;
    }
    static std::vector<ovx_string_t> of(std::vector<std::string> &&strings) = delete;
    ovx_token_t token(const std::string &string)
    {
        ovx_token_t out = 0;
        const ovx_string_t in = of(string);
        EXPECT_EQ(text(path_dictionary_create_tokens_from_strings(it, &in, 1, &out)), "");
        EXPECT_NE(out, OVX_INVALID_TOKEN);
        return out;
    }
    ovx_primpath_t path(const std::string &string)
    {
        ovx_primpath_t out = 0;
        const ovx_string_t in = of(string);
        EXPECT_EQ(text(path_dictionary_create_paths_from_strings(it, &in, 1, &out)), "") << string;
        EXPECT_NE(out, OVX_INVALID_PRIMPATH);
        return out;
    }
    // The text of the error, with the out value left alone.
    std::string bad_path(const std::string &string)
    {
        ovx_primpath_t out = 99;
        const ovx_string_t in = of(string);
        const std::string why = text(path_dictionary_create_paths_from_strings(it, &in, 1, &out));
        EXPECT_EQ(out, 99u);
        EXPECT_NE(why, "") << string;
        return why;
    }
    ovx_primpath_list_t list(const std::vector<ovx_primpath_t> &paths)
    {
        ovx_primpath_list_t out = 0;
        EXPECT_EQ(
            text(path_dictionary_create_path_list_from_paths(it, paths.data(), paths.size(), &out)),
            "");
        EXPECT_NE(out, OVX_INVALID_PRIMPATH_LIST);
        return out;
    }
    void release(ovx_primpath_list_t handle)
    {
        EXPECT_EQ(text(path_dictionary_release_path_list_reference(it, handle)), "");
    }
    bool known(ovx_primpath_list_t handle)
    {
        size_t count = 0;
        return text(path_dictionary_get_num_paths_from_path_list(it, handle, &count)).empty();
    }
    std::vector<ovx_primpath_t> paths_of(ovx_primpath_list_t handle)
    {
        size_t count = 0, got = 0;
        EXPECT_EQ(text(path_dictionary_get_num_paths_from_path_list(it, handle, &count)), "");
        std::vector<ovx_primpath_t> out(count + 1, 77);
        EXPECT_EQ(text(path_dictionary_get_paths_from_path_list(it, handle, 0, count + 1,
                                                                out.data(), &got)),
                  "");
        EXPECT_EQ(got, count);
        EXPECT_EQ(out.back(), 77u);
        out.pop_back();
        return out;
    }
    std::string text_of_path(ovx_primpath_t handle)
    {
        ovx_token_t tokens[1024], *begin = nullptr;
        size_t count = 0, done = 0;
        EXPECT_EQ(text(path_dictionary_get_tokens_from_paths(it, &handle, 1, tokens, 1024, &begin,
                                                             &count, &done)),
                  "");
        EXPECT_EQ(done, 1u);
        std::string out = count == 0 ? "/" : "";
        for (size_t i = 0; i < count; i++)
            out += "/" + text_of_token(begin[i]);
        return out;
    }
    std::string text_of_token(ovx_token_t handle)
    {
        ovx_string_t out = {nullptr, 7};
        EXPECT_EQ(text(path_dictionary_get_strings_from_tokens(it, &handle, 1, &out)), "");
        EXPECT_NE(out.ptr, nullptr);
        EXPECT_EQ(out.ptr[out.length], '\0') << "R26";
        return std::string(out.ptr, out.length);
    }

    fr_test_heap *heap;
    path_dictionary_instance_t *it;
};

#endif
