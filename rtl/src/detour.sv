// Opportunistic packet forwarding (OPF, IFIP Networking 2024, Algorithms 1 and 2): unscheduled data whose port is congested
// leaves by another port, the one of two random ports whose queue is shorter.
//
// Stands between a forwarding table and the output queues: one packet in each cycle, its port five cycles later. The length of
// a queue is the one at the last departure, which the queue reports (Algorithm 2). Detours are counted by the TTL, as the paper
// does: MAX_TTL - TTL is the number of switches that a packet has left.

`resetall
`default_nettype none

module detour #(
    parameter PORTS = 8,
    // Lengths in packets; a longer queue counts as the greatest number.
    parameter LENGTH_W = 16,
    parameter COUNT_W = 32
) (
    input  wire                      clk,
    input  wire                      rst,

    // opf-thresh in packets, dcc-thresh, and the TTL with which hosts send.
    input  wire [LENGTH_W-1:0]       cfg_threshold,
    input  wire [7:0]                cfg_limit,
    input  wire [7:0]                cfg_max_ttl,
    // The DSCPs of unscheduled data, one bit each (OPF III-A: the mark that a host sets).
    input  wire [63:0]               cfg_unscheduled,
    // Ports to a switch whose link is alive.
    input  wire [PORTS-1:0]          cfg_targets,
    // 0: places are drawn by a shift register that starts at `cfg_seed` while rst is high; 1: by `draw_*`.
    input  wire                      cfg_draws_given,
    input  wire [31:0]               cfg_seed,

    // A packet begins to leave this port, whose queue has so many packets, this one included (Algorithm 2).
    input  wire [PORTS-1:0]          leaves,
    input  wire [PORTS*LENGTH_W-1:0] leaves_length,

    // A packet that is IPv4, its input, and the port that routing chose.
    input  wire                      valid,
    input  wire                      is_ip,
    input  wire [5:0]                dscp,
    input  wire [7:0]                ttl,
    input  wire [$clog2(PORTS)-1:0]  input_port,
    input  wire [$clog2(PORTS)-1:0]  port,

    // Places among the candidates, from 0; used in the cycle in which `status_draws` is high.
    input  wire [$clog2(PORTS)-1:0]  draw_first,
    input  wire [$clog2(PORTS)-1:0]  draw_second,
    output wire                      status_draws,
    output wire [$clog2(PORTS):0]    status_candidates,

    output reg                       out_valid,
    output reg  [$clog2(PORTS)-1:0]  out_port,
    output reg                       out_detoured,

    output wire [PORTS*LENGTH_W-1:0] status_length,
    // Packets that routing sent to each port and that left by another.
    output wire [PORTS*COUNT_W-1:0]  count_detoured
);

localparam PORT_W = $clog2(PORTS);

generate
    if (PORTS < 2 || PORTS > 64)
        PORTS_must_be_2_to_64 invalid ();
endgenerate

