// What becomes of a packet that has arrived whole: one decision a cycle, for all ports.
//
// At most one packet joins a data queue, one header joins a header queue (of this port or, returned, of another),
// and one list of cells is freed. All that is asked of the ports are bits that they know already: those of its data queue
// are chosen and kept while the newcomer is the next one.

`resetall
`default_nettype none

module admission #(
    parameter NDP = 1,
    parameter PORTS = 4,
    parameter DATA_W = 256,
    parameter CELL_W = 11,
    parameter LEN_W = 14,
    parameter DESC_W = 2*CELL_W + LEN_W + 3,
    parameter COUNT_W = 32
) (
    input  wire                      clk,
    input  wire                      rst,

    // The next newcomer, one cycle before it is decided on.
    input  wire                      next_valid,
    input  wire                      next_routed,
    input  wire                      next_trimmable,
    input  wire                      next_trimmed,
    input  wire                      next_other_header,
    // The newcomer.
    input  wire                      valid,
    input  wire                      routed,
    input  wire [$clog2(PORTS)-1:0]  port,
    input  wire                      back_routed,
    input  wire [$clog2(PORTS)-1:0]  back_port,
    input  wire                      trimmable,
    input  wire                      trimmed,
    input  wire [LEN_W-1:0]          bytes,
    input  wire                      one_beat,
    input  wire [CELL_W-1:0]         cells,
    input  wire [CELL_W-1:0]         first,
    input  wire [CELL_W-1:0]         second,
    input  wire [CELL_W-1:0]         last,

    // 0: always the newcomer (NetFPGA, P4); 1: by the register; 2: by `coin`, which is used up when
    // `status_coin` is set.
    input  wire [1:0]                cfg_coin,
    input  wire [15:0]               cfg_seed,
    input  wire                      coin,
    // Headers that find no room go back to their sender (NDP 3.2.4).
    input  wire                      cfg_return,

    // Where the next newcomer goes, and what it will find there.
    input  wire [$clog2(PORTS)-1:0]  next_port,
    input  wire [PORTS-1:0]          next_data_room,
    input  wire [PORTS-1:0]          next_swap_room,
    input  wire [PORTS-1:0]          next_tail_waits,
    input  wire [PORTS-1:0]          header_room,
    input  wire [PORTS-1:0]          tail_room,

    output reg  [PORTS-1:0]          data_push,
    output reg  [PORTS-1:0]          data_swap,
    output wire [DESC_W-1:0]         data_desc,
    output reg  [PORTS-1:0]          header_push,
    output reg  [DESC_W-1:0]         header_desc,
    // The header is the tail's, with these bytes on the wire; otherwise it is the newcomer's.
    output wire                      header_of_tail,
    output wire [LEN_W-1:0]          tail_header,

    // One cycle later: nobody waits for cells.
    output reg                       back,
    output reg  [CELL_W-1:0]         back_first,
    output reg  [CELL_W-1:0]         back_last,
    output reg  [CELL_W-1:0]         back_cells,

    output wire                      status_coin,
    // Counters of each port: packets trimmed, bytes cut, headers returned, packets dropped.
    output wire [PORTS*COUNT_W-1:0]  count_trimmed,
    output wire [PORTS*COUNT_W-1:0]  count_cut_bytes,
    output wire [PORTS*COUNT_W-1:0]  count_returned,
    output wire [PORTS*COUNT_W-1:0]  count_dropped,
    output wire [COUNT_W-1:0]        count_coins,
    output reg  [COUNT_W-1:0]        count_unrouted
);

// The frame check sequence is on the wire and not in the memory.
localparam [LEN_W-1:0] FCS = 4;
// NDP 3.1: a trimmed packet has 64 bytes on the wire.
localparam [LEN_W-1:0] TRIMMED = 60;

wire next_is_header = NDP != 0 && (next_trimmed || next_other_header);
wire next_is_data = next_valid && next_routed && !next_is_header;
reg frees;
reg [CELL_W-1:0] frees_first, frees_last, frees_cells;
always @(posedge clk) begin
    back <= frees && !rst;
    back_first <= frees_first;
    back_last <= frees_last;
    back_cells <= frees_cells;
