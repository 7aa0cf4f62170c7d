/* An NDP switch (NDP 3.1, 3.2.4 and 4) of many ports for v1model: two queues a port, the header queue served
 * first; a data packet that finds the data queue full is trimmed; a header that finds the header queue full is
 * returned to its sender. The profile is `p4`: it is always the newcomer that is trimmed, because no P4 target
 * lets a program touch a packet that is already queued. p4/README.md says what is claimed.
 *
 * Queues are reckoned in registers, one cell for each egress port (NDP 4): ingress tests for room and takes it in
 * one action, egress gives it back in one action, so no two packets are admitted to one place. */
#include <core.p4>
#include <v1model.p4>
#include "ip.p4"

const bit<32> ETHERNET_BYTES = 14;
const bit<32> IPV6_BYTES = 40;
/* Queues are reckoned in bytes on the wire. A frame in the switch has no frame check sequence. */
const bit<32> FCS_BYTES = 4;
/* Where the 16 bytes of the protocol end: a trim never cuts them. */
const bit<32> HEADERS_END_IPV4 = 58;
const bit<32> HEADERS_END_IPV6 = 78;

/* Of the wire format's types of packet, the only one that is returned. */
const bit<4> KIND_DATA = 0;

const bit<32> PORTS = 512;

/* The service that a packet asks of its queues, announced by its DSCP. */
typedef bit<3> service_t;
const service_t DROPPABLE = 0;
const service_t TRIMMABLE = 1;
const service_t TRIMMED = 2;
const service_t RETURNED = 3;
const service_t CONTROL = 4;

/* Priorities of the traffic manager: the larger is served first. */
const bit<3> DATA_QUEUE = 0;
const bit<3> HEADER_QUEUE = 1;

header udp_t {
    bit<16> source;
    bit<16> destination;
    bit<16> length;
    bit<16> checksum;
}

/* The wire format's 16 bytes behind UDP (crates/packet/src/wire). */
header ndp_t {
    bit<4>  version;
    bit<4>  kind;
    bit<8>  flags;
    bit<16> check;
    bit<32> connection;
    bit<32> sequence;
    bit<32> extra;
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_t     ipv4;
    ipv6_t     ipv6;
    udp_t      udp;
    ndp_t      ndp;
}

struct metadata_t {
    service_t service;
    bit<6>    dscp;
    /* The table knows where the packet goes. */
    bit<1>    routed;
    /* The packet found room in its queue. */
    bit<1>    admitted;
    bit<9>    port;
    bit<3>    queue;
    /* Bytes of the frame, and where its headers end. */
    bit<32>   frame_bytes;
    bit<32>   headers_end;
    /* The settings. */
    bit<6>    trimmed_dscp;
    bit<6>    returned_dscp;
    bit<32>   trimmed_bytes;
    bit<32>   data_packets;
    bit<32>   data_bytes;
    bit<32>   header_packets;
    bit<32>   header_bytes;
}

/* Occupancy of the queues of each egress port. Those that the settings bound decide; all four are reported. */
register<bit<32>>(PORTS) data_packets;
register<bit<32>>(PORTS) data_bytes;
register<bit<32>>(PORTS) header_packets;
register<bit<32>>(PORTS) header_bytes;

