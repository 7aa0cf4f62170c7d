//! Frames in the payload of UDP sockets, on any host and without privileges.
//!
//! A frame from a host goes as a datagram: the kernel gets the bytes behind the UDP header, and the DSCP. Arriving
//! bytes are put behind headers made from their addresses, so hosts see no difference. A path is a UDP source port,
//! with a socket of its own, and keeps the order of its frames.
//!
//! Consecutive datagrams of one length on a path, as of a flow with one path, cross the kernel as one, both ways
//! (UDP_SEGMENT, UDP_GRO; [`Caps::joins_datagrams`]).
//!
//! A kernel drops a trimmed datagram, since its length is stale, and a header that came back, since no socket has its
//! port (see [`Caps`]): behind switches that trim, recovery is left to time-outs.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use trimline_packet::wire::{Datagram, Ethernet, Frame, HEADER_BYTES, Profile, View};
use trimline_packet::{Kind, Packet, Service};

use super::neighbours::is_link_local;
use super::sys;
use super::sys::datagrams::{self, Inbox, Outbox, Parcel};
use super::{Caps, ETHERNET_BYTES, PacketIo, Pieces};

const UDP_BYTES: usize = 8;

/// UDP sockets of one host.
#[derive(Debug)]
pub struct Udp {
    /// The socket at the protocol's port, which receives everything.
    receiver: UdpSocket,
    /// One socket for each path, chosen by the entropy.
    senders: Vec<UdpSocket>,
    address: IpAddr,
    mtu: usize,
    profile: Profile,
    /// Whether the kernel segments sent datagrams.
    cuts: bool,
    inbox: Inbox,
    outbox: Outbox,
    frame: Vec<u8>,
    unsent: u64,
    /// Datagrams that are no frame of the protocol.
    unreadable: u64,
}

struct Outgoing {
    place: usize,
    path: usize,
    to: SocketAddr,
    class: u8,
    length: usize,
}

impl Udp {
    /// Binds an address of this host. `mtu` bytes pass on the paths to all peers.
    ///
    /// # Errors
    /// Fails if the address is not this host's, or the port is taken.
    pub fn open(address: IpAddr, mtu: usize, paths: u16, profile: Profile) -> io::Result<Udp> {
        if is_link_local(address) {
            let text = "a link-local address needs an interface instead of UDP sockets";
            return Err(io::Error::new(ErrorKind::Unsupported, text));
        }
        let receiver = UdpSocket::bind((address, profile.port))?;
        receiver.set_nonblocking(true)?;
        sys::set_buffers(&receiver, 4 << 20)?;
        let senders = (0..paths.max(1)).map(|_| {
            let sender = UdpSocket::bind((address, 0))?;
            sender.set_nonblocking(true)?;
            sys::set_buffers(&sender, 4 << 20)?;
            Ok(sender)
        });
        let senders = senders.collect::<io::Result<Vec<_>>>()?;
        let cuts = senders.iter().all(datagrams::can_segment);
        datagrams::prepare_receiver(&receiver, address.is_ipv6(), cuts)?;
        Ok(Udp {
            receiver,
            senders,
            address,
            mtu,
            profile,
            cuts,
            inbox: Inbox::new(),
            outbox: Outbox::default(),
            frame: Vec::new(),
            unsent: 0,
            unreadable: 0,
        })
    }

    /// Sends datagrams one by one from now on.
    pub fn send_singly(&mut self) {
        self.cuts = false;
    }

    fn inspect(&self, place: usize, head: &[u8]) -> io::Result<Outgoing> {
        let invalid = |error| io::Error::new(ErrorKind::InvalidInput, error);
        let parsed = Frame::new(head).map_err(invalid)?;
        let (entropy, port) = parsed.ports();
        let headers = self.headers();
        // Short frames are padded; the UDP header has their length.
        let length = usize::from(u16::from_be_bytes([head[headers - 4], head[headers - 3]]));
        let ecn = match parsed.marks() {
            0 => 0,
            Packet::MARK_ECT => 2,
            _ => 3,
        };
        Ok(Outgoing {
            place,
            path: usize::from(entropy) % self.senders.len(),
            to: SocketAddr::new(parsed.destination(), port),
            class: parsed.dscp() << 2 | ecn,
            length: length.saturating_sub(UDP_BYTES),
        })
    }

    fn headers(&self) -> usize {
        let ip = if self.address.is_ipv4() { 20 } else { 40 };
        ETHERNET_BYTES + ip + UDP_BYTES
    }

