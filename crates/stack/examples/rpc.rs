use trimline_stack::testbed::{namespace, rpc};
fn main() {
    namespace::become_root().unwrap();
    for carrier in rpc::Carrier::ALL {
        for polls in [true, false] {
            match rpc::measure(carrier, polls, 20_000) {
                Ok(h) => println!("{:22} {:8} {:6.1} {:6.1} {:6.1}", carrier.name(), if polls {"polling"} else {"blocking"}, h.value_at_quantile(0.5) as f64/1e3, h.value_at_quantile(0.9) as f64/1e3, h.value_at_quantile(0.99) as f64/1e3),
                Err(e) => println!("{} {polls} {e}", carrier.name()),
            }
        }
    }
}
