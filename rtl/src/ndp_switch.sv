// A switch of PORTS ports that trims (NDP 3.1, 3.2.4, 4).
//
//   input_queue --> drr_arbiter --> bus --> packet memory ---------------------> packet_reader --> egress
//   (each port)                      |      cell_chain: where                       ^           (each port)
//                                    +----> header_parser, forwarding_table,        |
//                                           admission ----------------------> output_queue
//                                                                              (each port)
//   Between the packet memory and egress, for all ports: checksum_terms.
//
// One beat enters the packet memory in each cycle, whatever the packets' lengths are: a packet of N beats takes N cycles.
// Nothing behind the bus can hold it up: a packet that finds no place is trimmed, returned or dropped. A packet
// is decided on four cycles after its last beat. Trimming, taking the tail's place and returning move descriptors,
// never bytes.
//
// NDP = 0 leaves the switch without any of that: one queue a port, which drops what does not fit.

`resetall
`default_nettype none

module ndp_switch #(
    parameter NDP = 1,
    parameter PORTS = 4,
    // 64, 128, 256 or 512.
    parameter DATA_W = 256,
    // Each input's memory, a power of two.
    parameter INPUT_BYTES = 16384,
    // Longest packet without its frame check sequence.
    parameter MAX_BYTES = 9216,
    // Cells of 64 bytes of the packet memory, a power of two. What the queues may hold, and three packets of the
    // greatest length on their way in.
    parameter CELLS = 2048,
    parameter DATA_SLOTS = 256,
    parameter HEADER_SLOTS = 256,
    parameter ENTRIES = 16,
    parameter SIZE_W = 20,
    parameter PACKETS_W = 13,
    parameter COUNT_W = 32
) (
    input  wire                       clk,
    input  wire                       rst,

    input  wire [PORTS*DATA_W-1:0]    s_axis_tdata,
    input  wire [PORTS*DATA_W/8-1:0]  s_axis_tkeep,
    input  wire [PORTS-1:0]           s_axis_tvalid,
    output wire [PORTS-1:0]           s_axis_tready,
    input  wire [PORTS-1:0]           s_axis_tlast,
    // With the last beat: the packet is bad.
    input  wire [PORTS-1:0]           s_axis_tuser,

    output wire [PORTS*DATA_W-1:0]    m_axis_tdata,
    output wire [PORTS*DATA_W/8-1:0]  m_axis_tkeep,
    output wire [PORTS-1:0]           m_axis_tvalid,
    input  wire [PORTS-1:0]           m_axis_tready,
    output wire [PORTS-1:0]           m_axis_tlast,
    // The port begins no packet. One that has begun is finished.
    input  wire [PORTS-1:0]           m_pause,

    // Set while rst is high: capacities and the seed are taken over there.
    input  wire [PACKETS_W-1:0]       cfg_data_packets,
    input  wire [SIZE_W-1:0]          cfg_data_bytes,
    input  wire [SIZE_W-1:0]          cfg_header_bytes,
    input  wire [16:0]                cfg_ratio,
    input  wire                       cfg_strict,
    input  wire                       cfg_return,
    input  wire [1:0]                 cfg_coin,
    input  wire [15:0]                cfg_seed,
    input  wire                       coin,

    input  wire                       table_write,
    input  wire [$clog2(ENTRIES)-1:0] table_index,
    input  wire                       table_valid,
    input  wire                       table_ip,
    input  wire [47:0]                table_key,
    input  wire [47:0]                table_mask,
    input  wire [$clog2(PORTS)-1:0]   table_port,

    output wire                       status_ready,
    output wire                       status_coin,
    output wire [$clog2(CELLS):0]     status_free_cells,
    // A packet is decided on.
    output wire                       status_decided,
    output wire [PORTS*PACKETS_W-1:0] status_data_packets,
    output wire [PORTS*SIZE_W-1:0]    status_data_bytes,
    output wire [PORTS*PACKETS_W-1:0] status_header_packets,
    output wire [PORTS*SIZE_W-1:0]    status_header_bytes,
    output wire [PORTS*COUNT_W-1:0]   count_trimmed,
    output wire [PORTS*COUNT_W-1:0]   count_cut_bytes,
    output wire [PORTS*COUNT_W-1:0]   count_returned,
    output wire [PORTS*COUNT_W-1:0]   count_dropped,
    output wire [COUNT_W-1:0]         count_coins,
    // Packets to nowhere.
    output wire [COUNT_W-1:0]         count_unrouted,
    // Packets that were bad or too long, and packets for which the memory had no room (never, if CELLS is
    // large enough).
    output reg  [COUNT_W-1:0]         count_discarded,
    output reg  [COUNT_W-1:0]         count_no_memory
);

