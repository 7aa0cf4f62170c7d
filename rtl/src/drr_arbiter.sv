// Deficit round robin over the inputs (NDP 4), charged in beats, which is what the bus spends.
//
// A quantum is at least one packet of the greatest length, so an input whose turn begins can always send, and
// a choice takes one cycle whatever the packets are. The choice waits in a register for the bus: packets
// follow each other without a cycle between them. Whether an input can afford its packet is known before: it is found when
// the packet before it is taken.

`resetall
`default_nettype none

module drr_arbiter #(
    parameter PORTS = 4,
    parameter COST_W = 9,
    // At least the greatest cost.
    parameter QUANTUM = 288,
    parameter LEN_W = 14
) (
    input  wire                     clk,
    input  wire                     rst,

    input  wire [PORTS-1:0]         request,
    input  wire [PORTS*LEN_W-1:0]   bytes,
    input  wire [PORTS*COST_W-1:0]  cost,
    // The packet behind it is there, and its cost.
    input  wire [PORTS-1:0]         next_valid,
    input  wire [PORTS*COST_W-1:0]  next_cost,
    // The request of this input is taken in this cycle.
    output reg  [PORTS-1:0]         take,

    output reg                      grant_valid,
    output reg  [$clog2(PORTS)-1:0] grant_port,
    output reg  [LEN_W-1:0]         grant_bytes,
    output reg  [COST_W-1:0]        grant_cost,
    input  wire                     grant_ready
);

localparam PORT_W = $clog2(PORTS);
// A turn adds a quantum to less than a quantum.
localparam CREDIT_W = COST_W + 2;
localparam [CREDIT_W-1:0] ADDED = QUANTUM[CREDIT_W-1:0];

reg [PORT_W-1:0] turn_reg;
reg [CREDIT_W-1:0] credit_reg [0:PORTS-1];

// What each input's packet would leave of its credit, in this turn and in its next one, and whether that is enough for the
// packet behind it: compared and subtracted for all inputs at once, so that the choice is the only thing behind it.
reg [PORTS-1:0] affordable_reg;
wire [CREDIT_W-1:0] rest_here [0:PORTS-1];
wire [CREDIT_W-1:0] rest_next [0:PORTS-1];
wire [PORTS-1:0] enough_here, enough_next;
genvar p;
generate
    for (p = 0; p < PORTS; p = p + 1) begin : input_of
        wire [CREDIT_W-1:0] price = {2'b00, cost[p*COST_W +: COST_W]};
        wire [CREDIT_W-1:0] both = price + {2'b00, next_cost[p*COST_W +: COST_W]};
        assign rest_here[p] = credit_reg[p] - price;
        assign rest_next[p] = credit_reg[p] + ADDED - price;
        assign enough_here[p] = next_valid[p] && both <= credit_reg[p];
        assign enough_next[p] = next_valid[p] && both <= credit_reg[p] + ADDED;
    end
endgenerate
wire stays = affordable_reg[turn_reg];

// The next input after this one's turn that has a packet; this one again if it alone has.
reg found;
reg [PORT_W-1:0] after;
reg [PORT_W-1:0] candidate;
integer i;
always @* begin
    found = 1'b0;
    after = turn_reg;
    candidate = turn_reg;
    for (i = 1; i <= PORTS; i = i + 1) begin
        candidate = (candidate == PORTS[PORT_W-1:0] - 1'b1) ? {PORT_W{1'b0}} : candidate + 1'b1;
        if (!found && request[candidate]) begin
            found = 1'b1;
            after = candidate;
        end
    end
end

wire [PORT_W-1:0] chosen = stays ? turn_reg : after;
wire free = !grant_valid || grant_ready;
wire choose = free && (stays || found);

integer t;
always @*
    for (t = 0; t < PORTS; t = t + 1)
        take[t] = choose && chosen == t[PORT_W-1:0];

// What was chosen, as the sum of what is not zero.
reg [LEN_W-1:0] chosen_bytes;
reg [COST_W-1:0] chosen_cost;
integer c;
always @* begin
    chosen_bytes = {LEN_W{1'b0}};
    chosen_cost = {COST_W{1'b0}};
    for (c = 0; c < PORTS; c = c + 1)
        if (chosen == c[PORT_W-1:0]) begin
            chosen_bytes = chosen_bytes | bytes[c*LEN_W +: LEN_W];
            chosen_cost = chosen_cost | cost[c*COST_W +: COST_W];
        end
end

integer port;
always @(posedge clk) begin
    if (free)
        grant_valid <= choose;
    // An input without packets saves nothing for later.
    for (port = 0; port < PORTS; port = port + 1) begin
        if (!request[port])
            credit_reg[port] <= {CREDIT_W{1'b0}};
        else if (take[port])
            credit_reg[port] <= stays ? rest_here[port] : rest_next[port];
        if (take[port])
            affordable_reg[port] <= stays ? enough_here[port] : enough_next[port];
    end
    if (choose)
        turn_reg <= chosen;
    if (free) begin
        grant_port <= chosen;
        grant_bytes <= chosen_bytes;
        grant_cost <= chosen_cost;
    end
    if (rst) begin
        grant_valid <= 1'b0;
        turn_reg <= {PORT_W{1'b0}};
        affordable_reg <= {PORTS{1'b0}};
        for (port = 0; port < PORTS; port = port + 1)
            credit_reg[port] <= {CREDIT_W{1'b0}};
    end
end

`ifdef FORMAL
`include "drr_arbiter_formal.svh"
`endif

endmodule

`resetall