    /// Sends frames of one path. Returns the first that found no room.
    fn send_path(
        &mut self,
        frames: &[Pieces<'_>],
        outgoing: &[&Outgoing],
    ) -> io::Result<Option<usize>> {
        let headers = self.headers();
        let (mut pieces, mut parcels): (Vec<&[u8]>, Vec<Parcel>) = (Vec::new(), Vec::new());
        // The first frame of each parcel.
        let mut firsts: Vec<usize> = Vec::new();
        let Some(&&Outgoing { path, .. }) = outgoing.first() else { return Ok(None) };
        for one in outgoing {
            let first = pieces.len();
            let (mut skip, mut left) = (headers, one.length);
            for piece in frames[one.place] {
                let from = skip.min(piece.len());
                skip -= from;
                let to = (from + left).min(piece.len());
                left -= to - from;
                pieces.extend((from < to).then_some(&piece[from..to]));
            }
            let Outgoing { place, to, class, length, .. } = **one;
            match parcels.last_mut() {
                Some(parcel) if self.cuts && parcel.admits(to, class, length) => {
                    parcel.segments += 1;
                    parcel.bytes += length;
                    parcel.pieces.end = pieces.len();
                }
                _ => {
                    let pieces = first..pieces.len();
                    let (segment, segments, bytes) = (length, 1, length);
                    parcels.push(Parcel { to, class, segment, segments, bytes, pieces });
                    firsts.push(place);
                }
            }
        }
        let mut sent = 0;
        while sent < parcels.len() {
            let is_joined = parcels[sent].segments > 1;
            match self.outbox.send(&self.senders[path], &pieces, &parcels[sent..]) {
                Ok(0) => return Ok(Some(firsts[sent])),
                Ok(count) => sent += count,
                Err(error) if sys::is_fatal(&error) => return Err(error),
                Err(error) if is_joined => {
                    // The kernel cannot segment for a device without checksum offload. Or this destination is the
                    // cause: then only these datagrams go one by one.
                    let cuts_others = !sys::cannot_cut(&error);
                    self.cuts = false;
                    let first = firsts[sent];
                    let left = outgoing.partition_point(|one| one.place < first);
                    let outcome = self.send_path(frames, &outgoing[left..]);
                    self.cuts = cuts_others;
                    return outcome;
                }
                // This destination has no route, or the kernel forbids it: others must not suffer.
                Err(_) => {
                    self.unsent += parcels[sent].segments as u64;
                    sent += 1;
                }
            }
        }
        Ok(None)
    }
}

fn wrap(
    frame: &mut Vec<u8>,
    profile: &Profile,
    (from, to): (SocketAddr, IpAddr),
    class: u8,
    payload: &[u8],
) -> Option<()> {
    let fields = View::new(payload).ok()?.parse(from.ip(), to).ok()?;
    let length = fields.payload_length();
    let (body, extension) = payload[HEADER_BYTES..].split_at_checked(length)?;
    let service = match fields.kind {
        Kind::Data => Service::Trimmable,
        Kind::Ack | Kind::Nack | Kind::Pull | Kind::Reset => Service::Control,
    };
    let marks = match class & 3 {
        0 => 0,
        3 => Packet::MARK_ECT | Packet::MARK_CE,
        _ => Packet::MARK_ECT,
    };
    let datagram = Datagram {
        source: from.ip(),
        destination: to,
        entropy: from.port(),
        service: service.into(),
        marks,
        fields,
    };
    datagram.emit(Ethernet::default(), profile, body, extension, frame).ok()
}

impl PacketIo for Udp {
    fn rx_burst(&mut self, max: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let Udp { receiver, inbox, frame, profile, address, unreadable, .. } = self;
        let mut count = 0;
        while count < max && inbox.fill(receiver)? {
            // The rest of the inbox is taken next time: the caller does not wait after a full burst.
            while count < max
                && let Some((from, class, payload)) = inbox.next()
            {
                count += 1;
                match wrap(frame, profile, (from, *address), class, payload) {
                    Some(()) => take(frame),
                    None => *unreadable += 1,
                }
            }
        }
        Ok(count)
    }

