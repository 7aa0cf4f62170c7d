// One input: whole packets, stored until the bus has time for them.
//
// The bus is faster than a link, so a packet that is still arriving would leave holes on it; and deficit round
// robin has to know how long a packet is before it serves it. Hence store and forward. A packet that is longer
// than MAX_BYTES, or has no whole Ethernet header, or that the link calls bad (tuser in its last beat) is taken out of
// the memory again.
//
// A beat waits in a register before it is stored, and the length of the oldest packet, with what it costs the bus, in
// another: neither counting bytes nor reading the list of lengths is on the way of a decision.

`resetall
`default_nettype none

module input_queue #(
    parameter DATA_W = 256,
    // Beats of memory, a power of two, more than one packet of MAX_BYTES: a longer one must be seen to be longer.
    parameter DEPTH = 512,
    parameter MAX_BYTES = 9216,
    parameter LEN_W = 14,
    // Of the number of a packet's beats.
    parameter COST_W = 9
) (
    input  wire                 clk,
    input  wire                 rst,

    input  wire [DATA_W-1:0]    s_axis_tdata,
    input  wire [DATA_W/8-1:0]  s_axis_tkeep,
    input  wire                 s_axis_tvalid,
    output wire                 s_axis_tready,
    input  wire                 s_axis_tlast,
    input  wire                 s_axis_tuser,

    // Packets are shown.
    input  wire                 ready,
    // The oldest whole packet; `packet_take` in the same cycle removes it from this list.
    output wire                 packet_valid,
    output wire [LEN_W-1:0]     packet_bytes,
    output wire [COST_W-1:0]    packet_cost,
    // The packet behind it, which is the oldest when that one was taken.
    output wire                 packet_next_valid,
    output wire [COST_W-1:0]    packet_next_cost,
    input  wire                 packet_take,

    // The next beat of the packets that were taken, one cycle after `beat_read`.
    input  wire                 beat_read,
    output reg  [DATA_W-1:0]    beat_data,

    output reg                  status_discarded
);

localparam BYTES = DATA_W / 8;
localparam BEAT_W = $clog2(BYTES);
localparam ADDR_W = $clog2(DEPTH);
// As many packets as fit when each has 64 bytes.
localparam SLOTS = (DEPTH * BYTES) / 64;
localparam SLOT_W = $clog2(SLOTS);

// Only what was written before is read.
(* no_rw_check *) reg [DATA_W-1:0] memory [0:DEPTH-1];
(* no_rw_check *) reg [COST_W+LEN_W-1:0] lengths [0:SLOTS-1];

reg [ADDR_W:0] write_reg, start_reg, read_reg;
reg [SLOT_W:0] slot_write_reg, slot_read_reg;
// Bytes of the packet that is being stored, and how many more it may have.
reg [LEN_W-1:0] bytes_reg, room_reg;
reg discard_reg;

wire [ADDR_W:0] used = write_reg - read_reg;
wire [SLOT_W:0] slots_used = slot_write_reg - slot_read_reg;
wire full = used == DEPTH[ADDR_W:0];
// One length may be on its way to its slot.
wire slots_full = slots_used[SLOT_W] || &slots_used[SLOT_W-1:0];

