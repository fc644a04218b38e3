// What the path dictionary makes of arguments that no honest client passes: an error with a text,
// and nothing changed.

#include "tests/support/dictionary_fixture.h"

namespace
{

TEST_F(Dictionary, Arguments)
{
    const ovx_string_t string = literal_to_ovx_string("a");
    const ovx_primpath_t p = path("/a");
    const size_t one = 1;
    uint64_t out = 0;
    ovx_string_t texts[1];
    ovx_token_t buffer[1], *begin;
    size_t count = 0, done = 0;
    EXPECT_NE(text(path_dictionary_create_tokens_from_strings(it, nullptr, 1, &out)), "");
    EXPECT_NE(text(path_dictionary_create_tokens_from_strings(it, &string, 1, nullptr)), "");
    EXPECT_NE(text(path_dictionary_create_paths_from_strings(it, nullptr, 1, &out)), "");
    EXPECT_NE(text(path_dictionary_create_paths_from_strings(it, &string, 1, nullptr)), "");
    EXPECT_NE(text(path_dictionary_create_paths_from_strings(it, &string, SIZE_MAX, &out)), "");
    EXPECT_NE(text(path_dictionary_create_paths_from_tokens(it, nullptr, &one, 1, &out)), "");
    EXPECT_NE(text(path_dictionary_create_paths_from_tokens(it, &p, nullptr, 1, &out)), "");
    EXPECT_NE(text(path_dictionary_create_paths_from_tokens(it, &p, &one, 1, nullptr)), "");
    EXPECT_NE(text(path_dictionary_create_path_list_from_paths(it, nullptr, 1, &out)), "");
    EXPECT_NE(text(path_dictionary_create_path_list_from_paths(it, &p, 1, nullptr)), "");
    EXPECT_NE(text(path_dictionary_create_path_list_from_paths(it, nullptr, 0, nullptr)), "");
    EXPECT_NE(text(path_dictionary_create_path_list_from_paths(it, &p, SIZE_MAX, &out)), "");
    EXPECT_NE(text(path_dictionary_create_path_list_from_strings(it, nullptr, 1, &out)), "");
    EXPECT_NE(text(path_dictionary_create_path_list_from_strings(it, &string, 1, nullptr)), "");
    EXPECT_NE(text(path_dictionary_create_path_list_from_strings(it, &string, SIZE_MAX, &out)), "");
    EXPECT_NE(text(path_dictionary_get_strings_from_tokens(it, nullptr, 1, texts)), "");
    EXPECT_NE(text(path_dictionary_get_strings_from_tokens(it, &p, 1, nullptr)), "");
    EXPECT_NE(text(path_dictionary_get_tokens_from_paths(it, nullptr, 1, buffer, 1, &begin, &count,
                                                         &done)),
              "");
    EXPECT_NE(
        text(path_dictionary_get_tokens_from_paths(it, &p, 1, nullptr, 1, &begin, &count, &done)),
        "");
    EXPECT_NE(
        text(path_dictionary_get_tokens_from_paths(it, &p, 1, buffer, 1, nullptr, &count, &done)),
        "");
    EXPECT_NE(
        text(path_dictionary_get_tokens_from_paths(it, &p, 1, buffer, 1, &begin, nullptr, &done)),
        "");
    EXPECT_NE(
        text(path_dictionary_get_tokens_from_paths(it, &p, 1, buffer, 1, &begin, &count, nullptr)),
        "");
    EXPECT_EQ(out, 0u);
    const ovx_primpath_list_t handle = list({p});
    EXPECT_NE(text(path_dictionary_get_num_paths_from_path_list(it, handle, nullptr)), "");
    EXPECT_NE(text(path_dictionary_get_paths_from_path_list(it, handle, 0, 1, nullptr, &count)),
              "");
    EXPECT_NE(text(path_dictionary_get_paths_from_path_list(it, handle, 0, 1, &out, nullptr)), "");
    EXPECT_NE(text(path_dictionary_get_paths_from_path_list(it, handle, SIZE_MAX, 1, &out, &count)),
              "");
    release(handle);
}

TEST_F(Dictionary, Context)
{
    path_dictionary_instance_t none = {it->vtable, nullptr};
    const ovx_string_t string = literal_to_ovx_string("a");
    uint64_t out = 0;
    for (const ovx_api_result_t &result :
         {path_dictionary_create_tokens_from_strings(&none, &string, 1, &out),
          path_dictionary_create_path_list_from_paths(&none, nullptr, 0, &out),
          path_dictionary_add_path_list_reference(&none, 1),
          path_dictionary_release_path_list_reference(&none, 0),
          path_dictionary_get_num_paths_from_path_list(&none, 1, &out)}) {
        EXPECT_EQ(result.status, OVX_API_ERROR);
        EXPECT_GT(result.error.length, 0u);
        path_dictionary_release_error(&none, result.error);
        path_dictionary_release_error(it, result.error);
    }
    EXPECT_EQ(out, 0u);
}

TEST_F(Dictionary, Texts)
{
    EXPECT_NE(bad_path(std::string(65536, 'a')).find("more than the 65535 allowed"),
              std::string::npos);
    EXPECT_NE(bad_path(std::string(65535, 'a')).find("65536"), std::string::npos)
        << "the leading slash counts";
    const std::string longest = "/" + std::string(65534, 'a');
    EXPECT_EQ(text_of_path(path(longest)), longest);
    std::string deep;
    for (int i = 0; i < 1024; i++)
        deep += "/d";
    EXPECT_EQ(text_of_path(path(deep)), deep);
    EXPECT_NE(bad_path(deep + "/d").find("1024"), std::string::npos);

    const ovx_token_t d = token("d");
    std::vector<ovx_token_t> tokens(1025, d);
    size_t count = 1024;
    ovx_primpath_t out = 0;
    EXPECT_EQ(text(path_dictionary_create_paths_from_tokens(it, tokens.data(), &count, 1, &out)),
              "");
    EXPECT_EQ(out, path(deep));
    count = 1025;
    EXPECT_NE(text(path_dictionary_create_paths_from_tokens(it, tokens.data(), &count, 1, &out)),
              "");
    const ovx_token_t big[2] = {token(std::string(40000, 'x')), token(std::string(30000, 'y'))};
    count = 2;
    EXPECT_NE(text(path_dictionary_create_paths_from_tokens(it, big, &count, 1, &out)), "");

    // A length that no text has: refused before a byte is looked at.
    const ovx_string_t claimed = {"a", SIZE_MAX};
    EXPECT_NE(text(path_dictionary_create_tokens_from_strings(it, &claimed, 1, &out)), "");
    EXPECT_NE(text(path_dictionary_create_paths_from_strings(it, &claimed, 1, &out)), "");
}

} // namespace
