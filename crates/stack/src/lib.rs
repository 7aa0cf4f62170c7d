//! The second driver of ports and endpoints: frames, sockets and real clocks, on Linux.
//!
//! The NDP endpoint and the switch port are the simulator's. This crate adds bytes, clocks, addresses and interfaces.
//! It does not use the simulator; a test compares both packet by packet in one scenario.
//!
//! | module | contents |
//! |---|---|
//! | [`io`] | frames in and out in batches, behind one trait: in memory, over UDP, over a raw socket |
//! | [`host`] | an NDP host in the application's thread: connections, messages, streams |
//! | [`switch`] | switches in one process: the simulator's ports around frames |
//!
//! # Begin with
//! - [`host::Host`]: a host on an interface. [`host::Config`] has its parameters.
//! - [`io::PacketIo`]: the interface. [`io::mem`] needs no privilege, [`io::udp`] an address, [`io::afpacket`] a raw
//!   socket.
//! - [`switch::Fabric`]: switches on any clock. [`switch::Runner`] drives them between interfaces.
//!
//! # In and out
//! The application drives its host; there is no thread behind it. [`Core::send`](host::Core::send) queues a message,
//! [`Core::receive`](host::Core::receive) returns one that is whole. [`Host::turn`](host::Host::turn) receives and
//! sends frames without waiting, and [`Host::run_until`](host::Host::run_until) turns and sleeps. [`host::Core`] is the
//! host without socket and clock: frames and times go in, frames come out.
//!
//! # Example
//! Two hosts on a cable in memory, on a virtual clock. There is no handshake: the first packet has the message.
//!
//! ```
//! use trimline_packet::BitRate;
//! use trimline_stack::clock::Clock;
//! use trimline_stack::host::{Config, Host, Options};
//! use trimline_stack::io::mem;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let clock = Clock::new_virtual();
//! let (near, far) = mem::pair(1500)?;
//! let host = |end, address: &str, peer: &str| -> Result<_, Box<dyn std::error::Error>> {
//!     let config = Config::new(address.parse()?, 1500, BitRate::from_gbps(10))?;
//!     let mut host = Host::new(end, config, clock.clone());
//!     host.core().add_peer(peer.parse()?, &[], [2, 0, 0, 0, 0, 9]);
//!     Ok(host)
//! };
//! let mut client = host(near, "10.0.0.1", "10.0.0.2")?;
//! let mut server = host(far, "10.0.0.2", "10.0.0.1")?;
//! server.listen(7);
//!
//! let connection = client.connect("10.0.0.2".parse()?, 7, Options::default())?;
//! client.core().send(connection, b"what time is it?")?;
//! client.turn()?;
//! server.turn()?;
//! let accepted = server.core().accept().expect("the first packet opened it");
//! assert_eq!(server.core().receive(accepted)?.as_deref(), Some(&b"what time is it?"[..]));
//! assert_eq!(client.statistics().frames_out, 1);
//! # Ok(())
//! # }
//! ```
//!
//! `cargo run -p trimline-stack --example two_hosts` transfers a megabyte over a cable that loses frames.
//!
//! # Read on
//! `docs/internals/stack.md` draws hosts and switch, `docs/security.md` says what strangers may do, and
//! `docs/operators.md` is for those who run the programs. `trimline-testbed` puts hosts and switches into network
//! namespaces.
//!
//! All system calls are in modules named `sys`, the only ones with unsafe code. The crate has no features.
#![deny(unsafe_code)]

pub mod clock;
pub mod host;
pub mod io;
pub mod switch;

mod random;
