// Throughput of the switch between four links of 10 Gb/s, cycle by cycle: experiments/ndp-evaluation/fig01.
//
//   fig01 FILE.csv [--all | --sizes FIRST LAST] [--clock MHZ]
//   fig01 --drain
//
// Time is counted in bytes of a link times the clock in MHz: a cycle is 1250 of them, a byte `clock`. So all
// comparisons are exact.

#include <deque>
#include <numeric>

#include "traffic.h"

namespace {

constexpr int64_t CYCLE = 1250;
// Frame check sequence, preamble, gap.
constexpr int OVERHEAD = 24;
constexpr int PREAMBLE = 8;

enum class Mode { Untrimmed, Trimmed, Mixed };
const char* name_of(Mode mode) {
    return mode == Mode::Untrimmed ? "untrimmed" : mode == Mode::Trimmed ? "trimmed" : "mixed";
}

// Sizes with their share in a thousand packets.
struct Mix {
    const char* name;
    std::vector<std::pair<int, int>> shares;
};
const std::vector<Mix> MIXES = {
    {"hadoop", {{62, 450}, {66, 30}, {300, 20}, {1514, 500}}},
    {"cache", {{62, 200}, {97, 170}, {129, 180}, {180, 150}, {257, 120}, {513, 70}, {1025, 40}, {1514, 70}}},
    {"web", {{62, 230}, {65, 120}, {97, 120}, {161, 130}, {225, 150}, {385, 100}, {769, 60}, {1514, 90}}},
    {"jumbo", {{62, 500}, {1514, 100}, {9000, 400}}},
};

int draw(const Mix& mix, int port, uint64_t number) {
    int at = int(scramble(number * PORTS + uint64_t(port)) % 1000);
    for (auto [size, share] : mix.shares) {
        if (at < share) return size;
        at -= share;
    }
    return mix.shares.back().first;
}

// A packet that is on its way in, and when it began, in link time.
struct Arriving {
    int64_t begin;
    Bytes frame;
};

// The receiving side of a link: beats become available as their bytes arrive.
struct Source {
    int64_t begin = 0;    // of the next packet, in link time
    uint64_t number = 0;
    size_t at = 0;        // next beat to be handed over
    std::deque<Arriving> backlog;
    uint64_t sent = 0, lost = 0, waited = 0;
};

// The sending side: room for two packets of the greatest length, whole packets back to back.
struct Sink {
    int64_t room = 2 * 9216;
    int64_t free_at = 0;
    std::deque<std::pair<int64_t, int>> leaving;
    Bytes packet;
    // Link time without a packet on the link.
    int64_t idle = 0;
};

struct Result {
    uint64_t decided = 0, cycles = 0;
    bool gaps_exact = true;
    uint64_t waited = 0, lost = 0, sent = 0, unaccounted = 0;
    // Of the links out that are offered all they can carry, or more.
    int64_t idle = 0;
    // Packets inside at the end of the window and not at its beginning.
    int64_t grown = 0;
    // Trimmed packets are none, all, or any.
    bool as_mode_says = true;
};

int64_t beats_of(int size) { return (size + BYTES - 1) / BYTES; }

struct Bench {
    Switch device;
    int clock;
    Mode mode;
    const Mix* mix;
    int size;
    std::array<Source, PORTS> sources;
    std::array<Sink, PORTS> sinks;
    Ledger ledger;
    int64_t now = 0;

    Bench(int clock, Mode mode, const Mix* mix, int size) : clock(clock), mode(mode), mix(mix), size(size) {
        auto& dut = *device.dut;
        // None is trimmed where none should be: behind a jumbo packet many small ones wait.
        dut.cfg_data_packets = mode == Mode::Trimmed ? 0 : mode == Mode::Mixed ? 8 : 250;
        dut.cfg_data_bytes = (1 << SIZE_W) - 1;
        dut.cfg_header_bytes = 12000;
        dut.cfg_ratio = 10;
        dut.cfg_strict = 0;
        dut.cfg_return = 1;
        dut.cfg_coin = 1;
        dut.cfg_seed = 0xace1;
        device.reset();
        // The links are not in step.
        for (int port = 0; port < PORTS; ++port) sources[port].begin = int64_t(port) * 37 * clock;
    }

    int target(int port) { return mode == Mode::Mixed ? 2 + port % 2 : (port + 1) % PORTS; }

