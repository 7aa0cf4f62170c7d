// The packet memory's cells of 64 bytes, as linked lists: free cells are one list, each packet is another.
//
// A packet is a piece cut off the head of the free list: the links are already there, so storing a packet
// writes none. Cells come back as whole lists, appended behind the last free cell with one write, whether the
// payload of a trimmed packet or a packet that has left. A free list that is never empty needs no special case:
// a packet is stored only while `ready` says that the longest one would leave cells over.

`resetall
`default_nettype none

module cell_chain #(
    parameter CELLS = 2048,
    // Cells of the longest packet.
    parameter MAX_CELLS = 144,
    parameter CELL_W = $clog2(CELLS)
) (
    input  wire              clk,
    input  wire              rst,
    // The longest packet fits.
    output reg               ready,
    // All cells are linked.
    output wire              initialised,

    // The cell at the head of the free list; `take` moves to the next one.
    output wire [CELL_W-1:0] head,
    input  wire              take,

    // The list from `back_first` to `back_last`, `back_cells` long, is free again: first priority.
    input  wire              back,
    input  wire [CELL_W-1:0] back_first,
    input  wire [CELL_W-1:0] back_last,
    input  wire [CELL_W-1:0] back_cells,
    // The same, when there is time: kept until `left_ready`.
    input  wire              left,
    input  wire [CELL_W-1:0] left_first,
    input  wire [CELL_W-1:0] left_last,
    input  wire [CELL_W-1:0] left_cells,
    output wire              left_ready,

    // The cell behind `follow_cell`, one cycle later.
    input  wire [CELL_W-1:0] follow_cell,
    output reg  [CELL_W-1:0] follow_next,

    output wire [CELL_W:0]   free_cells
);

localparam [CELL_W:0] BEFORE_LAST_CELL = CELLS[CELL_W:0] - 2;
localparam [CELL_W-1:0] BEFORE_LAST = BEFORE_LAST_CELL[CELL_W-1:0];

// Two copies: two readers. What is read of a cell in the cycle in which it is written does not matter (no_rw_check, for
// synthesis): see ENOUGH; and nobody follows a free cell.
(* no_rw_check *) reg [CELL_W-1:0] next_a [0:CELLS-1];
(* no_rw_check *) reg [CELL_W-1:0] next_b [0:CELLS-1];

reg initialised_reg;
reg [CELL_W-1:0] fill_reg;
reg [CELL_W-1:0] head_reg, tail_reg, head_next;
reg [CELL_W:0] free_reg;

assign left_ready = initialised_reg && !back;
wire append = initialised_reg && (back || left);
wire [CELL_W-1:0] append_first = back ? back_first : left_first;
wire [CELL_W-1:0] append_last = back ? back_last : left_last;
wire [CELL_W-1:0] append_cells = back ? back_cells : left_cells;

wire write = append || !initialised_reg;
wire [CELL_W-1:0] write_cell = initialised_reg ? tail_reg : fill_reg;
wire [CELL_W-1:0] write_next = initialised_reg ? append_first : fill_reg + 1'b1;

wire [CELL_W-1:0] head_now = take ? head_next : head_reg;
always @(posedge clk) begin
    if (write)
        next_a[write_cell] <= write_next;
    head_next <= next_a[head_now];
end
always @(posedge clk) begin
    if (write)
        next_b[write_cell] <= write_next;
    follow_next <= next_b[follow_cell];
end

assign head = head_reg;
assign initialised = initialised_reg;
assign free_cells = free_reg;
// Five more than the packet: the list's last cell is never taken, its link is not yet written; what is read of the
// link of a cell in the cycle in which it is written is not used; and what is said here is one cycle old, in which a
// cell may have been taken.
localparam [CELL_W:0] ENOUGH = MAX_CELLS[CELL_W:0] + 5;
always @(posedge clk)
    ready <= !rst && initialised_reg && free_reg >= ENOUGH;

always @(posedge clk) begin
    head_reg <= head_now;
    if (append)
        tail_reg <= append_last;
    free_reg <= free_reg + (append ? {1'b0, append_cells} : {(CELL_W+1){1'b0}}) - {{CELL_W{1'b0}}, take};
    if (!initialised_reg) begin
        fill_reg <= fill_reg + 1'b1;
        if (fill_reg == BEFORE_LAST)
            initialised_reg <= 1'b1;
    end
    if (rst) begin
        initialised_reg <= 1'b0;
        fill_reg <= {CELL_W{1'b0}};
        head_reg <= {CELL_W{1'b0}};
        tail_reg <= CELLS[CELL_W-1:0] - 1'b1;
        free_reg <= CELLS[CELL_W:0];
    end
end

`ifdef FORMAL
`include "cell_chain_formal.svh"
`endif

endmodule

`resetall
