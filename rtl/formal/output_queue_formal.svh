// Queues keep their bounds, and one descriptor, whichever, is in a queue from when it is put there until it
// starts or loses its place: not lost, not sent twice.
reg f_past = 1'b0;
(* anyconst *) wire [DESC_W-1:0] f_watched;
reg f_data, f_tail, f_header, f_used;
reg [PACKETS_W-1:0] f_data_flying;
wire f_put = ((data_push || data_swap) && data_desc == f_watched) || (header_push && header_desc == f_watched);
always @(posedge clk) begin
    f_past <= 1'b1;
    if (!f_past)
        assume (rst);
    else
        assume (!rst);
    if (f_past) begin
        assume ($stable(cfg_data_packets) && $stable(cfg_data_bytes) && $stable(cfg_header_bytes)
            && $stable(cfg_ratio) && $stable(cfg_strict));
    end
    assume (cfg_data_bytes < 20'd16 && cfg_header_bytes < 20'd256 && cfg_ratio < 17'd4);
    assume (new_whole != 0 && new_whole < 14'd8 && data_wire == new_whole);
    assume (new_header == 14'd48 || new_header == 14'd64);
    // What admission promises.
    assume (!(data_push && data_swap));
    assume (!data_push || data_room);
    assume (!data_swap || (tail_waits && swap_room));
    assume (!header_push || ((header_wire == new_header && header_room) || (header_wire == 14'd64 && tail_room)));
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
        if (start_data && start_desc == f_watched)
            assert (f_data);
        if (start_header && start_desc == f_watched)
            assert (f_header);
        if (data_waiting == 0)
            assert (!f_data);
        if (!header_waits)
            assert (!f_header);
        // Work-conserving.
        if ((data_waits || header_waits) && flying_reg != FLIGHT[FLIGHT_W:0])
            assert (start_valid);
        // Nothing is on the wire, nothing waits: nothing is held.
        if (flying_reg == 0 && !data_waits)
            assert (status_data_bytes == 0);
        if (flying_reg == 0 && !header_waits)
            assert (status_header_bytes == 0);
    end
end