localparam BYTES = DATA_W / 8;
// Counts a packet's bytes, and those of one that is a beat too long.
localparam LEN_W = $clog2(MAX_BYTES + BYTES + 1);
localparam MAX_BEATS = (MAX_BYTES + BYTES - 1) / BYTES;
localparam COST_W = $clog2(MAX_BEATS + 1);
localparam PORT_W = $clog2(PORTS);
localparam CELL_W = $clog2(CELLS);
localparam MAX_CELLS = (MAX_BYTES + 63) / 64;
localparam CELL_BEATS = (DATA_W < 512) ? 512 / DATA_W : 1;
localparam PLACE_W = CELL_BEATS > 1 ? $clog2(CELL_BEATS) : 1;
localparam ADDR_W = CELL_W + $clog2(CELL_BEATS);
// A packet that waits: of one beat, returned, trimmed, bytes, last cell, first cell.
localparam DESC_W = 2*CELL_W + LEN_W + 3;
localparam BEAT_W = $clog2(BYTES);
localparam BYTE_W = BEAT_W + 1;

generate
    if (DATA_W != 64 && DATA_W != 128 && DATA_W != 256 && DATA_W != 512)
        DATA_W_must_be_64_128_256_or_512 invalid ();
    // A packet that is one beat too long must be seen to be so.
    if (INPUT_BYTES < MAX_BYTES + BYTES || INPUT_BYTES != 1 << $clog2(INPUT_BYTES))
        INPUT_BYTES_must_be_a_power_of_two_beyond_MAX_BYTES invalid ();
    if (MAX_BYTES < 64 || MAX_BYTES + BYTES >= 1 << 14)
        MAX_BYTES_must_be_64_or_more_and_counted_in_14_bits invalid ();
    // 256: a count of cells is not narrower than a packet's.
    if (CELLS < 4 * MAX_CELLS || CELLS < 256 || CELLS != 1 << CELL_W)
        CELLS_must_be_a_power_of_two_that_holds_four_packets_of_MAX_BYTES invalid ();
    if (DATA_SLOTS != 1 << $clog2(DATA_SLOTS) || HEADER_SLOTS != 1 << $clog2(HEADER_SLOTS)
            || DATA_SLOTS >= 1 << PACKETS_W || HEADER_SLOTS >= 1 << PACKETS_W)
        SLOTS_must_be_powers_of_two_below_the_range_of_PACKETS_W invalid ();
    if (PORTS < 2 || ENTRIES < 2)
        PORTS_and_ENTRIES_must_be_two_or_more invalid ();
endgenerate

// Inputs.

wire [PORTS-1:0] packet_valid, packet_take, discarded;
wire [PORTS*LEN_W-1:0] packet_bytes;
wire [PORTS*COST_W-1:0] packet_cost, packet_next_cost;
wire [PORTS-1:0] packet_next_valid;
wire [PORTS-1:0] beat_read;
wire [PORTS*DATA_W-1:0] beat_data;

genvar p;
generate
    for (p = 0; p < PORTS; p = p + 1) begin : in
        input_queue #(
            .DATA_W(DATA_W), .DEPTH(INPUT_BYTES / BYTES), .MAX_BYTES(MAX_BYTES), .LEN_W(LEN_W), .COST_W(COST_W)
        ) queue (
            .clk(clk), .rst(rst),
            .s_axis_tdata(s_axis_tdata[p*DATA_W +: DATA_W]),
            .s_axis_tkeep(s_axis_tkeep[p*BYTES +: BYTES]),
            .s_axis_tvalid(s_axis_tvalid[p]), .s_axis_tready(s_axis_tready[p]),
            .s_axis_tlast(s_axis_tlast[p]), .s_axis_tuser(s_axis_tuser[p]),
            .ready(status_ready), .packet_valid(packet_valid[p]), .packet_bytes(packet_bytes[p*LEN_W +: LEN_W]),
            .packet_cost(packet_cost[p*COST_W +: COST_W]), .packet_next_valid(packet_next_valid[p]),
            .packet_next_cost(packet_next_cost[p*COST_W +: COST_W]), .packet_take(packet_take[p]),
            .beat_read(beat_read[p]), .beat_data(beat_data[p*DATA_W +: DATA_W]),
            .status_discarded(discarded[p])
        );
    end
