//! Partition and aggregate: clients ask several servers at once.

use trimline_transport::RngStream;

use crate::formats::sizes::{SizeDistribution, WHOLE};
use crate::gap::Gap;
use crate::random;

/// Queries: a client asks several servers at once and waits for all answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queries {
    /// The hosts that ask: ascending, each once, at least one; `None` for every host.
    pub clients: Option<Vec<u32>>,
    /// Servers of each query, drawn from all other hosts.
    pub servers: Servers,
    /// Hosts that are no servers: ascending, each once. They may still ask.
    pub excluding: Vec<u32>,
    /// Time between the last byte of a request and the beginning of its answer.
    pub service_time: Gap,
    /// True if the record of an answer starts at the request: completion times are then as the client sees them. Ideal
    /// times remain those for the answer alone.
    pub from_request: bool,
}

/// The number of servers of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Servers {
    /// A fixed number of distinct servers.
    Fixed(u32),
    /// One server per drawn answer.
    Groups(Groups),
}

/// Draws for each query: the size of its answers, all alike, and their total (FastLane 5). With fewer hosts than
/// answers servers are asked several times, with counts that differ by at most one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Groups {
    /// Sizes of an answer, weighted by queries.
    sizes: SizeDistribution,
    /// Sizes of all answers of a query together, in bytes, equally likely.
    totals: Vec<u64>,
}

impl Groups {
    /// Returns groups with these answer sizes and weights, and these totals per query.
    ///
    /// # Errors
    /// Fails with the first total that is not a whole number of answers, and their size, or with a reason against the
    /// sizes.
    pub fn new(sizes: &[(u64, u64)], totals: &[u64]) -> Result<Groups, NoGroups> {
        let sizes = SizeDistribution::mixture(sizes).map_err(NoGroups::Sizes)?;
        for (place, &total) in totals.iter().enumerate() {
            let wrong = |&&(size, _): &&(u64, u64)| total == 0 || total % size != 0;
            if let Some(&(size, _)) = sizes.points().iter().find(wrong) {
                return Err(NoGroups::Total { place, size });
            }
        }
        if totals.is_empty() {
            return Err(NoGroups::Sizes("no total"));
        }
        Ok(Groups { sizes, totals: totals.to_vec() })
    }

    pub(crate) fn draw(&self, draws: &mut RngStream) -> (u64, u32) {
        let size = self.sizes.size(random::below(draws, WHOLE));
        let total = self.totals[random::below(draws, self.totals.len() as u64) as usize];
        (size, (total / size) as u32)
    }

    /// Returns the maximum number of answers to a query.
    pub fn max(&self) -> u64 {
        let max = self.totals.iter().max().copied().unwrap_or(0);
        self.sizes.points().first().map_or(1, |&(min, _)| max / min)
    }

    /// Returns the mean payload of all answers to a query, in thousandths of a byte.
    pub fn mean_millibytes(&self) -> u64 {
        let sum: u128 = self.totals.iter().map(|&total| u128::from(total)).sum();
        (sum * 1000 / self.totals.len() as u128) as u64
    }

    /// Returns (size, share of queries with it in parts of [`WHOLE`]).
    fn shares(&self) -> impl Iterator<Item = (u64, u64)> {
        let mut before = 0;
        self.sizes.points().iter().map(move |&(size, share)| {
            let own = share - before;
            before = share;
            (size, own)
        })
    }

    /// Returns the mean number of answers to a query, in thousandths.
    pub fn mean_servers_thousandths(&self) -> u64 {
        let each = |(size, share): (u64, u64)| {
            u128::from(self.mean_millibytes()) * u128::from(share) / u128::from(size)
        };
        (self.shares().map(each).sum::<u128>() / u128::from(WHOLE)) as u64
    }

    /// Returns the sizes weighted by answers: a query with small answers has many.
    pub fn of_answers(&self) -> SizeDistribution {
        let weight = |(size, share): (u64, u64)| (size, share / size);
        let parts: Vec<(u64, u64)> = self.shares().map(weight).collect();
        SizeDistribution::mixture(&parts).expect("sizes with weights")
    }
}

/// The reason why there are no such groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoGroups {
    /// The sizes are invalid, for this reason.
    Sizes(&'static str),
    /// The total at this place is no multiple of this size.
    Total {
        /// Place among the totals.
        place: usize,
        /// Size of an answer.
        size: u64,
    },
}

impl Queries {
    /// Returns the groups, if queries have them.
    pub fn groups(&self) -> Option<&Groups> {
        match &self.servers {
            Servers::Fixed(_) => None,
            Servers::Groups(groups) => Some(groups),
        }
    }

