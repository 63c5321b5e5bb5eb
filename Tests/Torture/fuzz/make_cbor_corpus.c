// SPDX-License-Identifier: MIT
// The seeds of the CBOR fuzzers: items of RFC 8949, appendix A, and documents of the types that the
// Swift target decodes.
#include "make_corpus.h"

#include <string.h>
#include <sys/stat.h>

typedef struct seed {
    const char *name;
    const char *hex;
} seed;

static const seed seeds[] = {
    {"unsigned-0", "00"},
    {"unsigned-24", "1818"},
    {"unsigned-1000", "1903e8"},
    {"unsigned-1000000", "1a000f4240"},
    {"unsigned-max", "1bffffffffffffffff"},
    {"negative-1", "20"},
    {"negative-1000", "3903e7"},
    {"negative-max", "3bffffffffffffffff"},
    {"bignum", "c249010000000000000000"},
    {"bignum-negative", "c349010000000000000000"},
    {"half-1.5", "f93e00"},
    {"half-subnormal", "f90001"},
    {"half-infinity", "f97c00"},
    {"half-nan", "f97e00"},
    {"single-100000", "fa47c35000"},
    {"double-1.1", "fb3ff199999999999a"},
    {"false", "f4"},
    {"null", "f6"},
    {"undefined", "f7"},
    {"simple-16", "f0"},
    {"simple-255", "f8ff"},
    {"date-text", "c074323031332d30332d32315432303a30343a30305a"},
    {"date-epoch", "c11a514b67b0"},
    {"date-fraction", "c1fb41d452d9ec200000"},
    {"url", "d82076687474703a2f2f7777772e6578616d706c652e636f6d"},
    {"uuid", "d82550000102030405060708090a0b0c0d0e0f"},
    {"decimal", "c48221196ab3"},
    {"bytes-empty", "40"},
    {"bytes", "4401020304"},
    {"text-empty", "60"},
    {"text-2-byte", "62c3bc"},
    {"text-4-byte", "64f0908591"},
    {"array-empty", "80"},
    {"array-nested", "8301820203820405"},
    {"array-25", "98190102030405060708090a0b0c0d0e0f101112131415161718181819"},
    {"map-empty", "a0"},
    {"map-integers", "a201020304"},
    {"map-text", "a56161614161626142616361436164614461656145"},
    {"map-in-array", "826161a161626163"},
    {"endless-bytes", "5f42010243030405ff"},
    {"endless-text", "7f657374726561646d696e67ff"},
    {"endless-array", "9f018202039f0405ffff"},
    {"endless-map", "bf61610161629f0203ffff"},
    {"endless-in-array", "826161bf61626163ff"},
    // Two keys in other forms, which are equal.
    {"equal-keys", "a3010218010320f6"},
    {"equal-keys-in-chunks", "a262616201"
                             "7f61616162ff02"},
    {"many-keys", "b81200f601f602f603f604f605f606f607f608f609f60af60bf60cf60df60ef60ff610f611f6"},
    {"long-form-key", "a27818"
                      "6120746578742061732061206b6579206f6620323420627974"
                      "f66161f6"},
    // [String: [Int]], [Int: String]
    {"dictionary-of-arrays", "a263"
                             "6f6e65"
                             "8301021903e8"
                             "63"
                             "74776f"
                             "80"},
    {"dictionary-of-integers", "a3016161206162"
                               "1903e8"
                               "60"},
    // {"circle": {"radius": 1.5}} and {"text": {"_0": "a", "_1": 7}}
    {"enum-radius", "a166636972636c65a166726164697573f93e00"},
    {"enum-payload", "a16474657874a2625f306161625f3107"},
    // {"id": 7, "name": "a", "when": 1(1363896240), "data": h'0102', "link": 32("http://a/"),
    //  "uuid": 37(h'…'), "price": 4([-2, 27315]), "big": 2(h'01…'), "tags": ["x"], "inner": {…}}
    {"document", "aa626964"
                 "07"
                 "646e616d65"
                 "6161"
                 "647768656e"
                 "c11a514b67b0"
                 "6464617461"
                 "420102"
                 "646c696e6b"
                 "d82069687474703a2f2f612f"
                 "6475756964"
                 "d82550000102030405060708090a0b0c0d0e0f"
                 "657072696365"
                 "c48221196ab3"
                 "63626967"
                 "c249010000000000000000"
                 "6474616773"
                 "816178"
                 "65696e6e6572"
                 "a2626964"
                 "08"
                 "646e616d65"
                 "6162"},
};

static unsigned digit(char letter) {
    return (unsigned)(letter <= '9' ? letter - '0' : letter - 'a' + 10);
}

void make_cbor_corpus(const char *folder) {
    char path[400];
    snprintf(path, sizeof path, "%s/corpus-cbor", folder);
    mkdir(path, 0777);
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        unsigned char bytes[512];
        size_t length = strlen(seeds[i].hex) / 2;
        for (size_t k = 0; k < length; k++) {
            bytes[k] =
                (unsigned char)(digit(seeds[i].hex[2 * k]) << 4 | digit(seeds[i].hex[2 * k + 1]));
        }
        write_bytes(path, seeds[i].name, bytes, length);
    }
}
