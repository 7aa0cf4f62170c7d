// The switch under Verilator, one clock cycle at a time: what both benches share.

#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "Vndp_switch.h"
#include "verilated.h"

#ifndef DATA_W
#define DATA_W 256
#endif

constexpr int PORTS = 4;
constexpr int BYTES = DATA_W / 8;
constexpr int PACKETS_W = 13;
constexpr int SIZE_W = 20;
constexpr int COUNT_W = 32;

using Bytes = std::vector<uint8_t>;

// What is being tried, for messages.
inline std::string doing;

[[noreturn]] inline void fail(const std::string& what) {
    std::fprintf(stderr, "%s%s\n", doing.c_str(), what.c_str());
    std::exit(1);
}

// Verilator keeps a signal of any width little-endian, so its bytes are the bytes of the packet.
template <typename Signal> uint8_t* bytes_of(Signal& signal) { return reinterpret_cast<uint8_t*>(&signal); }

template <typename Signal> uint64_t field(Signal& signal, int index, int width) {
    uint64_t value = 0;
    for (int bit = 0; bit < width; ++bit) {
        int at = index * width + bit;
        value |= uint64_t(bytes_of(signal)[at / 8] >> (at % 8) & 1) << bit;
    }
    return value;
}

struct Switch {
    VerilatedContext context;
    std::unique_ptr<Vndp_switch> dut;
    uint64_t cycle = 0;
    // What a sink must see again when it was not ready (AXI4-Stream 2.2.1).
    std::array<bool, PORTS> held{};
    std::array<Bytes, PORTS> held_beat;

    // What nothing has set is random, as it is in hardware: the seed says how.
    explicit Switch(int random = 1) {
        context.randReset(2);
        context.randSeed(random);
        dut.reset(new Vndp_switch(&context));
        dut->clk = 0;
        dut->rst = 1;
        dut->m_pause = 0;
        dut->s_axis_tvalid = dut->s_axis_tlast = dut->s_axis_tuser = 0;
        dut->m_axis_tready = 0;
        dut->table_write = 0;
        dut->coin = 0;
    }

    // Registers first, since the seed is taken at reset. Host N, 10.0.N.0/24 and 02:00:00:00:00:0N, is at port N.
    void reset() {
        dut->rst = 1;
        for (int i = 0; i < 4; ++i) tick();
        held.fill(false);
        dut->rst = 0;
        while (!settle().status_ready) tick();
        for (int host = 0; host < PORTS; ++host) {
            write_table(host, true, 0x0a000000u | uint32_t(host) << 8, 0xffffff00u, host);
            write_table(PORTS + host, false, 0x020000000000ull | uint64_t(host), 0xffffffffffffull, host);
        }
    }

    void write_table(int index, bool ip, uint64_t key, uint64_t mask, int port) {
        dut->table_write = dut->table_valid = 1;
        dut->table_index = index;
        dut->table_ip = ip;
        dut->table_key = key;
        dut->table_mask = mask;
        dut->table_port = port;
        tick();
        dut->table_write = 0;
    }

    void offer(int port, const Bytes& frame, size_t at) {
        size_t length = std::min<size_t>(BYTES, frame.size() - at);
        std::memset(bytes_of(dut->s_axis_tdata) + port * BYTES, 0, BYTES);
        std::memcpy(bytes_of(dut->s_axis_tdata) + port * BYTES, frame.data() + at, length);
        for (int byte = 0; byte < BYTES; ++byte) {
            int bit = port * BYTES + byte;
            uint8_t mask = uint8_t(1 << (bit % 8));
            uint8_t& keep = bytes_of(dut->s_axis_tkeep)[bit / 8];
            keep = size_t(byte) < length ? keep | mask : keep & ~mask;
        }
        uint8_t mask = uint8_t(1 << port);
        dut->s_axis_tvalid |= mask;
        dut->s_axis_tlast = at + length == frame.size() ? dut->s_axis_tlast | mask : dut->s_axis_tlast & ~mask;
    }

    void idle(int port) { dut->s_axis_tvalid &= ~(1 << port); }

    // Outputs as they stand before the next edge.
    Vndp_switch& settle() {
        dut->eval();
        return *dut;
    }

    bool is_valid(int port) { return dut->m_axis_tvalid >> port & 1; }
    bool is_last(int port) { return dut->m_axis_tlast >> port & 1; }

    // Bytes of the beat at a port; what is kept must be contiguous from byte 0 (ndp_switch.sv).
    int beat_size(int port) {
        uint64_t keep = 0;
        std::memcpy(&keep, bytes_of(dut->m_axis_tkeep) + port * (BYTES / 8), BYTES / 8);
        if (keep == 0 || (keep & (keep + 1)) != 0) fail("port " + std::to_string(port) + ": tkeep has holes");
        int size = __builtin_popcountll(keep);
        if (size != BYTES && !is_last(port)) fail("port " + std::to_string(port) + ": a beat before the last is not full");
        return size;
    }

    const uint8_t* beat_data(int port) { return bytes_of(dut->m_axis_tdata) + port * BYTES; }

    Bytes beat(int port) { return Bytes(beat_data(port), beat_data(port) + beat_size(port)); }

    void check_hold() {
        for (int port = 0; port < PORTS; ++port) {
            bool valid = is_valid(port);
            bool waits = valid && !(dut->m_axis_tready >> port & 1);
            if (!held[port] && !waits) continue;
            Bytes now = valid ? beat(port) : Bytes();
            now.push_back(is_last(port));
            if (held[port] && (!valid || now != held_beat[port]))
                fail("port " + std::to_string(port) + " changed a beat that was not accepted");
            held[port] = waits;
            held_beat[port] = std::move(now);
        }
    }

    void tick() {
        dut->eval();
        if (!dut->rst) check_hold();
        dut->clk = 1;
        dut->eval();
        dut->clk = 0;
        dut->eval();
        ++cycle;
    }
};
