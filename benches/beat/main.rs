//! `make bench`: every figure next to its floor from the same run. A floor is the least work that could do the job,
//! written as plainly as possible. Figures are medians; a wide spread is reported. Arguments choose parts (`hops`,
//! `alone`, `memory`, `cold`, `idle`, `waiting`, `size`, `bytes`, `find`, `lists`, `audit`, `reopen`, `threads`, `fairness`,
//! `hostile`, `validation`, `extraction`, `words`, `search`, `door`, `foreign`, `pages`, `carrier`, `far`, and `peers` only if
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
mod foreign;
mod grown;
mod hops;
mod hostile;
mod lists;
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

/// The parts, in running order. The comment of each says what is measured, the floor and the variables;
/// `docs/reference/performance.md` has them as a table.
const PARTS: [(&str, Measure); 24] = [
    // durable hops, 64 and 1,024 walkers in flight, payloads of 600 bytes; the writer of the log alone | plain
    // rusqlite inserts of the same records, in batches as large as there are walkers | `HOPS` 200,000
    ("hops", hops::durable),
    // one hop at a time | one fdatasync of 1 KB, in place and growing; one SQLite commit of each record | `ALONE`
    // 2,000
    ("alone", hops::alone),
    // the memory log, one and two validator threads | quick-xml reads, libxml2 validates, channels pass it on | `HOPS`
    ("memory", hops::in_memory),
    // start of a process to the first durable delivery, ten Rust listeners | start of the same program to its first
    // output | `STARTS` 20
    ("cold", cold::start),
    // `systole run` with ten programs and no work | the same for a program that only waits |
    ("idle", cold::idle),
    // threads that wait for a timer, a person or a child | the same organism with none | `WAITING` 10,000
    ("waiting", waiting::threads),
    // the file of a closed log with bodies of 1 KB, per record | the payloads | `RECORDS` 20,000
    ("size", size::on_disk),
    // the same for each turn of an agent's thread of 10, 100 and 400 | the new text of a turn |
    ("bytes", bytes::of_turns),
    // `systole find` in a log of a million records: making the search file, a rare and a common word, after 1,000 new
    // records | all bodies read with rusqlite | `FOUND` 1,000,000
    ("find", find::in_a_log),
    // the index of a log of a million records; a page of failed threads over HTTP, of 10,000 | the first `systole
    // find` in it; the same of a hundredth of the threads | `FOUND`, `LISTED` 10,000
    ("lists", lists::of_threads),
    // on such a log: `systole verify`; `systole export` of ten records, with and without proof | SHA-256 of each body;
    // an export from a log of a hundredth | `AUDITED` 1,000,000
    ("audit", audit::of_a_log),
    // opening a log of a million messages; the next message in a long thread | the newest 10,000 rows read with
    // rusqlite; a short thread | `MESSAGES` 1,000,000
    ("reopen", reopen::messages),
    // memory with a million idle threads | the same after as many messages on an empty log | `THREADS` 1,000,000,
    // `TOUCHED` 1,000
    ("threads", reopen::threads),
    // p99 of a walker's hops beside a listener that hangs, and a slow one; target at most 2 | the same walker alone |
    // `FAIR` 4,000
    ("fairness", fairness::beside_a_bad_one),
    // milliseconds until each attack of the table of attacks, as large as a message may be, is refused; target at most
    // 10 | a valid message of the same size |
    ("hostile", hostile::refusals),
    // microseconds to judge payloads of several shapes, alone and with the gate; memory over many names | strict
    // libxml2 alone | `JUDGED` 5,000,000
    ("validation", validation::cost),
    // megabytes of a model's answer taken apart in a second of processor time, in portions of four bytes; target at
    // least 200 | each portion kept, and each of its bytes read |
    ("extraction", extraction::cost),
    // from the mock provider's first words until they can be read behind the terminal of `systole ask`; target below
    // 200 ms | the same bytes over a bare TCP connection | `QUESTIONS` 10
    ("words", words::on_a_terminal),
    // the listener of code searches this source tree | ripgrep for the longest word |
    ("search", search::of_source),
    // calls through the HTTP door, 1, 32 and 64 in flight, to listeners of three kinds, also with `Systole-Wait` and
    // beside 64 watchers | the same HTTP server with a constant receipt | `CALLS` 10,000; `DOOR`, a part of the name
    // of a case
    ("door", door::calls),
    // runs through the doors for the OpenAI API, AG-UI, MCP and A2A, 8 in flight; calls beside 200 idle streams of them;
    // the first words of a model in their streams | the same call of `/v1/messages` with `Systole-Wait`; without the
    // streams; the same bytes over a bare TCP connection | `FOREIGN_RUNS` 2,000, `FOREIGN_CALLS` 2,000, `QUESTIONS` 10
    ("foreign", foreign::doors),
    // calls through the HTTP door, 32 in flight, beside 64 open pages of the console | the same calls without a page |
    // `PAGES` 64, `PAGE_CALLS` 60,000
    ("pages", pages::beside),
    // calls to a program in Rust and in Python, over stdin and over NATS, 1, 32 and 64 in flight; the broker does not
    // sync | a bare request and reply between two such processes | `CALLS` 20,000; `CARRIER`, a part of the name of a
    // case
    ("carrier", carrier::calls),
    // the log in NATS, with a nats-server that syncs each message: one hop, 64 and 1,024 in flight, a copy made again,
    // threads at rest | plain async-nats publishes; a pull consumer; the same organism with its log in a file |
    // `ALONE`, `HOPS`, `BUNDLES` 5,000, `COPIED` 100,000, `FAR_THREADS` 100,000
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
