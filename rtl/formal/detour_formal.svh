// A packet is never lost, added or delayed, and leaves by its own port or by a target that is neither its own port nor its input.
// It is detoured exactly when Algorithm 1 says so, and then by a port whose queue is not the longer one of two.
localparam f_LATENCY = 5;
reg f_past = 1'b0;
integer f;
// Of the packets in the stages: what came with them, and what each stage saw.
reg f_valid [0:f_LATENCY];
reg [PORT_W-1:0] f_port [0:f_LATENCY];
reg [PORT_W-1:0] f_input [0:f_LATENCY];
reg [PORTS-1:0] f_targets [0:f_LATENCY];
// Lines 2 and 3: it may be detoured; line 8: its port is congested; the lengths that are compared.
reg f_may [0:f_LATENCY];
reg f_hot [0:f_LATENCY];
reg [PORTS*LENGTH_W-1:0] f_lengths [0:f_LATENCY];
reg [PORT_W-1:0] f_first [0:f_LATENCY];
reg [PORT_W-1:0] f_second [0:f_LATENCY];

wire [PORTS-1:0] f_others = cfg_targets & ~(1'b1 << port) & ~(1'b1 << input_port);
wire [PORTS*LENGTH_W-1:0] f_now;
genvar g;
generate
    for (g = 0; g < PORTS; g = g + 1) begin : f_watch
        assign f_now[g*LENGTH_W +: LENGTH_W] = length_reg[g];
    end
endgenerate

// The candidate at a place: the number of candidates before it.
function automatic [PORT_W-1:0] f_at(input [PORTS-1:0] candidates, input [PORT_W-1:0] which);
    integer at, before;
    begin
        f_at = {PORT_W{1'b0}};
        before = 0;
        for (at = 0; at < PORTS; at = at + 1)
            if (candidates[at]) begin
                if (before == {{(32-PORT_W){1'b0}}, which})
                    f_at = at[PORT_W-1:0];
                before = before + 1;
            end
    end
endfunction
function automatic [PORT_W:0] f_number(input [PORTS-1:0] candidates);
    integer at;
    begin
        f_number = 0;
        for (at = 0; at < PORTS; at = at + 1)
            f_number = f_number + candidates[at];
    end
endfunction

always @(posedge clk) begin
    f_past <= 1'b1;
    assume (rst == !f_past);
    assume (f_past ? $stable(cfg_threshold) && $stable(cfg_limit) && $stable(cfg_max_ttl) && $stable(cfg_unscheduled)
        && $stable(cfg_draws_given) : 1'b1);
    // Ports have numbers below PORTS, and places that are given are among the candidates.
    assume ({{(32-PORT_W){1'b0}}, port} < PORTS && {{(32-PORT_W){1'b0}}, input_port} < PORTS);
    if (status_draws && cfg_draws_given) begin
        assume ({1'b0, draw_first} < status_candidates);
        assume ({1'b0, draw_second} < status_candidates);
    end

    f_valid[0] <= valid && !rst;
    f_port[0] <= port;
    f_input[0] <= input_port;
    f_targets[0] <= f_others;
    f_may[0] <= is_ip && cfg_unscheduled[dscp] && ttl <= cfg_max_ttl && (cfg_max_ttl - ttl) < cfg_limit;
    f_hot[1] <= length_reg[f_port[0]] > cfg_threshold;
    f_first[2] <= f_at(f_targets[1], first_place);
    f_second[2] <= f_at(f_targets[1], second_place);
    f_lengths[3] <= f_now;
    for (f = 0; f < f_LATENCY; f = f + 1) begin
        f_valid[f+1] <= f_valid[f] && !rst;
        f_port[f+1] <= f_port[f];
        f_input[f+1] <= f_input[f];
        f_targets[f+1] <= f_targets[f];
        f_may[f+1] <= f_may[f];
        if (f > 0)
            f_hot[f+1] <= f_hot[f];
        if (f > 1) begin
            f_first[f+1] <= f_first[f];
            f_second[f+1] <= f_second[f];
        end
        if (f > 2)
            f_lengths[f+1] <= f_lengths[f];
    end
    if (f_past && !rst) begin
        // Algorithm 2: the length that the last departure reported.
        for (f = 0; f < PORTS; f = f + 1)
            if ($past(!rst && leaves[f]))
                assert (length_reg[f] == $past(leaves_length[f*LENGTH_W +: LENGTH_W]));
            else if ($past(!rst))
                assert (length_reg[f] == $past(length_reg[f]));
        // The stages of the model and of the block.
        assert (mark_valid_reg == f_valid[0]);
        assert (hot_valid_reg == f_valid[1]);
        assert (place_valid_reg == f_valid[2]);
        assert (two_valid_reg == f_valid[3]);
        assert (out_valid == f_valid[4]);
        if (status_draws)
            assert (f_valid[1] && f_may[1] && f_hot[1] && status_candidates == f_number(f_targets[1])
                && status_candidates != 0 && {1'b0, first_place} < status_candidates && {1'b0, second_place} < status_candidates);
        assert (random_reg != 0);
        if (out_valid) begin
            // Lines 3 and 8: exactly these packets are detoured, where there is a candidate.
            assert (out_detoured == (f_may[4] && f_hot[4] && f_targets[4] != 0));
            if (!out_detoured)
                assert (out_port == f_port[4]);
            else begin
                assert (f_targets[4][out_port] && out_port != f_port[4] && out_port != f_input[4]);
                // Line 12: the first of both, unless the second is shorter.
                assert (out_port == (f_lengths[4][f_second[4]*LENGTH_W +: LENGTH_W] < f_lengths[4][f_first[4]*LENGTH_W +: LENGTH_W]
                    ? f_second[4] : f_first[4]));
            end
        end
    end
end
