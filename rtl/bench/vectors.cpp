// Runs expanded vectors (`cargo xtask vectors --expand FOLDER`) on the switch.
//
//   vectors [--jitter SEED] FILE...
//   vectors --register FILE...
//
// What a vector calls serving is a link that becomes free: the last beat of the packet on the wire is accepted, the
// port may begin one packet, and that one's last beat is held until the next time. With --jitter, beats arrive with
// gaps and are accepted with gaps; nothing may change.
//
// Vectors lay out their coins. With --register each runs twice, with the coins of a model of the switch's own shift register
// and with that register, and all that leaves must be the same.

#include <deque>
#include <fstream>
#include <map>
#include <sstream>

#include "switch.h"

namespace {

Bytes from_hex(const std::string& text) {
    Bytes bytes;
    for (size_t at = 0; at + 1 < text.size(); at += 2)
        bytes.push_back(uint8_t(std::stoul(text.substr(at, 2), nullptr, 16)));
    return bytes;
}

std::string to_hex(const Bytes& bytes) {
    std::string text;
    char two[3];
    for (uint8_t byte : bytes) {
        std::snprintf(two, sizeof two, "%02x", byte);
        text += two;
    }
    return text;
}

// x^16 + x^15 + x^13 + x^4 + 1: the bit that goes in is the next coin.
struct Register {
    uint16_t bits;
    bool coin() const { return bits & 1; }
    void step() { bits = uint16_t(bits << 1 | ((bits >> 15 ^ bits >> 14 ^ bits >> 12 ^ bits >> 3) & 1)); }
};

enum class Coins { Vector, Model, Own };

struct Run {
    std::string where;
    Coins source = Coins::Vector;
    Register model{1};
    Switch device;
    std::deque<bool> coins;
    std::array<std::deque<Bytes>, PORTS> left;
    uint64_t jitter;

    explicit Run(uint64_t seed, Coins source = Coins::Vector) : source(source), jitter(seed) {}

    bool gap() {
        if (jitter == 0) return false;
        jitter ^= jitter << 13;
        jitter ^= jitter >> 7;
        jitter ^= jitter << 17;
        return jitter % 3 == 0;
    }

    void tick() {
        auto& dut = *device.dut;
        dut.coin = source == Coins::Model ? model.coin() : !coins.empty() && coins.front();
        if (device.settle().status_coin && !dut.rst) {
            if (source != Coins::Vector) {
                device.tick();
                model.step();
                return;
            }
            if (coins.empty()) fail(where + ": a coin was drawn that the vector does not lay out");
            device.tick();
            coins.pop_front();
            return;
        }
        device.tick();
    }

    void configure(std::istringstream& words) {
        auto& dut = *device.dut;
        std::string pair;
        while (words >> pair) {
            size_t equals = pair.find('=');
            std::string key = pair.substr(0, equals);
            uint64_t value = std::stoull(pair.substr(equals + 1));
            if (key == "data_packets") dut.cfg_data_packets = value;
            else if (key == "data_bytes") dut.cfg_data_bytes = value;
            else if (key == "header_bytes") dut.cfg_header_bytes = value;
            else if (key == "ratio") dut.cfg_ratio = value;
            else if (key == "strict") dut.cfg_strict = value;
            else if (key == "return") dut.cfg_return = value;
            else if (key == "coin") dut.cfg_coin = value == 2 && source == Coins::Own ? 1 : value;
            else if (key == "ndp") {
                if (int(value) != NDP) fail(where + ": this switch was built with NDP = " + std::to_string(NDP));
            } else fail(where + ": unknown register " + key);
        }
        dut.cfg_seed = 1;
        dut.m_pause = (1 << PORTS) - 1;
        device.reset();
    }

    void arrive(int port, const Bytes& frame) {
        for (size_t at = 0; at < frame.size();) {
            if (gap()) {
                device.idle(port);
                tick();
                continue;
            }
            device.offer(port, frame, at);
            bool accepted = device.settle().s_axis_tready >> port & 1;
            tick();
            if (accepted) at += BYTES;
        }
        device.idle(port);
        // Through the arbiter, over the bus, to the decision.
        for (size_t cycles = frame.size() / BYTES + 24; cycles > 0; --cycles) tick();
    }

    void serve(int port) {
        auto& dut = *device.dut;
        uint8_t mask = uint8_t(1 << port);
        if (device.settle(), device.is_valid(port)) {
            if (!device.is_last(port)) fail(where + ": a packet on the wire is not at its last beat");
            dut.m_axis_tready |= mask;
            tick();
            dut.m_axis_tready &= ~mask;
        }
        // A port may choose its next packet before the last has left; here it may when told to, once.
        dut.m_pause &= ~mask;
        tick();
        dut.m_pause |= mask;
        int rounds = 32;
        while (device.settle(), !device.is_valid(port) && rounds > 0) {
            tick();
            --rounds;
        }
        if (rounds == 0) return;
        Bytes packet;
        for (int beats = 0;; ++beats) {
            for (rounds = 64; device.settle(), !device.is_valid(port); --rounds) {
                if (rounds == 0) fail(where + ": a packet that began does not go on");
                tick();
            }
            if (gap()) {
                tick();
                continue;
            }
            Bytes beat = device.beat(port);
            packet.insert(packet.end(), beat.begin(), beat.end());
            if (device.is_last(port)) break;
            dut.m_axis_tready |= mask;
            tick();
            dut.m_axis_tready &= ~mask;
        }
        left[port].push_back(packet);
    }

