// One input: whole packets, stored until the bus has time for them.
//
// The bus is faster than a link, so a packet that is still arriving would leave holes on it; and deficit round
// robin has to know how long a packet is before it serves it. Hence store and forward. A packet that is longer
// than MAX_BYTES, or has no whole Ethernet header, or that the link calls bad (tuser in its last beat) is taken out of
// the memory again.

`resetall
`default_nettype none

module input_queue #(
    parameter DATA_W = 256,
    // Beats of memory, a power of two, more than one packet of MAX_BYTES: a longer one must be seen to be longer.
    parameter DEPTH = 512,
    parameter MAX_BYTES = 9216,
    parameter LEN_W = 14
) (
    input  wire                 clk,
    input  wire                 rst,

    input  wire [DATA_W-1:0]    s_axis_tdata,
    input  wire [DATA_W/8-1:0]  s_axis_tkeep,
    input  wire                 s_axis_tvalid,
    output wire                 s_axis_tready,
    input  wire                 s_axis_tlast,
    input  wire                 s_axis_tuser,

    // The oldest whole packet; `packet_take` in the same cycle removes it from this list.
    output wire                 packet_valid,
    output wire [LEN_W-1:0]     packet_bytes,
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

reg [DATA_W-1:0] memory [0:DEPTH-1];
reg [LEN_W-1:0]  lengths [0:SLOTS-1];

reg [ADDR_W:0] write_reg, start_reg, read_reg;
reg [SLOT_W:0] slot_write_reg, slot_read_reg;
reg [LEN_W-1:0] bytes_reg;
reg discard_reg;

wire [ADDR_W:0] used = write_reg - read_reg;
wire [SLOT_W:0] slots_used = slot_write_reg - slot_read_reg;
wire full = used == DEPTH[ADDR_W:0];
wire slots_full = slots_used == SLOTS[SLOT_W:0];

assign s_axis_tready = !rst && (discard_reg || (!full && !slots_full));
wire accept = s_axis_tvalid && s_axis_tready;

// tkeep is contiguous from byte 0, so the number of its bits is the number of bytes.
function automatic [BEAT_W:0] count_bytes(input [BYTES-1:0] keep);
    integer i;
    begin
        count_bytes = 0;
        for (i = 0; i < BYTES; i = i + 1)
            count_bytes = count_bytes + {{BEAT_W{1'b0}}, keep[i]};
    end
endfunction

wire [BEAT_W:0] kept = count_bytes(s_axis_tkeep);
wire [LEN_W-1:0] bytes_now = bytes_reg + {{(LEN_W-BEAT_W-1){1'b0}}, s_axis_tlast ? kept : BYTES[BEAT_W:0]};
localparam [LEN_W-1:0] LIMIT = MAX_BYTES[LEN_W-1:0];
// Addresses and type: less would be parsed with bytes of the packet before.
localparam [LEN_W-1:0] LEAST = 14;
// Only a last beat may have less than all bytes, and it has some.
wire bad = bytes_now > LIMIT || (s_axis_tlast && (s_axis_tuser || kept == 0 || bytes_now < LEAST));
wire store = accept && !discard_reg;
wire commit = store && s_axis_tlast && !bad;

always @(posedge clk) begin
    if (store)
        memory[write_reg[ADDR_W-1:0]] <= s_axis_tdata;
    if (beat_read)
        beat_data <= memory[read_reg[ADDR_W-1:0]];
end

always @(posedge clk) begin
    if (commit)
        lengths[slot_write_reg[SLOT_W-1:0]] <= bytes_now;
end

assign packet_valid = slots_used != 0;
assign packet_bytes = lengths[slot_read_reg[SLOT_W-1:0]];

always @(posedge clk) begin
    status_discarded <= 1'b0;
    if (accept) begin
        if (s_axis_tlast) begin
            discard_reg <= 1'b0;
            bytes_reg <= 0;
        end else if (!discard_reg) begin
            bytes_reg <= bytes_now;
        end
    end
    if (store) begin
        if (bad) begin
            write_reg <= start_reg;
            discard_reg <= !s_axis_tlast;
            status_discarded <= 1'b1;
        end else begin
            write_reg <= write_reg + 1'b1;
        end
    end
    if (commit) begin
        start_reg <= write_reg + 1'b1;
        slot_write_reg <= slot_write_reg + 1'b1;
    end
    if (packet_take)
        slot_read_reg <= slot_read_reg + 1'b1;
    if (beat_read)
        read_reg <= read_reg + 1'b1;

    if (rst) begin
        write_reg <= 0;
        start_reg <= 0;
        read_reg <= 0;
        slot_write_reg <= 0;
        slot_read_reg <= 0;
        bytes_reg <= 0;
        discard_reg <= 1'b0;
        status_discarded <= 1'b0;
    end
end

`ifdef FORMAL
`include "input_queue_formal.svh"
`endif

endmodule

`resetall
