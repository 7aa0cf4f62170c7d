// Throughput of the switch between four links of 10 Gb/s, cycle by cycle: experiments/ndp-evaluation/fig01.
//
//   fig01 FILE.csv [--all | --sizes FIRST LAST] [--clock MHZ]
//
// Time is counted in bytes of a link times the clock in MHz: a cycle is 1250 of them, a byte `clock`. So all
// comparisons are exact.

#include <deque>
#include <numeric>

#include "switch.h"

namespace {

constexpr int64_t CYCLE = 1250;
// Frame check sequence, preamble, gap.
constexpr int OVERHEAD = 24;
constexpr int PREAMBLE = 8;
constexpr int TRIMMED = 60;

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

uint64_t scramble(uint64_t word) {
    word += 0x9e3779b97f4a7c15ull;
    word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ull;
    word = (word ^ word >> 27) * 0x94d049bb133111ebull;
    return word ^ word >> 31;
}

int draw(const Mix& mix, int port, uint64_t number) {
    int at = int(scramble(number * PORTS + uint64_t(port)) % 1000);
    for (auto [size, share] : mix.shares) {
        if (at < share) return size;
        at -= share;
    }
    return mix.shares.back().first;
}

// A TRIMMABLE packet: UDP over IPv4. The checksum of IP is the switch's to keep, not to check.
Bytes frame(int size, int from, int to, uint32_t number) {
    Bytes bytes(size, 0);
    bytes[0] = bytes[6] = 2;
    bytes[5] = uint8_t(to);
    bytes[11] = uint8_t(from);
    bytes[12] = 8;
    bytes[14] = 0x45;
    bytes[15] = 10 << 2;
    bytes[16] = uint8_t((size - 14) >> 8);
    bytes[17] = uint8_t(size - 14);
    bytes[20] = 0x40;
    bytes[22] = 64;
    bytes[23] = 17;
    bytes[26] = bytes[30] = 10;
    bytes[28] = uint8_t(from);
    bytes[32] = uint8_t(to);
    bytes[29] = bytes[33] = 1;
    std::memcpy(&bytes[50], &number, 4);
    return bytes;
}

// The receiving side of a link: beats become available as their bytes arrive.
struct Source {
    int64_t begin = 0;    // of the packet that is arriving, in link time
    uint64_t number = 0;
    Bytes packet;
    size_t at = 0;        // next beat to be handed over
    std::deque<Bytes> backlog;
    uint64_t sent = 0, lost = 0, waited = 0;
};

// The sending side: room for two packets of the greatest length, whole packets back to back.
struct Sink {
    int64_t room = 2 * 9216;
    int64_t free_at = 0;
    std::deque<std::pair<int64_t, int>> leaving;
    int bytes = 0;
    uint64_t packets = 0, whole = 0;
};

struct Result {
    uint64_t decided = 0, cycles = 0;
    bool gaps_exact = true;
    uint64_t waited = 0, lost = 0, sent = 0, unaccounted = 0;
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
            int length = mix ? draw(*mix, port, source.number) : size;
            if (!more || source.begin + int64_t(PREAMBLE) * clock > now) break;
            ++source.sent;
            if (source.backlog.size() < 2)
                source.backlog.push_back(frame(length, port, target(port), uint32_t(source.number)));
            else
                ++source.lost;
            starts[port].push_back(source.begin);
            if (source.backlog.size() == 2 && starts[port].size() > source.backlog.size()) starts[port].pop_back();
            ++source.number;
            source.begin += int64_t(length + OVERHEAD) * clock;
        }
        device.idle(port);
        if (source.backlog.empty()) return;
        const Bytes& packet = source.backlog.front();
        int64_t end = int64_t(std::min(source.at + BYTES, packet.size()));
        if (starts[port].front() + (PREAMBLE + end) * clock <= now) device.offer(port, packet, source.at);
    }

    std::array<std::deque<int64_t>, PORTS> starts;

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
                    if (source.at >= source.backlog.front().size()) {
                        source.backlog.pop_front();
                        starts[port].pop_front();
                        source.at = 0;
                    }
                } else {
                    ++source.waited;
                }
            }
            Sink& sink = sinks[port];
            if (device.is_valid(port) && (dut.m_axis_tready >> port & 1)) {
                int length = int(device.beat(port).size());
                sink.bytes += length;
                sink.room -= length;
                if (device.is_last(port)) {
                    sink.free_at = std::max(sink.free_at, now) + int64_t(sink.bytes + OVERHEAD) * clock;
                    sink.leaving.push_back({sink.free_at, sink.bytes});
                    sink.packets += 1;
                    sink.whole += sink.bytes > TRIMMED ? 1 : 0;
                    sink.bytes = 0;
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
        for (int64_t cycle = 0; cycle < warm_up; ++cycle) step(true);
        auto sum = [&](auto what) {
            uint64_t total = 0;
            for (auto& source : sources) total += what(source);
            return total;
        };
        auto waited = [](Source& source) { return source.waited; };
        auto lost = [](Source& source) { return source.lost; };
        uint64_t waited_before = sum(waited), lost_before = sum(lost);
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
        // The links fall silent; what is inside comes out.
        for (int idle = 0; idle < 3000;) {
            uint64_t before = 0, after = 0;
            for (auto& sink : sinks) before += sink.packets;
            step(false);
            for (auto& sink : sinks) after += sink.packets;
            idle = before == after ? idle + 1 : 0;
        }
        uint64_t trimmed = 0;
        for (int port = 0; port < PORTS; ++port) trimmed += field(device.dut->count_trimmed, port, COUNT_W);
        uint64_t out = dropped();
        for (auto& sink : sinks) out += sink.packets;
        result.sent = sum([](Source& source) { return source.sent; });
        uint64_t into = result.sent - sum(lost);
        result.unaccounted = into > out ? into - out : out - into;
        result.as_mode_says = mode == Mode::Mixed || trimmed == (mode == Mode::Trimmed ? into : 0);
        return result;
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
        // Exactly: decided / cycles = 4 * 1250 / (clock * (S + 24)), or 1 / N and no cycle more between any two.
        holds = result.unaccounted == 0 && result.as_mode_says
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
        std::fprintf(stderr, "%d MHz, %s, %s: %llu packets in %llu cycles, %llu waited, %llu lost of %llu, %llu unaccounted%s\n",
                     clock, name_of(mode), what.c_str(), (unsigned long long)result.decided,
                     (unsigned long long)result.cycles, (unsigned long long)result.waited,
                     (unsigned long long)result.lost, (unsigned long long)result.sent,
                     (unsigned long long)result.unaccounted, bus ? ", bus" : "");
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::vector<int> sizes = {64, 65, 96, 97, 128, 129, 160, 161, 192, 193, 224, 225, 256, 257, 384, 385,
                              512, 513, 768, 769, 1024, 1025, 1514, 9000};
    std::vector<int> clocks = {150, 180, 200};
    if (argc < 2) fail("usage: fig01 FILE.csv [--all | --sizes FIRST LAST] [--clock MHZ]");
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
