// The pacer of a NIC (HULL 4.2, 5.1, figure 4): packets of flows that cause congestion wait for tokens, all others pass.
//
//   s_axis --> slot 0 --+--> pass ---------------------------------> m_axis
//              slot 1   |                                       ^
//                |      +--> FIFO --> token bucket, its rate ---+
//                v                       by equation (4)
//         flow association table <-- ACKs with ECN-Echo (r_axis)
//
// A packet is received into a slot and looked up; then it waits for the line there, or is moved to the FIFO. The table is
// walked, BANKS flows in a cycle, for packets and for echoes: a lookup takes FLOWS / BANKS cycles and some. A packet that passes
// goes ahead of those that wait for tokens. The next packet is chosen when the sink is ready: m_axis_tready falls
// while the line is busy.

`resetall
`default_nettype none

module pacer #(
    // Words of 8 bytes, as powers of two: of a slot, which holds the greatest packet, and of the FIFO (HULL 5.1: 128 KB).
    parameter SLOT_W = 8,
    parameter FIFO_W = 14,
    // Packets in the FIFO, a power of two.
    parameter PACKETS_W = 11,
    // Rows and banks of the table, powers of two (HULL 5.1: 64 entries).
    parameter ROWS_W = 4,
    parameter BANKS_W = 2,
    parameter COUNT_W = 32
) (
    input  wire               clk,
    input  wire               rst,

    // Cycles of a tick (16 us), and ticks of T_r (64 us).
    input  wire [15:0]        cfg_tick,
    input  wire [7:0]         cfg_interval,
    // In b/s: what one byte in T_r makes, 8 / T_r; 8 beta; one byte a tick, which is also the least rate; the first and
    // the greatest rate.
    input  wire [19:0]        cfg_sample,
    input  wire [19:0]        cfg_backlog,
    input  wire [19:0]        cfg_step,
    input  wire [31:0]        cfg_first_rate,
    input  wire [31:0]        cfg_max_rate,
    // Tokens of a tick at the greatest rate.
    input  wire [15:0]        cfg_max_tokens,
    // eta is 2^-cfg_gain.
    input  wire [3:0]         cfg_gain,
    // Bytes: of the bucket, of the FIFO, of the greatest packet.
    input  wire [15:0]        cfg_depth,
    input  wire [19:0]        cfg_queue,
    input  wire [15:0]        cfg_largest,
    // M_r is what all flows send, not only paced ones.
    input  wire               cfg_measures_all,
    // p_a in parts of 65536; T_i in cycles.
    input  wire [16:0]        cfg_probability,
    input  wire [31:0]        cfg_lifetime,
    // 1: `coin` says whether an echo associates its flow, in the cycle of `status_coin`; 0: a register that starts at the seed.
    input  wire               cfg_coin_given,
    input  wire [31:0]        cfg_seed,
    input  wire               coin,

    // From the host: frames without check sequence.
    input  wire [63:0]        s_axis_tdata,
    input  wire [7:0]         s_axis_tkeep,
    input  wire               s_axis_tvalid,
    output wire               s_axis_tready,
    input  wire               s_axis_tlast,
    input  wire               s_axis_tuser,

    // To the line.
    output reg  [63:0]        m_axis_tdata,
    output reg  [7:0]         m_axis_tkeep,
    output reg                m_axis_tvalid,
    input  wire               m_axis_tready,
    output reg                m_axis_tlast,

    // What the host receives, observed.
    input  wire [63:0]        r_axis_tdata,
    input  wire               r_axis_tvalid,
    input  wire               r_axis_tlast,

    output wire               status_coin,
    output wire [15:0]        status_rate,
    output wire [15:0]        status_tokens,
    output wire [19:0]        status_backlog,
    output reg  [COUNT_W-1:0] count_passed,
    output reg  [COUNT_W-1:0] count_paced,
    output reg  [COUNT_W-1:0] count_dropped,
    output reg  [COUNT_W-1:0] count_associated,
    output reg  [COUNT_W-1:0] count_refused,
    // Packets that were bad or that no slot holds.
    output reg  [COUNT_W-1:0] count_discarded
);

