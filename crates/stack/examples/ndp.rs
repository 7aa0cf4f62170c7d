//! One carrier.
use trimline_stack::testbed::{namespace, rpc};
fn main() {
    namespace::become_root().unwrap();
    let h = rpc::measure(rpc::Carrier::Ndp, true, 150_000).unwrap();
    println!("{} {}", h.value_at_quantile(0.5), h.min());
}
