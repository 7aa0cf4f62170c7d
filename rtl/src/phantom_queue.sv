// The phantom queue of a link (HULL 2.1, 5.1): a counter that drains more slowly than the link, and marks what passes while it is
// above a threshold. No packet waits: a beat leaves in the cycle after it came.
//
// The counter grows by a packet's bytes, with its frame check sequence, and falls at each tick. A packet is compared with what it
// finds as it begins. Its bytes are added as they pass; until the last of them the counter may fall below zero, so it ends
// as if all had been added at the beginning.

`resetall
`default_nettype none

module phantom_queue #(
    // 64, 128, 256 or 512.
    parameter DATA_W = 64,
    // Bytes of the counter, and parts of a byte.
    parameter SIZE_W = 24,
    parameter FRACTION_W = 8,
    // Bytes of a packet.
    parameter LEN_W = 16,
    parameter COUNT_W = 32
) (
    input  wire                         clk,
    input  wire                         rst,

    // Cycles from tick to tick (HULL: 800 ns), what drains at each, in parts of a byte, and the threshold in bytes.
    input  wire [15:0]                  cfg_tick,
    input  wire [SIZE_W+FRACTION_W-1:0] cfg_drain,
    input  wire [SIZE_W-1:0]            cfg_threshold,

    // Frames from the destination address on, without frame check sequence.
    input  wire [DATA_W-1:0]            s_axis_tdata,
    input  wire [DATA_W/8-1:0]          s_axis_tkeep,
    input  wire                         s_axis_tvalid,
    output wire                         s_axis_tready,
    input  wire                         s_axis_tlast,
    input  wire                         s_axis_tuser,

    output reg  [DATA_W-1:0]            m_axis_tdata,
    output reg  [DATA_W/8-1:0]          m_axis_tkeep,
    output reg                          m_axis_tvalid,
    input  wire                         m_axis_tready,
    output reg                          m_axis_tlast,
    output reg                          m_axis_tuser,

    // The counter in whole bytes, between packets.
    output wire [SIZE_W-1:0]            status_length,
    output reg  [COUNT_W-1:0]           count_packets,
    output reg  [COUNT_W-1:0]           count_marked
);

localparam BYTES = DATA_W / 8;
localparam FILL_W = SIZE_W + FRACTION_W;
localparam INDEX_W = 3;
// Ethernet's type, the version of IP and ECN are in one beat at each width; the checksum of IPv4 in this one or a later.
localparam OFFSET_TYPE = 12;
localparam OFFSET_VERSION = 14;
localparam OFFSET_CLASS = 15;
localparam OFFSET_CHECKSUM = 24;
localparam MARK_BEAT = OFFSET_CLASS / BYTES;
localparam CHECKSUM_BEAT = OFFSET_CHECKSUM / BYTES;
localparam [LEN_W-1:0] FCS = 4;

generate
    if (DATA_W != 64 && DATA_W != 128 && DATA_W != 256 && DATA_W != 512)
        DATA_W_must_be_64_128_256_or_512 invalid ();
    if (LEN_W > SIZE_W)
        SIZE_W_must_hold_a_packet invalid ();
endgenerate

// Ticks: the first one cfg_tick cycles after rst has fallen. What the next cycle's tick drains is known in this one.
reg [15:0] tick_count_reg;
reg tick_next_reg;
wire tick_ends = tick_count_reg == cfg_tick - 1'b1;
always @(posedge clk) begin
    tick_next_reg <= !rst && tick_ends;
    tick_count_reg <= rst ? 16'd1 : tick_ends ? 16'd0 : tick_count_reg + 1'b1;
