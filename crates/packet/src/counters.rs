//! Output port counters of a switch.

/// Declares [`PortCounters`] from a list, one counter per line. Code iterates over [`PortCounters::NAMES`] and
/// [`PortCounters::values`], so new counters reach every table.
macro_rules! counters {
    ($(#[$first_doc:meta])* $first:ident, $(#[$second_doc:meta])* $second:ident,
     $(#[$third_doc:meta])* $third:ident, $($(#[$doc:meta])* $name:ident,)*) => {
        /// Output port counters, in table order.
        ///
        /// The first two change with every packet. They are not adjacent in memory, which would make the compiler use
        /// three times as many (vector) instructions, but near, mostly in one cache line.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        #[repr(C)]
        pub struct PortCounters {
            $(#[$first_doc])*
            pub $first: u64,
            $(#[$third_doc])*
            pub $third: u64,
            $(#[$second_doc])*
            pub $second: u64,
            $($(#[$doc])* pub $name: u64,)*
        }

        impl PortCounters {
            /// Counter names: table columns, file keys.
            pub const NAMES: [&'static str; PortCounters::COUNT] =
                [stringify!($first), stringify!($second), stringify!($third), $(stringify!($name)),*];
            /// Number of counters.
            pub const COUNT: usize = 3 $(+ { let _ = stringify!($name); 1 })*;

            /// All counters, in [`PortCounters::NAMES`] order.
            pub const fn values(&self) -> [u64; PortCounters::COUNT] {
                [self.$first, self.$second, self.$third, $(self.$name),*]
            }

            /// Creates counters from values in [`PortCounters::NAMES`] order.
            pub const fn from_values(values: [u64; PortCounters::COUNT]) -> PortCounters {
                let [$first, $second, $third, $($name),*] = values;
                PortCounters { $first, $second, $third, $($name),* }
            }
        }
    };
}

counters! {
    /// Packets that began to leave.
    packets,
    /// Their bytes on the wire.
    bytes,
    /// Trimmed packets.
    trimmed,
    /// Packets dropped for lack of space, headers included.
    dropped,
    /// Dropped headers, on their way to the receiver or back to the sender. SAI: `SAI_PORT_STAT_DROPPED_TRIM_PACKETS`.
    dropped_headers,
    /// Headers returned to their senders.
    returned,
    /// Packets without space whose senders got a notification; not in `dropped`.
    notified,
    /// Packets that got their first congestion mark (ECN).
    marked,
    /// Packets routed to this port that left by another (detour: OPF, DIBS).
    detoured,
}

impl PortCounters {
    /// Counts a drop for lack of space.
    pub fn count_dropped(&mut self, is_header: bool) {
        self.dropped += 1;
        self.dropped_headers += u64::from(is_header);
    }

    /// Adds counters of another port or time.
    pub fn add(&mut self, other: &PortCounters) {
        let (mut sums, others) = (self.values(), other.values());
        sums.iter_mut().zip(others).for_each(|(sum, other)| *sum += other);
        *self = PortCounters::from_values(sums);
    }

    /// Subtracts `before`, an earlier state of these counters.
    #[must_use]
    pub fn since(&self, before: &PortCounters) -> PortCounters {
        let (mut values, before) = (self.values(), before.values());
        values.iter_mut().zip(before).for_each(|(value, before)| *value -= before);
        PortCounters::from_values(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counter_values_round_trip_in_the_order_of_their_names() {
        let counters = PortCounters::from_values([1, 2, 3, 4, 5, 6, 7, 8, 9]);
        let names = [
            "packets",
            "bytes",
            "trimmed",
            "dropped",
            "dropped_headers",
            "returned",
            "notified",
            "marked",
            "detoured",
        ];
        assert_eq!(PortCounters::NAMES, names);
        assert_eq!(
            (counters.packets, counters.notified, counters.marked, counters.detoured),
            (1, 7, 8, 9)
        );
        assert_eq!(PortCounters::from_values(counters.values()), counters);
        let mut twice = counters;
        twice.add(&counters);
        assert_eq!(twice.values(), [2, 4, 6, 8, 10, 12, 14, 16, 18]);
        assert_eq!(twice.since(&counters), counters);
    }

    #[test]
    fn dropped_headers_have_a_counter_of_their_own() {
        let mut counters = PortCounters::default();
        for is_header in [true, false, true] {
            counters.count_dropped(is_header);
        }
        assert_eq!((counters.dropped, counters.dropped_headers), (3, 2));
    }
}
