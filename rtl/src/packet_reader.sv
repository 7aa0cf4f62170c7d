// Reads the packets that the ports have chosen: one beat a cycle, shared by the ports in turn.
//
// Each port may have as many beats on their way as its buffer holds. Two packets that it has chosen may wait beside the one
// that is read, so that no cycle is lost between packets; a port chooses when two beats or fewer are left before them, or the
// choice would be old when it reaches the wire: it is at most CREDITS + 4 beats old there. A packet's cells are free again
// as soon as its last beat has been read.
//
// A beat is chosen in one cycle, its cell is found in the next, and it comes out of the memory in the one behind.

`resetall
`default_nettype none

module packet_reader #(
    parameter PORTS = 4,
    parameter DATA_W = 256,
    parameter CELL_W = 11,
    parameter LEN_W = 14,
    parameter CREDITS = 6,
    parameter DESC_W = 2*CELL_W + LEN_W + 3,
    parameter CELL_BEATS = (DATA_W < 512) ? 512 / DATA_W : 1,
    parameter ADDR_W = CELL_W + $clog2(CELL_BEATS),
    parameter BYTE_W = $clog2(DATA_W/8) + 1
) (
    input  wire                     clk,
    input  wire                     rst,

    output wire [PORTS-1:0]         start_ready,
    // Only when ready: the packet is taken.
    input  wire [PORTS-1:0]         start_valid,
    input  wire [PORTS*DESC_W-1:0]  start_desc,

    output wire                     read,
    output wire [ADDR_W-1:0]        read_address,
    output wire [CELL_W-1:0]        follow_cell,
    input  wire [CELL_W-1:0]        follow_next,

    // One cycle after `read`, with the data from memory.
    output reg  [PORTS-1:0]         beat_valid,
    output reg                      beat_last,
    // Number of the beat in its packet; stands still at the greatest.
    output reg  [2:0]               beat_index,
    output reg  [BYTE_W-1:0]        beat_bytes,
    output reg                      beat_trim,
    output reg                      beat_return,
    output reg  [5:0]               beat_length,
    input  wire [PORTS-1:0]         beat_done,

    output wire                     left,
    output wire [CELL_W-1:0]        left_first,
    output wire [CELL_W-1:0]        left_last,
    output wire [CELL_W-1:0]        left_cells,
    input  wire                     left_ready
);

localparam BYTES = DATA_W / 8;
localparam PORT_W = $clog2(PORTS);
localparam PLACE_W = CELL_BEATS > 1 ? $clog2(CELL_BEATS) : 1;
localparam CREDIT_W = $clog2(CREDITS) + 1;

// The packet that is read. Its next beat is the last one; it or the one behind it is.
reg [PORTS-1:0] active_reg, last_reg, near_reg, trim_reg, return_reg, credit_ok_reg;
reg [LEN_W-1:0] left_reg [0:PORTS-1];
reg [5:0] length_reg [0:PORTS-1];
// Cells of 64 bytes.
reg [LEN_W-7:0] cells_reg [0:PORTS-1];
reg [CELL_W-1:0] begin_reg [0:PORTS-1];
reg [CELL_W-1:0] end_reg [0:PORTS-1];
reg [PLACE_W-1:0] place_reg [0:PORTS-1];
reg [2:0] index_reg [0:PORTS-1];
reg [CREDIT_W-1:0] credit_reg [0:PORTS-1];
reg [PORT_W-1:0] turn_reg;
// Those that wait: the first, and the second.
reg [DESC_W-1:0] wait_reg [0:PORTS-1];
reg [DESC_W-1:0] second_reg [0:PORTS-1];
reg [PORTS-1:0] waits_reg, second_waits_reg, wait_short;

localparam [LEN_W-1:0] ONE_BEAT = BYTES[LEN_W-1:0];
localparam [LEN_W-1:0] TWO_BEATS = 2 * ONE_BEAT;
localparam [LEN_W-1:0] THREE_BEATS = 3 * ONE_BEAT;