    void arrive(int port, bool more) {
        Source& source = sources[port];
        // Packets that are complete on the link by now go into the backlog of the link, or are lost.
        for (;;) {
            if (!more || source.begin + int64_t(PREAMBLE) * clock > now) break;
            int length = mix ? draw(*mix, port, source.number) : size;
            ++source.sent;
            if (source.backlog.size() < 2) {
                uint32_t id = uint32_t(source.number * PORTS) + uint32_t(port);
                source.backlog.push_back({source.begin, make_frame(Kind::Trimmable, length, port, target(port), id)});
                ledger.enter(id, Kind::Trimmable, length, port, target(port));
            } else {
                ++source.lost;
            }
            ++source.number;
            source.begin += int64_t(length + OVERHEAD) * clock;
        }
        device.idle(port);
        if (source.backlog.empty()) return;
        const Arriving& first = source.backlog.front();
        int64_t end = int64_t(std::min(source.at + BYTES, first.frame.size()));
        if (first.begin + (PREAMBLE + end) * clock <= now) device.offer(port, first.frame, source.at);
    }

    uint64_t dropped() {
        auto& dut = *device.dut;
        uint64_t sum = dut.count_no_memory + dut.count_discarded + dut.count_unrouted;
        for (int port = 0; port < PORTS; ++port) sum += field(dut.count_dropped, port, COUNT_W);
        return sum;
    }

    // One cycle. Gives whether a packet was decided on.
    bool step(bool more) {
        auto& dut = *device.dut;
        for (int port = 0; port < PORTS; ++port) {
            arrive(port, more);
            Sink& sink = sinks[port];
            while (!sink.leaving.empty() && sink.leaving.front().first <= now) {
                sink.room += sink.leaving.front().second;
                sink.leaving.pop_front();
            }
            uint8_t mask = uint8_t(1 << port);
            dut.m_axis_tready = sink.room >= BYTES ? dut.m_axis_tready | mask : dut.m_axis_tready & ~mask;
        }
        device.settle();
        bool decided = dut.status_decided;
        for (int port = 0; port < PORTS; ++port) {
            Source& source = sources[port];
            if (dut.s_axis_tvalid >> port & 1) {
                if (dut.s_axis_tready >> port & 1) {
                    source.at += BYTES;
                    if (source.at >= source.backlog.front().frame.size()) {
                        source.backlog.pop_front();
                        source.at = 0;
                    }
                } else {
                    ++source.waited;
                }
            }
            Sink& sink = sinks[port];
            if (device.is_valid(port) && (dut.m_axis_tready >> port & 1)) {
                int length = device.beat_size(port);
                sink.packet.insert(sink.packet.end(), device.beat_data(port), device.beat_data(port) + length);
                sink.room -= length;
                if (device.is_last(port)) {
                    int bytes = int(sink.packet.size());
                    sink.idle += std::max<int64_t>(now - sink.free_at, 0);
                    sink.free_at = std::max(sink.free_at, now) + int64_t(bytes + OVERHEAD) * clock;
                    sink.leaving.push_back({sink.free_at, bytes});
                    ledger.leave(port, sink.packet);
                    sink.packet.clear();
                }
            }
        }
        device.tick();
        now += CYCLE;
        return decided;
    }

    // Warm-up, then as many cycles as hold a whole number of packets of each link.
    Result run() {
        Result result;
        int64_t period = size ? int64_t(size + OVERHEAD) * clock / std::gcd<int64_t>(size_t(size + OVERHEAD) * clock, CYCLE) : 20000;
        int64_t packet_cycles = size ? beats_of(size) : 0;
        int64_t warm_up = std::max<int64_t>(2500 + 8 * int64_t(size + OVERHEAD) * clock / CYCLE, 0);
        if (is_bus_bound()) warm_up += 40 * 16384 / BYTES;
        int64_t window = period;
        while (window < 2 * packet_cycles * PORTS * 8) window += period;
        if (is_bus_bound()) window = std::max<int64_t>(packet_cycles, 1) * 64;
        if (mix) window = 60000;
        // When no transient is left, once through all phases of the links against the clock: a link out that has waited for
        // the worst of them does not wait again.
        if (size) warm_up += std::min<int64_t>(period, 60000);
        for (int64_t cycle = 0; cycle < warm_up; ++cycle) step(true);
        auto sum = [&](auto what) {
            uint64_t total = 0;
            for (auto& source : sources) total += what(source);
            return total;
        };
        auto waited = [](Source& source) { return source.waited; };
        auto lost = [](Source& source) { return source.lost; };
        uint64_t waited_before = sum(waited), lost_before = sum(lost);
        int64_t idle_before = idle(), inside_before = int64_t(ledger.inside.size()) - int64_t(dropped());
        int64_t last = -1;
        for (int64_t cycle = 0; cycle < window; ++cycle) {
            if (step(true)) {
                ++result.decided;
                if (last >= 0 && cycle - last != packet_cycles) result.gaps_exact = false;
                last = cycle;
            }
        }
        result.cycles = uint64_t(window);
        result.waited = sum(waited) - waited_before;
        result.lost = sum(lost) - lost_before;
        result.idle = idle() - idle_before;
        result.grown = int64_t(ledger.inside.size()) - int64_t(dropped()) - inside_before;
        // The links fall silent; what is inside comes out.
        for (int still = 0; still < 3000;) {
            size_t before = ledger.inside.size();
            step(false);
            still = before == ledger.inside.size() ? still + 1 : 0;
        }
        result.sent = sum([](Source& source) { return source.sent; });
        uint64_t missing = ledger.inside.size(), counted = dropped();
        result.unaccounted = missing > counted ? missing - counted : counted - missing;
        uint64_t trimmed = 0;
        for (int port = 0; port < PORTS; ++port) trimmed += field(device.dut->count_trimmed, port, COUNT_W);
        result.as_mode_says = mode == Mode::Mixed || trimmed == (mode == Mode::Trimmed ? ledger.entered : 0);
        return result;
    }

