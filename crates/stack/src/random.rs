//! RNG streams of hosts and switches without a configured seed: from the operating system.

use std::fs::File;
use std::io::Read;
use std::time::SystemTime;

use rand_xoshiro::rand_core::SeedableRng;
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

/// Mixes a number with SplitMix64's finalizer: every input bit reaches every output bit.
pub(crate) fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

pub(crate) fn stream(seed: u64, owner: u64) -> RngStream {
    RngStream::seed_from_u64(mix(seed ^ mix(owner)))
}
