// The memory keeps its bound, holds whole packets only, and refuses a beat only when it is full.
reg f_past = 1'b0;
reg [7:0] f_committed, f_taken;
always @(posedge clk) begin
    f_past <= 1'b1;
    if (!f_past)
        assume (rst);
    else
        assume (!rst);
    // The bus takes what is there, and reads no more beats than were stored whole.
    assume (!packet_take || packet_valid);
    assume (!beat_read || read_reg != start_reg);
    f_committed <= rst ? 8'd0 : f_committed + {7'd0, commit};
    f_taken <= rst ? 8'd0 : f_taken + {7'd0, packet_take};
    if (f_past && !rst) begin
        assert (used <= DEPTH[ADDR_W:0]);
        assert (slots_used <= SLOTS[SLOT_W:0]);
        // Packets are in the list, on their way there, and before the arbiter.
        assert ({{(8-SLOT_W-1){1'b0}}, slots_used} + {7'd0, done_valid_reg} + {7'd0, next_valid_reg} + {7'd0, head_valid_reg}
            == f_committed - f_taken);
        // What is before the arbiter stays until it is taken, and the next one follows at once.
        if ($past(!rst && packet_valid && !packet_take))
            assert (packet_valid && $stable(packet_bytes) && $stable(packet_cost));
        if ($past(!rst && packet_take && packet_next_valid))
            assert (packet_valid && packet_cost == $past(packet_next_cost));
        if (packet_valid)
            assert (packet_cost * BYTES >= packet_bytes && (packet_cost - 1) * BYTES < packet_bytes);
        // Nothing is left of a packet that was taken out.
        if (discard_reg || bytes_reg == 0)
            assert (write_reg == start_reg);
        // Never stalls while there is room.
        assert (s_axis_tready || full || slots_full);
        // What the arbiter sees is behind what is being stored.
        assert (start_reg - read_reg <= used);
        assert (!packet_valid || (packet_bytes != 0 && packet_bytes <= LIMIT));
    end
end
