// A packet waits at the bus whenever an input has one: no cycle is lost between packets. Credit keeps its bound,
// so no input has more than two quanta of the bus before another's turn.
reg f_past = 1'b0;
integer f;
wire [31:0] f_cost [0:PORTS-1];
wire [31:0] f_credit [0:PORTS-1];
wire [PORTS-1:0] f_affordable;
genvar g;
generate
    for (g = 0; g < PORTS; g = g + 1) begin : f_watch
        assign f_cost[g] = cost[g*COST_W +: COST_W];
        assign f_credit[g] = credit_reg[g];
        assign f_affordable[g] = request[g] && f_cost[g] <= f_credit[g];
    end
endgenerate
always @(posedge clk) begin
    f_past <= 1'b1;
    if (!f_past)
        assume (rst);
    else
        assume (!rst);
    for (f = 0; f < PORTS; f = f + 1) begin
        assume (cost[f*COST_W +: COST_W] != 0);
        assume ({{(32-COST_W){1'b0}}, cost[f*COST_W +: COST_W]} <= QUANTUM);
        assume ({{(32-COST_W){1'b0}}, next_cost[f*COST_W +: COST_W]} <= QUANTUM);
        // The list of lengths: what is before the arbiter stays until it is taken, and the next one follows.
        if (f_past && $past(!rst)) begin
            if ($past(request[f] && !take[f]))
                assume (request[f] && $stable(cost[f*COST_W +: COST_W]));
            if ($past(take[f]))
                assume (request[f] == $past(next_valid[f]) && cost[f*COST_W +: COST_W] == $past(next_cost[f*COST_W +: COST_W]));
        end else begin
            assume (!request[f]);
        end
    end
    if (f_past && !rst) begin
        if ($past(!rst && |request && (!grant_valid || grant_ready)))
            assert (grant_valid);
        if ($past(!rst && grant_valid && !grant_ready))
            assert (grant_valid && $stable(grant_port) && $stable(grant_bytes) && $stable(grant_cost));
        // Each choice of the bus takes one packet, and nothing is chosen twice.
        if (|request && (!grant_valid || grant_ready))
            assert (|take);
        else
            assert (take == 0);
        if ($past(!rst && grant_ready && request == 0))
            assert (!grant_valid);
        // One input at most, and one that asks.
        assert ((take & (take - 1'b1)) == 0);
        assert ((take & ~request) == 0);
        for (f = 0; f < PORTS; f = f + 1) begin
            // What is taken is what the bus gets.
            if ($past(!rst && take[f]))
                assert (grant_valid && grant_port == f[PORT_W-1:0] && grant_bytes == $past(bytes[f*LEN_W +: LEN_W])
                    && grant_cost == $past(cost[f*COST_W +: COST_W]));
            assert (credit_reg[f] < 2 * QUANTUM);
            // A turn that begins brings one quantum, and every packet is charged.
            if ($past(!rst && take[f]))
                assert (f_credit[f] + $past(f_cost[f]) == $past(f_credit[f])
                    + ($past(f_affordable[turn_reg]) ? 0 : QUANTUM));
            // What is known before is so.
            assert (affordable_reg[f] == f_affordable[f]);
        end
        // A turn ends when the credit does, not before (NDP 4: deficit round robin).
        if (|take && f_affordable[turn_reg])
            assert (take[turn_reg]);
    end
end
