// Queues keep their bounds, and one descriptor, whichever, is in a queue from when it is put there until it
// starts or loses its place: not lost, not sent twice, not changed.
reg f_past = 1'b0;
(* anyconst *) wire [DESC_W-1:0] f_watched;
reg f_data, f_tail, f_header, f_used;
reg [PACKETS_W-1:0] f_data_flying;
wire f_put = ((data_push || data_swap) && data_desc == f_watched) || (header_push && header_desc == f_watched);
// What admission keeps of what it is told.
reg f_room, f_swap_room, f_tail_waits;
always @(posedge clk) begin
    f_past <= 1'b1;
    if (!f_past)
        assume (rst);
    else
        assume (!rst);
    if (f_past) begin
        assume ($stable(cfg_data_packets) && $stable(cfg_data_bytes) && $stable(cfg_header_bytes)
            && $stable(cfg_ratio) && $stable(cfg_strict));
        assume (new_whole == $past(next_whole) && new_header == $past(next_header));
        assume (last_data == $past(data_desc) && last_header == $past(header_desc));
    end
    assume (cfg_data_bytes < 20'd16 && cfg_header_bytes < 20'd256 && cfg_ratio < 17'd4);
    assume (next_whole > 14'd4 && next_whole < 14'd8);
    assume (next_header == 14'd48 || next_header == 14'd64);
    assume (both_whole == next_whole + new_whole && both_header == next_header + new_header);
    assume (tail_header == 14'd48 || tail_header == 14'd64);
    assume (data_desc[BYTES_AT +: LEN_W] == new_whole - 14'd4);
    assume (header_desc[BYTES_AT +: LEN_W] == (header_of_tail ? tail_header : new_header) - 14'd4);
    // What admission promises.
    f_room <= next_data_room && !rst;
    f_swap_room <= next_swap_room;
    f_tail_waits <= next_tail_waits && !rst;
    assume (!(data_push && data_swap));
    assume (!data_push || f_room);
    assume (!data_swap || (f_tail_waits && f_swap_room && contended));
    assume (!header_push || (f_past && $past(!rst) && (header_of_tail ? tail_room : header_room)));
    assume (!wire_done || (f_past && flying_reg != 0));
    assume (!f_put || !f_used);
    assume (!(header_push && header_desc == f_watched && (data_push || data_swap) && data_desc == f_watched));

    f_data_flying <= rst ? 0 : f_data_flying + {{(PACKETS_W-1){1'b0}}, start_data}
        - {{(PACKETS_W-1){1'b0}}, release_data};
    if (f_put)
        f_used <= 1'b1;
    if (start_header && start_desc == f_watched)
        f_header <= 1'b0;
    if (start_data && start_desc == f_watched)
        f_data <= 1'b0;
    if (data_swap && f_tail)
        f_data <= 1'b0;
    if (data_push || data_swap) begin
        f_tail <= data_desc == f_watched;
        if (data_desc == f_watched)
            f_data <= 1'b1;
    end
    if (header_push && header_desc == f_watched)
        f_header <= 1'b1;
    if (rst) begin
        f_used <= 1'b0;
        f_data <= 1'b0;
        f_tail <= 1'b0;
        f_header <= 1'b0;
    end
    if (f_past && !rst) begin
        assert (status_data_packets <= cfg_data_packets);
        // The counts are those of the queue.
        assert (data_waiting <= DATA_SLOTS[DATA_W:0] && data_waiting[DATA_W-1:0] == data_write_reg - data_read_reg);
        assert (status_data_packets == {{(PACKETS_W-DATA_W-1){1'b0}}, data_waiting} + f_data_flying);
        assert (flying_reg <= FLIGHT[FLIGHT_W:0] && flying_reg[FLIGHT_W-1:0] == flight_write_reg - flight_read_reg);
        assert (status_data_bytes <= cfg_data_bytes);
        assert (status_header_bytes <= cfg_header_bytes);
        // What is said of the counts beside them.
        assert (data_waits == (data_waiting != 0) && data_many == (data_waiting > 1));
        assert (more_one_reg == (data_more_reg != 0) && more_two_reg == (data_more_reg > 1));
        assert (flight_room_reg == (flying_reg != FLIGHT[FLIGHT_W:0]));
        assert (data_waiting == 0 || data_tail_reg == data_write_reg - 1'b1);
        if (start_data && start_desc == f_watched)
            assert (f_data);
        if (start_header && start_desc == f_watched)
            assert (f_header);
        if (data_waiting == 0)
            assert (!f_data);
        if (!header_waits)
            assert (!f_header);
        // What was read of a slot that was written then is not used.
        if (data_waits && $past((data_push || data_swap) && data_slot == data_read_next))
            assert (data_written_reg && !data_many);
        if (header_waits && $past(header_push && ndp.header_write_reg == ndp.header_read_next))
            assert (ndp.header_written_reg && !ndp.header_many_reg);
        // A tail that may be trimmed is there, behind what starts; and if one is there, it may be.
        if (contended && f_tail_waits)
            assert (data_waiting != start_data);
        assert (f_tail_waits || data_waiting == 0 || (data_waiting == 1 && committed_reg));
        // Work-conserving: who may start does, at once or, when its tail is at stake, one cycle later.
        if ((data_waits || header_waits) && flying_reg != FLIGHT[FLIGHT_W:0] && start_ready)
            assert (start_valid || held);
        if ($past(!rst && held))
            assert (start_valid && start_is_data);
        // Nothing is on the wire, nothing waits: nothing is held.
        if (flying_reg == 0 && !released_reg && !data_waits)
            assert (status_data_bytes == 0);
        if (flying_reg == 0 && !released_reg && !header_waits)
            assert (status_header_bytes == 0);
    end
end
