//! OPF's program, checked with `vectors/detour`.

mod bench;
mod mutations;
mod real;
#[cfg(test)]
mod tests;

pub(super) use bench::hold;
pub(super) use mutations::check_all as check_mutations;
pub(super) use real::compare;