localparam KEY_W = 96;
localparam ENTRY_W = KEY_W + 64;
localparam ROWS = 1 << ROWS_W;
localparam BANKS = 1 << BANKS_W;
localparam [15:0] FCS = 4;

reg [31:0] now_reg;
always @(posedge clk)
    now_reg <= rst ? 32'd0 : now_reg + 1'b1;

function automatic [3:0] kept(input [7:0] keep);
    integer i;
    begin
        kept = 4'd0;
        for (i = 0; i < 8; i = i + 1)
            kept = kept + {3'd0, keep[i]};
    end
endfunction

// A flow is two addresses and two ports of TCP or UDP over IPv4 without options, as the host sends them.
function automatic [7:0] byte_of(input [63:0] data, input integer index);
    byte_of = data[index*8 +: 8];
endfunction

// Slots.

localparam [2:0] EMPTY = 0, FULL = 1, LOOKED_UP = 2, MOVING = 3, PASSING = 4, SENDING = 5;
reg [2:0] state_reg [0:1];
reg [15:0] slot_bytes_reg [0:1];
reg [SLOT_W:0] slot_words_reg [0:1];
reg [KEY_W-1:0] slot_key_reg [0:1];
reg [1:0] slot_flow_reg;

reg fill_reg, filling_reg, too_long_reg;
reg [SLOT_W-1:0] fill_word_reg;
reg [15:0] fill_bytes_reg;
assign s_axis_tready = state_reg[fill_reg] == EMPTY;
wire fill = s_axis_tvalid && s_axis_tready;
wire [SLOT_W-1:0] fill_word = filling_reg ? fill_word_reg : {SLOT_W{1'b0}};
wire too_long = filling_reg && too_long_reg;
wire [15:0] fill_bytes = (filling_reg ? fill_bytes_reg : FCS) + {12'd0, kept(s_axis_tkeep)};
wire fill_good = !s_axis_tuser && !too_long;
wire filled = fill && s_axis_tlast;

// Memories: a slot is read by the one that moves it or by the one that sends it.
(* no_rw_check *) reg [63:0] slot0 [0:(1 << SLOT_W)-1];
(* no_rw_check *) reg [63:0] slot1 [0:(1 << SLOT_W)-1];
(* no_rw_check *) reg [63:0] fifo [0:(1 << FIFO_W)-1];
reg [63:0] slot0_data, slot1_data, fifo_data;
wire [SLOT_W-1:0] slot0_address, slot1_address;
wire slot0_read, slot1_read, fifo_read, fifo_write;
reg [FIFO_W-1:0] tail_reg, head_reg;
wire [63:0] moved_data;
always @(posedge clk) begin
    if (fill && !too_long && !fill_reg)
        slot0[fill_word] <= s_axis_tdata;
    if (slot0_read)
        slot0_data <= slot0[slot0_address];
    if (fill && !too_long && fill_reg)
        slot1[fill_word] <= s_axis_tdata;
    if (slot1_read)
        slot1_data <= slot1[slot1_address];
    if (fifo_write)
        fifo[tail_reg] <= moved_data;
    if (fifo_read)
        fifo_data <= fifo[head_reg];
end

// The header of the packet that comes, and of the one that the host receives.
reg [KEY_W-1:0] key_reg;
reg ip_reg, flow_reg;
wire is_ip = byte_of(s_axis_tdata, 4) == 8'h08 && byte_of(s_axis_tdata, 5) == 8'h00 && byte_of(s_axis_tdata, 6) == 8'h45;
wire is_ports = byte_of(s_axis_tdata, 7) == 8'd6 || byte_of(s_axis_tdata, 7) == 8'd17;
always @(posedge clk)
    if (fill) begin
        // Addresses and ports from byte 26 on.
        if (fill_word == 1)
            ip_reg <= is_ip;
        if (fill_word == 2)
            flow_reg <= ip_reg && is_ports;
        if (fill_word == 3)
            key_reg[0 +: 48] <= s_axis_tdata[16 +: 48];
        if (fill_word == 4)
            key_reg[48 +: 48] <= s_axis_tdata[0 +: 48];
    end
wire long_enough = fill_word > 4 || (fill_word == 4 && s_axis_tkeep[5]);
wire [KEY_W-1:0] fill_key = fill_word == 4 ? {s_axis_tdata[0 +: 48], key_reg[0 +: 48]} : key_reg;

reg [2:0] r_word_reg;
reg r_ip_reg, r_tcp_reg;
reg [KEY_W-1:0] r_key_reg;
wire r_is_ip = byte_of(r_axis_tdata, 4) == 8'h08 && byte_of(r_axis_tdata, 5) == 8'h00 && byte_of(r_axis_tdata, 6) == 8'h45;
// Flags of TCP: an ACK with ECN-Echo; a SYN with it asks for ECN and echoes nothing.
wire [7:0] r_flags = byte_of(r_axis_tdata, 7);
wire r_echoes = r_axis_tvalid && r_word_reg == 5 && r_tcp_reg && r_flags[4] && r_flags[6] && !r_flags[1];
always @(posedge clk) begin
    if (r_axis_tvalid) begin
        r_word_reg <= r_axis_tlast ? 3'd0 : r_word_reg == 3'd7 ? 3'd7 : r_word_reg + 1'b1;
        if (r_word_reg == 1)
            r_ip_reg <= r_is_ip;
        if (r_word_reg == 2)
            r_tcp_reg <= r_ip_reg && byte_of(r_axis_tdata, 7) == 8'd6;
        // Source and destination change places: the key is that of what the host sends.
        if (r_word_reg == 3) begin
            r_key_reg[32 +: 32] <= r_axis_tdata[16 +: 32];
            r_key_reg[0 +: 16] <= r_axis_tdata[48 +: 16];
        end
        if (r_word_reg == 4) begin
            r_key_reg[16 +: 16] <= r_axis_tdata[0 +: 16];
            r_key_reg[80 +: 16] <= r_axis_tdata[16 +: 16];
            r_key_reg[64 +: 16] <= r_axis_tdata[32 +: 16];
        end
    end
    if (rst)
        r_word_reg <= 3'd0;
end

// The table. An entry has its flow, the time of its last echo, and the number of its last packet in the FIFO.

reg [(1 << (ROWS_W+BANKS_W))-1:0] used_reg;
reg [ROWS_W-1:0] row_reg, compared_row_reg;
reg walking_reg, compared_reg, ends_reg;
reg [1:0] kind_reg;
localparam [1:0] PACKET = 0, ECHO = 1, SWEEP = 2;
reg [KEY_W-1:0] look_key_reg;
reg [31:0] look_now_reg, look_left_reg;
reg hit_reg, free_reg;
reg [BANKS_W-1:0] hit_bank_reg, free_bank_reg;
reg [ROWS_W-1:0] hit_row_reg, free_row_reg;
reg [63:0] hit_times_reg;

reg table_write;
reg [BANKS_W-1:0] table_bank;
reg [ROWS_W-1:0] table_row;
reg [ENTRY_W-1:0] table_entry;

wire [BANKS-1:0] bank_used, bank_ended, bank_hit;
wire [BANKS*64-1:0] bank_times;
genvar b;
generate
    for (b = 0; b < BANKS; b = b + 1) begin : bank
        reg [ENTRY_W-1:0] memory [0:ROWS-1];
        reg [ENTRY_W-1:0] entry;
        always @(posedge clk) begin
            if (table_write && table_bank == b[BANKS_W-1:0])
                memory[table_row] <= table_entry;
            entry <= memory[row_reg];
        end
        wire [31:0] age = look_now_reg - entry[KEY_W +: 32];
        // Above zero, in modular arithmetic: a packet of the flow is still in the FIFO.
        wire [31:0] behind = entry[KEY_W+32 +: 32] - look_left_reg;
        wire waits = !behind[31] && behind != 0;
        assign bank_used[b] = used_reg[{compared_row_reg, b[BANKS_W-1:0]}];
        // HULL 4.2: the association ends T_i after the last echo; not while a packet waits, which the next would overtake.
        assign bank_ended[b] = age >= cfg_lifetime && !waits;
        assign bank_hit[b] = bank_used[b] && !bank_ended[b] && entry[0 +: KEY_W] == look_key_reg;
        assign bank_times[b*64 +: 64] = entry[KEY_W +: 64];
    end
endgenerate

reg look_reg;
reg echo_pending_reg;
reg [KEY_W-1:0] echo_key_reg;
reg [31:0] echo_now_reg, echo_left_reg;
reg [31:0] slot_now_reg [0:1];
reg [31:0] slot_left_reg [0:1];
reg sweep_pending_reg;
reg [31:0] left_reg, pushed_reg;
wire idle = !walking_reg && !compared_reg && !ends_reg;
wire look_packet = idle && state_reg[look_reg] == FULL && !moving_reg && !moved_reg;
wire look_echo = idle && !look_packet && echo_pending_reg;
wire look_sweep = idle && !look_packet && !echo_pending_reg && sweep_pending_reg;

integer k;
always @(posedge clk) begin
    compared_reg <= walking_reg;
    compared_row_reg <= row_reg;
    ends_reg <= compared_reg && !walking_reg;
    if (look_packet || look_echo || look_sweep) begin
        walking_reg <= 1'b1;
        row_reg <= {ROWS_W{1'b0}};
        hit_reg <= 1'b0;
        free_reg <= 1'b0;
        kind_reg <= look_packet ? PACKET : look_echo ? ECHO : SWEEP;
        look_key_reg <= look_packet ? slot_key_reg[look_reg] : echo_key_reg;
        look_now_reg <= look_packet ? slot_now_reg[look_reg] : look_echo ? echo_now_reg : now_reg;
        look_left_reg <= look_packet ? slot_left_reg[look_reg] : look_echo ? echo_left_reg : left_reg;
    end else if (walking_reg) begin
        row_reg <= row_reg + 1'b1;
        if (&row_reg)
            walking_reg <= 1'b0;
    end
    if (compared_reg)
        for (k = 0; k < BANKS; k = k + 1) begin
            if (bank_hit[k]) begin
                hit_reg <= 1'b1;
                hit_bank_reg <= k[BANKS_W-1:0];
                hit_row_reg <= compared_row_reg;
                hit_times_reg <= bank_times[k*64 +: 64];
            end
            if (!bank_used[k] || bank_ended[k]) begin
                free_reg <= 1'b1;
                free_bank_reg <= k[BANKS_W-1:0];
                free_row_reg <= compared_row_reg;
                used_reg[{compared_row_reg, k[BANKS_W-1:0]}] <= 1'b0;
            end
        end
    if (table_write)
        used_reg[{table_row, table_bank}] <= 1'b1;
    if (rst) begin
        walking_reg <= 1'b0;
        compared_reg <= 1'b0;
        ends_reg <= 1'b0;
        used_reg <= {(1 << (ROWS_W+BANKS_W)){1'b0}};
    end
end

// HULL 4.2: each ACK with ECN-Echo associates its flow with probability p_a.
reg [31:0] random_reg;
wire [31:0] random_left = random_reg ^ {random_reg[18:0], 13'd0};
wire [31:0] random_right = random_left ^ {17'd0, random_left[31:17]};
wire draws = ends_reg && kind_reg == ECHO && !hit_reg;
assign status_coin = draws;
wire associates = draws && (cfg_coin_given ? coin : {1'b0, random_reg[31:16]} < cfg_probability);
always @(posedge clk)
    if (rst)
        random_reg <= cfg_seed == 32'd0 ? 32'd1 : cfg_seed;
    else if (draws)
        random_reg <= random_right ^ {random_right[26:0], 5'd0};

// What is decided.
reg [19:0] backlog_reg;
reg [PACKETS_W:0] packets_reg;
reg [FIFO_W:0] words_reg;
wire paces = ends_reg && kind_reg == PACKET && hit_reg && slot_flow_reg[look_reg];
wire passes = ends_reg && kind_reg == PACKET && !(hit_reg && slot_flow_reg[look_reg]);
wire [15:0] look_bytes = slot_bytes_reg[look_reg];
wire [SLOT_W:0] look_words = slot_words_reg[look_reg];
wire [20:0] backlog_then = {1'b0, backlog_reg} + {5'd0, look_bytes};
wire [FIFO_W+1:0] words_then = {1'b0, words_reg} + {{(FIFO_W+1-SLOT_W){1'b0}}, look_words};
wire room = backlog_then <= {1'b0, cfg_queue} && look_bytes <= cfg_largest && !packets_reg[PACKETS_W]
    && (!words_then[FIFO_W] || words_then[FIFO_W-1:0] == 0) && !words_then[FIFO_W+1];
wire pushes = paces && room;

always @* begin
    table_write = pushes || (ends_reg && kind_reg == ECHO && (hit_reg || (associates && free_reg)));
    table_bank = hit_reg ? hit_bank_reg : free_bank_reg;
    table_row = hit_reg ? hit_row_reg : free_row_reg;
    // A packet leaves the time of the echo and numbers itself; an echo brings its time.
    table_entry = {pushes ? pushed_reg + 1'b1 : hit_reg ? hit_times_reg[63:32] : look_left_reg,
                   pushes ? hit_times_reg[31:0] : look_now_reg, look_key_reg};
end

// From a slot to the FIFO.
reg move_reg, moving_reg, moved_reg;
reg [SLOT_W:0] move_left_reg;
reg [SLOT_W-1:0] move_word_reg;
assign moved_data = move_reg ? slot1_data : slot0_data;
assign fifo_write = moved_reg;
wire move_ends = moved_reg && !moving_reg;
(* no_rw_check *) reg [15:0] lengths [0:(1 << PACKETS_W)-1];
reg [PACKETS_W-1:0] length_tail_reg, length_head_reg;
reg [15:0] first_bytes_reg;
reg [1:0] first_reg;
reg [PACKETS_W:0] ready_reg;
wire sent_first;

always @(posedge clk) begin
    moved_reg <= moving_reg && !rst;
    if (pushes) begin
        move_reg <= look_reg;
        moving_reg <= 1'b1;
        move_left_reg <= look_words;
        move_word_reg <= {SLOT_W{1'b0}};
    end else if (moving_reg) begin
        move_word_reg <= move_word_reg + 1'b1;
        move_left_reg <= move_left_reg - 1'b1;
        if (move_left_reg == 1)
            moving_reg <= 1'b0;
    end
    if (moved_reg)
        tail_reg <= tail_reg + 1'b1;
    if (move_ends) begin
        lengths[length_tail_reg] <= slot_bytes_reg[move_reg];
        length_tail_reg <= length_tail_reg + 1'b1;
    end
    ready_reg <= ready_reg + {{PACKETS_W{1'b0}}, move_ends} - {{PACKETS_W{1'b0}}, sent_first};
    // The length of the first packet: read, then known.
    first_bytes_reg <= lengths[length_head_reg];
    first_reg <= sent_first ? 2'd0 : (ready_reg == 0) ? 2'd0 : first_reg == 2'd2 ? 2'd2 : first_reg + 1'b1;
    if (sent_first)
        length_head_reg <= length_head_reg + 1'b1;
    if (rst) begin
        moving_reg <= 1'b0;
        tail_reg <= {FIFO_W{1'b0}};
        length_tail_reg <= {PACKETS_W{1'b0}};
        length_head_reg <= {PACKETS_W{1'b0}};
        ready_reg <= {(PACKETS_W+1){1'b0}};
        first_reg <= 2'd0;
    end
end

// To the line: packets that pass before the others.

reg sending_reg, send_fifo_reg, send_slot_reg, fetched_reg, fetched_last_reg;
reg [SLOT_W:0] send_left_reg;
reg [SLOT_W-1:0] send_word_reg;
reg [15:0] send_bytes_reg;
wire advance = !m_axis_tvalid || m_axis_tready;
wire line_free = !sending_reg && !fetched_reg && !m_axis_tvalid && m_axis_tready;
wire pass0 = state_reg[0] == PASSING, pass1 = state_reg[1] == PASSING;
// Of two that pass the older is the one that is looked up next.
wire pass_slot = (pass0 && pass1) ? look_reg : pass1;
wire start_pass = line_free && (pass0 || pass1);
wire enough;
wire start_fifo = line_free && !pass0 && !pass1 && first_reg == 2'd2 && enough;
assign sent_first = start_fifo;
wire [15:0] start_bytes = start_pass ? slot_bytes_reg[pass_slot] : first_bytes_reg;
wire [15:0] start_frame = start_bytes - FCS;
wire send_read = sending_reg && advance;
wire send_ends = send_read && send_left_reg == 1;
wire [2:0] send_rest = send_bytes_reg[2:0] - FCS[2:0];
assign fifo_read = send_read && send_fifo_reg;
assign slot0_read = (moving_reg && !move_reg) || (send_read && !send_fifo_reg && !send_slot_reg);
assign slot1_read = (moving_reg && move_reg) || (send_read && !send_fifo_reg && send_slot_reg);
assign slot0_address = (moving_reg && !move_reg) ? move_word_reg : send_word_reg;
assign slot1_address = (moving_reg && move_reg) ? move_word_reg : send_word_reg;
wire leaves_slot = m_axis_tvalid && m_axis_tready && m_axis_tlast && !send_fifo_reg;

always @(posedge clk) begin
    if (start_pass || start_fifo) begin
        sending_reg <= 1'b1;
        send_fifo_reg <= start_fifo;
        send_slot_reg <= pass_slot;
        send_bytes_reg <= start_bytes;
        send_left_reg <= start_frame[SLOT_W+3:3] + {{SLOT_W{1'b0}}, |start_frame[2:0]};
        send_word_reg <= {SLOT_W{1'b0}};
    end else if (send_read) begin
        send_word_reg <= send_word_reg + 1'b1;
        send_left_reg <= send_left_reg - 1'b1;
        if (send_left_reg == 1)
            sending_reg <= 1'b0;
    end
    if (fifo_read)
        head_reg <= head_reg + 1'b1;
    if (advance) begin
        fetched_reg <= send_read;
        fetched_last_reg <= send_ends;
        m_axis_tvalid <= fetched_reg;
        m_axis_tdata <= send_fifo_reg ? fifo_data : send_slot_reg ? slot1_data : slot0_data;
        m_axis_tlast <= fetched_last_reg;
        m_axis_tkeep <= (fetched_last_reg && send_rest != 0) ? ~(8'hff << send_rest) : 8'hff;
    end
    if (rst) begin
        sending_reg <= 1'b0;
        fetched_reg <= 1'b0;
        m_axis_tvalid <= 1'b0;
        head_reg <= {FIFO_W{1'b0}};
    end
end

// States of the slots.
integer s;
always @(posedge clk) begin
    if (fill) begin
        filling_reg <= !s_axis_tlast;
        fill_word_reg <= fill_word + 1'b1;
        fill_bytes_reg <= fill_bytes;
        too_long_reg <= too_long || (&fill_word && !s_axis_tlast);
    end
    if (filled && fill_good) begin
        state_reg[fill_reg] <= FULL;
        slot_bytes_reg[fill_reg] <= fill_bytes;
        slot_words_reg[fill_reg] <= {1'b0, fill_word} + 1'b1;
        slot_key_reg[fill_reg] <= fill_key;
        slot_flow_reg[fill_reg] <= flow_reg && long_enough;
        slot_now_reg[fill_reg] <= now_reg;
        slot_left_reg[fill_reg] <= left_reg;
        fill_reg <= !fill_reg;
    end
    if (look_packet)
        state_reg[look_reg] <= LOOKED_UP;
    if (passes || paces)
        look_reg <= !look_reg;
    if (passes)
        state_reg[look_reg] <= PASSING;
    if (paces)
        state_reg[look_reg] <= room ? MOVING : EMPTY;
    if (move_ends)
        state_reg[move_reg] <= EMPTY;
    if (start_pass)
        state_reg[pass_slot] <= SENDING;
    if (leaves_slot)
        state_reg[send_slot_reg] <= EMPTY;
    if (rst) begin
        for (s = 0; s < 2; s = s + 1)
            state_reg[s] <= EMPTY;
        fill_reg <= 1'b0;
        look_reg <= 1'b0;
        filling_reg <= 1'b0;
    end
end

// Echoes that wait for the table.
always @(posedge clk) begin
    if (r_echoes) begin
        echo_pending_reg <= 1'b1;
        echo_key_reg <= r_key_reg;
        echo_now_reg <= now_reg;
        echo_left_reg <= left_reg;
    end else if (look_echo) begin
        echo_pending_reg <= 1'b0;
    end
    // Associations that have ended are swept once in 2^20 cycles, before their times seem young again.
    if (now_reg[19:0] == 0)
        sweep_pending_reg <= 1'b1;
    else if (look_sweep)
        sweep_pending_reg <= 1'b0;
    if (rst) begin
        echo_pending_reg <= 1'b0;
        sweep_pending_reg <= 1'b0;
    end
end

// Ticks, tokens, and what T_r measures. A tick that ends T_r still brings the tokens of the old rate.
reg [15:0] tick_count_reg;
reg [7:0] interval_count_reg;
reg tick_reg;
wire tick_ends = tick_count_reg == cfg_tick - 1'b1;
wire interval_ends = tick_reg && interval_count_reg == cfg_interval - 1'b1;
reg [15:0] tokens_reg, rate_reg;
reg [23:0] measured_reg;
wire [16:0] brought = {1'b0, tokens_reg} + (tick_reg ? {1'b0, rate_reg} : 17'd0);
wire [15:0] held = brought > {1'b0, cfg_depth} ? cfg_depth : brought[15:0];
assign enough = tokens_reg >= first_bytes_reg;
wire measures = paces || (passes && cfg_measures_all);
wire [23:0] measured = measures ? {8'd0, look_bytes} : 24'd0;
always @(posedge clk) begin
    tick_reg <= !rst && tick_ends;
    tick_count_reg <= (rst || tick_ends) ? 16'd0 : tick_count_reg + 1'b1;
    if (tick_reg)
        interval_count_reg <= interval_ends ? 8'd0 : interval_count_reg + 1'b1;
    tokens_reg <= held - (start_fifo ? first_bytes_reg : 16'd0);
    measured_reg <= (interval_ends ? 24'd0 : measured_reg) + measured;
    backlog_reg <= backlog_reg + (pushes ? {4'd0, look_bytes} : 20'd0) - (start_fifo ? {4'd0, first_bytes_reg} : 20'd0);
    packets_reg <= packets_reg + {{PACKETS_W{1'b0}}, pushes} - {{PACKETS_W{1'b0}}, start_fifo};
    words_reg <= words_reg + (pushes ? {{(FIFO_W-SLOT_W){1'b0}}, look_words} : {(FIFO_W+1){1'b0}})
        - {{FIFO_W{1'b0}}, fifo_read};
    pushed_reg <= pushed_reg + {31'd0, pushes};
    left_reg <= left_reg + {31'd0, start_fifo};
    if (rst) begin
        interval_count_reg <= 8'd0;
        tokens_reg <= cfg_depth;
        measured_reg <= 24'd0;
        backlog_reg <= 20'd0;
        packets_reg <= {(PACKETS_W+1){1'b0}};
        words_reg <= {(FIFO_W+1){1'b0}};
        pushed_reg <= 32'd0;
        left_reg <= 32'd0;
    end
end

// Equation (4), in 2^-16 b/s, with eta a power of two: R + (M / T_r - R) eta + beta Q. One bit of a product in a cycle, and
// one of the quotient that makes tokens of it: the next tick is far.
localparam [2:0] REST = 0, SAMPLE = 1, PUSH = 2, FILTER = 3, SUM = 4, BOUND = 5, DIVIDE = 6;
reg [2:0] phase_reg;
reg [5:0] step_reg;
reg [23:0] factor_reg;
reg [63:0] addend_reg, product_reg, sample_reg;
reg signed [63:0] average_reg;
reg [19:0] queued_reg;
reg [31:0] dividend_reg, quotient_reg;
reg [20:0] rest_reg;
wire signed [63:0] difference = $signed({sample_reg[47:0], 16'd0}) - average_reg;
wire [63:0] distance = difference[63] ? -difference : difference;
wire [20:0] rest = {rest_reg[19:0], dividend_reg[31]};
wire [31:0] quotient = {quotient_reg[30:0], rest >= {1'b0, cfg_step}};
wire signed [63:0] least = $signed({28'd0, cfg_step, 16'd0});
wire signed [63:0] most = $signed({16'd0, cfg_max_rate, 16'd0});
always @(posedge clk) begin
    case (phase_reg)
        REST: if (interval_ends) begin
            phase_reg <= SAMPLE;
            step_reg <= 6'd0;
            factor_reg <= measured_reg;
            addend_reg <= {44'd0, cfg_sample};
            product_reg <= 64'd0;
            queued_reg <= backlog_reg;
        end
        SAMPLE, PUSH: begin
            if (factor_reg[0])
                product_reg <= product_reg + addend_reg;
            addend_reg <= addend_reg << 1;
            factor_reg <= factor_reg >> 1;
            step_reg <= step_reg + 1'b1;
            if (step_reg == 6'd24) begin
                step_reg <= 6'd0;
                phase_reg <= phase_reg == SAMPLE ? PUSH : FILTER;
                if (phase_reg == SAMPLE) begin
                    sample_reg <= product_reg;
                    product_reg <= 64'd0;
                    factor_reg <= {4'd0, queued_reg};
                    addend_reg <= {44'd0, cfg_backlog};
                end
            end
        end
        FILTER: begin
            average_reg <= difference[63] ? average_reg - $signed(distance >> cfg_gain) : average_reg + $signed(distance >> cfg_gain);
            phase_reg <= SUM;
        end
        SUM: begin
            average_reg <= average_reg + $signed({product_reg[47:0], 16'd0});
            phase_reg <= BOUND;
        end
        BOUND: begin
            average_reg <= average_reg < least ? least : average_reg > most ? most : average_reg;
            phase_reg <= DIVIDE;
            step_reg <= 6'd0;
        end
        default: begin
            // To the nearest multiple of one byte a tick (HULL 5.1: 0.5 Mb/s).
            dividend_reg <= step_reg == 0 ? average_reg[47:16] + {13'd0, cfg_step[19:1]} : {dividend_reg[30:0], 1'b0};
            quotient_reg <= step_reg == 0 ? 32'd0 : quotient;
            rest_reg <= step_reg == 0 ? 21'd0 : rest >= {1'b0, cfg_step} ? rest - {1'b0, cfg_step} : rest;
            step_reg <= step_reg + 1'b1;
            if (step_reg == 6'd32) begin
                phase_reg <= REST;
                rate_reg <= quotient == 0 ? 16'd1 : quotient > {16'd0, cfg_max_tokens} ? cfg_max_tokens : quotient[15:0];
            end
        end
    endcase
    if (rst) begin
        // The first rate is made tokens of at once.
        phase_reg <= DIVIDE;
        step_reg <= 6'd0;
        average_reg <= $signed({16'd0, cfg_first_rate, 16'd0});
        rate_reg <= 16'd1;
    end
end

assign status_rate = rate_reg;
assign status_tokens = tokens_reg;
assign status_backlog = backlog_reg;

always @(posedge clk) begin
    count_passed <= rst ? {COUNT_W{1'b0}} : count_passed + {{(COUNT_W-1){1'b0}}, passes};
    count_paced <= rst ? {COUNT_W{1'b0}} : count_paced + {{(COUNT_W-1){1'b0}}, pushes};
    count_dropped <= rst ? {COUNT_W{1'b0}} : count_dropped + {{(COUNT_W-1){1'b0}}, paces && !room};
    count_associated <= rst ? {COUNT_W{1'b0}} : count_associated + {{(COUNT_W-1){1'b0}}, associates && free_reg};
    count_refused <= rst ? {COUNT_W{1'b0}} : count_refused + {{(COUNT_W-1){1'b0}}, associates && !free_reg};
    count_discarded <= rst ? {COUNT_W{1'b0}} : count_discarded + {{(COUNT_W-1){1'b0}}, filled && !fill_good};
end

wire unused = &{1'b0, r_flags, send_bytes_reg, start_frame, sample_reg, quotient_reg[31], rest_reg[20]};

`ifdef FORMAL
`include "pacer_formal.svh"
`endif

endmodule

`resetall