end
assign data_desc = {one_beat, 2'b00, bytes, last, first};

localparam PORT_W = $clog2(PORTS);
function automatic [PORTS-1:0] one(input [PORT_W-1:0] index);
    begin
        one = {{(PORTS-1){1'b0}}, 1'b1} << index;
    end
endfunction

// What is known of the newcomer before its turn: it fits, it overflows the data queue; it may not be trimmed and is lost.
reg fits, overflows, lost;
wire room_there = next_data_room[next_port];
wire next_may_be_cut = NDP != 0 && next_trimmable;
always @(posedge clk) begin
    fits <= !rst && next_is_data && room_there;
    overflows <= !rst && next_is_data && !room_there && next_may_be_cut;
    lost <= !rst && next_is_data && !room_there && !next_may_be_cut;
end
reg [PORTS-1:0] event_dropped;

generate
    if (NDP != 0) begin : ndp
        // The tails of the data queues: what a decision about them needs.
        reg [PORTS-1:0] tail_trimmable_reg, tail_routed_reg, tail_one_beat_reg;
        reg [PORT_W-1:0] tail_back_reg [0:PORTS-1];
        reg [LEN_W-1:0] tail_bytes_reg [0:PORTS-1];
        reg [LEN_W-1:0] tail_length_reg [0:PORTS-1];
        reg [CELL_W-1:0] tail_cells_reg [0:PORTS-1];
        // All but the first, and whether there are any.
        reg [CELL_W-1:0] tail_rest_reg [0:PORTS-1];
        reg [PORTS-1:0] tail_has_rest_reg;
        reg [CELL_W-1:0] tail_first_reg [0:PORTS-1];
        reg [CELL_W-1:0] tail_second_reg [0:PORTS-1];
        reg [CELL_W-1:0] tail_last_reg [0:PORTS-1];

        reg [15:0] lfsr_reg;
        reg [COUNT_W-1:0] trimmed_reg [0:PORTS-1];
        reg [COUNT_W-1:0] cut_reg [0:PORTS-1];
        reg [COUNT_W-1:0] returned_reg [0:PORTS-1];
        reg [COUNT_W-1:0] coins_reg;
        // Counted one cycle later.
        reg cut_event_reg, return_event_reg;
        reg [PORT_W-1:0] event_port_reg;
        reg [LEN_W-1:0] event_bytes_reg;

        // It is a header; of its port: a tail waits that may be trimmed, and its place is large enough.
        reg is_header, draws, swap_room;
        always @(posedge clk) begin
            is_header <= !rst && next_valid && next_routed && next_is_header;
            draws <= !rst && next_is_data && !room_there && next_trimmable && cfg_coin != 2'd0
                && next_tail_waits[next_port] && (data_push[next_port] ? trimmable : tail_trimmable_reg[next_port]);
            swap_room <= next_swap_room[next_port];
        end

        // NDP 3.1: the newcomer or the tail, 50 % each; no coin is drawn when there is no choice.
        wire heads = cfg_coin == 2'd2 ? coin : lfsr_reg[0];
        wire tail_goes = draws && heads && swap_room;
        assign status_coin = draws;

        wire [LEN_W-1:0] tail_bytes = tail_bytes_reg[port];
        wire [LEN_W-1:0] cut_bytes = tail_goes ? tail_bytes : bytes;
        wire [LEN_W-1:0] tail_length = tail_length_reg[port];
        wire [LEN_W-1:0] new_length = bytes > TRIMMED ? TRIMMED : bytes;
        wire [LEN_W-1:0] cut_length = tail_goes ? tail_length : new_length;
        // Of a header: what is trimmed to less than a beat has one.
        wire cut_one_beat = (DATA_W / 8 >= 60 && cuts) || (tail_goes ? tail_one_beat_reg[port] : one_beat);
        assign header_of_tail = tail_goes;
        assign tail_header = tail_length + FCS;
        wire [CELL_W-1:0] new_rest = cells - 1'b1;
        wire new_has_rest = cells != 1;
        wire [CELL_W-1:0] cut_cells = tail_goes ? tail_cells_reg[port] : cells;
        wire [CELL_W-1:0] cut_first = tail_goes ? tail_first_reg[port] : first;
        wire [CELL_W-1:0] cut_second = tail_goes ? tail_second_reg[port] : second;
        wire [CELL_W-1:0] cut_last = tail_goes ? tail_last_reg[port] : last;

        wire cuts = overflows;
        wire joins = overflows || is_header;
        wire here = tail_goes ? tail_room[port] : header_room[port];
        wire may_return = cfg_return && (cuts || trimmed);
        wire back_found = tail_goes ? tail_routed_reg[port] : back_routed;
        wire [PORT_W-1:0] back_to = tail_goes ? tail_back_reg[port] : back_port;
        // A header goes back once: what finds no room there is dropped.
        wire there = back_found && (tail_goes ? tail_room[back_to] : header_room[back_to]);
        wire returns = joins && !here && may_return;
        wire kept = joins && (here || (returns && there));
        // The same for the newcomer and for the tail, beside the coin, which comes last and chooses.
        wire new_there = cfg_return && (trimmable || trimmed) && back_routed && header_room[back_port];
        wire tail_there = cfg_return && tail_routed_reg[port] && tail_room[tail_back_reg[port]];
        wire [PORTS-1:0] new_goes_to = !joins ? {PORTS{1'b0}}
            : header_room[port] ? one(port) : new_there ? one(back_port) : {PORTS{1'b0}};
        wire [PORTS-1:0] tail_goes_to = tail_room[port] ? one(port) : tail_there ? one(tail_back_reg[port]) : {PORTS{1'b0}};

        always @* begin
            data_push = fits ? one(port) : {PORTS{1'b0}};
            data_swap = tail_goes ? one(port) : {PORTS{1'b0}};
            header_push = tail_goes ? tail_goes_to : new_goes_to;
            header_desc = {cut_one_beat, !here, cuts, cuts ? cut_length : bytes,
                           cuts ? cut_first : last, cuts ? cut_first : first};

            frees = 1'b0;
            frees_first = cut_first;
            frees_last = cut_last;
            frees_cells = cut_cells;
            if (valid && !routed)
                frees = 1'b1;
            else if (joins && !kept)
                frees = 1'b1;
            else if (lost)
                frees = 1'b1;
            else if (cuts && (tail_goes ? tail_has_rest_reg[port] : new_has_rest)) begin
                frees = 1'b1;
                frees_first = cut_second;
                frees_cells = tail_goes ? tail_rest_reg[port] : new_rest;
            end

            event_dropped = {PORTS{1'b0}};
            if ((joins && !kept) || lost)
                event_dropped = one(port);
        end

        integer i;
        always @(posedge clk) begin
            if (|data_push || |data_swap) begin
                tail_trimmable_reg[port] <= trimmable;
                tail_routed_reg[port] <= back_routed;
                tail_back_reg[port] <= back_port;
                tail_bytes_reg[port] <= bytes;
                tail_one_beat_reg[port] <= one_beat;
                tail_length_reg[port] <= new_length;
                tail_cells_reg[port] <= cells;
                tail_rest_reg[port] <= new_rest;
                tail_has_rest_reg[port] <= new_has_rest;
                tail_first_reg[port] <= first;
                tail_second_reg[port] <= second;
                tail_last_reg[port] <= last;
            end
            // x^16 + x^15 + x^13 + x^4 + 1, one step a coin.
            if (draws) begin
                lfsr_reg <= {lfsr_reg[14:0], lfsr_reg[15] ^ lfsr_reg[14] ^ lfsr_reg[12] ^ lfsr_reg[3]};
                coins_reg <= coins_reg + 1'b1;
            end
            cut_event_reg <= cuts && !rst;
            return_event_reg <= returns && !rst;
            event_port_reg <= port;
            event_bytes_reg <= cut_bytes;
            if (cut_event_reg) begin
                trimmed_reg[event_port_reg] <= trimmed_reg[event_port_reg] + 1'b1;
                if (event_bytes_reg > TRIMMED)
                    cut_reg[event_port_reg] <= cut_reg[event_port_reg] + {{(COUNT_W-LEN_W){1'b0}}, event_bytes_reg - TRIMMED};
            end
            if (return_event_reg)
                returned_reg[event_port_reg] <= returned_reg[event_port_reg] + 1'b1;
            if (rst) begin
                // All zeros is the one state that a shift register does not leave.
                lfsr_reg <= cfg_seed == 16'd0 ? 16'd1 : cfg_seed;
                coins_reg <= {COUNT_W{1'b0}};
                for (i = 0; i < PORTS; i = i + 1) begin
                    trimmed_reg[i] <= {COUNT_W{1'b0}};
                    cut_reg[i] <= {COUNT_W{1'b0}};
                    returned_reg[i] <= {COUNT_W{1'b0}};
                end
            end
        end

        genvar p;
        for (p = 0; p < PORTS; p = p + 1) begin : counters
            assign count_trimmed[p*COUNT_W +: COUNT_W] = trimmed_reg[p];
            assign count_cut_bytes[p*COUNT_W +: COUNT_W] = cut_reg[p];
            assign count_returned[p*COUNT_W +: COUNT_W] = returned_reg[p];
        end
        assign count_coins = coins_reg;
    end else begin : plain
        always @* begin
            data_push = fits ? one(port) : {PORTS{1'b0}};
            data_swap = {PORTS{1'b0}};
            header_push = {PORTS{1'b0}};
            header_desc = {DESC_W{1'b0}};
            frees = valid && !fits;
            frees_first = first;
            frees_last = last;
            frees_cells = cells;
            event_dropped = {PORTS{1'b0}};
            if (lost)
                event_dropped = one(port);
        end
        assign header_of_tail = 1'b0;
        assign tail_header = {LEN_W{1'b0}};
        assign status_coin = 1'b0;
        assign count_trimmed = {(PORTS*COUNT_W){1'b0}};
        assign count_cut_bytes = {(PORTS*COUNT_W){1'b0}};
        assign count_returned = {(PORTS*COUNT_W){1'b0}};
        assign count_coins = {COUNT_W{1'b0}};
        wire unused = &{1'b0, back_routed, back_port, trimmable, trimmed, overflows, next_may_be_cut, second, cfg_coin, cfg_seed,
            coin, cfg_return, next_swap_room, next_tail_waits, header_room, tail_room, next_trimmable, next_trimmed, next_other_header};
    end
endgenerate

reg [COUNT_W-1:0] dropped_reg [0:PORTS-1];
reg [PORTS-1:0] dropped_now_reg;
reg unrouted_now_reg;
integer k;
always @(posedge clk) begin
    dropped_now_reg <= rst ? {PORTS{1'b0}} : event_dropped;
    unrouted_now_reg <= valid && !routed && !rst;
    if (rst)
        count_unrouted <= {COUNT_W{1'b0}};
    else if (unrouted_now_reg)
        count_unrouted <= count_unrouted + 1'b1;
    for (k = 0; k < PORTS; k = k + 1)
        if (dropped_now_reg[k])
            dropped_reg[k] <= dropped_reg[k] + 1'b1;
    if (rst)
        for (k = 0; k < PORTS; k = k + 1)
            dropped_reg[k] <= {COUNT_W{1'b0}};
end
genvar q;
generate
    for (q = 0; q < PORTS; q = q + 1) begin : drops
        assign count_dropped[q*COUNT_W +: COUNT_W] = dropped_reg[q];
    end
endgenerate

`ifdef FORMAL
`include "admission_formal.svh"
`endif

endmodule

`resetall
