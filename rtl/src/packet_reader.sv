// Reads the packets that the ports have chosen: one beat a cycle, shared by the ports in turn.
//
// Each port may have as many beats on their way as its buffer holds. A port takes its next packet in the cycle in which the
// last beat of the one before is read, so no cycle is lost between packets, and a choice is at most CREDITS + 2
// beats old when it reaches the wire. A packet's cells are free again as soon as its last beat has been read.

`resetall
`default_nettype none

module packet_reader #(
    parameter PORTS = 4,
    parameter DATA_W = 256,
    parameter CELL_W = 11,
    parameter LEN_W = 14,
    parameter CREDITS = 4,
    parameter DESC_W = 2*CELL_W + LEN_W + 2,
    parameter CELL_BEATS = (DATA_W < 512) ? 512 / DATA_W : 1,
    parameter ADDR_W = CELL_W + $clog2(CELL_BEATS),
    parameter BYTE_W = $clog2(DATA_W/8) + 1
) (
    input  wire                     clk,
    input  wire                     rst,

    output wire [PORTS-1:0]         start_ready,
    input  wire [PORTS-1:0]         start_valid,
    input  wire [PORTS*DESC_W-1:0]  start_desc,

    output wire                     read,
    output wire [ADDR_W-1:0]        read_address,
    output wire [CELL_W-1:0]        follow_cell,
    input  wire [CELL_W-1:0]        follow_next,

    // One cycle after `read`, with the data from memory.
    output reg  [PORTS-1:0]         beat_valid,
    output reg                      beat_first,
    output reg                      beat_last,
    output reg  [BYTE_W-1:0]        beat_bytes,
    output reg                      beat_trim,
    output reg                      beat_return,
    output reg  [5:0]               beat_length,
    input  wire [PORTS-1:0]         beat_done,

    output reg                      left,
    output reg  [CELL_W-1:0]        left_first,
    output reg  [CELL_W-1:0]        left_last,
    output reg  [CELL_W-1:0]        left_cells,
    input  wire                     left_ready
);

localparam BYTES = DATA_W / 8;
localparam PORT_W = $clog2(PORTS);
localparam PLACE_W = CELL_BEATS > 1 ? $clog2(CELL_BEATS) : 1;
localparam CREDIT_W = $clog2(CREDITS) + 1;

reg [PORTS-1:0] active_reg, first_reg, trim_reg, return_reg;
reg [LEN_W-1:0] left_reg [0:PORTS-1];
reg [LEN_W-1:0] length_reg [0:PORTS-1];
reg [CELL_W-1:0] cell_reg [0:PORTS-1];
reg [CELL_W-1:0] begin_reg [0:PORTS-1];
reg [CELL_W-1:0] end_reg [0:PORTS-1];
reg [PLACE_W-1:0] place_reg [0:PORTS-1];
reg [CREDIT_W-1:0] credit_reg [0:PORTS-1];
reg [PORT_W-1:0] turn_reg;

// The port whose cell is being looked up: its cell is what comes out of the list.
reg followed_reg;
reg [PORT_W-1:0] followed_port_reg;

// A last beat waits while the cells of the one before have not been taken back.
wire left_free = !left || left_ready;
wire [PORTS-1:0] wants;
wire [PORTS-1:0] is_last;
genvar p;
generate
    for (p = 0; p < PORTS; p = p + 1) begin : port
        assign is_last[p] = left_reg[p] <= BYTES[LEN_W-1:0];
        assign wants[p] = active_reg[p] && credit_reg[p] != 0 && (left_free || !is_last[p]);
    end
endgenerate

reg [PORT_W-1:0] chosen, candidate;
reg found;
integer i;
always @* begin
    found = 1'b0;
    chosen = turn_reg;
    candidate = turn_reg;
    for (i = 0; i < PORTS; i = i + 1) begin
        candidate = (candidate == PORTS[PORT_W-1:0] - 1'b1) ? {PORT_W{1'b0}} : candidate + 1'b1;
        if (!found && wants[candidate]) begin
            found = 1'b1;
            chosen = candidate;
        end
    end
