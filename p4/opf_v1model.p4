/* OPF's switch (OPF, IFIP Networking 2024, Algorithms 1 and 2) of many ports for v1model: data that nobody asked for, on
 * its way to a port that is hot, leaves by another port to a switch, the shorter of two that are drawn. p4/README.md
 * says what is claimed.
 *
 * How long the queue of a port is egress writes into a register when a packet leaves it, and ingress reads there:
 * no packet sees a queue itself. Every number and every port is the control plane's. */
#include <core.p4>
#include <v1model.p4>
#include "ip.p4"

const bit<8> PROTOCOL_TCP = 6;

const bit<32> PORTS = 512;

/* A port that is no target has no place among them. */
const bit<16> NO_PLACE = 0xffff;

/* What TCP and UDP begin with. */
header ports_t {
    bit<16> source;
    bit<16> destination;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
    ipv6_t     ipv6;
    ports_t    ports;
}

struct metadata_t {
    bit<6>  dscp;
    bit<8>  time_to_live;
    bit<8>  protocol;
    bit<16> source_port;
    bit<16> destination_port;
    /* The table knows where the packet goes. */
    bit<1>  routed;
    /* By any port of a set, chosen by some bits of a hash. */
    bit<1>  spread;
    bit<16> set;
    bit<8>  shift;
    bit<16> mask;
    bit<16> member;
    /* The port that routing chose, and then the one that the packet leaves by. */
    bit<9>  port;
    /* Its DSCP says that nobody asked for it. */
    bit<1>  unscheduled;
    /* How long the queue of its port is seen to be. */
    bit<32> length;
    /* Where its input and its own port stand among the targets, the lower place first, and the ports that are left. */
    bit<16> input_place;
    bit<16> own_place;
    bit<16> lower;
    bit<16> upper;
    bit<16> candidates;
    /* The places and ports that were drawn. */
    bit<16> first_place;
    bit<16> second_place;
    bit<9>  first_port;
    bit<9>  second_port;
    /* The settings. */
    bit<8>  max_time_to_live;
    bit<8>  limit;
    bit<32> threshold;
    bit<16> targets;
}

/* OPF Algorithm 2: packets in the queue of each egress port when a packet last left it, that one included. */
register<bit<32>>(PORTS) queue_length;

/* Packets that routing sent to each port and that left by another. */
register<bit<32>>(PORTS) detoured;
/* Of each ingress port: no route, a wrong IPv4 checksum, or a TTL that has run out. */
register<bit<32>>(PORTS) refused;

parser parse(packet_in packet, out headers_t headers, inout metadata_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(headers.ethernet);
        transition select(headers.ethernet.ether_type) {
            ETHER_TYPE_IPV4: parse_ipv4;
            ETHER_TYPE_IPV6: parse_ipv6;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(headers.ipv4);
        meta.dscp = headers.ipv4.dscp;
        meta.time_to_live = headers.ipv4.time_to_live;
        meta.protocol = headers.ipv4.protocol;
        transition select(headers.ipv4.version, headers.ipv4.ihl, headers.ipv4.more_fragments,
                          headers.ipv4.fragment_offset, headers.ipv4.protocol) {
            (4, 5, 0, 0, PROTOCOL_UDP): parse_ports;
            (4, 5, 0, 0, PROTOCOL_TCP): parse_ports;
            default: accept;
        }
    }

    state parse_ipv6 {
        packet.extract(headers.ipv6);
        meta.dscp = headers.ipv6.dscp;
        meta.time_to_live = headers.ipv6.hop_limit;
        meta.protocol = headers.ipv6.next_header;
        transition select(headers.ipv6.version, headers.ipv6.next_header) {
            (6, PROTOCOL_UDP): parse_ports;
            (6, PROTOCOL_TCP): parse_ports;
            default: accept;
        }
    }

    state parse_ports {
        packet.extract(headers.ports);
        meta.source_port = headers.ports.source;
        meta.destination_port = headers.ports.destination;
        transition accept;
    }
}

