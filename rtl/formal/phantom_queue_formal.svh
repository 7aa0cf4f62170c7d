// The counter is that of a model which knows each packet's length as it begins: it grows there, falls at each tick and not below
// zero. Beats are neither lost nor changed, except for the mark and its checksum, and only above the threshold.
reg f_past = 1'b0;
// What is known beforehand: the packet's bytes.
(* anyseq *) wire [LEN_W-1:0] f_length;
reg [LEN_W-1:0] f_length_reg, f_so_far;
reg [FILL_W+1:0] f_model;
reg f_above;
wire [FILL_W+1:0] f_bytes = {{(FILL_W+2-LEN_W-FRACTION_W){1'b0}}, f_length, {FRACTION_W{1'b0}}};
// The model, which this cycle's tick has drained already.
wire [FILL_W+1:0] f_grown_to = f_model + (take && first ? f_bytes : {(FILL_W+2){1'b0}});
wire [LEN_W-1:0] f_sum = (first ? FCS : f_so_far) + kept(s_axis_tkeep);
wire [LEN_W-1:0] f_known = first ? f_length : f_length_reg;

wire [15:0] f_old_sum = ~{byte_at(f_was, OFFSET_CHECKSUM), byte_at(f_was, OFFSET_CHECKSUM + 1)};
wire [15:0] f_new_sum = ~{byte_at(m_axis_tdata, OFFSET_CHECKSUM), byte_at(m_axis_tdata, OFFSET_CHECKSUM + 1)};
wire [15:0] f_grown = {byte_at(m_axis_tdata, OFFSET_VERSION), byte_at(m_axis_tdata, OFFSET_CLASS)}
    - {byte_at(f_was, OFFSET_VERSION), byte_at(f_was, OFFSET_CLASS)};
reg [DATA_W-1:0] f_was;
reg f_first, f_marks, f_ipv4;
wire [DATA_W-1:0] f_differs = m_axis_tdata ^ f_was;
localparam [DATA_W-1:0] f_ONE = {{(DATA_W-1){1'b0}}, 1'b1};
// ECN and the checksum of an IPv4 packet.
localparam [DATA_W-1:0] f_CHANGES = (f_ONE * 3) << (OFFSET_CLASS % BYTES)*8 | (f_ONE * 65535) << (OFFSET_CHECKSUM % BYTES)*8;
localparam [DATA_W-1:0] f_CHANGES_V6 = (f_ONE * 48) << (OFFSET_CLASS % BYTES)*8;

always @(posedge clk) begin
    f_past <= 1'b1;
    assume (rst == !f_past);
    assume (cfg_tick == 2);
    assume (cfg_drain < (1 << (FILL_W - 3)));
    if (f_past)
        assume ($stable(cfg_drain) && $stable(cfg_threshold));
    // The counter of a real link stays far below its greatest number.
    assume (f_model < (1 << (FILL_W - 1)));
    if (f_past && $past(!rst && s_axis_tvalid && !s_axis_tready))
        assume (s_axis_tvalid && $stable(s_axis_tdata) && $stable(s_axis_tkeep) && $stable(s_axis_tlast));
    // A beat is full or has one byte: enough lengths, and few for the solver.
    assume (&s_axis_tkeep || s_axis_tkeep == 1);

    if (take) begin
        f_so_far <= f_sum;
        f_length_reg <= f_known;
        if (s_axis_tlast)
            assume (f_sum == f_known);
        if (first)
            f_above <= f_model > {2'b00, cfg_threshold, {FRACTION_W{1'b0}}};
        f_first <= first;
        f_was <= s_axis_tdata;
        f_marks <= marks;
        f_ipv4 <= is_ipv4;
    end
    f_model <= (rst || f_grown_to < {2'b00, drains_next}) ? {(FILL_W+2){1'b0}} : f_grown_to - {2'b00, drains_next};

    if (f_past && !rst) begin
        // Between packets the counter is the model's; inside, bytes are still to come.
        if (!inside_reg)
            assert ({2'b00, level} == f_model);
        if (take && first)
            assert (above_now == (f_model > {2'b00, cfg_threshold, {FRACTION_W{1'b0}}}));
        // HULL 2.1: nothing is marked that finds the counter at the threshold or below, or that has no ECN.
        if (take && marks)
            assert ((first ? above_now : f_above) && (ecn == 2'b01 || ecn == 2'b10));
        if ($past(!rst && m_axis_tvalid && !m_axis_tready))
            assert (m_axis_tvalid && $stable(m_axis_tdata) && $stable(m_axis_tkeep) && $stable(m_axis_tlast) && $stable(m_axis_tuser));
        // A beat that came is there one cycle later, and none else.
        if ($past(!rst && s_axis_tvalid && s_axis_tready))
            assert (m_axis_tvalid && m_axis_tkeep == $past(s_axis_tkeep) && m_axis_tlast == $past(s_axis_tlast)
                && m_axis_tuser == $past(s_axis_tuser));
        if ($past(!rst && !s_axis_tvalid && m_axis_tready))
            assert (!m_axis_tvalid);
        if ($past(!rst && take)) begin
            if (!f_marks)
                assert (f_differs == 0);
            else if (f_ipv4) begin
                assert ((f_differs & ~f_CHANGES) == 0);
                assert (m_axis_tdata[(OFFSET_CLASS % BYTES)*8 +: 2] == 2'b11);
                // The sum of the header's words stays: both grow by as much, with the carry around.
                assert (f_new_sum == f_old_sum + f_grown + {15'd0, {1'b0, f_old_sum} + {1'b0, f_grown} > 17'h0ffff});
            end else begin
                assert ((f_differs & ~f_CHANGES_V6) == 0);
                assert (m_axis_tdata[(OFFSET_CLASS % BYTES)*8 + 4 +: 2] == 2'b11);
            end
        end
    end
end
