// One output port's queues: descriptors of packets, occupancy, and who goes next.
//
// Occupancy counts the packet on the wire until `wire_done`, its last bit having left. The tail of the data queue
// is known beside the queue, so that a newcomer can take its place in one cycle: the descriptors are swapped and no
// byte of either packet moves.
//
// The next packet is chosen when the reader has read the last, not when that has left, or the bus would stand still
// between packets: some short packets may be on their way to the wire at once.
//
// What is kept is the room that is left, not what is taken: whether a packet fits is then one comparison, which is where
// a decision begins. Capacities are taken over at reset.

`resetall
`default_nettype none

module output_queue #(
    parameter NDP = 1,
    // Slots of the two descriptor queues, powers of two.
    parameter DATA_SLOTS = 256,
    parameter HEADER_SLOTS = 256,
    parameter DESC_W = 38,
    parameter LEN_W = 14,
    parameter SIZE_W = 20,
    parameter PACKETS_W = 13,
    // Packets on their way to the wire, a power of two: one that is being read, and one a beat of what the transmitter holds.
    parameter FLIGHT = 8
) (
    input  wire                 clk,
    input  wire                 rst,

    input  wire [PACKETS_W-1:0] cfg_data_packets,
    input  wire [SIZE_W-1:0]    cfg_data_bytes,
    input  wire [SIZE_W-1:0]    cfg_header_bytes,
    // Headers to one data packet; strict priority instead.
    input  wire [16:0]          cfg_ratio,
    input  wire                 cfg_strict,

    // The newcomer's bytes on the wire, whole and as a header.
    input  wire [LEN_W-1:0]     new_whole,
    input  wire [LEN_W-1:0]     new_header,
    output wire                 data_room,
    // There would be room if the tail went.
    output wire                 swap_room,
    output wire                 header_room,
    // For 64 bytes, which is what a trimmed tail has.
    output wire                 tail_room,
    // Packets wait in the data queue, after what is chosen in this cycle.
    output wire                 tail_waits,

    input  wire                 data_push,
    input  wire                 data_swap,
    input  wire [DESC_W-1:0]    data_desc,
    input  wire [LEN_W-1:0]     data_wire,
    input  wire                 header_push,
    input  wire [DESC_W-1:0]    header_desc,
    input  wire [LEN_W-1:0]     header_wire,

    // The reader can take a packet; it takes it in the same cycle.
    input  wire                 start_ready,
    output wire                 start_valid,
    output wire                 start_is_data,
    output wire [DESC_W-1:0]    start_desc,
    // The oldest packet on its way has left.
    input  wire                 wire_done,

    output wire [PACKETS_W-1:0] status_data_packets,
    output wire [SIZE_W-1:0]    status_data_bytes,
    output wire [PACKETS_W-1:0] status_header_packets,
    output wire [SIZE_W-1:0]    status_header_bytes
);

localparam DATA_W = $clog2(DATA_SLOTS);
localparam HEADER_W = $clog2(HEADER_SLOTS);
// NDP 3.1: a trimmed packet has 64 bytes on the wire.
localparam [SIZE_W-1:0] TRIMMED = 64;

// A descriptor's bytes on the wire are beside it, to be released when it has left.
reg [DESC_W+LEN_W-1:0] data_queue [0:DATA_SLOTS-1];
reg [DATA_W-1:0] data_write_reg, data_read_reg;
// Packets that wait, and these with the one on the wire.
reg [DATA_W:0] data_waiting;
reg [PACKETS_W-1:0] data_packets_reg;
reg [SIZE_W-1:0] data_left_reg;
reg [LEN_W-1:0] tail_wire_reg;

// Those on their way: from which queue, and their bytes on the wire.
localparam FLIGHT_W = $clog2(FLIGHT);
reg [LEN_W:0] flight [0:FLIGHT-1];
reg [FLIGHT_W-1:0] flight_write_reg, flight_read_reg;
reg [FLIGHT_W:0] flying_reg;
wire wire_data;
wire [LEN_W-1:0] wire_bytes;
assign {wire_data, wire_bytes} = flight[flight_read_reg];

wire data_waits = data_waiting != 0;
wire header_waits;
wire header_first;

assign start_is_data = !(header_waits && (!data_waits || header_first));
assign start_valid = (data_waits || header_waits) && flying_reg != FLIGHT[FLIGHT_W:0];
wire start = start_valid && start_ready;
wire start_data = start && start_is_data;
wire start_header = start && !start_is_data;

wire [DESC_W+LEN_W-1:0] data_first = data_queue[data_read_reg];
wire [DESC_W+LEN_W-1:0] header_entry;
wire [LEN_W-1:0] start_wire = start_is_data ? data_first[LEN_W-1:0] : header_entry[LEN_W-1:0];
assign start_desc = start_is_data ? data_first[LEN_W +: DESC_W] : header_entry[LEN_W +: DESC_W];

assign status_data_packets = data_packets_reg;
assign status_data_bytes = cfg_data_bytes - data_left_reg;