    /// Returns the maximum number of requests of a query.
    pub fn max(&self) -> u64 {
        match &self.servers {
            Servers::Fixed(servers) => u64::from(*servers),
            Servers::Groups(groups) => groups.max(),
        }
    }

    /// Returns the mean number of requests of a query, in thousandths.
    pub fn mean_servers_thousandths(&self) -> u64 {
        match &self.servers {
            Servers::Fixed(servers) => u64::from(*servers) * 1000,
            Servers::Groups(groups) => groups.mean_servers_thousandths(),
        }
    }

    /// Returns the number of clients.
    pub fn client_count(&self, hosts: u32) -> u32 {
        self.clients.as_ref().map_or(hosts, |clients| clients.len() as u32)
    }

    pub(crate) fn each_client(&self, hosts: u32) -> impl Iterator<Item = u32> {
        (0..self.client_count(hosts)).map(|place| self.client_at(place))
    }

    pub(crate) fn place_of(&self, client: u32) -> u32 {
        let Some(clients) = &self.clients else { return client };
        clients.partition_point(|&other| other < client) as u32
    }

    pub(crate) fn client_at(&self, place: u32) -> u32 {
        self.clients.as_ref().map_or(place, |clients| clients[place as usize])
    }

    /// Number of hosts that a client may ask.
    pub(crate) fn others_of(&self, client: u32, hosts: u32) -> u32 {
        let own = u32::from(self.excluding.binary_search(&client).is_err());
        hosts.saturating_sub(self.excluding.len() as u32 + own)
    }

    /// Maximum number of requests of a query to one server.
    pub(crate) fn max_to_one(&self, hosts: u32) -> u64 {
        match &self.servers {
            Servers::Fixed(_) => 1,
            Servers::Groups(groups) => {
                let min = hosts.saturating_sub(self.excluding.len() as u32 + 1).max(1);
                groups.max().div_ceil(u64::from(min))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FastLane 5.
    fn fastlane() -> Groups {
        let sizes = [2_000, 4_000, 8_000, 16_000, 32_000].map(|size| (size, 1));
        Groups::new(&sizes, &[32_000, 64_000, 96_000, 128_000, 160_000]).unwrap()
    }

    #[test]
    fn means_cover_all_pairs_of_size_and_total() {
        let groups = fastlane();
        assert_eq!(groups.max(), 80);
        assert_eq!(groups.mean_millibytes(), 96_000_000);
        assert_eq!(groups.mean_servers_thousandths(), 18_600);
        // 48 of 93 answers have 2 KB.
        let answers = groups.of_answers();
        let share = answers.points()[0].1 as f64 / WHOLE as f64;
        assert!((share - 48.0 / 93.0).abs() < 1e-9, "{share}");
        assert!(answers.mean_millibytes().abs_diff(96_000_000 * 10 / 186) < 2);
    }

    #[test]
    fn draws_reach_every_pair_and_the_means() {
        let groups = fastlane();
        let mut draws = random::stream(7, "test", &[]);
        let (mut pairs, mut bytes, mut servers) = (std::collections::BTreeMap::new(), 0, 0);
        for _ in 0..20_000 {
            let (size, count) = groups.draw(&mut draws);
            *pairs.entry((size, count)).or_insert(0) += 1;
            bytes += size * u64::from(count);
            servers += u64::from(count);
        }
        assert_eq!(pairs.len(), 25);
        assert!(pairs.values().all(|count| (650..950).contains(count)), "{pairs:?}");
        assert!((94_000..98_000).contains(&(bytes / 20_000)), "{bytes}");
        assert!((360_000..384_000).contains(&servers), "{servers}");
    }

    #[test]
    fn a_total_that_is_no_multiple_of_a_size_is_refused() {
        let wrong = Groups::new(&[(2_000, 1), (3_000, 1)], &[6_000, 8_000]);
        assert_eq!(wrong, Err(NoGroups::Total { place: 1, size: 3_000 }));
        assert_eq!(
            Groups::new(&[(2_000, 1)], &[0]),
            Err(NoGroups::Total { place: 0, size: 2_000 })
        );
        assert!(matches!(Groups::new(&[(2_000, 0)], &[2_000]), Err(NoGroups::Sizes(_))));
        assert!(matches!(Groups::new(&[(2_000, 1)], &[]), Err(NoGroups::Sizes(_))));
    }

    #[test]
    fn weights_count_groups() {
        let groups = Groups::new(&[(1_000, 3), (4_000, 1)], &[8_000]).unwrap();
        assert_eq!(groups.mean_servers_thousandths(), 6_500);
        // 3 * 8 to 1 * 2.
        let share = groups.of_answers().points()[0].1 as f64 / WHOLE as f64;
        assert!((share - 24.0 / 26.0).abs() < 1e-9, "{share}");
    }
}
