// One output port's queues: descriptors of packets, occupancy, and who goes next.
//
// Occupancy counts the packet on the wire until `wire_done`, its last bit having left. The tail of the data queue
// is known beside the queue, so that a newcomer can take its place in one cycle: the descriptors are swapped and no
// byte of either packet moves.
//
// The next packet is chosen when the reader has room for it, not when the last has left, or the bus would stand still
// between packets: some short packets may be on their way to the wire at once.
//
// Whether the next newcomer has room is found one cycle before it is decided on, for every fate of the one that is decided on
// in that cycle: it does not join, it joins, it takes the tail's place. The decision only chooses. What is kept is the
// room that is left, and the room that would be left without the tail. Room that is given back counts one cycle later.
//
// A tail that may be trimmed in this cycle does not start in it: it starts in the next, as what it is then.

`resetall
`default_nettype none

module output_queue #(
    parameter NDP = 1,
    // Slots of the two descriptor queues, powers of two.
    parameter DATA_SLOTS = 256,
    parameter HEADER_SLOTS = 256,
    parameter DESC_W = 39,
    // Where a descriptor says how long the packet is.
    parameter BYTES_AT = 22,
    parameter LEN_W = 14,
    parameter SIZE_W = 20,
    parameter PACKETS_W = 13,
    // Packets on their way to the wire, a power of two: one that is being read, and one a beat of what the transmitter holds.
    parameter FLIGHT = 16
) (
    input  wire                 clk,
    input  wire                 rst,

    input  wire [PACKETS_W-1:0] cfg_data_packets,
    input  wire [SIZE_W-1:0]    cfg_data_bytes,
    input  wire [SIZE_W-1:0]    cfg_header_bytes,
    // Headers to one data packet; strict priority instead.
    input  wire [16:0]          cfg_ratio,
    input  wire                 cfg_strict,

    // Bytes on the wire of the next newcomer, whole and as a header, and with those of the newcomer.
    input  wire [LEN_W-1:0]     next_whole,
    input  wire [LEN_W-1:0]     next_header,
    input  wire [LEN_W:0]       both_whole,
    input  wire [LEN_W:0]       both_header,
    // Of the newcomer.
    input  wire [LEN_W-1:0]     new_whole,
    input  wire [LEN_W-1:0]     new_header,
    // It goes to this port and may take its tail's place.
    input  wire                 contended,
    // For the next newcomer, behind what becomes of the newcomer.
    output wire                 next_data_room,
    // There would be room if the tail went.
    output wire                 next_swap_room,
    // Packets wait in the data queue, after what is chosen in the next cycle.
    output wire                 next_tail_waits,
    // For the newcomer.
    output reg                  header_room,
    // For 64 bytes, which is what a trimmed tail has.
    output reg                  tail_room,

    input  wire                 data_push,
    input  wire                 data_swap,
    input  wire [DESC_W-1:0]    data_desc,
    input  wire                 header_push,
    // It is the tail's, with the bytes on the wire that a trimmed tail has, and not the newcomer's.
    input  wire                 header_of_tail,
    input  wire [LEN_W-1:0]     tail_header,
    input  wire [DESC_W-1:0]    header_desc,
    // What was put into a data queue and into a header queue in the cycle before, here or elsewhere.
    input  wire [DESC_W-1:0]    last_data,
    input  wire [DESC_W-1:0]    last_header,

    // The reader can take a packet, and does so when one is valid.
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

// What is read in the cycle in which it is written is not used (data_written_reg).
(* no_rw_check *) reg [DESC_W-1:0] data_queue [0:DATA_SLOTS-1];
// Where the next packet goes, where the tail is.
reg [DATA_W-1:0] data_write_reg, data_tail_reg, data_read_reg;
// Packets that wait.
reg [DATA_W:0] data_waiting;
// How many more there may be, those on the wire counted: one at least, two; and for how many there are slots.
reg [PACKETS_W-1:0] data_more_reg;
reg more_one_reg, more_two_reg, slot_one_reg, slot_two_reg;
// Room that is left, and that would be left without the tail.
reg [SIZE_W-1:0] data_left_reg, swap_left_reg;

// Those on their way: from which queue, and their bytes.
localparam FLIGHT_W = $clog2(FLIGHT);
reg [LEN_W:0] flight [0:FLIGHT-1];
reg [FLIGHT_W-1:0] flight_write_reg, flight_read_reg;
reg [FLIGHT_W:0] flying_reg;
reg flight_room_reg;

// Who goes next. A choice is made in every cycle in which the reader can take a packet.
reg data_waits, data_many;
wire header_waits;
wire header_first;
// The tail was chosen in the cycle before, when it could not go.
reg committed_reg;
wire chooses = start_ready && flight_room_reg && !committed_reg;
wire choose_data = chooses && data_waits && !(header_waits && header_first);
wire choose_header = chooses && header_waits && !(data_waits && !header_first);
wire held = NDP != 0 && choose_data && contended && !data_many;
assign start_is_data = committed_reg || !(header_waits && (!data_waits || header_first));
wire start_data = committed_reg || (choose_data && !held);
wire start_header = choose_header;
wire start = start_data || start_header;
assign start_valid = start;

// The first of a queue comes out of the memory, unless it was put there in the cycle before: then nothing else waits.
reg [DESC_W-1:0] data_out;
reg data_written_reg;
wire [DESC_W-1:0] data_first = (data_written_reg && !data_many) ? last_data : data_out;
wire [DESC_W-1:0] header_head;
assign start_desc = start_is_data ? data_first : header_head;

assign status_data_packets = cfg_data_packets - data_more_reg;
assign status_data_bytes = cfg_data_bytes - data_left_reg;

// What has left, one cycle later.
// The frame check sequence is on the wire and not in a descriptor.
localparam [LEN_W-1:0] FCS = 4;
wire flight_data;
wire [LEN_W-1:0] flight_bytes;
assign {flight_data, flight_bytes} = flight[flight_read_reg];
reg released_reg, released_data_reg;
reg [LEN_W-1:0] released_bytes_reg;
wire release_data = released_reg && released_data_reg;
always @(posedge clk) begin
    released_reg <= wire_done && !rst;
    released_data_reg <= flight_data;
    released_bytes_reg <= flight_bytes + FCS;
end

localparam WIDER = SIZE_W - LEN_W;
wire [SIZE_W-1:0] data_released = release_data ? {{WIDER{1'b0}}, released_bytes_reg} : {SIZE_W{1'b0}};
wire [SIZE_W-1:0] pushed = {{WIDER{1'b0}}, new_whole};
wire [SIZE_W-1:0] next_size = {{WIDER{1'b0}}, next_whole};
wire [SIZE_W-1:0] both_size = {{(WIDER-1){1'b0}}, both_whole};

// All that may be left after this cycle.
wire [SIZE_W-1:0] left_as_is = data_left_reg + data_released;
wire [SIZE_W-1:0] left_pushed = data_left_reg + data_released - pushed;
wire [SIZE_W-1:0] left_swapped = swap_left_reg + data_released - pushed;
wire [SIZE_W-1:0] swap_as_is = swap_left_reg + data_released;

wire fits_as_is = next_size <= data_left_reg;
wire fits_pushed = both_size <= data_left_reg;
wire fits_swapped = both_size <= swap_left_reg;
wire fits_without_tail = next_size <= swap_left_reg;
wire one_fits = more_one_reg && slot_one_reg;
wire two_fit = more_two_reg && slot_two_reg;

wire swaps = NDP != 0 && data_swap;
localparam [DATA_W:0] ALL_SLOTS = DATA_SLOTS[DATA_W:0];
localparam [DATA_W:0] SLOTS_BUT_ONE = ALL_SLOTS - 1;
localparam [DATA_W:0] SLOTS_BUT_TWO = ALL_SLOTS - 2;

wire [DATA_W-1:0] data_slot = swaps ? data_tail_reg : data_write_reg;
wire [DATA_W-1:0] data_read_next = data_read_reg + {{(DATA_W-1){1'b0}}, start_data};
always @(posedge clk) begin
    if (data_push || swaps)
        data_queue[data_slot] <= data_desc;
    data_out <= data_queue[data_read_next];
    data_written_reg <= data_push || swaps;
end

always @(posedge clk)
    if (start)
        flight[flight_write_reg] <= {start_is_data, start_desc[BYTES_AT +: LEN_W]};

assign next_data_room = swaps ? one_fits && fits_swapped : data_push ? two_fit && fits_pushed : one_fits && fits_as_is;
// Behind a newcomer that joined, the tail is that one.
assign next_swap_room = NDP != 0 && (data_push ? fits_as_is : fits_without_tail);
wire waits_next = data_push || data_many || (data_waits && !start_data);
wire many_next = data_waiting > 2 || (data_waiting == 2 && (data_push || !start_data))
    || (data_waiting == 1 && data_push && !start_data);
assign next_tail_waits = NDP != 0 && (many_next || (waits_next && !held));

always @(posedge clk) begin
    committed_reg <= held && !rst;
    if (data_push) begin
        data_write_reg <= data_write_reg + 1'b1;
        data_tail_reg <= data_write_reg;
    end
    data_read_reg <= data_read_next;
    data_waiting <= data_waiting + {{DATA_W{1'b0}}, data_push} - {{DATA_W{1'b0}}, start_data};
    data_waits <= waits_next;
    data_many <= many_next;
    data_more_reg <= data_more_reg - {{(PACKETS_W-1){1'b0}}, data_push} + {{(PACKETS_W-1){1'b0}}, release_data};
    more_one_reg <= release_data || data_more_reg > 1 || (data_more_reg == 1 && !data_push);
    more_two_reg <= data_more_reg > 2 || (data_more_reg == 2 && (release_data || !data_push))
        || (data_more_reg == 1 && release_data && !data_push);
    // What starts in this cycle counts in the next.
    slot_one_reg <= data_waiting < SLOTS_BUT_ONE || (data_waiting < ALL_SLOTS && !data_push);
    slot_two_reg <= data_waiting < SLOTS_BUT_TWO || (data_waiting < SLOTS_BUT_ONE && !data_push);
    data_left_reg <= swaps ? left_swapped : data_push ? left_pushed : left_as_is;
    swap_left_reg <= data_push ? left_as_is : swap_as_is;
    if (start)
        flight_write_reg <= flight_write_reg + 1'b1;
    if (wire_done)
        flight_read_reg <= flight_read_reg + 1'b1;
    flying_reg <= flying_reg + {{FLIGHT_W{1'b0}}, start} - {{FLIGHT_W{1'b0}}, wire_done};
    flight_room_reg <= wire_done || flying_reg < FLIGHT[FLIGHT_W:0] - 1'b1 || (flying_reg != FLIGHT[FLIGHT_W:0] && !start);
    if (rst) begin
        data_write_reg <= 0;
        data_tail_reg <= 0;
        data_read_reg <= 0;
        data_waiting <= 0;
        data_waits <= 1'b0;
        data_many <= 1'b0;
        data_more_reg <= cfg_data_packets;
        more_one_reg <= cfg_data_packets != 0;
        more_two_reg <= cfg_data_packets > 1;
        slot_one_reg <= 1'b1;
        slot_two_reg <= 1'b1;
        data_left_reg <= cfg_data_bytes;
        swap_left_reg <= cfg_data_bytes;
        flight_write_reg <= 0;
        flight_read_reg <= 0;
        flying_reg <= 0;
        flight_room_reg <= 1'b1;
    end
end

generate
    if (NDP != 0) begin : ndp
        (* no_rw_check *) reg [DESC_W-1:0] header_queue [0:HEADER_SLOTS-1];
        reg [HEADER_W-1:0] header_write_reg, header_read_reg;
        reg [HEADER_W:0] header_waiting;
        reg header_waits_reg;
        reg [PACKETS_W-1:0] header_packets_reg;
        reg [SIZE_W-1:0] header_left_reg;
        // Headers that go before the next data packet.
        reg [16:0] before_reg;
        reg header_first_reg;

        wire release_header = released_reg && !released_data_reg;
        wire [SIZE_W-1:0] header_released = release_header ? {{WIDER{1'b0}}, released_bytes_reg} : {SIZE_W{1'b0}};
        wire [SIZE_W-1:0] new_size = {{WIDER{1'b0}}, new_header};
        wire [SIZE_W-1:0] tail_size = {{WIDER{1'b0}}, tail_header};
        wire [SIZE_W-1:0] left_as_it_is = header_left_reg + header_released;
        wire [SIZE_W-1:0] left_with_new = header_left_reg + header_released - new_size;
        wire [SIZE_W-1:0] left_with_tail = header_left_reg + header_released - tail_size;
        wire [SIZE_W-1:0] next_header_size = {{WIDER{1'b0}}, next_header};
        wire [SIZE_W-1:0] both_header_size = {{(WIDER-1){1'b0}}, both_header};
        wire one_slot = header_waiting != HEADER_SLOTS[HEADER_W:0];
        wire two_slots = header_waiting < HEADER_SLOTS[HEADER_W:0] - 1'b1;
        // A tail's header counts as a trimmed packet here, also if it is shorter.
        wire after_none = next_header_size <= header_left_reg;
        wire after_new = both_header_size <= header_left_reg;
        wire after_tail = next_header_size + TRIMMED <= header_left_reg;
        wire tail_after_none = TRIMMED <= header_left_reg;
        wire tail_after_new = new_size + TRIMMED <= header_left_reg;
        wire tail_after_tail = TRIMMED + TRIMMED <= header_left_reg;

        assign header_waits = header_waits_reg;
        reg [DESC_W-1:0] header_out;
        reg header_written_reg, header_many_reg;
        assign header_head = (header_written_reg && !header_many_reg) ? last_header : header_out;

        // NDP 3.1: ten headers to one data packet. The round stands still while only one queue waits.
        assign header_first = header_first_reg;
        wire round = (choose_data || choose_header) && data_waits && header_waits && !cfg_strict;

        wire [HEADER_W-1:0] header_read_next = header_read_reg + {{(HEADER_W-1){1'b0}}, start_header};
        always @(posedge clk) begin
            if (header_push)
                header_queue[header_write_reg] <= header_desc;
            header_out <= header_queue[header_read_next];
            header_written_reg <= header_push;
        end

        always @(posedge clk) begin
            header_room <= !header_push ? one_slot && after_none : two_slots && (header_of_tail ? after_tail : after_new);
            tail_room <= !header_push ? one_slot && tail_after_none
                : two_slots && (header_of_tail ? tail_after_tail : tail_after_new);
            if (header_push)
                header_write_reg <= header_write_reg + 1'b1;
            header_read_reg <= header_read_next;
            header_waiting <= header_waiting + {{HEADER_W{1'b0}}, header_push} - {{HEADER_W{1'b0}}, start_header};
            header_many_reg <= header_waiting > 2 || (header_waiting == 2 && (header_push || !start_header))
                || (header_waiting == 1 && header_push && !start_header);
            header_waits_reg <= header_push || header_waiting > 1 || (header_waits_reg && !start_header);
            header_packets_reg <= header_packets_reg + {{(PACKETS_W-1){1'b0}}, header_push}
                - {{(PACKETS_W-1){1'b0}}, release_header};
            header_left_reg <= !header_push ? left_as_it_is : header_of_tail ? left_with_tail : left_with_new;
            if (round) begin
                before_reg <= header_first_reg ? before_reg - 1'b1 : cfg_ratio;
                header_first_reg <= header_first_reg ? before_reg > 1 : cfg_ratio != 0;
            end
            if (rst) begin
                header_write_reg <= 0;
                header_read_reg <= 0;
                header_waiting <= 0;
                header_waits_reg <= 1'b0;
                header_many_reg <= 1'b0;
                header_packets_reg <= 0;
                header_left_reg <= cfg_header_bytes;
                before_reg <= cfg_ratio;
                header_first_reg <= cfg_strict || cfg_ratio != 0;
            end
        end

        assign status_header_packets = header_packets_reg;
        assign status_header_bytes = cfg_header_bytes - header_left_reg;
    end else begin : plain
        assign header_waits = 1'b0;
        assign header_first = 1'b0;
        assign header_head = {DESC_W{1'b0}};
        always @(posedge clk) begin
            header_room <= 1'b0;
            tail_room <= 1'b0;
        end
        assign status_header_packets = {PACKETS_W{1'b0}};
        assign status_header_bytes = {SIZE_W{1'b0}};
        wire unused = &{1'b0, next_header, both_header, new_header, header_push, header_of_tail, tail_header, header_desc, last_header, header_head,
            cfg_header_bytes, cfg_ratio, cfg_strict, data_swap, contended, fits_swapped, fits_without_tail, swap_as_is};
    end
endgenerate

`ifdef FORMAL
`include "output_queue_formal.svh"
`endif

endmodule

`resetall
