//! Frames in the payload of UDP sockets: without any right, anywhere.
//!
//! What a host writes as a whole frame goes as a datagram: everything behind the UDP header is handed to the
//! kernel, the DSCP by a socket option. What arrives is put behind headers made from its addresses, so that
//! hosts see no difference. A path is a UDP source port: one socket each.
//!
//! A kernel drops a datagram that was trimmed, since its length is stale, and a header that came back, since
//! nobody has bound its port ([`Caps`] says so): behind switches that trim, recovery is left to time-outs.

use std::io::{self, ErrorKind};
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

use trimline_packet::wire::{Frame, Profile};

use super::{Caps, ETHERNET_BYTES, PacketIo, Pieces, sys};

const UDP_BYTES: usize = 8;

/// UDP sockets of one host.
#[derive(Debug)]
pub struct Udp {
    /// Bound to the protocol's port: everything arrives here.
    receiver: UdpSocket,
    /// One a path; the entropy chooses.
    senders: Vec<(UdpSocket, u8)>,
    address: IpAddr,
    mtu: usize,
    profile: Profile,
    datagram: Vec<u8>,
    frame: Vec<u8>,
}

impl Udp {
    /// Binds an address of this host. `mtu` is what the way to all peers carries.
    ///
    /// # Errors
    /// The address is not this host's, or the port is taken.
    pub fn open(address: IpAddr, mtu: usize, paths: u16, profile: Profile) -> io::Result<Udp> {
        let receiver = UdpSocket::bind((address, profile.port))?;
        receiver.set_nonblocking(true)?;
        sys::set_buffers(&receiver, 4 << 20)?;
        let senders = (0..paths.max(1)).map(|_| {
            let sender = UdpSocket::bind((address, 0))?;
            sender.set_nonblocking(true)?;
            sys::set_buffers(&sender, 4 << 20)?;
            Ok((sender, 0))
        });
        Ok(Udp {
            receiver,
            senders: senders.collect::<io::Result<Vec<_>>>()?,
            address,
            mtu,
            profile,
            datagram: vec![0; 1 << 16],
            frame: Vec::new(),
        })
    }

    fn send(&mut self, frame: &[u8]) -> io::Result<bool> {
        let invalid = |error| io::Error::new(ErrorKind::InvalidInput, error);
        let parsed = Frame::new(frame).map_err(invalid)?;
        let (entropy, port) = parsed.ports();
        let headers = if self.address.is_ipv4() { 20 } else { 40 } + ETHERNET_BYTES + UDP_BYTES;
        // Short frames are padded; the UDP header knows where they end.
        let length = usize::from(u16::from_be_bytes([frame[headers - 4], frame[headers - 3]]));
        let end = (headers + length.saturating_sub(UDP_BYTES)).min(frame.len());
        let payload = frame.get(headers..end).unwrap_or(&[]);
        let count = self.senders.len();
        let (socket, dscp) = &mut self.senders[usize::from(entropy) % count];
        if *dscp != parsed.dscp() {
            sys::set_dscp(socket, self.address.is_ipv6(), parsed.dscp())?;
            *dscp = parsed.dscp();
        }
        match socket.send_to(payload, SocketAddr::new(parsed.destination(), port)) {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            // An ICMP error of an earlier datagram: the peer is not there yet, and a time-out will tell.
            Err(error) if error.kind() == ErrorKind::ConnectionRefused => Ok(true),
            Err(error) => Err(error),
        }
    }
}

/// A frame around a datagram that the kernel has checked.
fn wrap(
    frame: &mut Vec<u8>,
    profile: &Profile,
    from: SocketAddr,
    to: IpAddr,
    payload: &[u8],
) -> Option<()> {
    use trimline_packet::wire::{Datagram, Ethernet, HEADER_BYTES, View};
    use trimline_packet::{Kind, Service};
    let fields = View::new(payload).ok()?.parse(from.ip(), to).ok()?;
    let length = fields.payload_length();
    let (body, extension) = payload[HEADER_BYTES..].split_at_checked(length)?;
    let service = match fields.kind {
        Kind::Data => Service::Trimmable,
        _ => Service::Control,
    };
    let datagram = Datagram {
        source: from.ip(),
        destination: to,
        entropy: from.port(),
        service,
        marks: 0,
        fields,
    };
    datagram.emit(Ethernet::default(), profile, body, extension, frame).ok()
}

impl PacketIo for Udp {
    fn rx_burst(&mut self, most: usize, take: &mut dyn FnMut(&[u8])) -> io::Result<usize> {
        let mut count = 0;
        while count < most {
            match self.receiver.recv_from(&mut self.datagram) {
                Ok((length, from)) => {
                    count += 1;
                    let payload = &self.datagram[..length];
                    if wrap(&mut self.frame, &self.profile, from, self.address, payload).is_some() {
                        take(&self.frame);
                    }
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(error),
            }
        }
        Ok(count)
    }

    fn tx_burst(&mut self, frames: &[Pieces<'_>]) -> io::Result<usize> {
        let mut whole = Vec::new();
        for (number, pieces) in frames.iter().enumerate() {
            whole.clear();
            pieces.iter().for_each(|piece| whole.extend_from_slice(piece));
            if whole.len() > self.mtu + ETHERNET_BYTES {
                let text = format!("a frame is longer than the MTU of {}", self.mtu);
                return match number {
                    0 => Err(io::Error::new(ErrorKind::InvalidInput, text)),
                    sent => Ok(sent),
                };
            }
            if !self.send(&whole)? {
                return Ok(number);
            }
        }
        Ok(frames.len())
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
            multi_buffer: false,
            zero_copy: false,
            receives_trimmed: false,
            receives_returned: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::host::{Config, Host, Options};
    use trimline_packet::{BitRate, TimeDelta};

    /// Two hosts on the loopback interface, each on an address of its own.
    #[test]
    fn messages_cross_the_loopback_interface() {
        let clock = Clock::real();
        // A port that this test has for itself.
        let port = 20_000 + (std::process::id() % 20_000) as u16;
        let profile = Profile { port, ..Profile::PAPER };
        let addresses: [IpAddr; 2] = [[127, 0, 0, 2].into(), [127, 0, 0, 3].into()];
        let mut hosts = addresses.map(|address| {
            let socket = Udp::open(address, 1500, 4, profile).unwrap();
            let mut config = Config::new(address, 1500, BitRate::from_gbps(1)).unwrap();
            config.profile = profile;
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
}
