// Clones and what they leave behind, for tests: prims by path, values in a line.
#ifndef FR_TESTS_SUPPORT_CLONES_H
#define FR_TESTS_SUPPORT_CLONES_H

#include "tests/support/arrays.h"

namespace client
{

using Texts = std::vector<std::string>;
using Floats = std::vector<float>;

class Clones
{
  public:
    explicit Clones(uint32_t workers) : Clones(config(workers))
    {
    }
    explicit Clones(const flyrail_config_t &made)
        : stage(made), a(stage.token("a")), b(stage.token("b"))
    {
    }

    ovstage_enqueue_result_t clone(const std::string &source, const Texts &targets,
                                   uint64_t ordinal) const
    {
        std::vector<ovx_string_t> texts;
        for (const std::string &target : targets)
            texts.push_back(text(target));
        return ovstage_clone(stage.instance, text(source), texts.data(), texts.size(), ordinal);
    }
    // The values must live until the op is complete: it is waited for.
    void put(const Texts &paths, ovx_token_t attribute, uint64_t ordinal, const Floats &values)
    {
        stage.finish(stage.write(stage.query(paths), attribute, ordinal, values));
    }
    ovstage_enqueue_result_t remove(const Texts &paths, const std::vector<ovx_token_t> &attributes,
                                    uint64_t ordinal) const
    {
        std::vector<ovx_string_or_token_t> names;
        for (ovx_token_t token : attributes)
            names.push_back(named(token));
        return ovstage_delete_attributes(stage.instance, stage.query(paths), names.data(),
                                         names.size(), ordinal);
    }
    Floats get(const Texts &paths, ovx_token_t attribute, uint64_t ordinal) const
    {
        return stage.read(stage.query(paths), attribute, ordinal);
    }
    ovx_primpath_t path(const std::string &name) const
    {
        ovx_string_t string = text(name);
        ovx_primpath_t made = 0;
        EXPECT_EQ(
            path_dictionary_create_paths_from_strings(stage.dictionary, &string, 1, &made).status,
            OVX_API_SUCCESS);
        return made;
    }
    template <typename T>
    void put_arrays(const Texts &paths, ovx_token_t attribute, uint64_t ordinal,
                    const Rows<T> &rows, DLDataType dtype,
                    ovstage_attribute_semantic_t semantic = OVSTAGE_SEMANTIC_NONE)
    {
        RowPayload<T> payload(rows, dtype);
        payload.data.semantic = semantic;
        stage.finish(write(stage, stage.query(paths), attribute, ordinal, payload.data));
    }
    template <typename T>
    std::map<uint32_t, std::vector<T>> get_arrays(const Texts &paths, ovx_token_t attribute,
                                                  uint64_t ordinal) const
    {
        std::map<uint32_t, std::vector<T>> found;
        Snapshot snapshot(stage, stage.query(paths), {attribute}, ordinal);
        EXPECT_EQ(snapshot.status, OVSTAGE_OK) << last_error();
        for (const ovstage_read_group_t &group : snapshot.groups)
            for (const auto &row : array_rows<T>(group))
                EXPECT_TRUE(found.insert(row).second);
        return found;
    }

    Stage stage;
    ovx_token_t a, b;
};

} // namespace client

#endif
