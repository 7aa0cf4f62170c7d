// DCTCP (RFC 8257) as a congestion control of Linux's TCP, for kernels that are built without it: `scripts/dctcp.sh load`.
//
// Both ends of a connection need it: the sender halves its window by the share of marked bytes, and the receiver says of
// every segment whether it was marked. It is called bpf_dctcp, so that a kernel's own dctcp is never taken for it.

#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

// The kernel gives its functions for TCP to GPL programs alone.
char LICENSE[] SEC("license") = "Dual MIT/GPL";

// Numbers of the kernel that its type information does not have.
#define TCP_CONG_NEEDS_ECN 2
#define TCP_ECN_DEMAND_CWR 4

// The share of marked segments, in parts of 1024, and its gain of 1/16 (RFC 8257 4.2).
#define ONE 1024
#define GAIN_SHIFT 4

// RFC 8257 3.3 has alpha begin at 1; the least window is Linux's.
#define LEAST_WINDOW 2

struct flow {
    __u32 alpha;
    // What had been delivered, and delivered with a mark, when this window began; it ends when this is acknowledged.
    __u32 delivered;
    __u32 delivered_marked;
    __u32 window_end;
    // The receiver: whether the last segment was marked, and what was expected next when it had come.
    __u32 was_marked;
    __u32 expected;
    // The window before the last reduction.
    __u32 window_before;
};

extern void tcp_reno_cong_avoid(struct sock *sk, __u32 ack, __u32 acked) __ksym;

static __always_inline struct flow *flow_of(struct sock *sk)
{
    return (struct flow *)((struct inet_connection_sock *)sk)->icsk_ca_priv;
}

static __always_inline void begin_window(const struct tcp_sock *tp, struct flow *flow)
{
    flow->window_end = tp->snd_nxt;
    flow->delivered = tp->delivered;
    flow->delivered_marked = tp->delivered_ce;
}

SEC("struct_ops/init")
void BPF_PROG(dctcp_init, struct sock *sk)
{
    const struct tcp_sock *tp = (struct tcp_sock *)sk;
    struct flow *flow = flow_of(sk);

    flow->alpha = ONE;
    flow->was_marked = 0;
    flow->expected = tp->rcv_nxt;
    flow->window_before = 0;
    begin_window(tp, flow);
}

// RFC 8257 3.3: once in a window of data, alpha moves towards the share of what was marked of it.
SEC("struct_ops/in_ack_event")
void BPF_PROG(dctcp_acknowledged, struct sock *sk, __u32 flags)
{
    const struct tcp_sock *tp = (struct tcp_sock *)sk;
    struct flow *flow = flow_of(sk);
    __u32 delivered, marked, share, fall;

    if ((__s32)(tp->snd_una - flow->window_end) < 0)
        return;
    delivered = tp->delivered - flow->delivered;
    marked = tp->delivered_ce - flow->delivered_marked;
    share = marked * ONE / (delivered ? delivered : 1);
    // Rounded so that it reaches zero when nothing is marked.
    fall = flow->alpha >> GAIN_SHIFT;
    if (fall == 0)
        fall = flow->alpha;
    flow->alpha = flow->alpha - fall + (share >> GAIN_SHIFT);
    if (flow->alpha > ONE)
        flow->alpha = ONE;
    begin_window(tp, flow);
}

// RFC 8257 3.3: cwnd = cwnd * (1 - alpha / 2).
SEC("struct_ops/ssthresh")
__u32 BPF_PROG(dctcp_reduced, struct sock *sk)
{
    const struct tcp_sock *tp = (struct tcp_sock *)sk;
    struct flow *flow = flow_of(sk);
    __u32 window = tp->snd_cwnd;

    flow->window_before = window;
    window -= (window * flow->alpha) >> 11;
    return window < LEAST_WINDOW ? LEAST_WINDOW : window;
}

// RFC 8257 3.4: losses are what they are to other TCPs.
static __always_inline void lost(struct sock *sk)
{
    struct tcp_sock *tp = (struct tcp_sock *)sk;
    __u32 half = tp->snd_cwnd >> 1;

    flow_of(sk)->window_before = tp->snd_cwnd;
    tp->snd_ssthresh = half < LEAST_WINDOW ? LEAST_WINDOW : half;
}

SEC("struct_ops/set_state")
void BPF_PROG(dctcp_enters, struct sock *sk, __u8 new_state)
{
    if (new_state == TCP_CA_Recovery)
        lost(sk);
}

SEC("struct_ops/undo_cwnd")
__u32 BPF_PROG(dctcp_undone, struct sock *sk)
{
    __u32 window = ((struct tcp_sock *)sk)->snd_cwnd;
    __u32 before = flow_of(sk)->window_before;

    return window > before ? window : before;
}

static __always_inline void echo(struct tcp_sock *tp, __u32 is_marked)
{
    if (is_marked)
        tp->ecn_flags |= TCP_ECN_DEMAND_CWR;
    else
        tp->ecn_flags &= ~TCP_ECN_DEMAND_CWR;
}

// RFC 8257 3.2: when marks begin or end, what was received before is acknowledged at once, with the mark that it had.
static __always_inline void received(struct sock *sk, __u32 is_marked)
{
    struct tcp_sock *tp = (struct tcp_sock *)sk;
    struct inet_connection_sock *icsk = (struct inet_connection_sock *)sk;
    struct flow *flow = flow_of(sk);

    if (flow->was_marked != is_marked) {
        if (icsk->icsk_ack.pending & ICSK_ACK_TIMER) {
            echo(tp, flow->was_marked);
            bpf_tcp_send_ack(tp, flow->expected);
        }
        icsk->icsk_ack.pending |= ICSK_ACK_NOW;
    }
    flow->expected = tp->rcv_nxt;
    flow->was_marked = is_marked;
    echo(tp, is_marked);
}

SEC("struct_ops/cwnd_event")
void BPF_PROG(dctcp_event, struct sock *sk, enum tcp_ca_event event)
{
    if (event == CA_EVENT_ECN_IS_CE)
        received(sk, 1);
    else if (event == CA_EVENT_ECN_NO_CE)
        received(sk, 0);
    else if (event == CA_EVENT_LOSS)
        lost(sk);
}

SEC("struct_ops/cong_avoid")
void BPF_PROG(dctcp_grow, struct sock *sk, __u32 ack, __u32 acked)
{
    tcp_reno_cong_avoid(sk, ack, acked);
}

SEC(".struct_ops")
struct tcp_congestion_ops dctcp = {
    .init = (void *)dctcp_init,
    .in_ack_event = (void *)dctcp_acknowledged,
    .ssthresh = (void *)dctcp_reduced,
    .set_state = (void *)dctcp_enters,
    .undo_cwnd = (void *)dctcp_undone,
    .cwnd_event = (void *)dctcp_event,
    .cong_avoid = (void *)dctcp_grow,
    .flags = TCP_CONG_NEEDS_ECN,
    .name = "bpf_dctcp",
};
