//! `systole-simulate`: runs seeds and prints its findings. Arguments: the number of seeds, and the first seed;
//! or one seed in the environment as `SEED`, which is run and printed in full. Exits with 1 if something is
//! wrong, with 2 if nothing could be run.

use std::io::Write as _;
use std::process::ExitCode;
use std::thread;
use std::time::Instant;

use systole_simulator::{play, sweep};

/// The number of failures after which it stops looking for more.
const ENOUGH: usize = 5;

const USAGE: &str = "usage: systole-simulate [SEEDS [FIRST]], or with SEED=N in the environment";

fn number(text: String) -> Result<u64, &'static str> {
    text.replace('_', "").parse().map_err(|_| USAGE)
}

fn main() -> ExitCode {
    match run() {
        Ok(is_clean) => ExitCode::from(u8::from(!is_clean)),
        Err(words) => {
            let _closed = writeln!(std::io::stderr().lock(), "{words}");
            ExitCode::from(2)
        }
    }
}

/// Whether nothing is wrong.
fn run() -> Result<bool, &'static str> {
    let mut out = std::io::stdout().lock();
    if let Some(seed) = std::env::var("SEED").ok().map(number).transpose()? {
        let outcome = play(seed, None);
        let _closed = writeln!(out, "{outcome}");
        return Ok(outcome.findings.is_empty());
    }
    let mut arguments = std::env::args().skip(1).map(number);
    let seeds = arguments.next().transpose()?.unwrap_or(2_000);
    let first = arguments.next().transpose()?.unwrap_or(0);
    let threads = thread::available_parallelism().map_or(1, usize::from);
    #[expect(clippy::disallowed_methods, reason = "how long it took is told to a person, and nothing else")]
    let started = Instant::now();
    let swept = sweep(first..first.saturating_add(seeds), None, threads, ENOUGH);
    let seconds = started.elapsed().as_secs_f64();
    for outcome in &swept.failed {
        let _closed = writeln!(out, "{outcome}\nrepeat it with: make seed SEED={}\n", outcome.seed);
    }
    for (what, count) in &swept.counts {
        let _closed = writeln!(out, "{count:>12} {what}");
    }
    let hours = swept.simulated_ms / 3_600_000;
    let rate = swept.seeds as f64 / seconds.max(0.001);
    let _closed = writeln!(
        out,
        "{} seeds, {} records, {hours} simulated hours in {seconds:.1} s: {rate:.0} seeds a second; {} failed",
        swept.seeds,
        swept.records,
        swept.failed.len()
    );
    Ok(swept.failed.is_empty())
}
