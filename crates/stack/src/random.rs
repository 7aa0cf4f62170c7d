//! RNG streams of hosts and switches without a configured seed: from the operating system.

use std::fs::File;
use std::io::Read;
use std::time::SystemTime;

use rand_xoshiro::rand_core::SeedableRng;
pub(crate) use trimline_packet::mix;
use trimline_transport::RngStream;

/// Returns a seed that no two processes share.
pub(crate) fn seed() -> u64 {
    let mut bytes = [0; 8];
    match File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes)) {
        Ok(()) => u64::from_le_bytes(bytes),
        // Without the device: the clock and the process id, which differ between restarts.
        Err(_) => {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            now.as_nanos() as u64 ^ u64::from(std::process::id()) << 40
        }
    }
}

pub(crate) fn stream(seed: u64, owner: u64) -> RngStream {
    RngStream::seed_from_u64(mix(seed ^ mix(owner)))
}
