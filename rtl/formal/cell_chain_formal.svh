// No cell is lost, none is given out twice. Packets of one cell come and go in any order; both ways back are
// used.
reg f_past = 1'b0;
reg [CELLS-1:0] f_out;
reg f_left_waits;
integer f;
reg [CELL_W:0] f_number;
always @* begin
    f_number = 0;
    for (f = 0; f < CELLS; f = f + 1)
        f_number = f_number + {{CELL_W{1'b0}}, f_out[f]};
end
always @(posedge clk) begin
    f_past <= 1'b1;
    if (!f_past)
        assume (rst);
    else
        assume (!rst);
    assume (!take || ready);
    assume (!back || (initialised_reg && f_out[back_first] && back_last == back_first && back_cells == 1));
    assume (!left || (initialised_reg && f_out[left_first] && left_last == left_first && left_cells == 1));
    assume (!(back && left) || back_first != left_first);
    if (f_past && $past(left && !left_ready && !rst))
        assume (left && $stable(left_first) && $stable(left_last) && $stable(left_cells));
    if (f_past && $past(left && !left_ready && !rst))
        assume (!back || back_first != left_first);
    if (take)
        f_out[head] <= 1'b1;
    if (back)
        f_out[back_first] <= 1'b0;
    if (left && left_ready)
        f_out[left_first] <= 1'b0;
    if (rst)
        f_out <= {CELLS{1'b0}};
    if (f_past && !rst) begin
        if (take)
            assert (!f_out[head]);
        // What was read of a link that was written then is not used.
        if (take)
            assert (!$past(write && write_cell == head_now));
        if (initialised_reg)
            assert (free_cells + f_number == CELLS[CELL_W:0]);
        assert (free_cells != 0);
    end
end
