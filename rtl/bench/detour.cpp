// Runs expanded vectors of detours (`cargo xtask vectors --expand FOLDER`) on the decision of a detour.
//
//   detour FILE...
//   detour --register PACKETS
//
// The bench has the queues: it counts the packets that each port was given, and reports the length when a packet begins to
// leave. With --register, packets follow each other without a cycle between them, places are drawn by the shift register, and
// each port must be the one that a model of Algorithm 1 with a model of the register gives.

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "Vdetour.h"
#include "verilated.h"

namespace {

constexpr int PORTS = 8;
constexpr int LENGTH_W = 16;
constexpr int COUNT_W = 32;
constexpr int LATENCY = 5;
constexpr size_t DSCP_AT = 15;
constexpr size_t TTL_AT = 22;

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::exit(1);
}

// Verilator keeps a signal of any width little-endian.
template <typename Signal> uint64_t field(const Signal& signal, int index, int width) {
    const uint8_t* bytes = reinterpret_cast<const uint8_t*>(&signal);
    uint64_t value = 0;
    for (int byte = 0; byte < width / 8; ++byte) value |= uint64_t(bytes[index * width / 8 + byte]) << (8 * byte);
    return value;
}

struct Packet {
    int input = 0, own = 0;
    uint8_t dscp = 0, ttl = 0;
    bool is_ip = true;
};

struct Device {
    VerilatedContext context;
    std::unique_ptr<Vdetour> dut;

    Device() {
        context.randReset(2);
        context.randSeed(1);
        dut.reset(new Vdetour(&context));
        dut->clk = dut->valid = dut->leaves = 0;
        dut->cfg_seed = 1;
    }

    void tick() {
        dut->clk = 1;
        dut->eval();
        dut->clk = 0;
        dut->eval();
    }

    void reset() {
        dut->rst = 1;
        for (int i = 0; i < 2 * LATENCY; ++i) tick();
        dut->rst = 0;
        dut->eval();
    }

    void offer(const Packet& packet) {
        dut->valid = 1;
        dut->is_ip = packet.is_ip;
        dut->dscp = packet.dscp;
        dut->ttl = packet.ttl;
        dut->input_port = packet.input;
        dut->port = packet.own;
    }

    void leave(int port, uint64_t length) {
        dut->leaves = 1 << port;
        uint8_t* bytes = reinterpret_cast<uint8_t*>(&dut->leaves_length);
        bytes[2 * port] = uint8_t(length);
        bytes[2 * port + 1] = uint8_t(length >> 8);
        tick();
        dut->leaves = 0;
        dut->eval();
    }

    uint64_t length(int port) { return field(dut->status_length, port, LENGTH_W); }
    uint64_t detoured(int port) { return field(dut->count_detoured, port, COUNT_W); }
};

void configure(Device& device, std::istringstream& words, const std::string& where) {
    std::string pair;
    while (words >> pair) {
        size_t equals = pair.find('=');
        std::string key = pair.substr(0, equals);
        uint64_t value = std::stoull(pair.substr(equals + 1));
        if (key == "threshold") device.dut->cfg_threshold = value;
        else if (key == "limit") device.dut->cfg_limit = value;
        else if (key == "max_ttl") device.dut->cfg_max_ttl = value;
        else if (key == "targets") device.dut->cfg_targets = value;
        else if (key == "unscheduled") device.dut->cfg_unscheduled = value;
        else fail(where + ": unknown setting " + key);
    }
}

// A switch that a vector drives: the decision, and the number of packets at each port.
struct Run {
    Device device;
    std::string where;
    std::deque<uint64_t> places;
    uint64_t places_of = 0;
    std::array<uint64_t, PORTS> packets{};
    std::array<bool, PORTS> on_wire{};