// Cells that were not yet taken back, of two packets. A last beat waits while there are two.
reg left_valid_reg, left_second_reg;
reg [3*CELL_W-1:0] left_cells_reg, left_behind_reg;
assign left = left_valid_reg;
assign {left_cells, left_last, left_first} = left_cells_reg;
wire left_goes = left_valid_reg && left_ready;
wire [PORTS-1:0] wants = active_reg & credit_ok_reg & ~({PORTS{left_second_reg}} & last_reg);
assign start_ready = ~second_waits_reg & ((~waits_reg & (~active_reg | near_reg))
    | (waits_reg & wait_short & (~active_reg | last_reg)));

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

wire ends = found && last_reg[chosen];
wire place_ends = CELL_BEATS == 1 || place_reg[chosen] == CELL_BEATS[PLACE_W-1:0] - 1'b1;
wire [3*CELL_W-1:0] its_cells = {{{(CELL_W+6-LEN_W){1'b0}}, cells_reg[chosen]}, end_reg[chosen], begin_reg[chosen]};

// The beat that was chosen.
reg read_valid_reg, read_first_reg, read_last_reg, read_follow_reg, read_trim_reg, read_return_reg;
reg [PORT_W-1:0] read_port_reg;
reg [BYTE_W-1:0] read_bytes_reg;
reg [5:0] read_length_reg;
reg [2:0] read_index_reg;
reg [PLACE_W-1:0] read_place_reg;
reg [CELL_W-1:0] read_begin_reg;

integer k;
reg [PORTS-1:0] read_now, ends_now, moves;
always @* begin
    for (k = 0; k < PORTS; k = k + 1) begin
        wait_short[k] = wait_reg[k][DESC_W-1];
        read_now[k] = found && chosen == k[PORT_W-1:0];
        ends_now[k] = read_now[k] && last_reg[k];
        // The first that waits is the next that is read.
        moves[k] = waits_reg[k] && (!active_reg[k] || ends_now[k]);
    end
end

integer q;
always @(posedge clk) begin
    left_valid_reg <= ends || left_second_reg || (left_valid_reg && !left_ready);
    left_second_reg <= left_second_reg ? !left_ready : ends && left_valid_reg && !left_ready;
    if (left_goes || !left_valid_reg)
        left_cells_reg <= left_second_reg ? left_behind_reg : its_cells;
    if (!left_second_reg)
        left_behind_reg <= its_cells;
    if (found)
        turn_reg <= chosen;
    read_valid_reg <= found;
    read_port_reg <= chosen;
    read_first_reg <= index_reg[chosen] == 0;
    read_last_reg <= last_reg[chosen];
    read_follow_reg <= place_ends && !last_reg[chosen];
    read_trim_reg <= trim_reg[chosen];
    read_return_reg <= return_reg[chosen];
    read_bytes_reg <= last_reg[chosen] ? left_reg[chosen][BYTE_W-1:0] : BYTES[BYTE_W-1:0];
    read_length_reg <= length_reg[chosen];
    read_index_reg <= index_reg[chosen];
    read_place_reg <= place_reg[chosen];
    read_begin_reg <= begin_reg[chosen];
    for (q = 0; q < PORTS; q = q + 1) begin
        credit_reg[q] <= credit_reg[q] + {{(CREDIT_W-1){1'b0}}, beat_done[q]} - {{(CREDIT_W-1){1'b0}}, read_now[q]};
        credit_ok_reg[q] <= beat_done[q] || credit_reg[q] > 1 || (credit_reg[q] == 1 && !read_now[q]);
        if (read_now[q]) begin
            left_reg[q] <= left_reg[q] - ONE_BEAT;
            last_reg[q] <= left_reg[q] <= TWO_BEATS;
            near_reg[q] <= left_reg[q] <= THREE_BEATS;
            place_reg[q] <= (CELL_BEATS == 1 || place_reg[q] == CELL_BEATS[PLACE_W-1:0] - 1'b1) ? {PLACE_W{1'b0}}
                : place_reg[q] + 1'b1;
            index_reg[q] <= index_reg[q] + {2'd0, index_reg[q] != 3'd7};
        end
        if (ends_now[q])
            active_reg[q] <= 1'b0;
        if (moves[q]) begin
            active_reg[q] <= 1'b1;
            last_reg[q] <= wait_reg[q][DESC_W-1];
            near_reg[q] <= wait_reg[q][2*CELL_W +: LEN_W] <= TWO_BEATS;
            place_reg[q] <= {PLACE_W{1'b0}};
            index_reg[q] <= 3'd0;
            {return_reg[q], trim_reg[q], left_reg[q], end_reg[q], begin_reg[q]} <= wait_reg[q][DESC_W-2:0];
            length_reg[q] <= wait_reg[q][2*CELL_W +: 6];
            cells_reg[q] <= wait_reg[q][2*CELL_W + 6 +: LEN_W-6] + {{(LEN_W-7){1'b0}}, |wait_reg[q][2*CELL_W +: 6]};
            waits_reg[q] <= second_waits_reg[q];
            wait_reg[q] <= second_reg[q];
            second_waits_reg[q] <= 1'b0;
        end
        if (start_valid[q]) begin
            if (!waits_reg[q] || (moves[q] && !second_waits_reg[q])) begin
                waits_reg[q] <= 1'b1;
                wait_reg[q] <= start_desc[q*DESC_W +: DESC_W];
            end else begin
                second_waits_reg[q] <= 1'b1;
                second_reg[q] <= start_desc[q*DESC_W +: DESC_W];
            end
        end
    end
    if (rst) begin
        active_reg <= {PORTS{1'b0}};
        waits_reg <= {PORTS{1'b0}};
        second_waits_reg <= {PORTS{1'b0}};
        credit_ok_reg <= {PORTS{1'b1}};
        read_valid_reg <= 1'b0;
        left_valid_reg <= 1'b0;
        left_second_reg <= 1'b0;
        turn_reg <= {PORT_W{1'b0}};
        for (q = 0; q < PORTS; q = q + 1)
            credit_reg[q] <= CREDITS[CREDIT_W-1:0];
    end
end

// Where it is. What is behind a cell is looked up when its last beat is read: it is known when the port may have its next turn,
// and kept until it has.
reg [CELL_W-1:0] cell_reg [0:PORTS-1];
reg followed_reg;
reg [PORT_W-1:0] followed_port_reg;
wire [CELL_W-1:0] cell_now = read_first_reg ? read_begin_reg
    : followed_reg && followed_port_reg == read_port_reg ? follow_next : cell_reg[read_port_reg];
assign read = read_valid_reg;
assign follow_cell = cell_now;
generate
    if (CELL_BEATS > 1) begin : several
        assign read_address = {cell_now, read_place_reg};
    end else begin : single
        assign read_address = cell_now;
        wire unused = &{1'b0, read_place_reg};
    end
endgenerate

always @(posedge clk) begin
    if (followed_reg)
        cell_reg[followed_port_reg] <= follow_next;
    if (read_valid_reg)
        cell_reg[read_port_reg] <= cell_now;
    followed_reg <= !rst && read_valid_reg && read_follow_reg;
    followed_port_reg <= read_port_reg;
    beat_valid <= (read_valid_reg && !rst) ? {{(PORTS-1){1'b0}}, 1'b1} << read_port_reg : {PORTS{1'b0}};
    beat_last <= read_last_reg;
    beat_index <= read_index_reg;
    beat_bytes <= read_bytes_reg;
    beat_trim <= read_trim_reg;
    beat_return <= read_return_reg;
    beat_length <= read_length_reg;
end

`ifdef FORMAL
`include "packet_reader_formal.svh"
`endif

endmodule

`resetall
