// Which port leads to an address: the lowest entry that matches, addresses of IP before those of Ethernet.
//
// Two addresses are looked up at once: where a packet goes, and where its header would be returned to. What matches is
// found in the first cycle, which of it counts in the second.

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

    input  wire                       is_ip,
    input  wire [31:0]                ip_destination,
    input  wire [31:0]                ip_source,
    input  wire [47:0]                mac_destination,
    input  wire [47:0]                mac_source,
    // One cycle later.
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

// Of an IPv4 address and of a MAC address.
reg [ENTRIES-1:0] to_ip, to_mac, from_ip, from_mac;
genvar entry;
generate
    for (entry = 0; entry < ENTRIES; entry = entry + 1) begin : match
        wire here_ip = valid_reg[entry] && ip_reg[entry] && is_ip;
        wire here_mac = valid_reg[entry] && !ip_reg[entry];
        wire [47:0] to_address = ip_reg[entry] ? {16'd0, ip_destination} : mac_destination;
        wire to_matches = (to_address & mask_reg[entry]) == key_reg[entry];
        always @(posedge clk) begin
            to_ip[entry] <= here_ip && to_matches;
            to_mac[entry] <= here_mac && to_matches;
        end
        if (RETURN != 0) begin : back
            wire [47:0] from_address = ip_reg[entry] ? {16'd0, ip_source} : mac_source;
            wire from_matches = (from_address & mask_reg[entry]) == key_reg[entry];
            always @(posedge clk) begin
                from_ip[entry] <= here_ip && from_matches;
                from_mac[entry] <= here_mac && from_matches;
            end
        end else begin : forth
            always @(posedge clk) begin
                from_ip[entry] <= 1'b0;
                from_mac[entry] <= 1'b0;
            end
        end
    end
endgenerate

// The lowest entry alone: one bit of all, so that the ports are joined and not chosen from in turn.
function automatic [ENTRIES-1:0] lowest(input [ENTRIES-1:0] hits);
    lowest = hits & (~hits + 1'b1);
endfunction

wire [ENTRIES-1:0] to_ip_entry = lowest(to_ip), to_mac_entry = lowest(to_mac);
wire [ENTRIES-1:0] from_ip_entry = lowest(from_ip), from_mac_entry = lowest(from_mac);
reg [PORT_W-1:0] to_ip_port, to_mac_port, from_ip_port, from_mac_port;
integer i;
always @* begin
    to_ip_port = {PORT_W{1'b0}};
    to_mac_port = {PORT_W{1'b0}};
    from_ip_port = {PORT_W{1'b0}};
    from_mac_port = {PORT_W{1'b0}};
    for (i = 0; i < ENTRIES; i = i + 1) begin
        to_ip_port = to_ip_port | (to_ip_entry[i] ? port_reg[i] : {PORT_W{1'b0}});
        to_mac_port = to_mac_port | (to_mac_entry[i] ? port_reg[i] : {PORT_W{1'b0}});
        from_ip_port = from_ip_port | (from_ip_entry[i] ? port_reg[i] : {PORT_W{1'b0}});
        from_mac_port = from_mac_port | (from_mac_entry[i] ? port_reg[i] : {PORT_W{1'b0}});
    end
end

assign destination_found = |to_ip || |to_mac;
assign destination_port = |to_ip ? to_ip_port : to_mac_port;
assign source_found = |from_ip || |from_mac;
assign source_port = |from_ip ? from_ip_port : from_mac_port;

wire unused = &{1'b0, ip_source, mac_source};

endmodule

`resetall