    uint64_t count(const std::string& name) {
        auto& dut = device.settle();
        uint64_t sum = 0;
        if (name == "coins") return dut.count_coins;
        for (int port = 0; port < PORTS; ++port) {
            if (name == "trimmed") sum += field(dut.count_trimmed, port, COUNT_W);
            else if (name == "cut_bytes") sum += field(dut.count_cut_bytes, port, COUNT_W);
            else if (name == "returned") sum += field(dut.count_returned, port, COUNT_W);
            else if (name == "dropped") sum += field(dut.count_dropped, port, COUNT_W);
            else if (name != "notified") {
                int wanted = std::stoi(name);
                std::string what = name.substr(name.find('.') + 1);
                // One queue: headers wait where everything waits.
                bool data = what.rfind("data", 0) == 0 || NDP == 0;
                bool packets = what.find("packets") != std::string::npos;
                if (data && packets) return field(dut.status_data_packets, wanted, PACKETS_W);
                if (data) return field(dut.status_data_bytes, wanted, SIZE_W);
                if (packets) return field(dut.status_header_packets, wanted, PACKETS_W);
                return field(dut.status_header_bytes, wanted, SIZE_W);
            }
        }
        return sum;
    }

    void run(const std::string& file) {
        std::ifstream input(file);
        if (!input) fail(file + ": cannot be read");
        std::string line;
        for (int number = 1; std::getline(input, line); ++number) {
            where = file + ":" + std::to_string(number);
            std::istringstream words(line);
            std::string verb, text;
            int port = 0;
            words >> verb;
            if (verb == "profile") {
            } else if (verb == "config") {
                configure(words);
            } else if (verb == "packet") {
                words >> port >> text;
                arrive(port, from_hex(text));
            } else if (verb == "serve") {
                int times = 1;
                words >> port >> times;
                while (times-- > 0) serve(port);
            } else if (source != Coins::Vector) {
                // What is expected was made with other coins.
            } else if (verb == "coin") {
                int coin;
                while (words >> coin) coins.push_back(coin != 0);
            } else if (verb == "expect") {
                words >> port >> text;
                if (left[port].empty()) fail(where + ": missing packet at port " + std::to_string(port));
                std::string got = to_hex(left[port].front());
                left[port].pop_front();
                if (got != text) fail(where + ": expected\n  " + text + "\nnot\n  " + got);
            } else if (verb == "count") {
                uint64_t expected;
                words >> text >> expected;
                uint64_t got = count(text);
                if (got != expected)
                    fail(where + ": " + text + " is " + std::to_string(got) + ", not " + std::to_string(expected));
            } else {
                fail(where + ": expected a command, not " + verb);
            }
        }
        if (source != Coins::Vector) return;
        for (int port = 0; port < PORTS; ++port)
            if (!left[port].empty()) fail(where + ": surplus packet at port " + std::to_string(port));
        if (!coins.empty()) fail(where + ": " + std::to_string(coins.size()) + " coins were not drawn");
        auto& dut = device.settle();
        if (dut.count_no_memory != 0 || dut.count_discarded != 0 || dut.count_unrouted != 0)
            fail(where + ": a packet was lost");
    }
};

// A register of full length: all states but zero, and as many ones as zeros, but for one.
void check_register() {
    Register model{1};
    int steps = 0, ones = 0;
    do {
        ones += model.coin();
        model.step();
        ++steps;
    } while (model.bits != 1 && steps <= 65535);
    if (steps != 65535 || ones != 32768) fail("the shift register is not of full length");
}

uint64_t compare(const std::string& file) {
    Run model(0, Coins::Model), own(0, Coins::Own);
    model.run(file);
    own.run(file);
    if (model.left != own.left) fail(file + ": the switch's own coins are not those of its register");
    for (const char* name : {"coins", "trimmed", "cut_bytes", "returned", "dropped"})
        if (model.count(name) != own.count(name)) fail(file + ": " + name + " differs with the switch's own coins");
    return own.count("coins");
}

}  // namespace

int main(int argc, char** argv) {
    uint64_t jitter = 0;
    int first = 1;
    if (argc > 2 && std::string(argv[1]) == "--register") {
        check_register();
        uint64_t coins = 0;
        for (int i = 2; i < argc; ++i) coins += compare(argv[i]);
        if (coins < 1000) fail("too few coins were drawn to say anything");
        std::printf("%llu coins are those of the register\n", (unsigned long long)coins);
        return 0;
    }
    if (argc > 2 && std::string(argv[1]) == "--jitter") {
        jitter = std::strtoull(argv[2], nullptr, 10);
        first = 3;
    }
    for (int i = first; i < argc; ++i) Run(jitter).run(argv[i]);
    std::printf("%d vectors hold on the RTL (DATA_W = %d, NDP = %d%s)\n", argc - first, DATA_W, NDP,
                jitter ? ", with gaps" : "");
}
