// A packet that a port has started is read whole, once, in as many beats as it has; its cells go back once and none is
// lost while the list has no time; the memory rests only when no port may read; buffers keep their bound.
reg f_past = 1'b0;
(* anyconst *) wire [PORT_W-1:0] f_port;
// Of the port that is watched: beats on their way, beats of its packet that were read, the packet.
reg [CREDIT_W-1:0] f_inside;
reg [LEN_W-1:0] f_bytes, f_beats;
reg f_active;
reg [7:0] f_ends, f_left;
reg [CELL_W-1:0] f_first, f_last;
wire f_starts = start_valid[f_port] && start_ready[f_port];
wire f_read = found && chosen == f_port;
wire [LEN_W-1:0] f_all = (f_bytes + BYTES[LEN_W-1:0] - 1'b1) / BYTES[LEN_W-1:0];
integer f;
always @(posedge clk) begin
    f_past <= 1'b1;
    if (!f_past)
        assume (rst);
    else
        assume (!rst);
    assume (f_port < PORTS);
    for (f = 0; f < PORTS; f = f + 1) begin
        // Packets have bytes, few enough to be counted.
        assume (start_desc[f*DESC_W + 2*CELL_W +: LEN_W] != 0);
        assume (start_desc[f*DESC_W + 2*CELL_W +: LEN_W] <= 4*BYTES);
        // Only what is in the buffer leaves it.
        assume (!beat_done[f] || credit_reg[f] != CREDITS[CREDIT_W-1:0]);
    end
    f_inside <= f_inside + {{(CREDIT_W-1){1'b0}}, f_read} - {{(CREDIT_W-1){1'b0}}, beat_done[f_port]};
    f_ends <= f_ends + {7'd0, ends};
    f_left <= f_left + {7'd0, left && left_ready};
    if (f_read) begin
        f_beats <= f_beats + 1'b1;
        if (ends)
            f_active <= 1'b0;
    end
    if (f_starts) begin
        f_active <= 1'b1;
        f_beats <= 0;
        {f_bytes, f_last, f_first} <= start_desc[f_port*DESC_W +: LEN_W + 2*CELL_W];
    end
    if (rst) begin
        f_inside <= 0;
        f_active <= 1'b0;
        f_ends <= 0;
        f_left <= 0;
    end
    if (f_past && !rst) begin
        assert (credit_reg[f_port] + f_inside == CREDITS[CREDIT_W-1:0]);
        assert (f_active == active_reg[f_port]);
        // Never two packets at once.
        assert (!f_starts || !f_active || (f_read && ends));
        if (f_read) begin
            assert (f_active && credit_reg[f_port] != 0);
            assert (ends == (f_beats + 1'b1 == f_all));
        end
        // Never stalls: one that has something to read and room for it is not left waiting while the memory rests.
        if (f_active && credit_reg[f_port] != 0 && left_free)
            assert (found);
        // And the next packet follows without a cycle between.
        if (f_read && ends)
            assert (start_ready[f_port]);
        if ($past(!rst && f_read)) begin
            assert (beat_valid[f_port] && beat_last == $past(ends) && beat_first == ($past(f_beats) == 0));
            assert ((beat_valid & (beat_valid - 1'b1)) == 0);
        end
        if ($past(!rst && f_read && ends))
            assert (left && left_first == $past(f_first) && left_last == $past(f_last));
        if ($past(!rst && left && !left_ready))
            assert (left && $stable(left_first) && $stable(left_last) && $stable(left_cells));
        assert (f_ends - f_left == {7'd0, left});
    end
end