/* What became of the packets of each egress port. */
register<bit<32>>(PORTS) trimmed;
register<bit<32>>(PORTS) cut_bytes;
register<bit<32>>(PORTS) returned;
register<bit<32>>(PORTS) dropped;
/* Of each ingress port: no route, or a wrong IPv4 checksum. */
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

    /* Options and fragments are forwarded, and never trimmed. */
    state parse_ipv4 {
        packet.extract(headers.ipv4);
        meta.dscp = headers.ipv4.dscp;
        meta.headers_end = HEADERS_END_IPV4;
        transition select(headers.ipv4.version, headers.ipv4.ihl, headers.ipv4.more_fragments,
                          headers.ipv4.fragment_offset, headers.ipv4.protocol) {
            (4, 5, 0, 0, PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_ipv6 {
        packet.extract(headers.ipv6);
        meta.dscp = headers.ipv6.dscp;
        meta.headers_end = HEADERS_END_IPV6;
        transition select(headers.ipv6.version, headers.ipv6.next_header) {
            (6, PROTOCOL_UDP): parse_udp;
            default: accept;
        }
    }

    state parse_udp {
        packet.extract(headers.udp);
        packet.extract(headers.ndp);
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

    /* The queues have no place for it. */
    action drop_packet() {
        bit<32> count;
        dropped.read(count, (bit<32>) meta.port);
        dropped.write((bit<32>) meta.port, count + 1);
        mark_to_drop(standard);
    }

    action forward(bit<9> port) {
        meta.port = port;
        meta.routed = 1;
    }

    action no_route() {
        meta.routed = 0;
    }

    table ipv4_route {
        key = { headers.ipv4.destination: lpm; }
        actions = { forward; no_route; }
        default_action = no_route();
        size = 4096;
    }

    table ipv6_route {
        key = { headers.ipv6.destination: lpm; }
        actions = { forward; no_route; }
        default_action = no_route();
        size = 4096;
    }

    table mac_address {
        key = { headers.ethernet.destination: exact; }
        actions = { forward; no_route; }
        default_action = no_route();
        size = 4096;
    }

    /* The routes again: a table can be looked up once for each packet, and a returned header needs a second route. */
    table ipv4_route_back {
        key = { headers.ipv4.destination: lpm; }
        actions = { forward; no_route; }
        default_action = no_route();
        size = 4096;
    }

    table ipv6_route_back {
        key = { headers.ipv6.destination: lpm; }
        actions = { forward; no_route; }
        default_action = no_route();
        size = 4096;
    }

    action serve(service_t service) {
        meta.service = service;
    }

    /* Which service a DSCP announces; what is not listed is droppable. */
    table service_of_dscp {
        key = { meta.dscp: exact; }
        actions = { serve; }
        default_action = serve(DROPPABLE);
        size = 64;
    }

    /* What the operator sets: the DSCPs that are written, the size of a trimmed packet on the wire, and the
     * bounds of both queues, for every port. As long as nothing is set nothing is admitted. */
    action set(bit<6> trimmed_dscp, bit<6> returned_dscp, bit<32> trimmed_bytes, bit<32> data_packets_,
               bit<32> data_bytes_, bit<32> header_packets_, bit<32> header_bytes_) {
        meta.trimmed_dscp = trimmed_dscp;
        meta.returned_dscp = returned_dscp;
        meta.trimmed_bytes = trimmed_bytes;
        meta.data_packets = data_packets_;
        meta.data_bytes = data_bytes_;
        meta.header_packets = header_packets_;
        meta.header_bytes = header_bytes_;
    }

    table settings {
        key = { }
        actions = { set; }
        default_action = set(0, 0, 0, 0, 0, 0, 0);
    }

    /* NDP 4: the test and the change of the register are one action, so they are atomic. */
    action admit_data() {
        bit<32> packets;
        bit<32> bytes;
        bit<32> wire_bytes = meta.frame_bytes + FCS_BYTES;
        data_packets.read(packets, (bit<32>) meta.port);
        data_bytes.read(bytes, (bit<32>) meta.port);
        bool room = packets < meta.data_packets && bytes + wire_bytes <= meta.data_bytes;
        data_packets.write((bit<32>) meta.port, room ? packets + 1 : packets);
        data_bytes.write((bit<32>) meta.port, room ? bytes + wire_bytes : bytes);
        meta.admitted = room ? 1w1 : 1w0;
        meta.queue = DATA_QUEUE;
    }

    action admit_header() {
        bit<32> packets;
        bit<32> bytes;
        bit<32> wire_bytes = meta.frame_bytes + FCS_BYTES;
        header_packets.read(packets, (bit<32>) meta.port);
        header_bytes.read(bytes, (bit<32>) meta.port);
        bool room = packets < meta.header_packets && bytes + wire_bytes <= meta.header_bytes;
        header_packets.write((bit<32>) meta.port, room ? packets + 1 : packets);
        header_bytes.write((bit<32>) meta.port, room ? bytes + wire_bytes : bytes);
        meta.admitted = room ? 1w1 : 1w0;
        meta.queue = HEADER_QUEUE;
    }

    /* NDP 3.1: the payload is cut off. What is no longer than a header loses nothing but its place. */
    action trim() {
        bit<32> count;
        bit<32> cut;
        bit<32> least = meta.trimmed_bytes - FCS_BYTES;
        bit<32> size = least < meta.headers_end ? meta.headers_end : least;
        bit<32> left = meta.frame_bytes < size ? meta.frame_bytes : size;
        trimmed.read(count, (bit<32>) meta.port);
        trimmed.write((bit<32>) meta.port, count + 1);
        cut_bytes.read(cut, (bit<32>) meta.port);
        cut_bytes.write((bit<32>) meta.port, cut + (meta.frame_bytes - left));
        truncate(left);
        meta.frame_bytes = left;
        meta.service = TRIMMED;
    }

    /* Of the lengths that a trim makes wrong the IP length is mended. UDP's says what was sent. */
    action mark_trimmed_ipv4() {
        bit<16> left = (bit<16>) (meta.frame_bytes - ETHERNET_BYTES);
        headers.ipv4.length = left < headers.ipv4.length ? left : headers.ipv4.length;
        headers.ipv4.dscp = meta.trimmed_dscp;
    }

    action mark_trimmed_ipv6() {
        bit<16> left = (bit<16>) (meta.frame_bytes - ETHERNET_BYTES - IPV6_BYTES);
        headers.ipv6.length = left < headers.ipv6.length ? left : headers.ipv6.length;
        headers.ipv6.dscp = meta.trimmed_dscp;
    }

    /* NDP 3.2.4: addresses and ports change places, and the header is routed again. */
    action turn_round() {
        bit<32> count;
        returned.read(count, (bit<32>) meta.port);
        returned.write((bit<32>) meta.port, count + 1);
        bit<48> mac = headers.ethernet.destination;
        headers.ethernet.destination = headers.ethernet.source;
        headers.ethernet.source = mac;
        bit<16> udp = headers.udp.destination;
        headers.udp.destination = headers.udp.source;
        headers.udp.source = udp;
        meta.service = RETURNED;
    }

    action turn_round_ipv4() {
        bit<32> address = headers.ipv4.destination;
        headers.ipv4.destination = headers.ipv4.source;
        headers.ipv4.source = address;
        headers.ipv4.dscp = meta.returned_dscp;
    }

    action turn_round_ipv6() {
        bit<128> address = headers.ipv6.destination;
        headers.ipv6.destination = headers.ipv6.source;
        headers.ipv6.source = address;
        headers.ipv6.dscp = meta.returned_dscp;
    }

    action enqueue() {
        standard.egress_spec = meta.port;
        standard.priority = meta.queue;
    }

    apply {
        meta.frame_bytes = standard.packet_length;
        if (headers.ipv4.isValid()) {
            ipv4_route.apply();
        } else if (headers.ipv6.isValid()) {
            ipv6_route.apply();
        } else {
            mac_address.apply();
        }

        if (meta.routed == 0 || standard.checksum_error == 1) {
            refuse();
        } else {
            settings.apply();
            service_of_dscp.apply();
            if (!headers.ndp.isValid() && meta.service == TRIMMABLE) {
                meta.service = DROPPABLE;
            }

            if (meta.service == DROPPABLE || meta.service == TRIMMABLE) {
                admit_data();
                if (meta.admitted == 0 && meta.service == TRIMMABLE) {
                    trim();
                    if (headers.ipv4.isValid()) {
                        mark_trimmed_ipv4();
                    } else {
                        mark_trimmed_ipv6();
                    }
                    admit_header();
                }
            } else {
                admit_header();
            }

            /* A header is returned once: then it is RETURNED. */
            if (meta.admitted == 0 && meta.service == TRIMMED && headers.ndp.isValid()
                && headers.ndp.kind == KIND_DATA) {
                turn_round();
                if (headers.ipv4.isValid()) {
                    turn_round_ipv4();
                    ipv4_route_back.apply();
                } else {
                    turn_round_ipv6();
                    ipv6_route_back.apply();
                }
                if (meta.routed == 1) {
                    admit_header();
                }
            }

            if (meta.admitted == 1) {
                enqueue();
            } else {
                drop_packet();
            }
        }
    }
}

/* The packet leaves its queue. */
control egress(inout headers_t headers, inout metadata_t meta, inout standard_metadata_t standard) {
    action release_data() {
        bit<32> packets;
        bit<32> bytes;
        data_packets.read(packets, (bit<32>) standard.egress_port);
        data_bytes.read(bytes, (bit<32>) standard.egress_port);
        data_packets.write((bit<32>) standard.egress_port, packets - 1);
        data_bytes.write((bit<32>) standard.egress_port, bytes - (meta.frame_bytes + FCS_BYTES));
    }

    action release_header() {
        bit<32> packets;
        bit<32> bytes;
        header_packets.read(packets, (bit<32>) standard.egress_port);
        header_bytes.read(bytes, (bit<32>) standard.egress_port);
        header_packets.write((bit<32>) standard.egress_port, packets - 1);
        header_bytes.write((bit<32>) standard.egress_port, bytes - (meta.frame_bytes + FCS_BYTES));
    }

    apply {
        if (meta.queue == HEADER_QUEUE) {
            release_header();
        } else {
            release_data();
        }
    }
}

/* Of a packet with options nothing is changed, so its checksum stays what it was. */
control update_checksums(inout headers_t headers, inout metadata_t meta) {
    apply {
        update_checksum(headers.ipv4.isValid() && headers.ipv4.ihl == 5,
            { headers.ipv4.version, headers.ipv4.ihl, headers.ipv4.dscp, headers.ipv4.ecn, headers.ipv4.length,
              headers.ipv4.identification, headers.ipv4.flags, headers.ipv4.more_fragments,
              headers.ipv4.fragment_offset, headers.ipv4.time_to_live, headers.ipv4.protocol,
              headers.ipv4.source, headers.ipv4.destination },
            headers.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control deparse(packet_out packet, in headers_t headers) {
    apply {
        packet.emit(headers.ethernet);
        packet.emit(headers.ipv4);
        packet.emit(headers.ipv6);
        packet.emit(headers.udp);
        packet.emit(headers.ndp);
    }
}

V1Switch(parse(), verify_checksums(), ingress(), egress(), update_checksums(), deparse()) main;
