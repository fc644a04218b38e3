/* Floats of every width, as doubles. */
#include "runtime/query/value.h"

#include <string.h>

#define FR_REAL_MANTISSA_BITS 52
#define FR_REAL_BIAS 1023

static double fr_real_of_bits(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof(value));
    return value;
}

static uint64_t fr_real_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

/* 2 to the power of a normal exponent. */
static double fr_real_power(int exponent)
{
    return fr_real_of_bits((uint64_t)(exponent + FR_REAL_BIAS) << FR_REAL_MANTISSA_BITS);
}

double fr_value_round(double value, int mantissa_bits, int exponent_low, int exponent_high)
{
    uint64_t bits = fr_real_bits(value), sign = bits & UINT64_C(1) << 63;
    uint64_t magnitude = bits ^ sign;
    int exponent = (int)(magnitude >> FR_REAL_MANTISSA_BITS) - FR_REAL_BIAS;
    if (exponent == FR_REAL_BIAS + 1)
        return value; /* infinite, or no number */
    int drop = FR_REAL_MANTISSA_BITS - mantissa_bits;
    if (exponent < exponent_low)
        drop += exponent_low - exponent;
    double lowest = fr_real_power(exponent_low - mantissa_bits);
    if (drop > FR_REAL_MANTISSA_BITS) { /* nothing or the lowest number that there is */
        magnitude = fr_real_of_bits(magnitude) > lowest / 2 ? fr_real_bits(lowest) : 0;
    } else {
        uint64_t odd = magnitude >> drop & 1;
        magnitude += (UINT64_C(1) << (drop - 1)) - 1 + odd; /* may carry into the exponent */
        magnitude &= UINT64_MAX << drop;
    }
    if (fr_real_of_bits(magnitude) >= fr_real_power(exponent_high) * 2)
        magnitude = (uint64_t)(2 * FR_REAL_BIAS + 1) << FR_REAL_MANTISSA_BITS;
    return fr_real_of_bits(sign | magnitude);
}

static double fr_real_of_half(uint16_t half)
{
    int exponent = half >> 10 & 31;
    double mantissa = half & 1023;
    double magnitude = exponent == 0    ? mantissa * fr_real_power(-24)
                       : exponent == 31 ? (mantissa > 0 ? fr_real_of_bits(UINT64_C(0x7ff8) << 48)
                                                        : fr_real_of_bits(UINT64_C(0x7ff0) << 48))
                                        : (1024 + mantissa) * fr_real_power(exponent - 25);
    return half >> 15 ? -magnitude : magnitude;
}

double fr_value_real(const fr_schema *schema, const unsigned char *element)
{
    double wide;
    float single;
    uint16_t half;
    if (schema->bits == 64) {
        memcpy(&wide, element, sizeof(wide));
        return wide;
    }
    if (schema->bits == 32) {
        memcpy(&single, element, sizeof(single));
        return single;
    }
    memcpy(&half, element, sizeof(half));
    if (schema->code == kDLFloat)
        return fr_real_of_half(half);
    uint32_t bits = (uint32_t)half << 16;
    memcpy(&single, &bits, sizeof(single));
    return single;
}