end
wire [FILL_W-1:0] drains_next = tick_next_reg ? cfg_drain : {FILL_W{1'b0}};

wire take = s_axis_tvalid && s_axis_tready;
reg inside_reg;
wire first = !inside_reg;

function automatic [LEN_W-1:0] kept(input [BYTES-1:0] keep);
    integer i;
    begin
        kept = {LEN_W{1'b0}};
        for (i = 0; i < BYTES; i = i + 1)
            kept = kept + {{(LEN_W-1){1'b0}}, keep[i]};
    end
endfunction

// The counter, which this cycle's tick has drained already. Between packets it is never below zero; inside one it may be, and the
// last beat, with which all bytes are known, ends that. At its greatest number it stays.
reg signed [FILL_W+1:0] length_reg;
wire [FILL_W-1:0] level = length_reg[FILL_W-1:0];
wire [LEN_W-1:0] bytes = kept(s_axis_tkeep) + (first ? FCS : {LEN_W{1'b0}});
wire [FILL_W+1:0] fills = take ? {{(FILL_W-LEN_W-FRACTION_W+2){1'b0}}, bytes, {FRACTION_W{1'b0}}} : {(FILL_W+2){1'b0}};
wire signed [FILL_W+1:0] moved = length_reg + $signed(fills - {2'b00, drains_next});
wire stays_inside = take ? !s_axis_tlast : inside_reg;
always @(posedge clk) begin
    inside_reg <= stays_inside && !rst;
    if (rst || (moved[FILL_W+1] && !stays_inside))
        length_reg <= {(FILL_W+2){1'b0}};
    else if (!moved[FILL_W+1] && moved[FILL_W])
        length_reg <= {2'b00, {FILL_W{1'b1}}};
    else if (moved[FILL_W+1] && !moved[FILL_W])
        length_reg <= {2'b11, {FILL_W{1'b0}}};
    else
        length_reg <= moved;
end
assign status_length = level[FILL_W-1:FRACTION_W];

// HULL 2.1: marked when the counter is above the threshold, by what the packet finds.
reg above_reg;
wire above_now = level > {cfg_threshold, {FRACTION_W{1'b0}}};
wire above = MARK_BEAT == 0 ? above_now : above_reg;

reg [INDEX_W-1:0] index_reg;
wire [INDEX_W-1:0] index = first ? {INDEX_W{1'b0}} : index_reg;
function automatic [7:0] byte_at(input [DATA_W-1:0] data, input integer offset);
    byte_at = data[(offset % BYTES)*8 +: 8];
endfunction

wire [15:0] ether_type = {byte_at(s_axis_tdata, OFFSET_TYPE), byte_at(s_axis_tdata, OFFSET_TYPE + 1)};
wire [7:0] version = byte_at(s_axis_tdata, OFFSET_VERSION);
wire [7:0] class_byte = byte_at(s_axis_tdata, OFFSET_CLASS);
wire is_ipv4 = ether_type == 16'h0800 && version[7:4] == 4'd4;
wire is_ipv6 = ether_type == 16'h86dd && version[7:4] == 4'd6;
wire [1:0] ecn = is_ipv4 ? class_byte[1:0] : class_byte[5:4];
// RFC 3168: ECT becomes CE; a packet without ECN stays, and one that is marked.
wire marks = index == MARK_BEAT[INDEX_W-1:0] && above && (is_ipv4 || is_ipv6) && (ecn[1] ^ ecn[0]);
// The class grows by as much: by 2 from ECT(1), by 1 from ECT(0).
wire [1:0] grows = 2'd3 - ecn;
reg mends_reg;
reg [1:0] grows_reg;
wire mends = index == CHECKSUM_BEAT[INDEX_W-1:0]
    && (CHECKSUM_BEAT == MARK_BEAT ? marks && is_ipv4 : mends_reg && !first);
wire [1:0] added = CHECKSUM_BEAT == MARK_BEAT ? grows : grows_reg;

// RFC 1624, equation 3: the complement of the checksum grows by as much, with the carry around.
wire [16:0] sum = {1'b0, ~byte_at(s_axis_tdata, OFFSET_CHECKSUM), ~byte_at(s_axis_tdata, OFFSET_CHECKSUM + 1)} + {15'd0, added};
wire [15:0] folded = sum[15:0] + {15'd0, sum[16]};

wire free = !m_axis_tvalid || m_axis_tready;
assign s_axis_tready = free;
always @(posedge clk) begin
    if (take) begin
        if (first)
            above_reg <= above_now;
        if (index != {INDEX_W{1'b1}})
            index_reg <= index + 1'b1;
        else
            index_reg <= index;
        if (first || marks) begin
            mends_reg <= marks && is_ipv4;
            grows_reg <= grows;
        end
    end
    if (free) begin
        m_axis_tvalid <= s_axis_tvalid;
        m_axis_tdata <= s_axis_tdata;
        m_axis_tkeep <= s_axis_tkeep;
        m_axis_tlast <= s_axis_tlast;
        m_axis_tuser <= s_axis_tuser;
        if (marks && is_ipv4)
            m_axis_tdata[(OFFSET_CLASS % BYTES)*8 +: 2] <= 2'b11;
        if (marks && is_ipv6)
            m_axis_tdata[(OFFSET_CLASS % BYTES)*8 + 4 +: 2] <= 2'b11;
        if (mends) begin
            m_axis_tdata[(OFFSET_CHECKSUM % BYTES)*8 +: 8] <= ~folded[15:8];
            m_axis_tdata[((OFFSET_CHECKSUM + 1) % BYTES)*8 +: 8] <= ~folded[7:0];
        end
    end
    if (take && first)
        count_packets <= count_packets + 1'b1;
    if (take && marks)
        count_marked <= count_marked + 1'b1;
    if (rst) begin
        m_axis_tvalid <= 1'b0;
        count_packets <= {COUNT_W{1'b0}};
        count_marked <= {COUNT_W{1'b0}};
    end
end

wire unused = &{1'b0, version[3:0], class_byte};

`ifdef FORMAL
`include "phantom_queue_formal.svh"
`endif

endmodule

`resetall
