// Runs expanded vectors of phantom queues (`cargo xtask vectors --expand FOLDER`) on the RTL, in its own cycles.
//
//   phantom_queue FILE...
//
// Each vector runs four times: as it is, with gaps in packets and a sink that is not always ready, with ECT(1) for ECT(0), and
// as IPv6. Each must leave every frame as the model does.

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "Vphantom_queue.h"
#include "verilated.h"

namespace {

constexpr int BYTES = DATA_W / 8;
constexpr size_t TYPE_AT = 12, VERSION_AT = 14, CLASS_AT = 15, CHECKSUM_AT = 24, IP_AT = 14, IP_BYTES = 20;

using Bytes = std::vector<uint8_t>;

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

template <typename Signal> uint8_t* bytes_of(Signal& signal) { return reinterpret_cast<uint8_t*>(&signal); }

enum class Form { AsItIs, Gaps, Ect1, Ipv6 };

// The checksum is computed anew, over the whole header.
void mend_checksum(Bytes& frame) {
    frame[CHECKSUM_AT] = frame[CHECKSUM_AT + 1] = 0;
    uint32_t sum = 0;
    for (size_t at = IP_AT; at < IP_AT + IP_BYTES; at += 2) sum += uint32_t(frame[at] << 8 | frame[at + 1]);
    while (sum >> 16) sum = (sum & 0xffff) + (sum >> 16);
    frame[CHECKSUM_AT] = uint8_t(~sum >> 8);
    frame[CHECKSUM_AT + 1] = uint8_t(~sum);
}

Bytes as(Form form, Bytes frame) {
    if (form == Form::Ect1 && (frame[CLASS_AT] & 3) == 2) {
        frame[CLASS_AT] = uint8_t((frame[CLASS_AT] & ~3) | 1);
        mend_checksum(frame);
    }
    if (form == Form::Ipv6) {
        frame[TYPE_AT] = 0x86;
        frame[TYPE_AT + 1] = 0xdd;
        frame[VERSION_AT] = 0x6a;
        frame[CLASS_AT] = uint8_t((frame[CLASS_AT] & 3) << 4 | 0x45);
        // No checksum there: what stands in its place stays.
        frame[CHECKSUM_AT] = frame[CHECKSUM_AT + 1] = 0x5a;
    }
    return frame;
}

struct Run {
    VerilatedContext context;
    std::unique_ptr<Vphantom_queue> dut;
    Form form;
    std::string where;
    uint64_t cycle = 0, jitter = 20120426;
    std::deque<Bytes> expected;
    Bytes leaving;
    uint64_t packets = 0, marked = 0;

    explicit Run(Form form) : form(form) {
        context.randReset(2);
        context.randSeed(int(form) + 1);
        dut.reset(new Vphantom_queue(&context));
        dut->clk = 0;
        dut->s_axis_tvalid = 0;
        dut->m_axis_tready = 1;
    }

    bool gap() {
        if (form != Form::Gaps) return false;
        jitter ^= jitter << 13;
        jitter ^= jitter >> 7;
        jitter ^= jitter << 17;
        return jitter % 4 == 0;
    }

    void tick() {
        dut->eval();
        if (!dut->rst && dut->m_axis_tvalid && dut->m_axis_tready) {
            uint64_t keep = 0;
            std::memcpy(&keep, bytes_of(dut->m_axis_tkeep), (BYTES + 7) / 8);
            const uint8_t* data = bytes_of(dut->m_axis_tdata);
            for (int byte = 0; byte < BYTES; ++byte)
                if (keep >> byte & 1) leaving.push_back(data[byte]);
            if (dut->m_axis_tlast) {
                if (expected.empty()) fail(where + ": a packet that did not come");
                if (leaving != expected.front()) fail(where + ": a frame differs from the model's");
                expected.pop_front();
                leaving.clear();
            }
        }
        dut->clk = 1;
        dut->eval();
        dut->clk = 0;
        dut->eval();
        ++cycle;
    }

    void wait_until(uint64_t wanted) {
        if (cycle > wanted) fail(where + ": the packet before is still on its way");
        while (cycle < wanted) tick();
    }

    void send(const Bytes& frame) {
        for (size_t at = 0; at < frame.size();) {
            dut->s_axis_tvalid = at == 0 || !gap();
            dut->m_axis_tready = at == 0 || !gap();
            size_t size = std::min<size_t>(BYTES, frame.size() - at);
            uint64_t keep = size == 64 ? ~0ull : (1ull << size) - 1;
            std::memset(bytes_of(dut->s_axis_tdata), 0xee, BYTES);
            std::memcpy(bytes_of(dut->s_axis_tdata), frame.data() + at, size);
            std::memcpy(bytes_of(dut->s_axis_tkeep), &keep, (BYTES + 7) / 8);
            dut->s_axis_tlast = at + size == frame.size();
            dut->s_axis_tuser = 0;
            dut->eval();
            bool is_taken = dut->s_axis_tvalid && dut->s_axis_tready;
            tick();
            if (is_taken) at += size;
        }
        dut->s_axis_tvalid = 0;
        dut->m_axis_tready = 1;
    }

    void configure(std::istringstream& words) {
        std::string pair;
        while (words >> pair) {
            size_t equals = pair.find('=');
            std::string key = pair.substr(0, equals);
            uint64_t value = std::stoull(pair.substr(equals + 1));
            if (key == "tick") dut->cfg_tick = value;
            else if (key == "drain") dut->cfg_drain = value;
            else if (key == "threshold") dut->cfg_threshold = value;
            else fail(where + ": unknown setting " + key);
        }
        dut->rst = 1;
        for (int i = 0; i < 4; ++i) tick();
        dut->rst = 0;
        dut->eval();
        cycle = 0;
    }

    void run(const std::string& file) {
        std::ifstream input(file);
        if (!input) fail(file + ": cannot be read");
        std::string line;
        for (int number = 1; std::getline(input, line); ++number) {
            where = file + ":" + std::to_string(number);
            std::istringstream words(line);
            std::string verb, before, after;
            uint64_t at = 0, bytes = 0;
            words >> verb;
            if (verb == "config") {
                configure(words);
            } else if (verb == "packet") {
                words >> at >> before >> after;
                wait_until(at);
                expected.push_back(as(form, from_hex(after)));
                ++packets;
                marked += before != after;
                send(as(form, from_hex(before)));
            } else if (verb == "length") {
                words >> at >> bytes;
                wait_until(at);
                if (dut->status_length != bytes)
                    fail(where + ": the counter is " + std::to_string(dut->status_length) + ", not " + std::to_string(bytes));
            } else {
                fail(where + ": expected a command, not " + verb);
            }
        }
        for (int i = 0; i < 4; ++i) tick();
        if (!expected.empty()) fail(where + ": a packet is lost");
        if (dut->count_packets != packets || dut->count_marked != marked) fail(where + ": a counter is wrong");
    }
};

}  // namespace

int main(int argc, char** argv) {
    uint64_t packets = 0, marked = 0;
    for (int i = 1; i < argc; ++i)
        for (Form form : {Form::AsItIs, Form::Gaps, Form::Ect1, Form::Ipv6}) {
            Run run(form);
            run.run(argv[i]);
            packets += run.packets;
            marked += run.marked;
        }
    std::printf("%d vectors of phantom queues hold on the RTL: %llu of %llu packets are marked (DATA_W = %d)\n", argc - 1,
                (unsigned long long)marked, (unsigned long long)packets, DATA_W);
}
