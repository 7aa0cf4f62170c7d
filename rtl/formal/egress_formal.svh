// AXI4-Stream 2.2.1: a beat that was not accepted stays as it is. The buffer keeps its bound when the reader
// keeps its count; and with a sink that is ready, a beat leaves the buffer in every cycle.
reg f_past = 1'b0;
reg [ADDR_W+1:0] f_inside;
wire [ADDR_W:0] f_used = write_reg - read_reg;
reg [7:0] f_in, f_out;
always @(posedge clk) begin
    f_past <= 1'b1;
    if (!f_past)
        assume (rst);
    else
        assume (!rst);
    // The reader has as many credits as the buffer has places.
    assume (!beat_valid || f_used != DEPTH[ADDR_W:0]);
    assume (beat_bytes != 0 && beat_bytes <= BYTES[BYTE_W-1:0]);
    f_in <= rst ? 8'd0 : f_in + {7'd0, beat_valid};
    f_out <= rst ? 8'd0 : f_out + {7'd0, m_axis_tvalid && m_axis_tready};
    if (f_past && !rst) begin
        assert (f_used <= DEPTH[ADDR_W:0]);
        if ($past(!rst && m_axis_tvalid && !m_axis_tready))
            assert (m_axis_tvalid && $stable(m_axis_tdata) && $stable(m_axis_tkeep) && $stable(m_axis_tlast));
        if (m_axis_tready && !empty)
            assert (beat_done);
        // No beat is lost or made.
        assert (f_in - f_out == {{(8-ADDR_W-1){1'b0}}, f_used} + {7'd0, work_valid_reg} + {7'd0, m_axis_tvalid});
    end
end
