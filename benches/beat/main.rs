//! `make bench`: every figure next to its floor from the same run. A floor is the least work that could do the job,
//! written as plainly as possible. Figures are medians; a wide spread is reported. Arguments choose parts (`hops`,
//! `alone`, `memory`, `cold`, `idle`, `waiting`, `size`, `bytes`, `find`, `audit`, `reopen`, `threads`, `fairness`,
//! `hostile`, `validation`, `extraction`, `words`, `search`, `door`, `pages`, `carrier`, `far`, and `peers` only if
//! it is named); `docs/reference/performance.md` lists the variables that change their sizes.
#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on has nothing to say")]
#![expect(clippy::indexing_slicing, reason = "a benchmark that cannot go on has nothing to say")]

mod audit;
mod broker;
mod bytes;
mod callers;
mod carrier;
mod child;
mod cold;
mod door;
mod extraction;
mod fairness;
mod far;
mod far_log;
mod find;
mod floors;
mod grown;
mod hops;
mod hostile;
mod pages;
mod peers;
mod reopen;
mod report;
mod route;
mod search;
mod size;
mod validation;
mod waiting;
mod walk;
mod words;

use report::Table;

/// Measures something and adds it to the table.
type Measure = fn(&mut Table);

/// The parts, in running order.
const PARTS: [(&str, Measure); 22] = [
    ("hops", hops::durable),
    ("alone", hops::alone),
    ("memory", hops::in_memory),
    ("cold", cold::start),
    ("idle", cold::idle),
    ("waiting", waiting::threads),
    ("size", size::on_disk),
    ("bytes", bytes::of_turns),
    ("find", find::in_a_log),
    ("audit", audit::of_a_log),
    ("reopen", reopen::messages),
    ("threads", reopen::threads),
    ("fairness", fairness::beside_a_bad_one),
    ("hostile", hostile::refusals),
    ("validation", validation::cost),
    ("extraction", extraction::cost),
    ("words", words::on_a_terminal),
    ("search", search::of_source),
    ("door", door::calls),
    ("pages", pages::beside),
    ("carrier", carrier::calls),
    ("far", far::over_nats),
];

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let Some(("--child", rest)) = arguments.split_first().map(|(first, rest)| (first.as_str(), rest)) {
        return child::run(rest);
    }
    // `cargo test --benches` would run this without need.
    if arguments.iter().any(|a| a == "--test") {
        return;
    }
    if arguments.iter().any(|a| a == "profile") {
        return hops::profile();
    }
    let chosen: Vec<&String> = arguments.iter().filter(|a| !a.starts_with('-')).collect();
    let mut table = Table::new(report::sized("RUNS", 5));
    table.machine();
    // They are installed first, so they run only if they are asked for.
    if chosen.iter().any(|chosen| *chosen == "peers") {
        peers::beside(&mut table);
    }
    for (name, measure) in PARTS {
        if chosen.is_empty() || chosen.iter().any(|c| *c == name) {
            measure(&mut table);
        }
    }
    println!("\n{table}");
}
