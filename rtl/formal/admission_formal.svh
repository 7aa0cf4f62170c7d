// Every packet has one end: in a data queue, in a header queue, or all its cells are free. A tail that goes has one too.
// Cells are neither lost nor given twice, and nothing is put where there is no room.
reg f_past = 1'b0;
reg f_other;
reg [PORTS-1:0] f_room, f_swap_room, f_tail_waits, f_tails;
wire f_data = |data_push, f_swap = |data_swap, f_header = |header_push;
// Whose first cell is which tells the packets apart.
wire [CELL_W-1:0] f_tail_first, f_tail_cells;
generate
    if (NDP != 0) begin : f_tails
        assign f_tail_first = ndp.tail_first_reg[port];
        assign f_tail_cells = ndp.tail_cells_reg[port];
    end else begin : f_none
        assign f_tail_first = 0;
        assign f_tail_cells = 0;
    end
endgenerate
wire [CELL_W-1:0] f_leaver_first = f_swap ? f_tail_first : first;
wire [CELL_W-1:0] f_leaver_cells = f_swap ? f_tail_cells : cells;
wire f_all = frees && frees_first == f_leaver_first && frees_cells == f_leaver_cells;
wire [1:0] f_ends = {1'b0, f_data || f_swap} + {1'b0, f_header} + {1'b0, f_all};
always @(posedge clk) begin
    f_past <= 1'b1;
    if (!f_past)
        assume (rst);
    else
        assume (!rst);
    assume (port < PORTS && back_port < PORTS && next_port < PORTS);
    // The next newcomer becomes the newcomer.
    f_other <= next_other_header;
    if (f_past) begin
        assume (valid == $past(next_valid && !rst) && routed == $past(next_routed) && port == $past(next_port));
        assume (trimmable == $past(next_trimmable) && trimmed == $past(next_trimmed));
        assume ($stable(cfg_coin) && $stable(cfg_return));
    end
    f_room <= next_data_room;
    f_swap_room <= next_swap_room;
    f_tail_waits <= next_tail_waits;
    // A queue with a tail in it has had a packet put into it.
    f_tails <= rst ? 0 : f_tails | data_push;
    assume ((next_tail_waits & ~(f_tails | data_push)) == 0);
    assume (cells != 0 && bytes != 0);
    // Parser: a packet is of one class.
    assume (!(next_trimmable && (next_trimmed || next_other_header)) && !(next_trimmed && next_other_header));
    // The tail's first cell is not the newcomer's: cell_chain gives none twice.
    assume (f_tail_first != first);
    // cell_chain: a packet's second cell is not its first.
    assume (second != first);
    if (f_past && !rst) begin
        if (!valid)
            assert (!f_data && !f_swap && !f_header && !frees);
        if (valid) begin
            // The newcomer and, if it takes the tail's place, the tail.
            assert (f_ends == (f_swap ? 2'd2 : 2'd1));
            assert (!(f_data && f_swap));
            assert ((data_push & (data_push - 1'b1)) == 0 && (header_push & (header_push - 1'b1)) == 0);
            // Nowhere without room; nothing in another port's data queue.
            assert ((data_push & ~f_room) == 0);
            assert ((data_swap & ~(f_swap_room & f_tail_waits & ~f_room)) == 0);
            assert ((header_push & ~(f_swap ? tail_room : header_room)) == 0);
            assert (!(f_data || f_swap) || (data_push | data_swap) == one(port));
            if (f_data || f_swap)
                assert (data_desc == {one_beat, 2'b00, bytes, last, first});
            // A header keeps the first cell of the packet that it is of. What is cut off is free.
            if (f_header) begin
                assert (header_desc[CELL_W-1:0] == (header_desc[DESC_W-3] ? f_leaver_first : first));
                if (header_desc[DESC_W-3])
                    assert (frees == (f_leaver_cells != 1) && (!frees || frees_cells == f_leaver_cells - 1'b1));
                else
                    assert (!frees && header_desc[CELL_W +: CELL_W] == last);
                // Turned round only if it may be, and only when its own port has no room.
                if (header_desc[DESC_W-2])
                    assert (cfg_return && !(f_swap ? tail_room[port] : header_room[port]));
                else
                    assert (header_push == one(port));
            end
            // A coin is drawn when there is a choice and not otherwise.
            if (status_coin)
                assert (routed && trimmable && !f_room[port] && f_tail_waits[port] && cfg_coin != 0);
            // Whole or not at all.
            if (!trimmable && !trimmed && !f_other)
                assert (!f_header && !f_swap);
        end
        // What was freed is said once, in the next cycle.
        assert (back == $past(frees && !rst));
        if (back)
            assert (back_first == $past(frees_first) && back_last == $past(frees_last)
                && back_cells == $past(frees_cells));
    end
end
