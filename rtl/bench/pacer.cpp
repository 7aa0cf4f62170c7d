// Runs expanded vectors of pacers (`cargo xtask vectors --expand FOLDER`) on the RTL, in its own cycles.
//
//   pacer FILE...
//   pacer --register ECHOES
//
// Packets must leave in the model's order, unchanged, and no later than the hardware needs to receive a packet, to look it up and
// to move it to its FIFO. The line takes a byte in each cycle: 1 Gb/s. With --register the pacer draws by itself.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "Vpacer.h"
#include "verilated.h"

namespace {

using Bytes = std::vector<uint8_t>;

// Cycles from a packet's last beat to its first on the line: the table, 190 words to the FIFO, and the stages between.
constexpr uint64_t LATEST = 240;
// From a line that is free to the first beat.
constexpr uint64_t TO_LINE = 3;
constexpr uint64_t FCS = 4;

[[noreturn]] void fail(const std::string& what) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::exit(1);
}

Bytes from_hex(const std::string& text) {
    Bytes bytes;
    for (size_t at = 0; at + 1 < text.size(); at += 2)
        bytes.push_back(uint8_t(std::stoul(text.substr(at, 2), nullptr, 16)));
    return bytes;
}

struct Event {
    uint64_t cycle = 0;
    std::string verb, name, where;
    Bytes frame;
    uint64_t number = 0;
};

// A stream of beats that must end in given cycles.
struct Stream {
    std::deque<std::pair<uint64_t, Bytes>> frames;
    size_t at = 0;
    static uint64_t words(const Bytes& frame) { return (frame.size() + 7) / 8; }
    bool offers(uint64_t cycle) const { return !frames.empty() && (at > 0 || cycle + words(frames[0].second) > frames[0].first); }
};

struct Run {
    VerilatedContext context;
    std::unique_ptr<Vpacer> dut;
    std::string where;
    uint64_t cycle = 0;
    Stream host, network;
    std::deque<Event> leaves;
    std::deque<int> coins;
    Bytes leaving;
    uint64_t line_free = 0, coins_drawn = 0;

    Run() {
        context.randReset(2);
        context.randSeed(1);
        dut.reset(new Vpacer(&context));
        dut->clk = dut->s_axis_tvalid = dut->s_axis_tuser = dut->r_axis_tvalid = dut->m_axis_tready = 0;
        dut->cfg_measures_all = 0;
        dut->cfg_coin_given = 1;
        dut->cfg_probability = 8192;
        dut->cfg_seed = 1;
    }

    void offer(Stream& stream, uint64_t& data, uint8_t& keep, bool& valid, bool& last) {
        valid = stream.offers(cycle);
        if (!valid) return;
        const Bytes& frame = stream.frames[0].second;
        size_t size = std::min<size_t>(8, frame.size() - stream.at);
        data = 0xeeeeeeeeeeeeeeee;
        std::memcpy(&data, frame.data() + stream.at, size);
        keep = uint8_t((1u << size) - 1);
        last = stream.at + size == frame.size();
    }

    void taken(Stream& stream, bool last) {
        stream.at += 8;
        if (!last) return;
        stream.frames.pop_front();
        stream.at = 0;
    }

    void tick() {
        auto& d = *dut;
        uint64_t data = 0;
        uint8_t keep = 0;
        bool valid = false, last = false, network_last = false;
        offer(host, data, keep, valid, last);
        d.s_axis_tdata = data;
        d.s_axis_tkeep = keep;
        d.s_axis_tvalid = valid;
        d.s_axis_tlast = last;
        bool echo = false;
        offer(network, data, keep, echo, network_last);
        d.r_axis_tdata = data;
        d.r_axis_tvalid = echo;
        d.r_axis_tlast = network_last;
        d.m_axis_tready = !leaving.empty() || cycle + TO_LINE >= line_free;
        d.coin = !coins.empty() && coins.front();
        d.eval();
        if (!d.rst) {
            if (d.status_coin) {
                ++coins_drawn;
                if (d.cfg_coin_given) {
                    if (coins.empty() || coins.front() < 0) fail(where + ": a coin was drawn that the vector does not lay out");
                    coins.pop_front();
                }
            }
            if (valid && d.s_axis_tready) {
                if (last && cycle > host.frames[0].first + LATEST) fail(where + ": the host's packet was taken late");
                taken(host, last);
            }
            if (echo) taken(network, network_last);
            if (d.m_axis_tvalid && d.m_axis_tready) output();
        }
        d.clk = 1;
        d.eval();
        d.clk = 0;
        d.eval();
        ++cycle;
    }

    void output() {
        if (leaving.empty()) {
            if (leaves.empty()) fail(where + ": cycle " + std::to_string(cycle) + ": a packet leaves that should not");
            const Event& expected = leaves.front();
            line_free = cycle + expected.frame.size() + FCS;
            if (cycle < expected.cycle || cycle > expected.cycle + LATEST)
                fail(expected.where + ": leaves in cycle " + std::to_string(cycle) + ", not " + std::to_string(expected.cycle));
        }
        for (int byte = 0; byte < 8; ++byte)
            if (dut->m_axis_tkeep >> byte & 1) leaving.push_back(uint8_t(dut->m_axis_tdata >> (8 * byte)));
        if (!dut->m_axis_tlast) return;
        if (leaving != leaves.front().frame) fail(leaves.front().where + ": another packet leaves, or it has changed");
        leaves.pop_front();
        leaving.clear();
    }

