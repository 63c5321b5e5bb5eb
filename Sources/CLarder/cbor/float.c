// SPDX-License-Identifier: MIT
#include "larder_cbor.h"

enum {
    DOUBLE_EXPONENT_MAX = 0x7ff,
    DOUBLE_BIAS = 1023,
    DOUBLE_FRACTION_BITS = 52,
    HALF_EXPONENT_BITS = 5,
    HALF_FRACTION_BITS = 10,
    SINGLE_EXPONENT_BITS = 8,
    SINGLE_FRACTION_BITS = 23
};

static const uint64_t double_fraction_mask = ((uint64_t)1 << DOUBLE_FRACTION_BITS) - 1;

double larder_cbor_half_value(uint16_t bits) {
    uint64_t sign = (uint64_t)(bits >> 15) << 63;
    int exponent = bits >> HALF_FRACTION_BITS & 0x1f;
    uint64_t fraction = bits & 0x3ff;
    if (exponent == 0x1f) {
        exponent = DOUBLE_EXPONENT_MAX;
    } else if (exponent > 0) {
        exponent += DOUBLE_BIAS - 15;
    } else if (fraction > 0) {
        // Subnormal, and normal as a double: the leading bit moves into its implied place.
        exponent = DOUBLE_BIAS - 14;
        for (; fraction < 0x400; fraction <<= 1) {
            exponent--;
        }
        fraction &= 0x3ff;
    }
    uint64_t pattern = sign | (uint64_t)exponent << DOUBLE_FRACTION_BITS |
                       fraction << (DOUBLE_FRACTION_BITS - HALF_FRACTION_BITS);
    double value;
    memcpy(&value, &pattern, sizeof value);
    return value;
}

/** Whether the double with this pattern, which is no NaN, is also a number of a narrower format,
    and then which. */
static bool double_narrow(uint64_t pattern, int exponent_bits, int fraction_bits,
                          uint32_t *narrow) {
    int exponent_max = (1 << exponent_bits) - 1;
    int bias = exponent_max >> 1;
    uint32_t sign = (uint32_t)(pattern >> 63) << (exponent_bits + fraction_bits);
    int exponent = (int)(pattern >> DOUBLE_FRACTION_BITS & DOUBLE_EXPONENT_MAX);
    uint64_t fraction = pattern & double_fraction_mask;
    *narrow = sign;
    if (exponent == 0) {
        return fraction == 0; // A subnormal double is far below all others.
    }
    if (exponent == DOUBLE_EXPONENT_MAX) {
        *narrow |= (uint32_t)exponent_max << fraction_bits;
        return true;
    }
    int dropped = DOUBLE_FRACTION_BITS - fraction_bits;
    exponent += bias - DOUBLE_BIAS;
    if (exponent >= exponent_max || exponent < -fraction_bits) {
        return false;
    }
    if (exponent <= 0) {
        // Subnormal there: the implied bit is written, and one bit is lost for each power below.
        fraction |= (uint64_t)1 << DOUBLE_FRACTION_BITS;
        dropped += 1 - exponent;
        exponent = 0;
    }
    *narrow |= (uint32_t)exponent << fraction_bits | (uint32_t)(fraction >> dropped);
    return (fraction & (((uint64_t)1 << dropped) - 1)) == 0;
}

static size_t float_write(uint8_t *target, unsigned info, uint64_t pattern) {
    size_t bytes = (size_t)1 << (info - 24);
    target[0] = (uint8_t)(LARDER_CBOR_SIMPLE << 5 | info);
    larder_cbor_write_big_endian(target + 1, pattern, bytes);
    return 1 + bytes;
}

size_t larder_cbor_write_float(uint8_t *target, double value) {
    uint64_t pattern;
    memcpy(&pattern, &value, sizeof pattern);
    if (value != value) {
        return float_write(target, LARDER_CBOR_INFO_HALF, 0x7e00);
    }
    uint32_t narrow;
    const uint64_t beyond_single =
        ((uint64_t)1 << (DOUBLE_FRACTION_BITS - SINGLE_FRACTION_BITS)) - 1;
    if (pattern & beyond_single) {
        return float_write(target, LARDER_CBOR_INFO_DOUBLE, pattern);
    }
    if (double_narrow(pattern, HALF_EXPONENT_BITS, HALF_FRACTION_BITS, &narrow)) {
        return float_write(target, LARDER_CBOR_INFO_HALF, narrow);
    }
    if (double_narrow(pattern, SINGLE_EXPONENT_BITS, SINGLE_FRACTION_BITS, &narrow)) {
        return float_write(target, LARDER_CBOR_INFO_SINGLE, narrow);
    }
    return float_write(target, LARDER_CBOR_INFO_DOUBLE, pattern);
}
