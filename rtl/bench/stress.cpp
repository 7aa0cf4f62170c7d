// Random traffic with everything that is legal and much that is not: packets of all kinds and lengths, bad ones, gaps on
// both sides, pauses, registers drawn for each run, a reset in the middle. Nothing may be lost, doubled, overtaken or
// changed that should not be (traffic.h), the counters must say what happened, and all cells must be free at the end.
//
//   stress FIRST_SEED RUNS

#include <deque>

#include "traffic.h"

#ifndef CELLS
#define CELLS 2048
#endif
#ifndef MAX_BYTES
#define MAX_BYTES 1600
#endif

namespace {

struct Random {
    uint64_t state;
    uint64_t below(uint64_t bound) { return scramble(state++) % bound; }
    bool one_in(uint64_t number) { return below(number) == 0; }
};

struct Sent {
    Bytes frame;
    bool bad;
};

struct Run {
    Random random;
    Switch device;
    Ledger ledger;
    std::array<std::deque<Sent>, PORTS> queue;
    std::array<size_t, PORTS> at{};
    std::array<Bytes, PORTS> arriving;
    uint32_t id = 0;
    uint64_t bad = 0, nowhere = 0;
    // Of these: one in so many cycles, one in so many packets.
    uint64_t gaps, stalls, pauses, mistakes;
    bool small, returns;

    explicit Run(uint64_t seed) : random{scramble(seed) << 20}, device(int(seed & 0x7fffffff) + 1) {}

    uint64_t sum(auto& counter) {
        uint64_t total = 0;
        for (int port = 0; port < PORTS; ++port) total += field(counter, port, COUNT_W);
        return total;
    }

    void begin() {
        auto& dut = *device.dut;
        dut.s_axis_tvalid = 0;
        dut.cfg_data_packets = random.one_in(8) ? 0 : 1 + random.below(24);
        dut.cfg_data_bytes = random.one_in(2) ? (1 << SIZE_W) - 1 : 100 + random.below(20000);
        dut.cfg_header_bytes = random.one_in(2) ? 64 * random.below(8) : random.below(9000);
        dut.cfg_ratio = random.one_in(2) ? 10 : random.below(4);
        dut.cfg_strict = random.one_in(6);
        returns = !random.one_in(4);
        dut.cfg_return = returns;
        dut.cfg_coin = random.one_in(4) ? 0 : 1;
        dut.cfg_seed = uint16_t(random.below(65536));
        gaps = 2 + random.below(20);
        stalls = 2 + random.below(30);
        pauses = 50 + random.below(500);
        mistakes = 5 + random.below(60);
        small = random.one_in(2);
        ledger.clear();
        bad = nowhere = 0;
        for (int port = 0; port < PORTS; ++port) {
            queue[port].clear();
            at[port] = 0;
            arriving[port].clear();
        }
        dut.m_axis_tready = dut.m_pause = 0;
        device.reset();
        if (dut.status_free_cells != CELLS) fail("cells are missing after reset");
    }

    size_t length() {
        if (random.one_in(6)) return MAX_BYTES - random.below(3);
        if (small || random.one_in(2)) return 46 + random.below(90);
        return 46 + random.below(MAX_BYTES - 45);
    }

    void compose(int port) {
        static const Kind kinds[] = {Kind::Control, Kind::Trimmed, Kind::Returned, Kind::Tcp, Kind::Options,
                                     Kind::Fragment, Kind::Ethernet};
        Kind kind = random.one_in(2) ? Kind::Trimmable : kinds[random.below(7)];
        // Two ports are asked for more than they can send.
        int to = int(random.one_in(3) ? random.below(PORTS) : random.below(2));
        size_t size = kind == Kind::Trimmed ? TRIMMED : length();
        ++id;
        if (!random.one_in(mistakes)) {
            if (kind == Kind::Ethernet && random.one_in(3)) size = 14 + random.below(50);
            queue[port].push_back({make_frame(kind, size, port, to, id), false});
            ledger.enter(id, kind, size, port, to);
        } else if (random.one_in(3)) {
            queue[port].push_back({make_frame(kind, size, port, 99, id), false});
            ++nowhere;
        } else {
            // Too long, too short, or whole and called bad by the link.
            size_t choice = random.below(3);
            Bytes frame = make_frame(kind, choice == 0 ? MAX_BYTES + 1 + random.below(600) : 60, port, to, id);
            if (choice == 1) frame.resize(1 + random.below(13));
            queue[port].push_back({frame, choice == 2});
            ++bad;
        }
    }

