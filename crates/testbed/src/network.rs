//! Hosts in their own network namespaces: two on a cable, or many around a network of switches.

use std::fmt::Write as _;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::thread;
use std::time::{Duration, Instant};

use trimline_packet::BitRate;
use trimline_packet::wire::Profile;

use super::namespace::Namespace;
use super::sys;
use trimline_stack::clock::Clock;
use trimline_stack::host::{self, Host};
use trimline_stack::io::afpacket::AfPacket;
use trimline_stack::io::sys::link;
use trimline_stack::io::sys::netlink::Netlink;
use trimline_stack::switch;

/// A host of the testbed.
#[derive(Debug)]
pub struct TestHost {
    /// Its namespace.
    pub namespace: Namespace,
    /// Its interface.
    pub interface: String,
    /// Its number.
    pub number: u32,
}

/// The topology between the hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Two hosts, one cable.
    BackToBack,
    /// The paper's testbed (NDP 5.1): a two-tier FatTree of six 4-port switches, eight hosts.
    FatTree,
    /// One switch with this many hosts.
    Star(u32),
}

/// Hosts in namespaces, and one namespace for the switches between them.
#[derive(Debug)]
pub struct TestNetwork {
    /// The hosts.
    pub hosts: Vec<TestHost>,
    /// The namespace of the switches' ends of the cables.
    pub middle: Option<Namespace>,
    shape: Shape,
    mtu: usize,
}

impl Shape {
    /// Returns the number of hosts.
    pub fn hosts(&self) -> u32 {
        match self {
            Shape::BackToBack => 2,
            Shape::FatTree => 8,
            Shape::Star(hosts) => *hosts,
        }
    }

    /// Returns the number of addresses of a host: one for each core switch.
    pub fn ways(&self) -> u8 {
        match self {
            Shape::FatTree => 2,
            Shape::BackToBack | Shape::Star(_) => 1,
        }
    }

    /// Returns the configuration file of the switches; `settings` are its first lines.
    pub fn switches(&self, settings: &str) -> String {
        let mut text = format!("{settings}\n");
        let mut add = |line: String| writeln!(text, "{line}").expect("a string takes everything");
        let (tors, per_tor) = match self {
            Shape::BackToBack => return text,
            Shape::FatTree => (4, 2),
            Shape::Star(hosts) => (1, *hosts),
        };
        for tor in 0..tors {
            add(format!("[[switch]]\nname = \"tor{tor}\""));
        }
        let spines = if tors > 1 { self.ways() } else { 0 };
        for spine in 0..spines {
            add(format!("[[switch]]\nname = \"spine{spine}\""));
            for tor in 0..tors {
                add(format!("[[link]]\nbetween = [\"tor{tor}\", \"spine{spine}\"]"));
            }
        }
        for host in 0..self.hosts() {
            add(format!("[[host]]\nswitch = \"tor{}\"\ninterface = \"p{host}\"", host / per_tor));
            for way in 0..self.ways() {
                add(format!("[[host.addresses]]\naddress = \"{}\"", address(host, way)));
                if way < spines {
                    add(format!("through = \"spine{way}\""));
                }
            }
        }
        text
    }
}

/// Returns the address of a host for a core switch.
pub fn address(host: u32, way: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, way, (host >> 8) as u8, host as u8 + 1)
}

/// Returns the Ethernet address of a host.
pub fn ethernet(host: u32) -> [u8; 6] {
    [2, 0, 0, 0, (host >> 8) as u8, host as u8 + 1]
}

/// Maximum time for the kernel to bring a link up.
const STALL_TIMEOUT: Duration = Duration::from_secs(10);

/// Waits until a link is up. The kernel notices that late, on a busy machine much later, and drops its sockets' packets
/// until then.
fn wait_until_running(interface: &str) -> io::Result<()> {
    let (mut netlink, link) = (Netlink::open()?, link(interface)?);
    let start = Instant::now();
    while !netlink.link(link.index)?.running {
        if start.elapsed() > STALL_TIMEOUT {
            let text = format!("{interface} does not come up");
            return Err(io::Error::new(io::ErrorKind::TimedOut, text));
        }
        thread::sleep(Duration::from_millis(1));
    }
    Ok(())
}