    int arrive(const Packet& packet) {
        auto& dut = *device.dut;
        device.offer(packet);
        for (int cycle = 0; cycle < LATENCY; ++cycle) {
            dut.draw_first = places.size() > 0 ? places[0] : 0;
            dut.draw_second = places.size() > 1 ? places[1] : 0;
            dut.eval();
            if (dut.out_valid) fail(where + ": a packet that did not come");
            if (dut.status_draws) {
                if (places.size() < 2) fail(where + ": a draw that the vector does not lay out");
                if (dut.status_candidates != places_of)
                    fail(where + ": a draw of " + std::to_string(dut.status_candidates) + ", not of " + std::to_string(places_of));
                if (places[0] >= places_of || places[1] >= places_of) fail(where + ": there is no such place");
                places.pop_front();
                places.pop_front();
            }
            device.tick();
            dut.valid = 0;
        }
        dut.eval();
        if (!dut.out_valid) fail(where + ": a packet that came is lost");
        int port = dut.out_port;
        if (dut.out_detoured != (port != packet.own)) fail(where + ": detoured and not by another port");
        if (!places.empty()) fail(where + ": " + std::to_string(places.size()) + " draws were not drawn");
        device.tick();
        ++packets[port];
        return port;
    }

    // The packet on the wire has left; the next one begins to leave.
    void serve(int port) {
        if (on_wire[port]) --packets[port];
        on_wire[port] = packets[port] > 0;
        if (on_wire[port]) device.leave(port, packets[port]);
    }

    void run(const std::string& file) {
        std::ifstream input(file);
        if (!input) fail(file + ": cannot be read");
        device.dut->cfg_draws_given = 1;
        std::string line;
        int way = -1;
        for (int number = 1; std::getline(input, line); ++number) {
            where = file + ":" + std::to_string(number);
            std::istringstream words(line);
            std::string verb;
            words >> verb;
            uint64_t port = 0, count = 0;
            if (verb == "config") {
                configure(device, words, where);
                device.reset();
            } else if (verb == "length") {
                words >> port >> count;
                device.leave(int(port), count);
            } else if (verb == "draw") {
                words >> places_of;
                while (words >> count) places.push_back(count);
            } else if (verb == "packet") {
                if (way >= 0) fail(where + ": the packet before left by port " + std::to_string(way));
                std::string text;
                Packet packet;
                words >> packet.input >> packet.own >> text;
                auto byte = [&](size_t at) { return uint8_t(std::stoul(text.substr(2 * at, 2), nullptr, 16)); };
                packet.dscp = uint8_t(byte(DSCP_AT) >> 2);
                packet.ttl = byte(TTL_AT);
                way = arrive(packet);
            } else if (verb == "expect") {
                words >> port;
                if (way != int(port)) fail(where + ": expected port " + std::to_string(port) + ", not " + std::to_string(way));
                way = -1;
            } else if (verb == "serve") {
                words >> port >> count;
                while (count-- > 0) serve(int(port));
            } else if (verb == "seen") {
                words >> port >> count;
                if (device.length(int(port)) != count)
                    fail(where + ": port " + std::to_string(port) + " is seen to hold " + std::to_string(device.length(int(port))));
            } else if (verb == "detoured") {
                words >> port >> count;
                if (device.detoured(int(port)) != count)
                    fail(where + ": " + std::to_string(device.detoured(int(port))) + " were detoured from port " + std::to_string(port));
            } else {
                fail(where + ": expected a command, not " + verb);
            }
        }
        if (way >= 0 || !places.empty()) fail(where + ": something is left that the vector does not expect");
    }
};

struct Xorshift {
    uint32_t bits = 1;
    // Two places among `count`.
    std::pair<uint32_t, uint32_t> draw(uint32_t count) {
        std::pair<uint32_t, uint32_t> places((bits >> 16) * count >> 16, (bits & 0xffff) * count >> 16);
        bits ^= bits << 13;
        bits ^= bits >> 17;
        bits ^= bits << 5;
        return places;
    }
};