endgenerate

wire grant_valid, grant_ready;
wire [PORT_W-1:0] grant_port;
wire [LEN_W-1:0] grant_bytes;
wire [COST_W-1:0] grant_cost;

drr_arbiter #(
    .PORTS(PORTS), .COST_W(COST_W), .QUANTUM(MAX_BEATS), .LEN_W(LEN_W)
) arbiter (
    .clk(clk), .rst(rst), .request(packet_valid), .bytes(packet_bytes), .cost(packet_cost),
    .next_valid(packet_next_valid), .next_cost(packet_next_cost),
    .take(packet_take),
    .grant_valid(grant_valid), .grant_port(grant_port), .grant_bytes(grant_bytes),
    .grant_cost(grant_cost), .grant_ready(grant_ready)
);

// The bus: the beats of one packet after the other.

reg bus_active_reg;
reg [PORT_W-1:0] bus_port_reg;
reg [COST_W-1:0] bus_left_reg;
reg [LEN_W-1:0] bus_bytes_reg;
reg bus_first_reg, bus_last_reg;
assign grant_ready = !bus_active_reg || bus_last_reg;
assign beat_read = bus_active_reg ? ({{(PORTS-1){1'b0}}, 1'b1} << bus_port_reg) : {PORTS{1'b0}};

// The beat that comes out of an input's memory, and behind a register the one that goes into the packet memory.
reg fetch_valid_reg, fetch_first_reg, fetch_last_reg;
reg [PORT_W-1:0] fetch_port_reg;
reg [LEN_W-1:0] fetch_bytes_reg;
reg write_valid_reg, write_first_reg, write_last_reg;
reg [LEN_W-1:0] write_bytes_reg;
reg [DATA_W-1:0] write_data;

always @(posedge clk) begin
    if (grant_ready) begin
        bus_active_reg <= grant_valid;
        bus_port_reg <= grant_port;
        bus_left_reg <= grant_cost;
        bus_bytes_reg <= grant_bytes;
        bus_first_reg <= 1'b1;
        bus_last_reg <= grant_cost == 1;
    end else begin
        bus_left_reg <= bus_left_reg - 1'b1;
        bus_first_reg <= 1'b0;
        bus_last_reg <= bus_left_reg == 2;
    end
    fetch_valid_reg <= bus_active_reg;
    fetch_first_reg <= bus_first_reg;
    fetch_last_reg <= bus_last_reg;
    fetch_port_reg <= bus_port_reg;
    fetch_bytes_reg <= bus_bytes_reg;
    write_valid_reg <= fetch_valid_reg;
    write_first_reg <= fetch_first_reg;
    write_last_reg <= fetch_last_reg;
    write_bytes_reg <= fetch_bytes_reg;
    write_data <= beat_data[fetch_port_reg*DATA_W +: DATA_W];
    if (rst) begin
        bus_active_reg <= 1'b0;
        fetch_valid_reg <= 1'b0;
        write_valid_reg <= 1'b0;
    end
end

// Into the memory.

wire [CELL_W-1:0] free_head;
wire memory_ready;
reg [PLACE_W-1:0] place_reg;
reg [3:0] index_reg;
reg skip_reg, second_next_reg;
wire skip = write_first_reg ? !memory_ready : skip_reg;
wire [PLACE_W-1:0] place = write_first_reg ? {PLACE_W{1'b0}} : place_reg;
wire [3:0] index = write_first_reg ? 4'd0 : index_reg;
wire cell_ends = write_last_reg || CELL_BEATS == 1 || place == CELL_BEATS[PLACE_W-1:0] - 1'b1;
wire store = write_valid_reg && !skip;
wire cell_take = store && cell_ends;

reg meta_valid_reg;
reg [LEN_W-1:0] meta_bytes_reg;
reg [CELL_W-1:0] meta_first_reg, meta_second_reg, meta_last_reg;
reg [CELL_W-1:0] first_reg, second_reg;

always @(posedge clk) begin
    meta_valid_reg <= 1'b0;
    if (write_valid_reg) begin
        place_reg <= cell_ends ? {PLACE_W{1'b0}} : place + 1'b1;
        index_reg <= index + {3'd0, index != 4'd15};
        skip_reg <= skip;
        if (write_first_reg) begin
            first_reg <= free_head;
            second_next_reg <= 1'b1;
        end else if (second_next_reg && place == 0) begin
            second_reg <= free_head;
            second_next_reg <= 1'b0;
        end
        if (write_last_reg) begin
            meta_valid_reg <= !skip;
            meta_bytes_reg <= write_bytes_reg;
            meta_first_reg <= write_first_reg ? free_head : first_reg;
            meta_second_reg <= (second_next_reg && place == 0) ? free_head : second_reg;
            meta_last_reg <= free_head;
        end
    end
    if (rst) begin
        meta_valid_reg <= 1'b0;
        count_no_memory <= {COUNT_W{1'b0}};
    end else if (write_valid_reg && write_last_reg && skip) begin
        count_no_memory <= count_no_memory + 1'b1;
    end
end

// No cell is written that a packet in a queue has.
(* no_rw_check *) reg [DATA_W-1:0] memory [0:(1 << ADDR_W)-1];
wire [ADDR_W-1:0] write_address;
wire read;
wire [ADDR_W-1:0] read_address;
reg [DATA_W-1:0] read_data;
generate
    if (CELL_BEATS > 1) begin : several
        assign write_address = {free_head, place};
    end else begin : single
        assign write_address = free_head;
    end
endgenerate
always @(posedge clk) begin
    if (store)
        memory[write_address] <= write_data;
    if (read)
        read_data <= memory[read_address];
end

wire back, left, left_ready;
wire [CELL_W-1:0] back_first, back_last, back_cells, left_first, left_last, left_cells;
wire [CELL_W-1:0] follow_cell, follow_next;

cell_chain #(
    .CELLS(CELLS), .MAX_CELLS(MAX_CELLS), .CELL_W(CELL_W)
) cells (
    .clk(clk), .rst(rst), .ready(memory_ready), .initialised(status_ready),
    .head(free_head), .take(cell_take),
    .back(back), .back_first(back_first), .back_last(back_last), .back_cells(back_cells),
    .left(left), .left_first(left_first), .left_last(left_last), .left_cells(left_cells),
    .left_ready(left_ready),
    .follow_cell(follow_cell), .follow_next(follow_next), .free_cells(status_free_cells)
);

// Where to, and what it is.

wire is_ip, is_trimmable, is_trimmed, is_other_header, to_found, from_found;
wire [31:0] ip_destination, ip_source;
wire [47:0] mac_destination, mac_source;
wire [PORT_W-1:0] to_port, from_port;

header_parser #(
    .DATA_W(DATA_W), .LEN_W(LEN_W)
) parser (
    .clk(clk), .beat_data(write_data), .beat_valid(write_valid_reg), .beat_index(index),
    .packet_bytes(meta_bytes_reg), .is_ip(is_ip), .ip_destination(ip_destination), .ip_source(ip_source),
    .mac_destination(mac_destination), .mac_source(mac_source), .is_trimmable(is_trimmable),
    .is_trimmed(is_trimmed), .is_other_header(is_other_header)
);

forwarding_table #(
    .PORTS(PORTS), .ENTRIES(ENTRIES), .RETURN(NDP)
) table_of_ports (
    .clk(clk), .rst(rst), .write(table_write), .write_index(table_index), .write_valid(table_valid),
    .write_ip(table_ip), .write_key(table_key), .write_mask(table_mask), .write_port(table_port),
    .is_ip(is_ip), .ip_destination(ip_destination), .ip_source(ip_source),
    .mac_destination(mac_destination), .mac_source(mac_source),
    .destination_found(to_found), .destination_port(to_port),
    .source_found(from_found), .source_port(from_port)
);

wire [LEN_W-7:0] cells_needed = meta_bytes_reg[LEN_W-1:6] + {{(LEN_W-7){1'b0}}, |meta_bytes_reg[5:0]};
// The frame check sequence is on the wire and not in the memory; a trimmed packet has 64 bytes there (NDP 3.1).
localparam [LEN_W-1:0] FCS = 4;
localparam [LEN_W-1:0] TRIMMED = 64;
wire [LEN_W-1:0] whole = meta_bytes_reg + FCS;

// The ports that its addresses lead to, found while it is in the second of these stages.
reg routed_reg, back_routed_reg;
reg [PORT_W-1:0] to_port_reg, from_port_reg;
always @(posedge clk) begin
    routed_reg <= to_found;
    to_port_reg <= to_port;
    back_routed_reg <= from_found;
    from_port_reg <= from_port;
end

// Three stages: what it is (and what matches its addresses), where to (and, at each port, whether it will have room), the
// newcomer, which is decided on.
reg class_valid_reg, class_trimmable_reg, class_trimmed_reg, class_other_reg, class_short_reg, class_one_beat_reg;
reg [LEN_W-1:0] class_bytes_reg, class_whole_reg;
reg [CELL_W-1:0] class_first_reg, class_second_reg, class_last_reg, class_cells_reg;
reg next_valid_reg, next_trimmable_reg, next_trimmed_reg, next_other_reg, next_one_beat_reg;
reg [LEN_W-1:0] next_bytes_reg, next_whole_reg, next_header_reg;
reg [CELL_W-1:0] next_first_reg, next_second_reg, next_last_reg, next_cells_reg;
reg new_valid_reg, new_routed_reg, new_back_routed_reg, new_trimmable_reg, new_trimmed_reg, new_one_beat_reg;
reg [PORT_W-1:0] new_port_reg, new_back_port_reg;
reg [LEN_W-1:0] new_bytes_reg, new_whole_reg, new_header_reg;
reg [CELL_W-1:0] new_first_reg, new_second_reg, new_last_reg, new_cells_reg;
// The next one with the newcomer.
reg [LEN_W:0] both_whole_reg, both_header_reg;
// The newcomer may take the place of this port's tail.
reg [PORTS-1:0] contended_reg;
wire [LEN_W-1:0] class_header = (NDP == 0) ? {LEN_W{1'b0}}
    : (class_trimmed_reg || class_other_reg || class_short_reg) ? class_whole_reg : TRIMMED;
always @(posedge clk) begin
    class_valid_reg <= meta_valid_reg && !rst;
    class_trimmable_reg <= is_trimmable;
    class_trimmed_reg <= is_trimmed;
    class_other_reg <= is_other_header;
    class_short_reg <= whole < TRIMMED;
    class_bytes_reg <= meta_bytes_reg;
    class_whole_reg <= whole;
    class_cells_reg <= {{(CELL_W+6-LEN_W){1'b0}}, cells_needed};
    class_first_reg <= meta_first_reg;
    class_second_reg <= meta_second_reg;
    class_last_reg <= meta_last_reg;
    class_one_beat_reg <= meta_bytes_reg <= BYTES[LEN_W-1:0];

    next_valid_reg <= class_valid_reg && !rst;
    next_one_beat_reg <= class_one_beat_reg;
    next_trimmable_reg <= class_trimmable_reg;
    next_trimmed_reg <= class_trimmed_reg;
    next_other_reg <= class_other_reg;
    next_bytes_reg <= class_bytes_reg;
    next_whole_reg <= class_whole_reg;
    next_header_reg <= class_header;
    next_cells_reg <= class_cells_reg;
    next_first_reg <= class_first_reg;
    next_second_reg <= class_second_reg;
    next_last_reg <= class_last_reg;
    both_whole_reg <= {1'b0, class_whole_reg} + {1'b0, next_whole_reg};
    both_header_reg <= {1'b0, class_header} + {1'b0, next_header_reg};

    new_valid_reg <= next_valid_reg && !rst;
    new_one_beat_reg <= next_one_beat_reg;
    new_whole_reg <= next_whole_reg;
    new_header_reg <= next_header_reg;
    new_routed_reg <= routed_reg;
    new_port_reg <= to_port_reg;
    new_back_routed_reg <= back_routed_reg;
    new_back_port_reg <= from_port_reg;
    new_trimmable_reg <= next_trimmable_reg;
    new_trimmed_reg <= next_trimmed_reg;
    new_bytes_reg <= next_bytes_reg;
    new_cells_reg <= next_cells_reg;
    new_first_reg <= next_first_reg;
    new_second_reg <= next_second_reg;
    new_last_reg <= next_last_reg;
    contended_reg <= (NDP != 0 && next_valid_reg && next_trimmable_reg && !rst)
        ? {{(PORTS-1){1'b0}}, 1'b1} << to_port_reg : {PORTS{1'b0}};
end

assign status_decided = new_valid_reg;

// What becomes of it.

wire [LEN_W-1:0] tail_header;
wire header_of_tail;
wire [PORTS-1:0] next_data_room, next_swap_room, next_tail_waits, header_room, tail_room;
wire [PORTS-1:0] data_push, data_swap, header_push;
wire [DESC_W-1:0] data_desc, header_desc;

admission #(
    .NDP(NDP), .PORTS(PORTS), .DATA_W(DATA_W), .CELL_W(CELL_W), .LEN_W(LEN_W), .DESC_W(DESC_W), .COUNT_W(COUNT_W)
) admit (
    .clk(clk), .rst(rst),
    .next_valid(next_valid_reg), .next_routed(routed_reg), .next_trimmable(next_trimmable_reg), .next_trimmed(next_trimmed_reg),
    .next_other_header(next_other_reg),
    .valid(new_valid_reg), .routed(new_routed_reg), .port(new_port_reg),
    .back_routed(new_back_routed_reg), .back_port(new_back_port_reg),
    .trimmable(new_trimmable_reg), .trimmed(new_trimmed_reg),
    .bytes(new_bytes_reg), .one_beat(new_one_beat_reg), .cells(new_cells_reg),
    .first(new_first_reg), .second(new_second_reg), .last(new_last_reg),
    .cfg_coin(cfg_coin), .cfg_seed(cfg_seed), .coin(coin), .cfg_return(cfg_return),
    .next_port(to_port_reg), .next_data_room(next_data_room), .next_swap_room(next_swap_room),
    .next_tail_waits(next_tail_waits), .header_room(header_room), .tail_room(tail_room),
    .data_push(data_push), .data_swap(data_swap), .data_desc(data_desc),
    .header_push(header_push), .header_desc(header_desc), .header_of_tail(header_of_tail), .tail_header(tail_header),
    .back(back), .back_first(back_first), .back_last(back_last), .back_cells(back_cells),
    .status_coin(status_coin), .count_trimmed(count_trimmed), .count_cut_bytes(count_cut_bytes),
    .count_returned(count_returned), .count_dropped(count_dropped), .count_coins(count_coins), .count_unrouted(count_unrouted)
);

// Outputs.

wire [PORTS-1:0] start_valid, start_ready, wire_done;
wire [PORTS*DESC_W-1:0] start_desc;
wire [PORTS-1:0] out_valid, out_done;
wire out_last, out_trim, out_return;
wire [2:0] out_index;
wire [BYTE_W-1:0] out_bytes;
wire [5:0] out_length;
wire [PORTS-1:0] link_valid;
wire [DATA_W-1:0] link_data;
wire link_last, link_trim, link_return, link_shrinks;
wire [2:0] link_index;
wire [BYTE_W-1:0] link_bytes;
wire [17:0] link_term;
wire [16:0] link_length_term;
wire [5:0] link_length;

assign wire_done = m_axis_tvalid & m_axis_tready & m_axis_tlast;

// What was put into a queue, whose memory shows it one cycle later.
reg [DESC_W-1:0] last_data_reg, last_header_reg;
always @(posedge clk) begin
    last_data_reg <= data_desc;
    last_header_reg <= header_desc;
end

generate
    for (p = 0; p < PORTS; p = p + 1) begin : out
        wire is_data;
        output_queue #(
            .NDP(NDP), .DATA_SLOTS(DATA_SLOTS), .HEADER_SLOTS(HEADER_SLOTS), .DESC_W(DESC_W),
            .BYTES_AT(2*CELL_W), .LEN_W(LEN_W), .SIZE_W(SIZE_W), .PACKETS_W(PACKETS_W)
        ) queue (
            .clk(clk), .rst(rst),
            .cfg_data_packets(cfg_data_packets), .cfg_data_bytes(cfg_data_bytes),
            .cfg_header_bytes(cfg_header_bytes), .cfg_ratio(cfg_ratio), .cfg_strict(cfg_strict),
            .next_whole(next_whole_reg), .next_header(next_header_reg), .both_whole(both_whole_reg), .both_header(both_header_reg),
            .new_header(new_header_reg), .contended(contended_reg[p]),
            .next_data_room(next_data_room[p]), .next_swap_room(next_swap_room[p]), .next_tail_waits(next_tail_waits[p]),
            .header_room(header_room[p]), .tail_room(tail_room[p]),
            .data_push(data_push[p]), .data_swap(data_swap[p]), .data_desc(data_desc), .new_whole(new_whole_reg),
            .last_data(last_data_reg), .last_header(last_header_reg),
            .header_push(header_push[p]), .header_of_tail(header_of_tail), .tail_header(tail_header), .header_desc(header_desc),
            .start_ready(start_ready[p] && !m_pause[p]), .start_valid(start_valid[p]),
            .start_is_data(is_data), .start_desc(start_desc[p*DESC_W +: DESC_W]), .wire_done(wire_done[p]),
            .status_data_packets(status_data_packets[p*PACKETS_W +: PACKETS_W]),
            .status_data_bytes(status_data_bytes[p*SIZE_W +: SIZE_W]),
            .status_header_packets(status_header_packets[p*PACKETS_W +: PACKETS_W]),
            .status_header_bytes(status_header_bytes[p*SIZE_W +: SIZE_W])
        );
        wire unused = is_data;

        egress #(
            .NDP(NDP), .DATA_W(DATA_W)
        ) link (
            .clk(clk), .rst(rst),
            .beat_valid(link_valid[p]), .beat_data(link_data), .beat_last(link_last), .beat_index(link_index),
            .beat_bytes(link_bytes), .beat_trim(link_trim), .beat_return(link_return), .beat_term(link_term),
            .beat_length_term(link_length_term), .beat_shrinks(link_shrinks), .beat_length(link_length),
            .beat_done(out_done[p]),
            .m_axis_tdata(m_axis_tdata[p*DATA_W +: DATA_W]), .m_axis_tkeep(m_axis_tkeep[p*BYTES +: BYTES]),
            .m_axis_tvalid(m_axis_tvalid[p]), .m_axis_tready(m_axis_tready[p]), .m_axis_tlast(m_axis_tlast[p])
        );
    end
endgenerate

packet_reader #(
    .PORTS(PORTS), .DATA_W(DATA_W), .CELL_W(CELL_W), .LEN_W(LEN_W)
) reader (
    .clk(clk), .rst(rst),
    .start_ready(start_ready), .start_valid(start_valid), .start_desc(start_desc),
    .read(read), .read_address(read_address), .follow_cell(follow_cell), .follow_next(follow_next),
    .beat_valid(out_valid), .beat_last(out_last), .beat_index(out_index), .beat_bytes(out_bytes),
    .beat_trim(out_trim), .beat_return(out_return), .beat_length(out_length), .beat_done(out_done),
    .left(left), .left_first(left_first), .left_last(left_last), .left_cells(left_cells),
    .left_ready(left_ready)
);

checksum_terms #(
    .NDP(NDP), .PORTS(PORTS), .DATA_W(DATA_W)
) terms (
    .clk(clk), .rst(rst),
    .beat_valid(out_valid), .beat_data(read_data), .beat_last(out_last), .beat_index(out_index), .beat_bytes(out_bytes),
    .beat_trim(out_trim), .beat_return(out_return), .beat_length(out_length),
    .out_valid(link_valid), .out_data(link_data), .out_last(link_last), .out_index(link_index), .out_bytes(link_bytes),
    .out_trim(link_trim), .out_return(link_return), .out_term(link_term), .out_length_term(link_length_term),
    .out_shrinks(link_shrinks), .out_length(link_length)
);

reg [COUNT_W-1:0] discards;
integer i;
always @* begin
    discards = {COUNT_W{1'b0}};
    for (i = 0; i < PORTS; i = i + 1)
        discards = discards + {{(COUNT_W-1){1'b0}}, discarded[i]};
end
always @(posedge clk)
    count_discarded <= rst ? {COUNT_W{1'b0}} : count_discarded + discards;

wire unused = &{1'b0, new_second_reg};

endmodule

`resetall