/* RFC 1812, 5.2.2: a packet whose checksum is wrong goes no further. */
control verify_checksums(inout headers_t headers, inout metadata_t meta) {
    apply {
        verify_checksum(headers.ipv4.isValid() && headers.ipv4.ihl == 5,
            { headers.ipv4.version, headers.ipv4.ihl, headers.ipv4.dscp, headers.ipv4.ecn, headers.ipv4.length,
              headers.ipv4.identification, headers.ipv4.flags, headers.ipv4.more_fragments,
              headers.ipv4.fragment_offset, headers.ipv4.time_to_live, headers.ipv4.protocol,
              headers.ipv4.source, headers.ipv4.destination },
            headers.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control ingress(inout headers_t headers, inout metadata_t meta, inout standard_metadata_t standard) {
    /* What cannot be forwarded at all. */
    action refuse() {
        bit<32> count;
        refused.read(count, (bit<32>) standard.ingress_port);
        refused.write((bit<32>) standard.ingress_port, count + 1);
        mark_to_drop(standard);
    }

    action forward(bit<9> port) {
        meta.port = port;
        meta.routed = 1;
    }

    /* By any port of a set that is equally near. Two layers of a network must not choose by the same bits. */
    action spread(bit<16> set, bit<8> shift, bit<16> mask) {
        meta.spread = 1;
        meta.set = set;
        meta.shift = shift;
        meta.mask = mask;
    }

    action no_route() {
        meta.routed = 0;
    }

    table ipv4_route {
        key = { headers.ipv4.destination: lpm; }
        actions = { forward; spread; no_route; }
        default_action = no_route();
        size = 4096;
    }

    table ipv6_route {
        key = { headers.ipv6.destination: lpm; }
        actions = { forward; spread; no_route; }
        default_action = no_route();
        size = 4096;
    }

    table mac_address {
        key = { headers.ethernet.destination: exact; }
        actions = { forward; no_route; }
        default_action = no_route();
        size = 4096;
    }

    /* The input is hashed too. So what was detoured draws its path anew, and what was not keeps its order. */
    action choose_member_ipv4() {
        bit<16> input = (bit<16>) standard.ingress_port;
        bit<32> hashed;
        hash(hashed, HashAlgorithm.crc32, 32w0,
            { input, headers.ipv4.source, headers.ipv4.destination, meta.protocol, meta.source_port,
              meta.destination_port },
            33w0x100000000);
        meta.member = (bit<16>) (hashed >> meta.shift) & meta.mask;
    }

    action choose_member_ipv6() {
        bit<16> input = (bit<16>) standard.ingress_port;
        bit<32> hashed;
        hash(hashed, HashAlgorithm.crc32, 32w0,
            { input, headers.ipv6.source, headers.ipv6.destination, meta.protocol, meta.source_port,
              meta.destination_port },
            33w0x100000000);
        meta.member = (bit<16>) (hashed >> meta.shift) & meta.mask;
    }

    /* The ports of each set. One that stands there twice gets twice as much. */
    table member {
        key = {
            meta.set: exact;
            meta.member: exact;
        }
        actions = { forward; no_route; }
        default_action = no_route();
        size = 4096;
    }

    /* What the operator sets: the TTL that hosts send with, dcc-thresh, opf-thresh, and how many targets there are. As long
     * as nothing is set nothing is detoured. */
    action set(bit<8> max_time_to_live, bit<8> limit, bit<32> threshold, bit<16> targets) {
        meta.max_time_to_live = max_time_to_live;
        meta.limit = limit;
        meta.threshold = threshold;
        meta.targets = targets;
    }

    table settings {
        key = { }
        actions = { set; }
        default_action = set(0, 0, 0, 0);
    }

    action mark() {
        meta.unscheduled = 1;
    }

    action no_mark() {
        meta.unscheduled = 0;
    }

    /* OPF II-D: the DSCPs of data that nobody asked for. A trimmed packet has another. */
    table unscheduled_dscp {
        key = { meta.dscp: exact; }
        actions = { mark; no_mark; }
        default_action = no_mark();
        size = 64;
    }

    /* OPF Algorithm 1, line 6. */
    action look_at_own() {
        queue_length.read(meta.length, (bit<32>) meta.port);
    }

    action input_is_at(bit<16> place) {
        meta.input_place = place;
    }

    action input_is_nowhere() {
        meta.input_place = NO_PLACE;
    }

    /* Where a port stands among the targets. One that is not listed is not left out of the draw: it is no target, or may be
     * drawn. */
    table place_of_input {
        key = { standard.ingress_port: exact; }
        actions = { input_is_at; input_is_nowhere; }
        default_action = input_is_nowhere();
        size = 512;
    }

    action own_is_at(bit<16> place) {
        meta.own_place = place;
    }

    action own_is_nowhere() {
        meta.own_place = NO_PLACE;
    }

    table place_of_own {
        key = { meta.port: exact; }
        actions = { own_is_at; own_is_nowhere; }
        default_action = own_is_nowhere();
        size = 512;
    }

    /* How many ports are left without the input and its own, which may be one. */
    action count_candidates() {
        bit<16> lower = meta.input_place < meta.own_place ? meta.input_place : meta.own_place;
        bit<16> higher = meta.input_place < meta.own_place ? meta.own_place : meta.input_place;
        bit<16> upper = higher == lower ? NO_PLACE : higher;
        meta.candidates = meta.targets - (lower == NO_PLACE ? 16w0 : 16w1) - (upper == NO_PLACE ? 16w0 : 16w1);
        meta.lower = lower;
        meta.upper = upper;
    }

    /* OPF Algorithm 1, line 10, with replacement. A draw steps over the places that are left out. */
    action draw() {
        bit<16> first;
        bit<16> second;
        random(first, 16w0, meta.candidates - 1);
        random(second, 16w0, meta.candidates - 1);
        first = first < meta.lower ? first : first + 1;
        second = second < meta.lower ? second : second + 1;
        meta.first_place = first < meta.upper ? first : first + 1;
        meta.second_place = second < meta.upper ? second : second + 1;
    }

    action first_is(bit<9> port) {
        meta.first_port = port;
    }

    action first_is_own() {
        meta.first_port = meta.port;
    }

    action second_is(bit<9> port) {
        meta.second_port = port;
    }

    action second_is_own() {
        meta.second_port = meta.port;
    }

    /* The port at each place, from 0: the operator lists ports to switches whose links are not dead. Twice: a table can be
     * looked up once for each packet. */
    table first_target {
        key = { meta.first_place: exact; }
        actions = { first_is; first_is_own; }
        default_action = first_is_own();
        size = 512;
    }

    table second_target {
        key = { meta.second_place: exact; }
        actions = { second_is; second_is_own; }
        default_action = second_is_own();
        size = 512;
    }

    /* OPF Algorithm 1, lines 11 to 13; of equals the first drawn. */
    action detour() {
        bit<32> first;
        bit<32> second;
        bit<32> count;
        queue_length.read(first, (bit<32>) meta.first_port);
        queue_length.read(second, (bit<32>) meta.second_port);
        bit<9> shorter = second < first ? meta.second_port : meta.first_port;
        detoured.read(count, (bit<32>) meta.port);
        detoured.write((bit<32>) meta.port, shorter == meta.port ? count : count + 1);
        meta.port = shorter;
    }

    /* RFC 1812, 5.3.1, and RFC 1624: the checksum is that of a TTL that is one less. So it is right with options too, and
     * one that was wrong stays wrong. */
    action leave_ipv4() {
        bit<32> sum = (bit<32>) (~headers.ipv4.checksum) + 0xfeff;
        headers.ipv4.checksum = ~((bit<16>) sum + (bit<16>) (sum >> 16));
        headers.ipv4.time_to_live = headers.ipv4.time_to_live - 1;
    }

    action leave_ipv6() {
        headers.ipv6.hop_limit = headers.ipv6.hop_limit - 1;
    }

    action enqueue() {
        standard.egress_spec = meta.port;
    }

    apply {
        if (headers.ipv4.isValid()) {
            ipv4_route.apply();
            if (meta.spread == 1) {
                choose_member_ipv4();
            }
        } else if (headers.ipv6.isValid()) {
            ipv6_route.apply();
            if (meta.spread == 1) {
                choose_member_ipv6();
            }
        } else {
            mac_address.apply();
        }
        if (meta.spread == 1) {
            member.apply();
        }

        if (meta.routed == 0 || standard.checksum_error == 1) {
            refuse();
        } else if (!headers.ipv4.isValid() && !headers.ipv6.isValid()) {
            enqueue();
        } else if (meta.time_to_live < 2) {
            refuse();
        } else {
            settings.apply();
            unscheduled_dscp.apply();
            /* OPF Algorithm 1, lines 2 and 3. A TTL above that of the hosts does not say where the packet was. */
            bit<8> switches = meta.max_time_to_live - meta.time_to_live;
            if (meta.unscheduled == 1 && meta.time_to_live <= meta.max_time_to_live && switches < meta.limit) {
                look_at_own();
                if (meta.length > meta.threshold) {
                    place_of_input.apply();
                    place_of_own.apply();
                    count_candidates();
                    if (meta.candidates != 0) {
                        draw();
                        first_target.apply();
                        second_target.apply();
                        detour();
                    }
                }
            }
            if (headers.ipv4.isValid()) {
                leave_ipv4();
            } else {
                leave_ipv6();
            }
            enqueue();
        }
    }
}

/* The packet leaves its queue. */
control egress(inout headers_t headers, inout metadata_t meta, inout standard_metadata_t standard) {
    /* OPF Algorithm 2. bmv2 counts the packets that stay behind. */
    action write_length() {
        queue_length.write((bit<32>) standard.egress_port, (bit<32>) standard.deq_qdepth + 1);
    }

    apply {
        write_length();
    }
}

control update_checksums(inout headers_t headers, inout metadata_t meta) {
    apply { }
}

control deparse(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.ipv4);
        packet.emit(headers.ipv6);
        packet.emit(headers.ports);
    }
}

V1Switch(parse(), verify_checksums(), ingress(), egress(), update_checksums(), deparse()) main;
