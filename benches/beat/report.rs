//! Figures, floors and ratios, with their spread. Each line is printed as soon as it is known and again
//! in the table at the end.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Instant;

/// A line of the table.
struct Line {
    what: String,
    figures: Vec<f64>,
    floors: Vec<f64>,
    unit: &'static str,
    target: &'static str,
}

/// The table.
pub(crate) struct Table {
    /// The number of runs of everything.
    pub(crate) runs: usize,
    lines: Vec<Line>,
}

/// The value below which that share of the values lies.
pub(crate) fn quantile(values: &[f64], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    // Indexes of values are small enough for a float to be exact.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share of a length")]
    let place = (sorted.len() as f64 * share) as usize;
    sorted.get(place.min(sorted.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

pub(crate) fn median(values: &[f64]) -> f64 {
    quantile(values, 0.5)
}

/// A size, which an environment variable may override.
pub(crate) fn sized(variable: &str, usual: usize) -> usize {
    std::env::var(variable).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// Processor seconds of this process so far, and of its ended children: other work on the machine
/// hardly affects them. The kernel counts in hundredths.
pub(crate) fn worked() -> (f64, f64) {
    let ticks = ticks("self");
    ((ticks[0] + ticks[1]) / 100.0, (ticks[2] + ticks[3]) / 100.0)
}

/// Seconds that a process has worked.
pub(crate) fn worked_by(process: &str) -> f64 {
    let ticks = ticks(process);
    (ticks[0] + ticks[1]) / 100.0
}

/// Processor seconds of each thread of this process so far, by its name; threads of one name together.
pub(crate) fn worked_by_threads() -> BTreeMap<String, f64> {
    let mut by_name = BTreeMap::new();
    for thread in std::fs::read_dir("/proc/self/task").unwrap() {
        let read =
            |file| std::fs::read_to_string(thread.as_ref().unwrap().path().join(file)).unwrap_or_default();
        // A thread that ends meanwhile has nothing to read.
        let nanoseconds =
            read("schedstat").split_whitespace().next().map_or(0.0, |first| first.parse().unwrap());
        *by_name.entry(read("comm").trim().to_owned()).or_insert(0.0) += nanoseconds / 1e9;
    }
    by_name
}

/// Ticks of a process and of its ended children, in its own code and in the system's.
fn ticks(process: &str) -> Vec<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    // The program's name may contain anything and ends with the last bracket.
    let (_, fields) = stat.rsplit_once(')').unwrap();
    fields.split_whitespace().skip(11).take(4).map(|n| n.parse().unwrap()).collect()
}

/// The seconds that some work takes.
pub(crate) fn seconds<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let began = now();
    let made = work();
    (began.elapsed().as_secs_f64(), made)
}

impl Table {
    pub(crate) fn new(runs: usize) -> Table {
        Table { runs, lines: Vec::new() }
    }

    /// Prints the machine and its load.
    pub(crate) fn machine(&self) {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let cpus = read("/proc/cpuinfo").lines().filter(|l| l.starts_with("processor")).count();
        let model = read("/proc/cpuinfo");
        let model =
            model.lines().find_map(|l| l.strip_prefix("model name")).unwrap_or("").replace([':', '\t'], " ");
        println!("{cpus} processors,{model}; load {}", read("/proc/loadavg").trim());
        println!("{} runs each; the median is quoted, and the spread as lowest to highest", self.runs);
    }

    /// Adds figures with their floors, run by run; a NaN floor means no floor.
    pub(crate) fn add(&mut self, what: &str, unit: &'static str, target: &'static str, pairs: &[(f64, f64)]) {
        let line = Line {
            what: what.to_owned(),
            figures: pairs.iter().map(|p| p.0).collect(),
            floors: pairs.iter().map(|p| p.1).collect(),
            unit,
            target,
        };
        println!("{line}");
        self.lines.push(line);
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (figure, floor) = (median(&self.figures), median(&self.floors));
        let ratios: Vec<f64> = self.figures.iter().zip(&self.floors).map(|(a, b)| a / b).collect();
        let low = self.figures.iter().copied().fold(f64::INFINITY, f64::min);
        let high = self.figures.iter().copied().fold(0.0, f64::max);
        write!(f, "{:<50} {figure:>10.1} {:<6}", self.what, self.unit)?;
        if floor.is_finite() {
            write!(f, " floor {floor:>10.1}  ratio {:>5.2}", median(&ratios))?;
        } else {
            write!(f, "{:<31}", "")?;
        }
        write!(f, "  ({low:.1} to {high:.1})")?;
        if !self.target.is_empty() {
            write!(f, "  target {}", self.target)?;
        }
        Ok(())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}
