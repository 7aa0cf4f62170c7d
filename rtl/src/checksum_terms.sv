// Two registers between the packet memory and the ports, shared by all. In the second it is known what a header that is
// changed adds to its checksum (RFC 1624, equation 3), and how long it is then: a port has only to sum up.
//
// The words of a header lie in one beat or in several, according to DATA_W. So each beat brings its own terms.

`resetall
`default_nettype none

module checksum_terms #(
    parameter NDP = 1,
    parameter PORTS = 4,
    parameter DATA_W = 256,
    parameter BYTE_W = $clog2(DATA_W/8) + 1,
    parameter [5:0] DSCP_TRIMMED = 6'd50,
    parameter [5:0] DSCP_RETURNED = 6'd54
) (
    input  wire                     clk,
    input  wire                     rst,

    input  wire [PORTS-1:0]         beat_valid,
    input  wire [DATA_W-1:0]        beat_data,
    input  wire                     beat_last,
    input  wire [2:0]               beat_index,
    input  wire [BYTE_W-1:0]        beat_bytes,
    // How the packet is changed, and what it is long when trimmed.
    input  wire                     beat_trim,
    input  wire                     beat_return,
    input  wire [5:0]               beat_length,

    // Two cycles later.
    output reg  [PORTS-1:0]         out_valid,
    output reg  [DATA_W-1:0]        out_data,
    output reg                      out_last,
    output reg  [2:0]               out_index,
    output reg  [BYTE_W-1:0]        out_bytes,
    output reg                      out_trim,
    output reg                      out_return,
    // What the words of this beat add to the complement of the checksum.
    output wire [17:0]              out_term,
    output wire [16:0]              out_length_term,
    // The length of IP becomes this one.
    output wire                     out_shrinks,
    output wire [5:0]               out_length
);

reg [PORTS-1:0] valid_reg;
reg [DATA_W-1:0] data_reg;
reg last_reg, trim_reg, return_reg;
reg [2:0] index_reg;
reg [BYTE_W-1:0] bytes_reg;

always @(posedge clk) begin
    valid_reg <= rst ? {PORTS{1'b0}} : beat_valid;
    data_reg <= beat_data;
    last_reg <= beat_last;
    index_reg <= beat_index;
    bytes_reg <= beat_bytes;
    trim_reg <= beat_trim;
    return_reg <= beat_return;
    out_valid <= rst ? {PORTS{1'b0}} : valid_reg;
    out_data <= data_reg;
    out_last <= last_reg;
    out_index <= index_reg;
    out_bytes <= bytes_reg;
    out_trim <= trim_reg;
    out_return <= return_reg;
end

generate
    if (NDP != 0) begin : terms
        localparam BYTES = DATA_W / 8;
        localparam OFFSET_DSCP = 15;
        localparam OFFSET_LENGTH = 16;
        localparam OFFSET_CHECKSUM = 24;
        localparam DSCP_BEAT = OFFSET_DSCP / BYTES;
        localparam LENGTH_BEAT = OFFSET_LENGTH / BYTES;
        localparam CHECKSUM_BEAT = OFFSET_CHECKSUM / BYTES;

        reg [5:0] length_reg;
        reg [17:0] term_reg;
        reg [16:0] length_term_reg;
        reg shrinks_reg;
        reg [5:0] new_length_reg;

        wire [15:0] class_word = {data_reg[((OFFSET_DSCP-1) % BYTES)*8 +: 8], data_reg[(OFFSET_DSCP % BYTES)*8 +: 8]};
        wire [15:0] length_word = {data_reg[(OFFSET_LENGTH % BYTES)*8 +: 8], data_reg[((OFFSET_LENGTH+1) % BYTES)*8 +: 8]};
        wire [15:0] checksum_word = {data_reg[(OFFSET_CHECKSUM % BYTES)*8 +: 8],
                                     data_reg[((OFFSET_CHECKSUM+1) % BYTES)*8 +: 8]};
        wire [5:0] dscp = return_reg ? DSCP_RETURNED : DSCP_TRIMMED;
        wire [15:0] new_class = {class_word[15:8], dscp, class_word[1:0]};
        wire changes_class = index_reg == DSCP_BEAT[2:0] && (trim_reg || return_reg);
        wire [17:0] of_class = changes_class ? {2'd0, ~class_word} + {2'd0, new_class} : 18'd0;
        wire [17:0] of_checksum = index_reg == CHECKSUM_BEAT[2:0] ? {2'd0, ~checksum_word} : 18'd0;
        // The length of IP is what is left behind Ethernet, unless it was less before.
        wire [5:0] left = length_reg - 6'd14;

        always @(posedge clk) begin
            length_reg <= beat_length;
            term_reg <= of_class + of_checksum;
            length_term_reg <= {1'b0, ~length_word} + {11'd0, left};
            shrinks_reg <= trim_reg && index_reg == LENGTH_BEAT[2:0] && {10'd0, left} < length_word;
            new_length_reg <= left;
        end
        assign out_term = term_reg;
        assign out_length_term = length_term_reg;
        assign out_shrinks = shrinks_reg;
        assign out_length = new_length_reg;
    end else begin : plain
        assign out_term = 18'd0;
        assign out_length_term = 17'd0;
        assign out_shrinks = 1'b0;
        assign out_length = 6'd0;
        wire unused = &{1'b0, beat_length};
    end
endgenerate

endmodule

`resetall