impl TestNetwork {
    /// Builds namespaces and cables.
    ///
    /// # Errors
    /// Fails with a message if a privilege or a program is missing.
    pub fn build(shape: Shape, mtu: usize) -> io::Result<TestNetwork> {
        let middle = match shape {
            Shape::BackToBack => None,
            _ => Some(Namespace::new()?),
        };
        let mut hosts = Vec::new();
        for number in 0..shape.hosts() {
            let namespace = Namespace::new()?;
            namespace.set("ipv6/conf/all/disable_ipv6", "1")?;
            let parameters = [
                ("tcp_fastopen", "3"),
                ("tcp_tw_reuse", "1"),
                ("ip_local_port_range", "2000 65000"),
            ];
            for (name, value) in parameters {
                namespace.set(&format!("ipv4/{name}"), value)?;
            }
            hosts.push(TestHost { namespace, interface: format!("h{number}"), number });
        }
        let cable = |near: &str, host: &TestHost| {
            let (far, mac) =
                (&host.interface, switch::quantity::ethernet_text(ethernet(host.number)));
            let path = host.namespace.path();
            format!(
                "link add {near} mtu {mtu} type veth peer name {far} mtu {mtu} address {mac} netns {path}"
            )
        };
        match &middle {
            None => {
                let mac = switch::quantity::ethernet_text(ethernet(0));
                let line = cable("h0", &hosts[1]) + &format!("\nlink set h0 address {mac}");
                hosts[0].namespace.ip(&[line])?;
            }
            Some(middle) => {
                middle.set("ipv6/conf/all/disable_ipv6", "1")?;
                for host in &hosts {
                    let near = format!("p{}", host.number);
                    middle.ip(&[cable(&near, host), format!("link set {near} up")])?;
                    middle.inside(|| sys::set_offloads(&near, false))?;
                    host.namespace.inside(|| sys::set_offloads(&host.interface, false))?;
                }
            }
        }
        for host in &hosts {
            let device = &host.interface;
            let mut lines = vec![format!("link set {device} up")];
            for way in 0..shape.ways() {
                lines.push(format!("addr add {}/8 dev {device}", address(host.number, way)));
            }
            for other in (0..shape.hosts()).filter(|&other| other != host.number) {
                let mac = switch::quantity::ethernet_text(ethernet(other));
                for way in 0..shape.ways() {
                    let address = address(other, way);
                    lines.push(format!(
                        "neigh replace {address} lladdr {mac} dev {device} nud permanent"
                    ));
                }
            }
            host.namespace.ip(&lines)?;
        }
        for host in &hosts {
            host.namespace.inside(|| wait_until_running(&host.interface))?;
            if let Some(middle) = &middle {
                middle.inside(|| wait_until_running(&format!("p{}", host.number)))?;
            }
        }
        Ok(TestNetwork { hosts, middle, shape, mtu })
    }

    /// Sets whether hosts may leave checksums and segmentation to their interfaces. Without offloads frames cross
    /// cables as on copper, the default with switches in between.
    ///
    /// # Errors
    /// Fails if an interface is gone.
    pub fn set_offloads(&self, are_on: bool) -> io::Result<()> {
        let mut hosts = self.hosts.iter();
        hosts.try_for_each(|host| {
            host.namespace.inside(|| sys::set_offloads(&host.interface, are_on))
        })
    }

    /// Returns its shape.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the parameters of a host on a link of this rate.
    ///
    /// # Errors
    /// Fails if the MTU leaves no room for a payload.
    pub fn config(&self, number: u32, rate: BitRate) -> io::Result<host::Config> {
        let mut config = host::Config::new(address(number, 0).into(), self.mtu, rate)
            .map_err(io::Error::other)?;
        config.ethernet = ethernet(number);
        let ways = self.shape.ways();
        config.ways = match ways {
            1 => Vec::new(),
            _ => (0..ways).map(|way| address(number, way).into()).collect(),
        };
        config.entropies = 1;
        Ok(config)
    }

    /// Opens a raw socket on a host's interface.
    ///
    /// # Errors
    /// Fails if it cannot be opened.
    pub fn socket(&self, number: u32) -> io::Result<AfPacket> {
        let host = &self.hosts[number as usize];
        let ways = (0..self.shape.ways()).map(|way| address(number, way).into());
        let addresses: Vec<IpAddr> = ways.collect();
        let profile = &Profile::PAPER;
        host.namespace.inside(|| AfPacket::open_host(&host.interface, profile, &addresses))
    }

    /// Opens an NDP host that knows all other hosts.
    ///
    /// # Errors
    /// Fails if its interface cannot be opened.
    pub fn host(
        &self,
        number: u32,
        config: host::Config,
        clock: &Clock,
    ) -> io::Result<Host<AfPacket>> {
        let mut host = Host::new(self.socket(number)?, config, clock.clone());
        let ways = self.shape.ways();
        for other in (0..self.shape.hosts()).filter(|&other| other != number) {
            let canonical = address(other, 0).into();
            let addresses: Vec<IpAddr> = match ways {
                1 => Vec::new(),
                _ => (0..ways).map(|way| address(other, way).into()).collect(),
            };
            host.core().add_peer(canonical, &addresses, ethernet(other));
        }
        Ok(host)
    }

    /// Opens the switches' ends of all cables.
    ///
    /// # Errors
    /// Fails if there are no switches, or an interface cannot be opened.
    pub fn ports(&self) -> io::Result<Vec<AfPacket>> {
        let middle =
            self.middle.as_ref().ok_or_else(|| io::Error::other("the network has no switch"))?;
        middle.inside(|| {
            self.hosts.iter().map(|host| AfPacket::open(&format!("p{}", host.number))).collect()
        })
    }
}