    // Link time that went by without a packet at the outputs that have always one to send.
    int64_t idle() {
        int64_t total = 0;
        for (int port = mode == Mode::Mixed ? 2 : 0; port < PORTS; ++port)
            total += sinks[port].idle + std::max<int64_t>(now - sinks[port].free_at, 0);
        return total;
    }

    // f / N is less than four links.
    bool is_bus_bound() { return size != 0 && int64_t(clock) * (size + OVERHEAD) < PORTS * CYCLE * beats_of(size); }
};

int failures = 0;

void measure(FILE* csv, int clock, Mode mode, const Mix* mix, int size) {
    Bench bench(clock, mode, mix, size);
    Result result = bench.run();
    bool bus = bench.is_bus_bound();
    bool holds;
    std::string what = mix ? mix->name : std::to_string(size);
    if (mix) {
        holds = result.unaccounted == 0 && result.as_mode_says && (clock < 180 || (result.lost == 0 && result.waited == 0));
        std::fprintf(csv, "%d,%s,%s,%llu,%llu,,,,%llu,%llu,%s\n", clock, name_of(mode), what.c_str(),
                     (unsigned long long)result.decided, (unsigned long long)result.cycles,
                     (unsigned long long)result.waited, (unsigned long long)result.lost, holds ? "yes" : "no");
    } else {
        int64_t beats = beats_of(size);
        // What comes in goes out: links out that are offered 100 % or more do not rest, and behind a bus that is the limit
        // nothing gathers.
        bool out = bus ? result.grown <= 2 * PORTS || mode == Mode::Mixed
            : mode == Mode::Trimmed || result.idle == 0;
        // Exactly: decided / cycles = 4 * 1250 / (clock * (S + 24)), or 1 / N and no cycle more between any two.
        holds = result.unaccounted == 0 && result.as_mode_says && out
            && (bus ? result.gaps_exact && result.decided * beats == result.cycles
                    : int64_t(result.decided) * clock * (size + OVERHEAD) == PORTS * CYCLE * int64_t(result.cycles)
                        && result.waited == 0 && result.lost == 0);
        double bar = bus ? double(clock) / double(beats) : PORTS * 1250.0 / (size + OVERHEAD);
        double authors = double(clock) / double(beats + (mode == Mode::Untrimmed ? 1 : 4));
        std::fprintf(csv, "%d,%s,%d,%llu,%llu,%.6f,%.6f,%.6f,%llu,%llu,%s\n", clock, name_of(mode), size,
                     (unsigned long long)result.decided, (unsigned long long)result.cycles,
                     double(result.decided) * clock / double(result.cycles), bar,
                     std::min(authors, PORTS * 1250.0 / (size + OVERHEAD)), (unsigned long long)result.waited,
                     (unsigned long long)result.lost, holds ? "yes" : "no");
    }
    if (!holds) {
        ++failures;
        std::fprintf(stderr, "%d MHz, %s, %s: %llu packets in %llu cycles, %llu waited, %llu lost of %llu, %llu unaccounted, "
                     "%lld idle, %lld gathered%s\n",
                     clock, name_of(mode), what.c_str(), (unsigned long long)result.decided,
                     (unsigned long long)result.cycles, (unsigned long long)result.waited,
                     (unsigned long long)result.lost, (unsigned long long)result.sent,
                     (unsigned long long)result.unaccounted, (long long)result.idle, (long long)result.grown,
                     bus ? ", bus" : "");
    }
}

// The way out alone: queues filled while the ports pause, then sinks that are always ready. Cycles from the first beat to
// the last beyond those in which the one memory must be read, which is one a beat.
int64_t drain(int size, int ports, int& packets) {
    Bench bench(200, Mode::Untrimmed, nullptr, size);
    auto& device = bench.device;
    auto& dut = *device.dut;
    packets = int(std::min<int64_t>(200, (CELLS - 4 * 144) / 4 / ((size + 63) / 64)));
    dut.m_pause = (1 << PORTS) - 1;
    uint32_t id = 0;
    for (int number = 0; number < packets; ++number)
        for (int to = 0; to < ports; ++to) {
            int from = (to + 1) % PORTS;
            bench.ledger.enter(++id, Kind::Trimmable, size, from, to);
            Bytes frame = make_frame(Kind::Trimmable, size, from, to, id);
            for (size_t at = 0; at < frame.size(); at += BYTES) {
                device.offer(from, frame, at);
                while (!(device.settle().s_axis_tready >> from & 1)) device.tick();
                device.tick();
            }
            device.idle(from);
        }
    for (int cycle = 0; cycle < 1000; ++cycle) device.tick();
    dut.m_pause = 0;
    dut.m_axis_tready = (1 << PORTS) - 1;
    std::array<Bytes, PORTS> arriving;
    int64_t first = -1, last = -1;
    for (int64_t cycle = 0; !bench.ledger.inside.empty(); ++cycle) {
        if (cycle > 10000000) fail("the way out does not come to its end");
        device.settle();
        for (int port = 0; port < PORTS; ++port) {
            if (!device.is_valid(port)) continue;
            if (first < 0) first = cycle;
            last = cycle;
            Bytes beat = device.beat(port);
            arriving[port].insert(arriving[port].end(), beat.begin(), beat.end());
            if (!device.is_last(port)) continue;
            bench.ledger.leave(port, arriving[port]);
            arriving[port].clear();
        }
        device.tick();
    }
    return last - first + 1 - beats_of(size) * packets * ports;
}

// The bar: four ports together, and one port alone, take one cycle a beat at every size, but for the first packets.
int drains() {
    int failures = 0;
    std::printf("size, beats, cycles a packet beyond its beats: four ports, one port (DATA_W = %d)\n", DATA_W);
    for (int size : {64, 65, 97, 129, 193, 257, 513, 1025, 1514, 9000}) {
        int packets = 0;
        int64_t four = drain(size, PORTS, packets), one = drain(size, 1, packets);
        std::printf("%5d %4d %8.3f %8.3f\n", size, int(beats_of(size)), double(four) / (packets * PORTS),
                    double(one) / packets);
        if (four > 16 || one > 16) ++failures;
    }
    return failures;
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<int> sizes = {64, 65, 96, 97, 128, 129, 160, 161, 192, 193, 224, 225, 256, 257, 384, 385,
                              512, 513, 768, 769, 1024, 1025, 1514, 9000};
    std::vector<int> clocks = {150, 180, 200};
    if (argc < 2) fail("usage: fig01 FILE.csv [--all | --sizes FIRST LAST] [--clock MHZ] or fig01 --drain");
    if (std::string(argv[1]) == "--drain") return drains() != 0;
    for (int i = 2; i < argc; ++i) {
        std::string option = argv[i];
        if (option == "--all") {
            sizes.resize(1600 - 64 + 1);
            std::iota(sizes.begin(), sizes.end(), 64);
            sizes.push_back(9000);
        } else if (option == "--sizes" && i + 2 < argc) {
            int first = std::atoi(argv[i + 1]), end = std::atoi(argv[i + 2]);
            sizes.resize(size_t(end - first + 1));
            std::iota(sizes.begin(), sizes.end(), first);
            i += 2;
        } else if (option == "--clock" && i + 1 < argc) {
            clocks = {std::atoi(argv[++i])};
        } else {
            fail("what is " + option + "?");
        }
    }
    FILE* csv = std::fopen(argv[1], "w");
    if (!csv) fail(std::string(argv[1]) + ": cannot be written");
    std::fprintf(csv, "clock_mhz,mode,size_bytes,packets,cycles,mpps,bar_mpps,authors_mpps,waited_cycles,lost_packets,holds\n");
    int runs = 0;
    for (int clock : clocks) {
        for (Mode mode : {Mode::Untrimmed, Mode::Trimmed, Mode::Mixed}) {
            for (int size : sizes) measure(csv, clock, mode, nullptr, size), ++runs;
            for (const Mix& mix : MIXES) measure(csv, clock, mode, &mix, 0), ++runs;
        }
    }
    std::fclose(csv);
    std::printf("%d of %d throughputs are exactly the bar\n", runs - failures, runs);
    return failures != 0;
}
