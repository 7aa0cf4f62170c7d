// The last step of a port: beats from the packet memory to AXI-Stream, headers rewritten as they pass.
//
// A trimmed packet gets its DSCP, its IPv4 length and its checksum; a returned one has its addresses and UDP ports
// swapped as well. Every changed byte lies in the first 38, at most one beat from the byte that it
// comes from, so the beat before and the beat behind are all that is looked at. The checksum is brought up to date by
// the difference (checksum_terms), summed one stage before it is written.

`resetall
`default_nettype none

module egress #(
    parameter NDP = 1,
    parameter DATA_W = 256,
    parameter DEPTH = 8,
    parameter [5:0] DSCP_TRIMMED = 6'd50,
    parameter [5:0] DSCP_RETURNED = 6'd54
) (
    input  wire                     clk,
    input  wire                     rst,

    // A beat from memory; there is room, because the reader counts.
    input  wire                     beat_valid,
    input  wire [DATA_W-1:0]        beat_data,
    input  wire                     beat_last,
    input  wire [2:0]               beat_index,
    input  wire [$clog2(DATA_W/8):0] beat_bytes,
    // How the packet is changed; what that adds to its checksum; its new length.
    input  wire                     beat_trim,
    input  wire                     beat_return,
    input  wire [17:0]              beat_term,
    input  wire [16:0]              beat_length_term,
    input  wire                     beat_shrinks,
    input  wire [5:0]               beat_length,
    // A beat has left the buffer.
    output wire                     beat_done,

    output reg  [DATA_W-1:0]        m_axis_tdata,
    output reg  [DATA_W/8-1:0]      m_axis_tkeep,
    output reg                      m_axis_tvalid,
    input  wire                     m_axis_tready,
    output reg                      m_axis_tlast
);

localparam BYTES = DATA_W / 8;
localparam BYTE_W = $clog2(BYTES) + 1;
localparam ADDR_W = $clog2(DEPTH);
localparam TAG_W = BYTE_W + ((NDP != 0) ? 48 : 6);
localparam HEADER = 38;
localparam HEADER_BEATS = (HEADER + BYTES - 1) / BYTES;

reg [TAG_W+DATA_W-1:0] buffer [0:DEPTH-1];
reg [ADDR_W:0] write_reg, read_reg;
wire empty = write_reg == read_reg;