// Algorithm 2: a register for each port.
reg [LENGTH_W-1:0] length_reg [0:PORTS-1];
integer i;
always @(posedge clk)
    for (i = 0; i < PORTS; i = i + 1)
        if (rst)
            length_reg[i] <= {LENGTH_W{1'b0}};
        else if (leaves[i])
            length_reg[i] <= leaves_length[i*LENGTH_W +: LENGTH_W];

// First stage. Algorithm 1, lines 2 and 3: the mark, and the limit of detours. A TTL above the hosts' says nothing of the way.
reg mark_valid_reg, mark_may_reg;
reg [PORT_W-1:0] mark_port_reg;
reg [PORTS-1:0] mark_candidates_reg;
wire [8:0] left = {1'b0, cfg_max_ttl} - {1'b0, ttl};
wire below = !left[8] && left[7:0] < cfg_limit;
wire [PORTS-1:0] own = {{(PORTS-1){1'b0}}, 1'b1} << port;
wire [PORTS-1:0] from = {{(PORTS-1){1'b0}}, 1'b1} << input_port;
always @(posedge clk) begin
    mark_valid_reg <= valid && !rst;
    mark_may_reg <= is_ip && cfg_unscheduled[dscp] && below;
    mark_port_reg <= port;
    mark_candidates_reg <= cfg_targets & ~own & ~from;
end

// Second stage. Lines 6 to 8: the port is congested when its queue is longer than the threshold. The place of a candidate is the
// number of candidates before it.
reg [PORT_W:0] place [0:PORTS-1];
reg [PORT_W:0] count;
integer k;
always @* begin
    count = {(PORT_W+1){1'b0}};
    for (k = 0; k < PORTS; k = k + 1) begin
        place[k] = count;
        count = count + {{PORT_W{1'b0}}, mark_candidates_reg[k]};
    end
end
wire hot = length_reg[mark_port_reg] > cfg_threshold;
reg hot_valid_reg, hot_draws_reg;
reg [PORT_W-1:0] hot_port_reg;
reg [PORT_W:0] hot_count_reg;
reg [PORTS-1:0] hot_candidates_reg;
reg [PORT_W-1:0] hot_place_reg [0:PORTS-1];
integer h;
always @(posedge clk) begin
    hot_valid_reg <= mark_valid_reg && !rst;
    hot_draws_reg <= mark_valid_reg && mark_may_reg && hot && count != 0;
    hot_port_reg <= mark_port_reg;
    hot_count_reg <= count;
    hot_candidates_reg <= mark_candidates_reg;
    for (h = 0; h < PORTS; h = h + 1)
        hot_place_reg[h] <= place[h][PORT_W-1:0];
end
wire draws = hot_valid_reg && hot_draws_reg;
assign status_draws = draws;
assign status_candidates = hot_count_reg;

// Third stage. Lines 10 and 11: two places among the candidates.
// Marsaglia's xorshift with 32 bits: one step for both places. A place is the product of 16 bits and the number of candidates:
// a candidate's share differs from the others' by less than 1 in 65536 / PORTS.
reg [31:0] random_reg;
wire [31:0] random_left = random_reg ^ {random_reg[18:0], 13'd0};
wire [31:0] random_right = random_left ^ {17'd0, random_left[31:17]};
wire [31:0] random_next = random_right ^ {random_right[26:0], 5'd0};
wire [16+PORT_W:0] first_product = {{(PORT_W+1){1'b0}}, random_reg[31:16]} * {16'd0, hot_count_reg};
wire [16+PORT_W:0] second_product = {{(PORT_W+1){1'b0}}, random_reg[15:0]} * {16'd0, hot_count_reg};
wire [PORT_W-1:0] first_place = cfg_draws_given ? draw_first : first_product[16 +: PORT_W];
wire [PORT_W-1:0] second_place = cfg_draws_given ? draw_second : second_product[16 +: PORT_W];

reg place_valid_reg, place_draws_reg;
reg [PORT_W-1:0] place_port_reg, first_place_reg, second_place_reg;
reg [PORTS-1:0] place_candidates_reg;
reg [PORT_W-1:0] place_reg [0:PORTS-1];
integer m;
always @(posedge clk) begin
    place_valid_reg <= hot_valid_reg && !rst;
    place_draws_reg <= draws;
    place_port_reg <= hot_port_reg;
    place_candidates_reg <= hot_candidates_reg;
    first_place_reg <= first_place;
    second_place_reg <= second_place;
    for (m = 0; m < PORTS; m = m + 1)
        place_reg[m] <= hot_place_reg[m];
    // Zero is the one state that the register does not leave.
    if (rst)
        random_reg <= cfg_seed == 32'd0 ? 32'd1 : cfg_seed;
    else if (draws)
        random_reg <= random_next;
end

// Fourth stage: the ports at these places, and their lengths.
reg [PORT_W-1:0] first, second;
reg [LENGTH_W-1:0] first_length, second_length;
integer n;
always @* begin
    first = {PORT_W{1'b0}};
    second = {PORT_W{1'b0}};
    first_length = {LENGTH_W{1'b0}};
    second_length = {LENGTH_W{1'b0}};
    for (n = 0; n < PORTS; n = n + 1) begin
        if (place_candidates_reg[n] && place_reg[n] == first_place_reg) begin
            first = first | n[PORT_W-1:0];
            first_length = first_length | length_reg[n];
        end
        if (place_candidates_reg[n] && place_reg[n] == second_place_reg) begin
            second = second | n[PORT_W-1:0];
            second_length = second_length | length_reg[n];
        end
    end
end

reg two_valid_reg, two_draws_reg;
reg [PORT_W-1:0] two_port_reg, first_reg, second_reg;
reg [LENGTH_W-1:0] first_length_reg, second_length_reg;
always @(posedge clk) begin
    two_valid_reg <= place_valid_reg && !rst;
    two_draws_reg <= place_draws_reg;
    two_port_reg <= place_port_reg;
    first_reg <= first;
    second_reg <= second;
    first_length_reg <= first_length;
    second_length_reg <= second_length;
end

// Fifth stage. Line 12: the less congested of both; of equals the first.
reg [COUNT_W-1:0] detoured_reg [0:PORTS-1];
integer q;
always @(posedge clk) begin
    out_valid <= two_valid_reg && !rst;
    out_detoured <= two_draws_reg;
    out_port <= !two_draws_reg ? two_port_reg : second_length_reg < first_length_reg ? second_reg : first_reg;
    for (q = 0; q < PORTS; q = q + 1)
        if (rst)
            detoured_reg[q] <= {COUNT_W{1'b0}};
        else if (two_valid_reg && two_draws_reg && two_port_reg == q[PORT_W-1:0])
            detoured_reg[q] <= detoured_reg[q] + 1'b1;
end

genvar p;
generate
    for (p = 0; p < PORTS; p = p + 1) begin : status
        assign status_length[p*LENGTH_W +: LENGTH_W] = length_reg[p];
        assign count_detoured[p*COUNT_W +: COUNT_W] = detoured_reg[p];
    end
endgenerate

wire unused = &{1'b0, place[PORTS-1][PORT_W], first_product, second_product};

`ifdef FORMAL
`include "detour_formal.svh"
`endif

endmodule

`resetall