end

wire looked_up = followed_reg && followed_port_reg == chosen;
wire [CELL_W-1:0] cell_now = looked_up ? follow_next : cell_reg[chosen];
wire cell_ends = CELL_BEATS == 1 || place_reg[chosen] == CELL_BEATS[PLACE_W-1:0] - 1'b1;
assign read = found;
assign follow_cell = cell_now;
generate
    if (CELL_BEATS > 1) begin : several
        assign read_address = {cell_now, place_reg[chosen]};
    end else begin : single
        assign read_address = cell_now;
    end
endgenerate
wire ends = found && is_last[chosen];

assign start_ready = ~active_reg | (ends ? ({{(PORTS-1){1'b0}}, 1'b1} << chosen) : {PORTS{1'b0}});

// Cells of 64 bytes.
wire [LEN_W-7:0] cells = length_reg[chosen][LEN_W-1:6] + {{(LEN_W-7){1'b0}}, |length_reg[chosen][5:0]};

integer k;
always @(posedge clk) begin
    beat_valid <= {PORTS{1'b0}};
    followed_reg <= 1'b0;
    if (left && left_ready)
        left <= 1'b0;
    if (found) begin
        turn_reg <= chosen;
        beat_valid[chosen] <= 1'b1;
        beat_first <= first_reg[chosen];
        beat_last <= is_last[chosen];
        beat_bytes <= is_last[chosen] ? left_reg[chosen][BYTE_W-1:0] : BYTES[BYTE_W-1:0];
        beat_trim <= trim_reg[chosen];
        beat_return <= return_reg[chosen];
        beat_length <= length_reg[chosen][5:0];
        first_reg[chosen] <= 1'b0;
        left_reg[chosen] <= left_reg[chosen] - BYTES[LEN_W-1:0];
        place_reg[chosen] <= cell_ends ? {PLACE_W{1'b0}} : place_reg[chosen] + 1'b1;
        followed_reg <= cell_ends;
        followed_port_reg <= chosen;
        if (ends) begin
            active_reg[chosen] <= 1'b0;
            left <= 1'b1;
            left_first <= begin_reg[chosen];
            left_last <= end_reg[chosen];
            left_cells <= {{(CELL_W+6-LEN_W){1'b0}}, cells};
        end
    end
    // What was looked up is kept, for when the port has its turn again.
    if (followed_reg)
        cell_reg[followed_port_reg] <= follow_next;
    for (k = 0; k < PORTS; k = k + 1) begin
        credit_reg[k] <= credit_reg[k] + {{(CREDIT_W-1){1'b0}}, beat_done[k]}
            - {{(CREDIT_W-1){1'b0}}, found && chosen == k[PORT_W-1:0]};
        if (start_valid[k] && start_ready[k]) begin
            active_reg[k] <= 1'b1;
            first_reg[k] <= 1'b1;
            place_reg[k] <= {PLACE_W{1'b0}};
            {return_reg[k], trim_reg[k], left_reg[k], end_reg[k], begin_reg[k]} <= start_desc[k*DESC_W +: DESC_W];
            length_reg[k] <= start_desc[k*DESC_W + 2*CELL_W +: LEN_W];
            cell_reg[k] <= start_desc[k*DESC_W +: CELL_W];
        end
    end
    // A lookup of the packet before must not reach a packet that begins.
    if (ends)
        followed_reg <= 1'b0;
    if (rst) begin
        active_reg <= {PORTS{1'b0}};
        followed_reg <= 1'b0;
        beat_valid <= {PORTS{1'b0}};
        left <= 1'b0;
        turn_reg <= {PORT_W{1'b0}};
        for (k = 0; k < PORTS; k = k + 1)
            credit_reg[k] <= CREDITS[CREDIT_W-1:0];
    end
end

`ifdef FORMAL
`include "packet_reader_formal.svh"
`endif

endmodule

`resetall