    fn tx_burst(&mut self, frames: &[Pieces<'_>]) -> io::Result<usize> {
        let longest = self.mtu + ETHERNET_BYTES;
        let length = |pieces: &Pieces<'_>| pieces.iter().map(|piece| piece.len()).sum::<usize>();
        let fitting = frames.iter().take_while(|pieces| length(pieces) <= longest).count();
        if fitting == 0 && !frames.is_empty() {
            let text = format!("a frame is longer than the MTU of {}", self.mtu);
            return Err(io::Error::new(ErrorKind::InvalidInput, text));
        }
        let headers = self.headers() + HEADER_BYTES;
        let mut outgoing = Vec::with_capacity(fitting);
        for (place, pieces) in frames[..fitting].iter().enumerate() {
            outgoing.push(match pieces {
                [whole] => self.inspect(place, whole)?,
                [head, ..] if head.len() >= headers => self.inspect(place, head)?,
                pieces => self.inspect(place, &pieces.concat())?,
            });
        }
        let mut taken = fitting;
        for path in 0..self.senders.len() {
            let of_path: Vec<&Outgoing> = outgoing.iter().filter(|one| one.path == path).collect();
            if let Some(first) = self.send_path(frames, &of_path)? {
                // Later frames of other paths may have gone: they go again, and a copy does no harm.
                taken = taken.min(first);
            }
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn poll_fd(&self) -> Option<BorrowedFd<'_>> {
        Some(self.receiver.as_fd())
    }

    fn caps(&self) -> Caps {
        Caps {
            mtu: self.mtu,
            needs_kick: false,
            multi_buffer: true,
            zero_copy: false,
            receives_trimmed: false,
            receives_returned: false,
            joins_datagrams: self.cuts,
            finds_next_hops: false,
            reopens: false,
        }
    }

    fn lost(&self) -> u64 {
        self.unsent
    }

    fn unreadable(&self) -> u64 {
        self.unreadable
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv6Addr;
    use std::sync::atomic::{AtomicU16, Ordering};

    use crate::clock::Clock;
    use crate::host::{Config, Host, Options};
    use trimline_packet::wire::Fields;
    use trimline_packet::{BitRate, ConnectionId, Flags, Header, TimeDelta};

    fn free_port() -> u16 {
        static NEXT: AtomicU16 = AtomicU16::new(0);
        let of_process = 20_000 + (std::process::id() % 2000) as u16 * 10;
        of_process + NEXT.fetch_add(1, Ordering::Relaxed)
    }

    fn addresses(v6: bool) -> [IpAddr; 2] {
        match v6 {
            false => [[127, 0, 0, 2].into(), [127, 0, 0, 3].into()],
            // IPv6 has only one loopback address.
            true => [Ipv6Addr::LOCALHOST.into(); 2],
        }
    }

    /// Exchanges messages between two hosts on the loopback interface.
    fn talk(paths: u16, singly: bool) {
        let clock = Clock::real();
        let profile = Profile { port: free_port(), ..Profile::PAPER };
        let addresses = addresses(false);
        let mut hosts = addresses.map(|address| {
            let mut socket = Udp::open(address, 1500, paths, profile).unwrap();
            if singly {
                socket.send_singly();
                assert!(!socket.caps().joins_datagrams);
            }
            let mut config = Config::new(address, 1500, BitRate::from_gbps(1)).unwrap();
            config.profile = profile;
            config.entropies = paths;
            Host::new(socket, config, clock.clone())
        });
        hosts[1].listen(7);
        hosts[0].core().add_peer(addresses[1], &[], [0; 6]);
        let client = hosts[0].connect(addresses[1], 7, Options::default()).unwrap();
        let message: Vec<u8> = (0..100_000u32).map(|n| (n * 7) as u8).collect();
        hosts[0].core().send(client, &message).unwrap();
        hosts[0].core().close(client);
        let stop = clock.now().saturating_add(TimeDelta::from_ms(20_000));
        let mut server = None;
        loop {
            assert!(clock.now() < stop, "nothing came");
            for host in &mut hosts {
                host.turn().unwrap();
            }
            server = server.or_else(|| hosts[1].core().accept());
            if let Some(server) = server
                && let Some(got) = hosts[1].core().receive(server).unwrap()
            {
                assert!(got == message);
                return;
            }
        }
    }

    #[test]
    fn messages_cross_the_loopback_interface() {
        for paths in [1, 4] {
            for singly in [false, true] {
                talk(paths, singly);
            }
        }
    }

    fn frame(
        addresses: [IpAddr; 2],
        entropy: u16,
        marks: u8,
        payload: &[u8],
        port: u16,
    ) -> Vec<u8> {
        let datagram = Datagram {
            source: addresses[0],
            destination: addresses[1],
            entropy,
            service: Service::Trimmable.into(),
            marks,
            fields: Fields {
                kind: Kind::Data,
                flags: Flags::default(),
                connection: ConnectionId::new(1),
                sequence: 0,
                extra: Header::data_extra(payload.len() as u16, 0),
            },
        };
        let (mut bytes, profile) = (Vec::new(), Profile { port, ..Profile::PAPER });
        datagram.emit(Ethernet::default(), &profile, payload, &[], &mut bytes).unwrap();
        bytes
    }

    fn arrived(socket: &mut Udp, count: usize, max: usize) -> Vec<(u8, Vec<u8>)> {
        let (profile, mut got) = (socket.profile, Vec::new());
        for _ in 0..200 {
            socket
                .rx_burst(max, &mut |frame| {
                    let parsed = Frame::new(frame).unwrap().parse(&profile).unwrap();
                    got.push((parsed.datagram.marks, parsed.payload.to_vec()));
                })
                .unwrap();
            if got.len() >= count {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        got
    }

    /// Datagrams of any lengths and pieces arrive as they were sent, with their marks, however the kernel joins them.
    #[test]
    fn bursts_of_any_lengths_arrive_as_they_were() {
        for v6 in [false, true] {
            let port = free_port();
            let profile = Profile { port, ..Profile::PAPER };
            let addresses = addresses(v6);
            let open = |address| Udp::open(address, 9000, 1, profile);
            let Ok(mut receiver) = open(addresses[1]) else {
                println!("SKIPPED: no loopback address {}", addresses[1]);
                continue;
            };
            // IPv6 has one address here and the receiver has its port, so the sender has other sockets.
            let mut sender = match v6 {
                false => open(addresses[0]).unwrap(),
                true => Udp::open(addresses[0], 9000, 1, Profile { port: free_port(), ..profile })
                    .unwrap(),
            };
            // Equal ones that fill more than a parcel, a shorter one that ends it, a longer one that begins another,
            // single ones, and a change of marks within a run.
            let lengths = [vec![1000; 130], vec![999, 1000, 1000, 8000, 8000, 1, 2, 2, 1000, 300]];
            let frames: Vec<Vec<u8>> = (0..)
                .zip(lengths.concat())
                .map(|(number, length)| {
                    let marks = if number % 50 < 25 { 0 } else { Packet::MARK_ECT };
                    let payload: Vec<u8> =
                        (0..length).map(|at: usize| (at ^ number) as u8).collect();
                    frame(addresses, 50_000, marks, &payload, port)
                })
                .collect();
            for singly in [false, true] {
                if singly {
                    sender.send_singly();
                }
                for (from, chunk) in (0..).step_by(35).zip(frames.chunks(35)) {
                    // In one piece, or divided at arbitrary places.
                    let pieces: Vec<Vec<&[u8]>> = (from..)
                        .zip(chunk)
                        .map(|(number, frame): (usize, &Vec<u8>)| match number % 3 {
                            0 => vec![&frame[..]],
                            1 => vec![&frame[..7], &frame[7..40], &[], &frame[40..]],
                            _ => vec![&frame[..frame.len() - 2], &frame[frame.len() - 2..]],
                        })
                        .collect();
                    let whole: Vec<Pieces<'_>> = pieces.iter().map(|pieces| &pieces[..]).collect();
                    assert_eq!(sender.tx_burst(&whole).unwrap(), chunk.len());
                }
                let got = arrived(&mut receiver, frames.len(), 7);
                let expected: Vec<(u8, Vec<u8>)> = frames
                    .iter()
                    .map(|frame| {
                        let parsed = Frame::new(frame).unwrap().parse(&profile).unwrap();
                        (parsed.datagram.marks, parsed.payload.to_vec())
                    })
                    .collect();
                assert_eq!(got.len(), expected.len(), "v6 {v6}, singly {singly}");
                assert!(got == expected, "v6 {v6}, singly {singly}");
            }
        }
    }

    #[test]
    fn a_frame_beyond_the_mtu_is_refused() {
        let port = free_port();
        let addresses = addresses(false);
        let profile = Profile { port, ..Profile::PAPER };
        let mut sender = Udp::open(addresses[0], 1500, 1, profile).unwrap();
        let (fits, long) =
            (frame(addresses, 1, 0, &[1; 1456], port), frame(addresses, 1, 0, &[1; 1457], port));
        assert_eq!(sender.tx_burst(&[&[&fits], &[&long], &[&fits]]).unwrap(), 1);
        assert!(sender.tx_burst(&[&[&long]]).is_err());
    }
}
