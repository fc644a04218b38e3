/* Attribute arguments: a token or a text becomes an attribute of the store. */
#include "runtime/api/stage.h"
#include "runtime/dictionary/dictionary.h"

#include <stdio.h>

/* The token of a name that is given as a text. */
static ovstage_api_status_t fr_name_intern(fr_stage *stage, ovx_string_t text, ovx_token_t *out)
{
    if (!text.ptr && text.length > 0)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "the attribute's text is NULL, its length %zu", text.length);
    if (text.length == 0)
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "the attribute has neither a token nor a name");
    ovstage_api_status_t status = fr_dictionary_token_intern(stage->dictionary, text, out);
    if (status == OVSTAGE_ERROR_OUT_OF_MEMORY)
        return fr_error_set(status, "no memory for an attribute name of %zu bytes", text.length);
    if (status != OVSTAGE_OK)
        return fr_error_set(status, "an attribute name of %zu bytes holds a NUL or is too long",
                            text.length);
    return OVSTAGE_OK;
}

ovstage_api_status_t fr_stage_attribute(fr_stage *stage, ovx_string_or_token_t name, bool enter,
                                        fr_attribute **out_attribute, ovx_token_t *out_token)
{
    ovx_token_t token = name.token;
    *out_attribute = NULL;
    if (token == OVX_INVALID_TOKEN) {
        ovstage_api_status_t status = fr_name_intern(stage, name.string, &token);
        if (status != OVSTAGE_OK)
            return status;
    }
    *out_token = token;
    *out_attribute = fr_store_attribute_find(stage->store, token);
    if (*out_attribute)
        return OVSTAGE_OK; /* what the store knows, the dictionary knows */
    if (!fr_dictionary_token_known(stage->dictionary, token))
        return fr_error_set(OVSTAGE_ERROR_INVALID_ARGUMENT,
                            "token %llu is not known to the dictionary", (unsigned long long)token);
    if (enter) {
        *out_attribute = fr_store_attribute_enter(stage->store, token);
        if (!*out_attribute)
            return fr_error_set(OVSTAGE_ERROR_OUT_OF_MEMORY,
                                "no memory for attribute '%.200s' beside %u others",
                                fr_dictionary_token_text(stage->dictionary, token).ptr,
                                fr_store_attribute_count(stage->store));
    }
    return OVSTAGE_OK;
}

fr_name_told fr_stage_name_tell(const fr_stage *stage, ovx_string_or_token_t name)
{
    fr_name_told told;
    ovx_string_t text = name.string;
    if (name.token != OVX_INVALID_TOKEN)
        text = fr_dictionary_token_text(stage->dictionary, name.token);
    if (!text.ptr)
        text = literal_to_ovx_string("?");
    int length = text.length < sizeof(told.text) ? (int)text.length : (int)sizeof(told.text) - 1;
    (void)snprintf(told.text, sizeof(told.text), "%.*s", length, text.ptr);
    return told;
}