// Random packets without gaps; the lengths change between bursts.
void compare(uint64_t wanted) {
    Device device;
    auto& dut = *device.dut;
    dut.cfg_draws_given = 0;
    dut.cfg_threshold = 8;
    dut.cfg_limit = 2;
    dut.cfg_max_ttl = 64;
    dut.cfg_unscheduled = 1ull << 3 | 1ull << 5;
    dut.cfg_targets = 0x7d;
    device.reset();
    Xorshift model;
    uint64_t random = 20241016, sent = 0;
    auto below = [&](uint64_t bound) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        return random % bound;
    };
    std::array<uint64_t, PORTS> length{}, detoured{};
    // Of packets from port 1 to port 7, how many drew each port first: no candidate is preferred.
    std::array<uint64_t, PORTS> first_of{};
    uint64_t firsts = 0, all = 0;
    while (sent < wanted) {
        for (int port = 0; port < PORTS; ++port) device.leave(port, length[port] = below(20));
        std::deque<std::pair<int, bool>> expected;
        uint64_t burst = 1 + below(40);
        for (uint64_t cycle = 0; cycle < burst + LATENCY; ++cycle) {
            dut.valid = 0;
            if (cycle < burst) {
                Packet packet;
                packet.is_ip = below(16) != 0;
                packet.dscp = uint8_t(below(2) ? 3 + 2 * below(2) : below(64));
                packet.ttl = uint8_t(62 + below(4));
                packet.input = int(below(PORTS));
                packet.own = int(below(PORTS));
                device.offer(packet);
                std::vector<int> candidates;
                for (int port = 0; port < PORTS; ++port)
                    if ((0x7d >> port & 1) && port != packet.input && port != packet.own) candidates.push_back(port);
                bool is_marked = packet.is_ip && (packet.dscp == 3 || packet.dscp == 5);
                bool is_young = packet.ttl == 63 || packet.ttl == 64;
                bool detours = is_marked && is_young && length[packet.own] > 8 && !candidates.empty();
                int port = packet.own;
                if (detours) {
                    auto [first, second] = model.draw(uint32_t(candidates.size()));
                    int one = candidates[first], two = candidates[second];
                    port = length[two] < length[one] ? two : one;
                    ++detoured[packet.own];
                    ++all;
                    if (packet.input == 1 && packet.own == 7) ++first_of[one], ++firsts;
                }
                expected.push_back({port, detours});
            }
            dut.eval();
            // What comes in this cycle leaves five cycles later.
            bool is_due = cycle >= LATENCY;
            if (bool(dut.out_valid) != is_due) fail("a packet is lost, or there is one too many");
            if (is_due) {
                auto [port, detours] = expected.front();
                expected.pop_front();
                if (dut.out_port != port || dut.out_detoured != detours)
                    fail("port " + std::to_string(dut.out_port) + ", not " + std::to_string(port));
            }
            device.tick();
        }
        sent += burst;
    }
    for (int port = 0; port < PORTS; ++port)
        if (device.detoured(port) != detoured[port]) fail("detours of port " + std::to_string(port) + " are counted wrongly");
    int candidates = 0;
    for (int port = 0; port < PORTS; ++port) candidates += first_of[port] > 0;
    for (int port = 0; port < PORTS; ++port) {
        double share = double(first_of[port]) * candidates / double(firsts);
        if (first_of[port] > 0 && (share < 0.8 || share > 1.25)) fail("port " + std::to_string(port) + " is preferred or avoided");
    }
    if (candidates != 6 || all < wanted / 20) fail("too few detours to say anything");
    std::printf("%llu packets without gaps: %llu detours are those of Algorithm 1 and the register\n", (unsigned long long)sent,
                (unsigned long long)all);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::string(argv[1]) == "--register") {
        compare(std::strtoull(argv[2], nullptr, 10));
        return 0;
    }
    for (int i = 1; i < argc; ++i) Run().run(argv[i]);
    std::printf("%d vectors of detours hold on the RTL\n", argc - 1);
}