    void step(bool more) {
        auto& dut = *device.dut;
        for (int port = 0; port < PORTS; ++port) {
            uint8_t mask = uint8_t(1 << port);
            // A beat that was offered stays (AXI4-Stream 2.2.1).
            if (!(dut.s_axis_tvalid & mask)) {
                if (more && queue[port].empty() && !random.one_in(gaps)) compose(port);
                if (!queue[port].empty() && !random.one_in(gaps)) {
                    device.offer(port, queue[port].front().frame, at[port]);
                    bool called_bad = queue[port].front().bad && (dut.s_axis_tlast & mask);
                    dut.s_axis_tuser = called_bad ? dut.s_axis_tuser | mask : dut.s_axis_tuser & ~mask;
                }
            }
            if (!random.one_in(stalls)) dut.m_axis_tready |= mask;
            else dut.m_axis_tready &= ~mask;
            if (!more) dut.m_pause = 0;
            else if (random.one_in(pauses)) dut.m_pause ^= mask;
        }
        device.settle();
        uint8_t accepted = dut.s_axis_tvalid & dut.s_axis_tready;
        for (int port = 0; port < PORTS; ++port) {
            if (!device.is_valid(port) || !(dut.m_axis_tready >> port & 1)) continue;
            Bytes beat = device.beat(port);
            arriving[port].insert(arriving[port].end(), beat.begin(), beat.end());
            if (device.is_last(port)) {
                ledger.leave(port, arriving[port]);
                arriving[port].clear();
            }
        }
        device.tick();
        for (int port = 0; port < PORTS; ++port) {
            if (!(accepted >> port & 1)) continue;
            at[port] += BYTES;
            if (at[port] >= queue[port].front().frame.size()) {
                queue[port].pop_front();
                at[port] = 0;
            }
            device.idle(port);
        }
    }

    void settle_down() {
        auto& dut = *device.dut;
        uint64_t quiet = 0, before = 0;
        for (uint64_t cycle = 0; quiet < 3000; ++cycle) {
            if (cycle > 400000) fail("it does not come to rest");
            step(false);
            // The bus works through the inputs, or the queues through what they hold.
            bool busy = dut.s_axis_tvalid || dut.status_decided || before != ledger.inside.size();
            for (auto& waiting : queue) busy = busy || !waiting.empty();
            before = ledger.inside.size();
            quiet = busy ? 0 : quiet + 1;
        }
    }

    void expect(const char* what, uint64_t got, uint64_t least, uint64_t most) {
        if (got < least || got > most)
            fail(std::string(what) + " is " + std::to_string(got) + ", expected " + std::to_string(least) + " to "
                 + std::to_string(most));
    }

    void judge() {
        auto& dut = device.settle();
        for (auto& rest : arriving)
            if (!rest.empty()) fail("a packet stopped in the middle");
        uint64_t dropped = sum(dut.count_dropped) + dut.count_no_memory;
        expect("dropped", dropped, ledger.inside.size(), ledger.inside.size());
        expect("discarded", dut.count_discarded, bad, bad);
        expect("unrouted", dut.count_unrouted, nowhere, nowhere);
        expect("no_memory", dut.count_no_memory, 0, 0);
        // A header that was cut or turned round may have been dropped at last.
        expect("trimmed", sum(dut.count_trimmed), ledger.cut, ledger.cut + dropped);
        expect("cut_bytes", sum(dut.count_cut_bytes), ledger.cut_bytes, dropped ? ~0ull : ledger.cut_bytes);
        expect("returned", sum(dut.count_returned), ledger.back, returns ? ledger.back + dropped : 0);
        expect("free cells", dut.status_free_cells, CELLS, CELLS);
        for (int port = 0; port < PORTS; ++port) {
            expect("data packets", field(dut.status_data_packets, port, PACKETS_W), 0, 0);
            expect("data bytes", field(dut.status_data_bytes, port, SIZE_W), 0, 0);
            expect("header packets", field(dut.status_header_packets, port, PACKETS_W), 0, 0);
            expect("header bytes", field(dut.status_header_bytes, port, SIZE_W), 0, 0);
        }
    }
};

}  // namespace

int main(int argc, char** argv) {
    if (argc != 3) fail("usage: stress FIRST_SEED RUNS");
    uint64_t first = std::strtoull(argv[1], nullptr, 10), runs = std::strtoull(argv[2], nullptr, 10);
    uint64_t packets = 0, cut = 0, back = 0, dropped = 0;
    for (uint64_t seed = first; seed < first + runs; ++seed) {
        doing = "seed " + std::to_string(seed) + ": ";
        Run run(seed);
        // What is inside at a reset is forgotten.
        run.begin();
        for (int cycle = 0; cycle < 1500; ++cycle) run.step(true);
        run.begin();
        for (int cycle = 0; cycle < 12000; ++cycle) run.step(true);
        run.settle_down();
        run.judge();
        packets += run.ledger.entered;
        cut += run.ledger.cut;
        back += run.ledger.back;
        dropped += run.ledger.inside.size();
    }
    if (runs >= 8 && (cut == 0 || back == 0 || dropped == 0)) fail("the traffic does not reach what it is for");
    std::printf("%llu packets in %llu runs: %llu trimmed, %llu returned, %llu dropped, none lost (DATA_W = %d)\n",
                (unsigned long long)packets, (unsigned long long)runs, (unsigned long long)cut,
                (unsigned long long)back, (unsigned long long)dropped, DATA_W);
}
