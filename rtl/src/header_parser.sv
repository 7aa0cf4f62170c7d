// What the switch must know of a packet: addresses, and its class by DSCP.
//
// The first 38 bytes are gathered as the beats pass. Trimmable is what a receiver could recover: unfragmented
// UDP over IPv4 without options. Everything that no rule names may only be dropped.

`resetall
`default_nettype none

module header_parser #(
    parameter DATA_W = 256,
    parameter LEN_W = 14,
    parameter [5:0] DSCP_TRIMMABLE = 6'd10,
    parameter [5:0] DSCP_TRIMMED = 6'd50,
    parameter [5:0] DSCP_TRIMMED_LAST_HOP = 6'd52,
    parameter [5:0] DSCP_RETURNED = 6'd54,
    parameter [5:0] DSCP_CONTROL = 6'd48
) (
    input  wire              clk,

    input  wire [DATA_W-1:0] beat_data,
    input  wire              beat_valid,
    // Number of the beat in its packet; stands still at the greatest.
    input  wire [3:0]        beat_index,

    // Of the packet whose last beat was in the cycle before.
    input  wire [LEN_W-1:0]  packet_bytes,
    output wire              is_ip,
    output wire [31:0]       ip_destination,
    output wire [31:0]       ip_source,
    output wire [47:0]       mac_destination,
    output wire [47:0]       mac_source,
    output wire              is_trimmable,
    output wire              is_trimmed,
    // Returned or control: headers that never go back.
    output wire              is_other_header
);

localparam BYTES = DATA_W / 8;
localparam HEADER = 38;

reg [7:0] header_reg [0:HEADER-1];

genvar i;
generate
    for (i = 0; i < HEADER; i = i + 1) begin : gather
        localparam BEAT = i / BYTES;
        always @(posedge clk)
            if (beat_valid && beat_index == BEAT[3:0])
                header_reg[i] <= beat_data[(i % BYTES)*8 +: 8];
    end
endgenerate

assign mac_destination = {header_reg[0], header_reg[1], header_reg[2],
                          header_reg[3], header_reg[4], header_reg[5]};
assign mac_source = {header_reg[6], header_reg[7], header_reg[8],
                     header_reg[9], header_reg[10], header_reg[11]};
assign ip_source = {header_reg[26], header_reg[27], header_reg[28], header_reg[29]};
assign ip_destination = {header_reg[30], header_reg[31], header_reg[32], header_reg[33]};

// Version 4, no options, no piece of a larger packet, UDP.
assign is_ip = packet_bytes >= HEADER[LEN_W-1:0]
    && {header_reg[12], header_reg[13]} == 16'h0800 && header_reg[14][7:4] == 4'd4;
wire [5:0] dscp = header_reg[15][7:2];
wire plain = is_ip && header_reg[14][3:0] == 4'd5 && header_reg[23] == 8'd17
    && header_reg[20][5:0] == 6'd0 && header_reg[21] == 8'd0;
assign is_trimmable = plain && dscp == DSCP_TRIMMABLE;
assign is_trimmed = plain && (dscp == DSCP_TRIMMED || dscp == DSCP_TRIMMED_LAST_HOP);
assign is_other_header = is_ip && !is_trimmed
    && (dscp == DSCP_RETURNED || dscp == DSCP_CONTROL || dscp == DSCP_TRIMMED
        || dscp == DSCP_TRIMMED_LAST_HOP);

wire unused = &{1'b0, header_reg[16], header_reg[17], header_reg[18], header_reg[19], header_reg[20][7:6],
    header_reg[22], header_reg[24], header_reg[25], header_reg[34], header_reg[35], header_reg[36],
    header_reg[37], header_reg[15][1:0], beat_data};

endmodule

`resetall
