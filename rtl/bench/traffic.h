// Packets that say who they are, and a ledger: each leaves once, at the port it is for, as it came, as a header or returned,
// with the bytes that it must then have. The expected bytes are made here from the rules of the wire, not from the RTL.

#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>

#include "switch.h"

inline uint64_t scramble(uint64_t word) {
    word += 0x9e3779b97f4a7c15ull;
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ull;
    word = (word ^ word >> 27) * 0x94d049bb133111ebull;
    return word ^ word >> 31;
}

// Bytes of a header in memory: 64 on the wire with the frame check sequence (NDP 3.1).
constexpr size_t TRIMMED = 60;
constexpr uint8_t DSCP_TRIMMABLE = 10, DSCP_CONTROL = 48, DSCP_TRIMMED = 50, DSCP_RETURNED = 54;

enum class Kind {
    Trimmable,
    // Headers: an acknowledgement, one that another switch trimmed, one that comes back.
    Control,
    Trimmed,
    Returned,
    // Whole or not at all: TCP, options, a fragment, not IP.
    Tcp,
    Options,
    Fragment,
    Ethernet,
};

inline bool is_ip(Kind kind) { return kind != Kind::Ethernet; }
inline bool is_header(Kind kind) { return kind == Kind::Control || kind == Kind::Trimmed || kind == Kind::Returned; }

// RFC 791: the one's complement of the sum of the header's words.
inline uint16_t ip_checksum(const Bytes& frame) {
    uint32_t sum = 0;
    for (size_t at = 14; at < 14 + size_t(frame[14] & 15) * 4; at += 2)
        if (at != 24) sum += uint32_t(frame[at] << 8 | frame[at + 1]);
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    return uint16_t(~sum);
}

inline void write_checksum(Bytes& frame) {
    uint16_t sum = ip_checksum(frame);
    frame[24] = uint8_t(sum >> 8);
    frame[25] = uint8_t(sum);
}

// Host `to` is at port `to` (Switch::reset); 99 is nowhere. `id` stands where no switch writes: behind the UDP header, or in
// the source's address if there is none.
inline Bytes make_frame(Kind kind, size_t size, int from, int to, uint32_t id) {
    Bytes frame(size);
    for (size_t at = 0; at < size; at += 8) {
        uint64_t word = scramble(uint64_t(id) << 16 | at);
        std::memcpy(&frame[at], &word, std::min<size_t>(8, size - at));
    }
    const uint8_t addresses[12] = {2, 0, 0, 0, 0, uint8_t(to), 2, 0, 0, 0, 0, uint8_t(from)};
    std::memcpy(&frame[0], addresses, 12);
    if (!is_ip(kind)) {
        std::memcpy(&frame[8], &id, 4);
        frame[12] = 0x88;
        frame[13] = 0xb5;
        return frame;
    }
    uint8_t dscp = kind == Kind::Control ? DSCP_CONTROL : kind == Kind::Trimmed ? DSCP_TRIMMED
        : kind == Kind::Returned ? DSCP_RETURNED : DSCP_TRIMMABLE;
    uint16_t length = uint16_t(size - 14);
    const uint8_t ip[20] = {uint8_t(kind == Kind::Options ? 0x46 : 0x45), uint8_t(dscp << 2 | (id & 3)),
        uint8_t(length >> 8), uint8_t(length), uint8_t(id >> 8), uint8_t(id),
        uint8_t(kind == Kind::Fragment ? 0x20 : 0x40), 0, 64, uint8_t(kind == Kind::Tcp ? 6 : 17), 0, 0,
        10, 0, uint8_t(from), 1, 10, 0, uint8_t(to), 1};
    frame[12] = 8;
    frame[13] = 0;
    std::memcpy(&frame[14], ip, 20);
    std::memcpy(&frame[42], &id, 4);
    write_checksum(frame);
    return frame;
}

inline Bytes trimmed(Bytes frame) {
    frame.resize(std::min(frame.size(), TRIMMED));
    size_t length = std::min<size_t>(frame.size() - 14, size_t(frame[16] << 8 | frame[17]));
    frame[15] = uint8_t(DSCP_TRIMMED << 2 | (frame[15] & 3));
    frame[16] = uint8_t(length >> 8);
    frame[17] = uint8_t(length);
    write_checksum(frame);
    return frame;
}

inline Bytes returned(Bytes frame) {
    frame[15] = uint8_t(DSCP_RETURNED << 2 | (frame[15] & 3));
    std::swap_ranges(frame.begin(), frame.begin() + 6, frame.begin() + 6);
    std::swap_ranges(frame.begin() + 26, frame.begin() + 30, frame.begin() + 30);
    std::swap_ranges(frame.begin() + 34, frame.begin() + 36, frame.begin() + 36);
    write_checksum(frame);
    return frame;
}

struct Ledger {
    struct Entry {
        Kind kind;
        int from, to;
        size_t size;
    };
    std::unordered_map<uint32_t, Entry> inside;
    uint64_t entered = 0, whole = 0, cut = 0, cut_bytes = 0, back = 0;
    // By input and output: the last whole packet, the last header that came as one.
    std::array<std::array<int64_t, PORTS>, PORTS> last_data, last_header;

    Ledger() { clear(); }

    void clear() {
        inside.clear();
        entered = whole = cut = cut_bytes = back = 0;
        for (auto& row : last_data) row.fill(-1);
        for (auto& row : last_header) row.fill(-1);
    }

    // Identifiers of one input grow.
    void enter(uint32_t id, Kind kind, size_t size, int from, int to) {
        if (!inside.insert({id, {kind, from, to, size}}).second) fail("the bench used a packet twice");
        ++entered;
    }

    void leave(int port, const Bytes& frame) {
        std::string where = "packet at port " + std::to_string(port) + ": ";
        if (frame.size() < 14) fail(where + "it is shorter than a header of Ethernet");
        bool ip = frame[12] == 8 && frame[13] == 0;
        if (ip && frame.size() < 46) fail(where + "it is shorter than what the bench sends");
        uint32_t id;
        std::memcpy(&id, &frame[ip ? 42 : 8], 4);
        auto found = inside.find(id);
        if (found == inside.end()) fail(where + "it has left before or never came");
        Entry entry = found->second;
        inside.erase(found);
        Bytes sent = make_frame(entry.kind, entry.size, entry.from, entry.to, id);
        where += "number " + std::to_string(id) + ", " + std::to_string(entry.size) + " bytes from port "
            + std::to_string(entry.from) + ": ";
        if (frame == sent && port == entry.to) {
            ++whole;
            auto& last = (is_header(entry.kind) ? last_header : last_data)[entry.from][port];
            if (int64_t(id) <= last) fail(where + "it has overtaken another");
            last = id;
            return;
        }
        bool may_cut = entry.kind == Kind::Trimmable, may_return = may_cut || entry.kind == Kind::Trimmed;
        Bytes header = may_cut ? trimmed(sent) : sent;
        if (may_cut) {
            ++cut;
            cut_bytes += sent.size() - header.size();
        }
        if (may_cut && frame == header && port == entry.to) return;
        if (may_return && frame == returned(header) && port == entry.from) {
            ++back;
            return;
        }
        fail(where + "it has bytes that it must not have, or is at the wrong port");
    }
};