wire [TAG_W-1:0] tag;
generate
    if (NDP != 0) begin : with_terms
        assign tag = {beat_length, beat_shrinks, beat_length_term, beat_term, beat_return, beat_trim, beat_bytes, beat_index, beat_last};
    end else begin : without
        assign tag = {beat_return, beat_trim, beat_bytes, beat_index, beat_last};
        wire unused = &{1'b0, beat_length, beat_shrinks, beat_length_term, beat_term};
    end
endgenerate
always @(posedge clk)
    if (beat_valid)
        buffer[write_reg[ADDR_W-1:0]] <= {tag, beat_data};

// The beat behind the one at work.
wire [TAG_W+DATA_W-1:0] behind = buffer[read_reg[ADDR_W-1:0]];
wire [DATA_W-1:0] behind_data = behind[DATA_W-1:0];
wire behind_last, behind_trim, behind_return;
wire [2:0] behind_index;
wire [BYTE_W-1:0] behind_bytes;
assign {behind_return, behind_trim, behind_bytes, behind_index, behind_last} = behind[DATA_W +: BYTE_W + 6];

// The beat at work.
reg work_valid_reg, work_last_reg, work_trim_reg, work_return_reg;
reg [DATA_W-1:0] work_reg;
reg [BYTE_W-1:0] work_bytes_reg;
reg [2:0] work_index_reg;

wire out_free = !m_axis_tvalid || m_axis_tready;
// Bytes of the beat behind are needed only to swap addresses.
wire waits_for_next = work_return_reg && !work_last_reg && empty
    && work_index_reg < HEADER_BEATS[2:0];
wire move = work_valid_reg && out_free && !waits_for_next;
wire load = !empty && (!work_valid_reg || move);
assign beat_done = load;

function automatic [BYTES-1:0] keep_of(input [BYTE_W-1:0] bytes);
    integer i;
    begin
        for (i = 0; i < BYTES; i = i + 1)
            keep_of[i] = i[BYTE_W-1:0] < bytes;
    end
endfunction

wire [DATA_W-1:0] rewritten;

always @(posedge clk) begin
    if (beat_valid)
        write_reg <= write_reg + 1'b1;
    if (load) begin
        read_reg <= read_reg + 1'b1;
        work_reg <= behind_data;
        work_last_reg <= behind_last;
        work_bytes_reg <= behind_bytes;
        work_trim_reg <= behind_trim;
        work_return_reg <= behind_return;
        work_index_reg <= behind_index;
    end
    if (load)
        work_valid_reg <= 1'b1;
    else if (move)
        work_valid_reg <= 1'b0;
    if (out_free)
        m_axis_tvalid <= move;
    if (move) begin
        m_axis_tdata <= rewritten;
        m_axis_tlast <= work_last_reg;
        m_axis_tkeep <= keep_of(work_bytes_reg);
    end
    if (rst) begin
        write_reg <= 0;
        read_reg <= 0;
        work_valid_reg <= 1'b0;
        m_axis_tvalid <= 1'b0;
    end
end

generate
    if (NDP != 0) begin : rewrite
        localparam OFFSET_DSCP = 15;
        localparam OFFSET_LENGTH = 16;
        localparam OFFSET_CHECKSUM = 24;

        wire [17:0] behind_term;
        wire [16:0] behind_length_term;
        wire behind_shrinks;
        wire [5:0] behind_length;
        assign {behind_length, behind_shrinks, behind_length_term, behind_term} = behind[DATA_W + BYTE_W + 6 +: 42];
        reg [19:0] sum_reg;
        reg [5:0] length_reg;
        reg shrinks_reg;
        reg [DATA_W-1:0] before_reg;

        always @(posedge clk) begin
            if (load) begin
                sum_reg <= (behind_index == 0 ? 20'd0 : sum_reg) + {2'd0, behind_term}
                    + (behind_shrinks ? {3'd0, behind_length_term} : 20'd0);
                length_reg <= behind_length;
                shrinks_reg <= behind_shrinks;
            end
            if (move)
                before_reg <= work_reg;
        end

        wire [16:0] folded_once = {1'b0, sum_reg[15:0]} + {13'd0, sum_reg[19:16]};
        wire [15:0] folded = folded_once[15:0] + {15'd0, folded_once[16]};
        wire [15:0] checksum = ~folded;

        reg [DATA_W-1:0] out;
        reg [DATA_W*3-1:0] around;
        integer beat, place, at, from;
        always @* begin
            at = 0;
            from = 0;
            out = work_reg;
            around = {behind_data, work_reg, before_reg};
            for (beat = 0; beat < HEADER_BEATS; beat = beat + 1) begin
                if (work_index_reg == beat[2:0]) begin
                    for (place = 0; place < BYTES; place = place + 1) begin
                        at = beat * BYTES + place;
                        from = at;
                        if (at < 6)
                            from = at + 6;
                        else if (at < 12)
                            from = at - 6;
                        else if (at >= 26 && at < 30)
                            from = at + 4;
                        else if (at >= 30 && at < 34)
                            from = at - 4;
                        else if (at >= 34 && at < 36)
                            from = at + 2;
                        else if (at >= 36 && at < 38)
                            from = at - 2;
                        if (work_return_reg)
                            out[place*8 +: 8] = around[(from - at + place + BYTES)*8 +: 8];
                        if (at == OFFSET_DSCP && (work_trim_reg || work_return_reg))
                            out[place*8 +: 8] = {work_return_reg ? DSCP_RETURNED : DSCP_TRIMMED, work_reg[place*8 +: 2]};
                        if (at == OFFSET_LENGTH && shrinks_reg)
                            out[place*8 +: 8] = 8'd0;
                        if (at == OFFSET_LENGTH + 1 && shrinks_reg)
                            out[place*8 +: 8] = {2'd0, length_reg};
                        if (at == OFFSET_CHECKSUM && (work_trim_reg || work_return_reg))
                            out[place*8 +: 8] = checksum[15:8];
                        if (at == OFFSET_CHECKSUM + 1 && (work_trim_reg || work_return_reg))
                            out[place*8 +: 8] = checksum[7:0];
                    end
                end
            end
        end
        assign rewritten = out;
    end else begin : plain
        assign rewritten = work_reg;
        wire unused = &{1'b0, work_trim_reg};
    end
endgenerate

`ifdef FORMAL
`include "egress_formal.svh"
`endif

endmodule

`resetall