    void configure(std::istringstream& words) {
        std::string pair;
        auto& d = *dut;
        while (words >> pair) {
            size_t equals = pair.find('=');
            std::string key = pair.substr(0, equals);
            uint64_t value = std::stoull(pair.substr(equals + 1));
            if (key == "tick") d.cfg_tick = value;
            else if (key == "interval") d.cfg_interval = value;
            else if (key == "sample") d.cfg_sample = value;
            else if (key == "backlog") d.cfg_backlog = value;
            else if (key == "step") d.cfg_step = value;
            else if (key == "first") d.cfg_first_rate = value;
            else if (key == "max") d.cfg_max_rate = value;
            else if (key == "max_tokens") d.cfg_max_tokens = value;
            else if (key == "gain") d.cfg_gain = value;
            else if (key == "depth") d.cfg_depth = value;
            else if (key == "queue") d.cfg_queue = value;
            else if (key == "largest") d.cfg_largest = value;
            else if (key == "lifetime") d.cfg_lifetime = value;
            else fail(where + ": unknown setting " + key);
        }
    }

    void reset() {
        dut->rst = 1;
        for (int i = 0; i < 4; ++i) tick();
        dut->rst = 0;
        cycle = 0;
        line_free = 0;
    }

    uint64_t status(const Event& event) {
        if (event.verb == "rate") return dut->status_rate;
        if (event.verb == "backlog") return dut->status_backlog;
        if (event.name == "passed") return dut->count_passed;
        if (event.name == "paced") return dut->count_paced;
        if (event.name == "dropped") return dut->count_dropped;
        if (event.name == "associated") return dut->count_associated;
        return dut->count_refused;
    }

    void run(const std::string& file) {
        std::ifstream input(file);
        if (!input) fail(file + ": cannot be read");
        std::string line;
        std::deque<Event> checks;
        where = file;
        for (int number = 1; std::getline(input, line); ++number) {
            std::istringstream words(line);
            Event event;
            event.where = file + ":" + std::to_string(number);
            std::string text;
            words >> event.verb;
            if (event.verb == "config") {
                configure(words);
                continue;
            }
            words >> event.cycle;
            if (event.verb == "send" || event.verb == "leaves" || event.verb == "echo") {
                words >> text;
                event.frame = from_hex(text);
            } else if (event.verb == "count") {
                words >> event.name >> event.number;
            } else {
                words >> event.number;
            }
            // An ACK of 60 bytes has passed eight cycles later; times before that are moved.
            if (event.verb == "send") host.frames.push_back({event.cycle, event.frame});
            else if (event.verb == "leaves") leaves.push_back(event);
            else if (event.verb == "echo") {
                network.frames.push_back({event.cycle, event.frame});
                std::string coin;
                words >> coin;
                if (coin != "-") coins.push_back(coin == "1");
            } else checks.push_back(event);
        }
        reset();
        while (!checks.empty() || !host.frames.empty() || !network.frames.empty() || !leaves.empty()) {
            uint64_t latest = leaves.empty() ? UINT64_MAX : leaves.front().cycle + LATEST;
            if (leaving.empty() && cycle > latest) fail(leaves.front().where + ": the packet does not leave");
            // A status stands when what came before has been looked up.
            if (!checks.empty() && cycle >= checks.front().cycle + LATEST) {
                uint64_t found = status(checks.front());
                if (found != checks.front().number)
                    fail(checks.front().where + ": " + std::to_string(found) + ", not " + std::to_string(checks.front().number));
                checks.pop_front();
                continue;
            }
            tick();
        }
        for (uint64_t i = 0; i < 2 * LATEST; ++i) tick();
        if (!coins.empty()) fail(where + ": " + std::to_string(coins.size()) + " coins were not drawn");
        if (dut->count_discarded != 0) fail(where + ": a packet was discarded");
    }
};

// Echoes of new flows: the table is filled by one in eight, and after that associations are refused.
void draw(uint64_t echoes) {
    Run run;
    run.dut->cfg_coin_given = 0;
    std::istringstream settings("tick=2000 interval=4 sample=125000 backlog=128 step=500000 first=500000 max=1000000000 "
                                "max_tokens=2000 gain=3 depth=3000 queue=128000 largest=1514 lifetime=4000000000");
    run.configure(settings);
    Bytes frame(60, 0);
    frame[12] = 8;
    frame[14] = 0x45;
    frame[23] = 6;
    frame[47] = 0x50;
    for (uint64_t i = 0; i < echoes; ++i) {
        std::memcpy(&frame[26], &i, 4);
        run.network.frames.push_back({40 + 40 * i, frame});
    }
    // A SYN that asks for ECN, an ACK without echo, UDP: none of these draws.
    for (int other = 0; other < 3; ++other) {
        frame[23] = other == 2 ? 17 : 6;
        frame[47] = other == 0 ? 0xc2 : other == 1 ? 0x10 : 0x50;
        if (other == 0) frame[47] = 0x52;
        run.network.frames.push_back({40 * (echoes + 1 + uint64_t(other)), frame});
    }
    run.reset();
    while (run.cycle < 40 * (echoes + 6)) run.tick();
    uint64_t drawn = run.dut->count_associated + run.dut->count_refused;
    if (run.coins_drawn != echoes) fail(std::to_string(run.coins_drawn) + " draws of " + std::to_string(echoes) + " echoes");
    if (run.dut->count_associated != 64) fail("the table does not hold 64 flows");
    if (drawn * 8 < echoes * 9 / 10 || drawn * 8 > echoes * 11 / 10) fail(std::to_string(drawn) + " associations");
    std::printf("%llu of %llu echoes are drawn, 64 flows are associated\n", (unsigned long long)drawn, (unsigned long long)echoes);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::string(argv[1]) == "--register") {
        draw(std::strtoull(argv[2], nullptr, 10));
        return 0;
    }
    for (int i = 1; i < argc; ++i) Run().run(argv[i]);
    std::printf("%d vectors of pacers hold on the RTL\n", argc - 1);
}
