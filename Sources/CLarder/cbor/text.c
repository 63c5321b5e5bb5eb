// SPDX-License-Identifier: MIT
#include "cbor/text.h"

/** How many bytes the sequence at `text` has, whose first is not ASCII; 0 if it is not good. */
static size_t text_sequence_length(const uint8_t *text, size_t length) {
    uint8_t lead = text[0];
    // C0 and C1 would begin a long form of ASCII, F5 and above a number beyond 10FFFF.
    size_t count = lead < 0xc2 ? 0 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : lead < 0xf5 ? 4 : 0;
    if (count == 0 || count > length) {
        return 0;
    }
    // The second byte, too, tells the long forms (E0, F0), surrogates (ED) and numbers beyond (F4).
    uint8_t least = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    uint8_t most = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (text[1] < least || text[1] > most) {
        return 0;
    }
    for (size_t i = 2; i < count; i++) {
        if ((text[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    return count;
}

size_t larder_text_valid_length_from(const uint8_t *text, size_t length, size_t offset) {
    while (offset < length) {
        uint64_t word;
        if (text[offset] >= 0x80) {
            size_t count = text_sequence_length(text + offset, length - offset);
            if (count == 0) {
                return offset;
            }
            offset += count;
        } else if (length - offset >= sizeof word) {
            memcpy(&word, text + offset, sizeof word);
            // Eight at once, or the one that is known to be ASCII.
            offset += word & 0x8080808080808080u ? 1 : sizeof word;
        } else {
            offset++;
        }
    }
    return length;
}