wire [SIZE_W-1:0] new_size = {{(SIZE_W-LEN_W){1'b0}}, new_whole};
wire [SIZE_W-1:0] tail_size = {{(SIZE_W-LEN_W){1'b0}}, tail_wire_reg};
assign data_room = data_packets_reg < cfg_data_packets
    && data_waiting != DATA_SLOTS[DATA_W:0]
    && new_size <= data_left_reg;

wire release_data = wire_done && wire_data;
wire [SIZE_W-1:0] wire_size = {{(SIZE_W-LEN_W){1'b0}}, wire_bytes};
wire [SIZE_W-1:0] pushed_size = {{(SIZE_W-LEN_W){1'b0}}, data_wire};
// All that may be left after this cycle; what admission says comes last and only chooses.
wire [SIZE_W-1:0] left_as_is = data_left_reg + (release_data ? wire_size : {SIZE_W{1'b0}});
wire [SIZE_W-1:0] left_pushed = left_as_is - pushed_size;
wire [SIZE_W-1:0] left_swapped = left_pushed + tail_size;

wire [DATA_W-1:0] data_slot = data_write_reg - {{(DATA_W-1){1'b0}}, data_swap};
always @(posedge clk)
    if (data_push || data_swap)
        data_queue[data_slot] <= {data_desc, data_wire};

always @(posedge clk)
    if (start)
        flight[flight_write_reg] <= {start_is_data, start_wire};

always @(posedge clk) begin
    if (data_push)
        data_write_reg <= data_write_reg + 1'b1;
    if (data_push || data_swap)
        tail_wire_reg <= data_wire;
    if (start_data)
        data_read_reg <= data_read_reg + 1'b1;
    data_waiting <= data_waiting + {{DATA_W{1'b0}}, data_push} - {{DATA_W{1'b0}}, start_data};
    data_packets_reg <= data_packets_reg + {{(PACKETS_W-1){1'b0}}, data_push}
        - {{(PACKETS_W-1){1'b0}}, release_data};
    data_left_reg <= data_swap ? left_swapped : data_push ? left_pushed : left_as_is;
    if (start)
        flight_write_reg <= flight_write_reg + 1'b1;
    if (wire_done)
        flight_read_reg <= flight_read_reg + 1'b1;
    flying_reg <= flying_reg + {{FLIGHT_W{1'b0}}, start} - {{FLIGHT_W{1'b0}}, wire_done};
    if (rst) begin
        data_write_reg <= 0;
        data_read_reg <= 0;
        data_waiting <= 0;
        data_packets_reg <= 0;
        data_left_reg <= cfg_data_bytes;
        flight_write_reg <= 0;
        flight_read_reg <= 0;
        flying_reg <= 0;
    end
end

generate
    if (NDP != 0) begin : ndp
        reg [DESC_W+LEN_W-1:0] header_queue [0:HEADER_SLOTS-1];
        reg [HEADER_W-1:0] header_write_reg, header_read_reg;
        reg [HEADER_W:0] header_waiting;
        reg [PACKETS_W-1:0] header_packets_reg;
        reg [SIZE_W-1:0] header_left_reg;
        reg [16:0] served_reg;

        wire release_header = wire_done && !wire_data;
        wire [SIZE_W-1:0] header_size = {{(SIZE_W-LEN_W){1'b0}}, new_header};
        wire slots = header_waiting != HEADER_SLOTS[HEADER_W:0];

        assign header_waits = header_waiting != 0;
        assign header_entry = header_queue[header_read_reg];
        assign header_room = slots && header_size <= header_left_reg;
        assign tail_room = slots && TRIMMED <= header_left_reg;
        assign swap_room = {1'b0, new_size} <= {1'b0, data_left_reg} + {1'b0, tail_size};
        assign tail_waits = data_waiting != {{DATA_W{1'b0}}, start_data};

        // NDP 3.1: ten headers to one data packet. The round stands still while only one queue waits.
        assign header_first = cfg_strict || served_reg < cfg_ratio;
        wire round = start && data_waits && header_waits && !cfg_strict;

        always @(posedge clk)
            if (header_push)
                header_queue[header_write_reg] <= {header_desc, header_wire};

        always @(posedge clk) begin
            if (header_push)
                header_write_reg <= header_write_reg + 1'b1;
            if (start_header)
                header_read_reg <= header_read_reg + 1'b1;
            header_waiting <= header_waiting + {{HEADER_W{1'b0}}, header_push} - {{HEADER_W{1'b0}}, start_header};
            header_packets_reg <= header_packets_reg + {{(PACKETS_W-1){1'b0}}, header_push}
                - {{(PACKETS_W-1){1'b0}}, release_header};
            header_left_reg <= header_left_reg
                - (header_push ? {{(SIZE_W-LEN_W){1'b0}}, header_wire} : {SIZE_W{1'b0}})
                + (release_header ? wire_size : {SIZE_W{1'b0}});
            if (round)
                served_reg <= served_reg >= cfg_ratio ? 17'd0 : served_reg + 1'b1;
            if (rst) begin
                header_write_reg <= 0;
                header_read_reg <= 0;
                header_waiting <= 0;
                header_packets_reg <= 0;
                header_left_reg <= cfg_header_bytes;
                served_reg <= 17'd0;
            end
        end

        assign status_header_packets = header_packets_reg;
        assign status_header_bytes = cfg_header_bytes - header_left_reg;
    end else begin : plain
        assign header_waits = 1'b0;
        assign header_first = 1'b0;
        assign header_entry = {(DESC_W+LEN_W){1'b0}};
        assign header_room = 1'b0;
        assign tail_room = 1'b0;
        assign swap_room = 1'b0;
        assign tail_waits = 1'b0;
        assign status_header_packets = {PACKETS_W{1'b0}};
        assign status_header_bytes = {SIZE_W{1'b0}};
        wire unused = &{1'b0, new_header, header_push, header_desc, header_wire, cfg_header_bytes, cfg_ratio,
            cfg_strict, start_header};
    end
endgenerate

`ifdef FORMAL
`include "output_queue_formal.svh"
`endif

endmodule

`resetall
