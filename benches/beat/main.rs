//! `make bench`: every figure beside its floor of the same run. A floor is the least work that could do
//! the job, written as plainly as possible. Figures are medians; a wide spread is said.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on has nothing to say")]

mod floors;
mod hops;
mod report;

use report::Table;

fn main() {
    // `cargo test --benches` would run this for nothing.
    if std::env::args().any(|a| a == "--test") {
        return;
    }
    let only = std::env::args().skip(1).find(|a| !a.starts_with('-'));
    let runs = std::env::var("RUNS").ok().and_then(|r| r.parse().ok()).unwrap_or(5);
    let mut table = Table::new(runs);
    table.machine();
    let wanted = |name: &str| only.as_deref().is_none_or(|o| name.contains(o));
    if wanted("hops") {
        hops::durable(&mut table);
        hops::in_memory(&mut table);
    }
    if only.as_deref() == Some("profile") {
        hops::profile();
    }
    println!("\n{table}");
}
