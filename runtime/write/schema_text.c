#include "runtime/write/schema_text.h"

#include <stdio.h>

static const char *const fr_semantic_names[] = {
    "NONE",
    "ASSET_PATH_ID",
    "TOKEN_ID",
    "PATH_EXPRESSION_STRING",
    "RELATIONSHIP_PATH_ID",
    "POINT",
    "VECTOR",
    "NORMAL",
    "COLOR",
    "QUATERNION",
    "MATRIX",
    "TEXTURE_COORDINATE",
    "CONNECTION_PATH_ID",
    "STRING",
    "TIME_CODE",
    "FRAME",
};

const char *fr_semantic_name(ovstage_attribute_semantic_t semantic)
{
    size_t index = (size_t)semantic;
    return index < sizeof(fr_semantic_names) / sizeof(fr_semantic_names[0])
               ? fr_semantic_names[index]
               : NULL;
}

fr_dtype_text fr_dtype_tell(uint32_t code, uint32_t bits, uint32_t lanes)
{
    static const char *const names[] = {"int",    "uint",    "float", "opaque",
                                        "bfloat", "complex", "bool"};
    fr_dtype_text told;
    if (code < sizeof(names) / sizeof(names[0]))
        (void)snprintf(told.text, sizeof(told.text), "%s%u x%u", names[code], bits, lanes);
    else
        (void)snprintf(told.text, sizeof(told.text), "{code %u, bits %u} x%u", code, bits, lanes);
    return told;
}

fr_schema_text fr_schema_tell(const fr_schema *schema)
{
    fr_schema_text told;
    const char *semantic = fr_semantic_name(schema->semantic);
    (void)snprintf(told.text, sizeof(told.text), "%s, %s, %s",
                   fr_dtype_tell(schema->code, schema->bits, schema->lanes).text,
                   schema->is_array ? "an array" : "of fixed size", semantic ? semantic : "?");
    return told;
}