// tkeep is contiguous from byte 0, so the number of its bits is the number of bytes.
function automatic [BEAT_W:0] count_bytes(input [BYTES-1:0] keep);
    integer i;
    begin
        count_bytes = 0;
        for (i = 0; i < BYTES; i = i + 1)
            count_bytes = count_bytes + {{BEAT_W{1'b0}}, keep[i]};
    end
endfunction

// The beat that is to be stored, and its number of bytes.
reg beat_valid_reg, beat_last_reg, beat_bad_reg;
reg [DATA_W-1:0] beat_reg;
reg [BEAT_W:0] kept_reg;
wire move = beat_valid_reg && (discard_reg || (!full && !slots_full));
assign s_axis_tready = !rst && (!beat_valid_reg || move);
wire accept = s_axis_tvalid && s_axis_tready;
always @(posedge clk) begin
    if (accept) begin
        beat_reg <= s_axis_tdata;
        beat_last_reg <= s_axis_tlast;
        // Only a last beat may have less than all bytes, and it has some.
        kept_reg <= s_axis_tlast ? count_bytes(s_axis_tkeep) : BYTES[BEAT_W:0];
        beat_bad_reg <= s_axis_tlast && (s_axis_tuser || s_axis_tkeep == 0);
    end
    beat_valid_reg <= !rst && (accept || (beat_valid_reg && !move));
end

localparam [LEN_W-1:0] LIMIT = MAX_BYTES[LEN_W-1:0];
// Addresses and type: less would be parsed with bytes of the packet before.
localparam [LEN_W-1:0] LEAST = 14;
wire [LEN_W-1:0] kept = {{(LEN_W-BEAT_W-1){1'b0}}, kept_reg};
wire [LEN_W-1:0] bytes_now = bytes_reg + kept;
// Before its last beat a packet has whole beats: only in the first, or in two short ones, can there be too few bytes.
wire too_short = (bytes_reg == 0 && kept < LEAST) || (BYTES < 14 && bytes_reg == BYTES[LEN_W-1:0] && kept < LEAST - BYTES[LEN_W-1:0]);
wire bad = kept > room_reg || (beat_last_reg && (beat_bad_reg || too_short));
wire store = move && !discard_reg;
wire commit = store && beat_last_reg && !bad;

always @(posedge clk) begin
    if (store)
        memory[write_reg[ADDR_W-1:0]] <= beat_reg;
    if (beat_read)
        beat_data <= memory[read_reg[ADDR_W-1:0]];
end

// A packet that is whole: its length goes into the list, and from there before the arbiter.
reg done_valid_reg, next_valid_reg, head_valid_reg;
reg [LEN_W-1:0] done_bytes_reg;
reg [COST_W+LEN_W-1:0] next_reg, head_reg;
wire [COST_W-1:0] done_cost = done_bytes_reg[BEAT_W +: COST_W] + {{(COST_W-1){1'b0}}, |done_bytes_reg[BEAT_W-1:0]};
wire head_free = !head_valid_reg || packet_take;
wire fetch = ready && slots_used != 0 && (!next_valid_reg || head_free);
always @(posedge clk) begin
    if (done_valid_reg)
        lengths[slot_write_reg[SLOT_W-1:0]] <= {done_cost, done_bytes_reg};
    if (fetch)
        next_reg <= lengths[slot_read_reg[SLOT_W-1:0]];
    if (head_free)
        head_reg <= next_reg;
end

assign packet_valid = head_valid_reg;
assign {packet_cost, packet_bytes} = head_reg;
assign packet_next_valid = next_valid_reg;
assign packet_next_cost = next_reg[LEN_W +: COST_W];

always @(posedge clk) begin
    status_discarded <= store && bad;
    done_valid_reg <= commit;
    done_bytes_reg <= bytes_now;
    if (move) begin
        if (beat_last_reg) begin
            discard_reg <= 1'b0;
            bytes_reg <= 0;
            room_reg <= LIMIT;
        end else if (!discard_reg) begin
            bytes_reg <= bytes_now;
            room_reg <= room_reg - kept;
        end
    end
    if (store) begin
        if (bad) begin
            write_reg <= start_reg;
            discard_reg <= !beat_last_reg;
        end else begin
            write_reg <= write_reg + 1'b1;
        end
    end
    if (commit)
        start_reg <= write_reg + 1'b1;
    if (done_valid_reg)
        slot_write_reg <= slot_write_reg + 1'b1;
    if (fetch)
        slot_read_reg <= slot_read_reg + 1'b1;
    next_valid_reg <= fetch || (next_valid_reg && !head_free);
    if (head_free)
        head_valid_reg <= next_valid_reg;
    if (beat_read)
        read_reg <= read_reg + 1'b1;

    if (rst) begin
        write_reg <= 0;
        start_reg <= 0;
        read_reg <= 0;
        slot_write_reg <= 0;
        slot_read_reg <= 0;
        bytes_reg <= 0;
        room_reg <= LIMIT;
        discard_reg <= 1'b0;
        done_valid_reg <= 1'b0;
        next_valid_reg <= 1'b0;
        head_valid_reg <= 1'b0;
        status_discarded <= 1'b0;
    end
end

`ifdef FORMAL
`include "input_queue_formal.svh"
`endif

endmodule

`resetall
