// Which port leads to an address: the lowest entry that matches, addresses of IP before those of Ethernet.
//
// Two addresses are looked up at once: where a packet goes, and where its header would be returned to.

`resetall
`default_nettype none

module forwarding_table #(
    parameter PORTS = 4,
    parameter ENTRIES = 16,
    // Look up the second address too.
    parameter RETURN = 1
) (
    input  wire                       clk,
    input  wire                       rst,

    input  wire                       write,
    input  wire [$clog2(ENTRIES)-1:0] write_index,
    input  wire                       write_valid,
    // 1: key and mask are an IPv4 address in the low 32 bits; 0: a MAC address.
    input  wire                       write_ip,
    input  wire [47:0]                write_key,
    input  wire [47:0]                write_mask,
    input  wire [$clog2(PORTS)-1:0]   write_port,

    // Combinational.
    input  wire                       is_ip,
    input  wire [31:0]                ip_destination,
    input  wire [31:0]                ip_source,
    input  wire [47:0]                mac_destination,
    input  wire [47:0]                mac_source,
    output wire                       destination_found,
    output wire [$clog2(PORTS)-1:0]   destination_port,
    output wire                       source_found,
    output wire [$clog2(PORTS)-1:0]   source_port
);

localparam PORT_W = $clog2(PORTS);

reg [ENTRIES-1:0] valid_reg, ip_reg;
reg [47:0] key_reg [0:ENTRIES-1];
reg [47:0] mask_reg [0:ENTRIES-1];
reg [PORT_W-1:0] port_reg [0:ENTRIES-1];

always @(posedge clk) begin
    if (write) begin
        valid_reg[write_index] <= write_valid;
        ip_reg[write_index] <= write_ip;
        key_reg[write_index] <= write_key & write_mask;
        mask_reg[write_index] <= write_mask;
        port_reg[write_index] <= write_port;
    end
    if (rst)
        valid_reg <= {ENTRIES{1'b0}};
end

wire [ENTRIES-1:0] to_hits, from_hits;
genvar entry;
generate
    for (entry = 0; entry < ENTRIES; entry = entry + 1) begin : match
        wire [47:0] to_address = ip_reg[entry] ? {16'd0, ip_destination} : mac_destination;
        assign to_hits[entry] = valid_reg[entry] && (is_ip || !ip_reg[entry])
            && (to_address & mask_reg[entry]) == key_reg[entry];
        if (RETURN != 0) begin : back
            wire [47:0] from_address = ip_reg[entry] ? {16'd0, ip_source} : mac_source;
            assign from_hits[entry] = valid_reg[entry] && (is_ip || !ip_reg[entry])
                && (from_address & mask_reg[entry]) == key_reg[entry];
        end else begin : forth
            assign from_hits[entry] = 1'b0;
        end
    end
endgenerate

reg [PORT_W-1:0] to_port, from_port;
integer i;
always @* begin
    to_port = {PORT_W{1'b0}};
    from_port = {PORT_W{1'b0}};
    for (i = ENTRIES - 1; i >= 0; i = i - 1) begin
        if (to_hits[i] && !ip_reg[i])
            to_port = port_reg[i];
        if (from_hits[i] && !ip_reg[i])
            from_port = port_reg[i];
    end
    for (i = ENTRIES - 1; i >= 0; i = i - 1) begin
        if (to_hits[i] && ip_reg[i])
            to_port = port_reg[i];
        if (from_hits[i] && ip_reg[i])
            from_port = port_reg[i];
    end
end

assign destination_found = |to_hits;
assign destination_port = to_port;
assign source_found = |from_hits;
assign source_port = from_port;

wire unused = &{1'b0, ip_source, mac_source};

endmodule

`resetall
