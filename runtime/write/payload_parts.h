/* Checks that payloads of fixed-size rows (payload.c) and of arrays (payload_array.c) share. */
#ifndef FR_RUNTIME_WRITE_PAYLOAD_PARTS_H
#define FR_RUNTIME_WRITE_PAYLOAD_PARTS_H

#include "runtime/write/payload.h"

#define FR_INVALID OVSTAGE_ERROR_INVALID_ARGUMENT
#define FR_UNSUPPORTED OVSTAGE_ERROR_NOT_SUPPORTED

__attribute__((format(printf, 3, 4))) ovstage_api_status_t fr_payload_refuse(
    fr_payload *out, ovstage_api_status_t status, const char *format, ...);

/* One tensor. The dtype's code and bits go into the schema. */
ovstage_api_status_t fr_payload_check_device(const DLTensor *tensor, int32_t place,
                                             fr_payload *out);
ovstage_api_status_t fr_payload_check_dtype(DLDataType dtype, fr_payload *out);
ovstage_api_status_t fr_payload_check_shape(const DLTensor *tensor, fr_payload *out);
/* With strides: no element lies outside of the address space. */
bool fr_payload_reach(const DLTensor *tensor, int64_t element_bytes);
/* data with byte_offset. `any`: it has elements. */
ovstage_api_status_t fr_payload_base(const DLTensor *tensor, bool any,
                                     const unsigned char **out_base, fr_payload *out);
/* index_map against the rows that there are. */
ovstage_api_status_t fr_payload_check_map(const ovstage_write_data_t *data, fr_payload *out);
void fr_payload_take_mask(const ovstage_write_data_t *data, fr_payload *out);
/* The schema's semantic, against its type (R109). */
ovstage_api_status_t fr_payload_check_semantic(const ovstage_write_data_t *data, fr_payload *out);
/* Whether a managed tensor's memory may become a payload (D10), as far as the write is concerned;
 * its rows have to be compact besides. */
bool fr_payload_may_adopt(const ovstage_write_data_t *data, uint32_t query_count,
                          bool adopt_managed, const struct DLManagedTensorVersioned *managed,
                          const unsigned char *base);

/* Of arrays: after what is said about all payloads. */
ovstage_api_status_t fr_payload_check_array(const ovstage_write_data_t *data, int32_t place,
                                            fr_payload *out);

#endif
