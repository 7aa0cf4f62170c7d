// A packet that a port has started is read whole, once, in its turn, in as many beats as it has; its cells go back once and none
// is lost while the list has no time; the memory rests only when no port may read; buffers keep their bound.
reg f_past = 1'b0, f_past_two = 1'b0;
(* anyconst *) wire [PORT_W-1:0] f_port;
// Of the port that is watched: beats on their way; its packets, the one that is read first; beats of that one that were read.
localparam F_W = LEN_W + 2*CELL_W;
reg [CREDIT_W-1:0] f_inside;
reg [F_W-1:0] f_head, f_second, f_third;
reg [1:0] f_packets;
reg [LEN_W-1:0] f_beats;
reg [7:0] f_ends, f_left;
wire f_starts = start_valid[f_port];
wire f_read = found && chosen == f_port;
wire f_pops = f_read && ends;
wire [LEN_W-1:0] f_bytes, f_next_bytes;
wire [CELL_W-1:0] f_first, f_last;
assign {f_bytes, f_last, f_first} = f_head;
assign f_next_bytes = f_second[F_W-1:2*CELL_W];
wire [LEN_W-1:0] f_all = (f_bytes + BYTES[LEN_W-1:0] - 1'b1) / BYTES[LEN_W-1:0];
wire [LEN_W-1:0] f_next_all = (f_next_bytes + BYTES[LEN_W-1:0] - 1'b1) / BYTES[LEN_W-1:0];
wire [LEN_W-1:0] f_unread = (f_packets == 0 ? 0 : f_all - f_beats) + (f_packets > 1 ? f_next_all : 0);
wire [F_W-1:0] f_new = start_desc[f_port*DESC_W +: F_W];
integer f;
always @(posedge clk) begin
    f_past <= 1'b1;
    f_past_two <= f_past;
    if (!f_past)
        assume (rst);
    else
        assume (!rst);
    assume (f_port < PORTS);
    assume ((start_valid & ~start_ready) == 0);
    for (f = 0; f < PORTS; f = f + 1) begin
        // Packets have bytes, few enough to be counted.
        assume (start_desc[f*DESC_W + 2*CELL_W +: LEN_W] != 0);
        assume (start_desc[f*DESC_W + 2*CELL_W +: LEN_W] <= 4*BYTES);
        assume (start_desc[f*DESC_W + DESC_W - 1] == (start_desc[f*DESC_W + 2*CELL_W +: LEN_W] <= BYTES));
        // Only what is in the buffer leaves it.
        assume (!beat_done[f] || credit_reg[f] != CREDITS[CREDIT_W-1:0]);
    end
    f_inside <= f_inside + {{(CREDIT_W-1){1'b0}}, f_read} - {{(CREDIT_W-1){1'b0}}, beat_done[f_port]};
    f_ends <= f_ends + {7'd0, ends};
    f_left <= f_left + {7'd0, left && left_ready};
    if (f_read)
        f_beats <= ends ? 0 : f_beats + 1'b1;
    f_packets <= f_packets + f_starts - f_pops;
    if (f_pops) begin
        f_head <= f_second;
        f_second <= f_third;
    end
    if (f_starts)
        case (f_packets - f_pops)
            2'd0: f_head <= f_new;
            2'd1: f_second <= f_new;
            default: f_third <= f_new;
        endcase
    if (rst) begin
        f_inside <= 0;
        f_packets <= 0;
        f_beats <= 0;
        f_ends <= 0;
        f_left <= 0;
    end
    if (f_past && !rst) begin
        assert (credit_reg[f_port] + f_inside == CREDITS[CREDIT_W-1:0]);
        assert (credit_ok_reg[f_port] == (credit_reg[f_port] != 0));
        assert (f_packets == active_reg[f_port] + waits_reg[f_port] + second_waits_reg[f_port]);
        if (f_read) begin
            assert (f_packets != 0 && credit_reg[f_port] != 0);
            assert (ends == (f_beats + 1'b1 == f_all));
            assert (its_cells == {{{(CELL_W+6-LEN_W){1'b0}}, f_bytes[LEN_W-1:6] + {{(LEN_W-7){1'b0}}, |f_bytes[5:0]}}, f_last, f_first});
        end
        // Never stalls: one that has something to read and room for it is not left waiting while the memory rests.
        if (active_reg[f_port] && credit_reg[f_port] != 0 && !left_second_reg)
            assert (found);
        // A port may choose in time, so that the next packet follows without a cycle between, and not earlier.
        if (f_packets == 0 || (f_packets == 1 && active_reg[f_port] && f_unread <= 2))
            assert (start_ready[f_port]);
        if (start_ready[f_port])
            assert (f_unread <= 2 && f_packets != 3);
        if ($past(!rst && f_pops && waits_reg[f_port]) || $past(!rst && waits_reg[f_port] && !active_reg[f_port]))
            assert (active_reg[f_port]);
        if (f_past_two && $past(!rst, 2) && $past(!rst) && $past(f_read, 2))
            assert (beat_valid[f_port] && beat_last == $past(ends, 2)
                && beat_index == ($past(f_beats, 2) > 7 ? 7 : $past(f_beats, 2)));
        assert ((beat_valid & (beat_valid - 1'b1)) == 0);
        // The cells of what ends are given back, in turn.
        if ($past(!rst && ends))
            assert (left && (left_second_reg ? left_behind_reg : left_cells_reg) == $past(its_cells));
        if ($past(!rst && left && !left_ready))
            assert (left && $stable(left_first) && $stable(left_last) && $stable(left_cells));
        if ($past(!rst && left_second_reg && left_ready))
            assert (left && left_cells_reg == $past(left_behind_reg));
        assert (f_ends - f_left == {7'd0, left} + {7'd0, left_second_reg});
    end
end
