//! Figures, floors and ratios, and how far they spread.

use std::fmt;
use std::time::Instant;

/// A line of the table.
struct Line {
    what: String,
    figures: Vec<f64>,
    floors: Vec<f64>,
    unit: &'static str,
    target: &'static str,
    less_is_better: bool,
}

/// The table.
pub(crate) struct Table {
    /// How often everything is run.
    pub(crate) runs: usize,
    lines: Vec<Line>,
}

pub(crate) fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Seconds that some work takes.
pub(crate) fn seconds<T>(work: impl FnOnce() -> T) -> (f64, T) {
    #[expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
    let began = Instant::now();
    let made = work();
    (began.elapsed().as_secs_f64(), made)
}

impl Table {
    pub(crate) fn new(runs: usize) -> Table {
        Table { runs, lines: Vec::new() }
    }

    /// What the machine is and does meanwhile.
    pub(crate) fn machine(&self) {
        let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
        let cpus = read("/proc/cpuinfo").lines().filter(|l| l.starts_with("processor")).count();
        let model = read("/proc/cpuinfo");
        let model =
            model.lines().find_map(|l| l.strip_prefix("model name")).unwrap_or("").replace([':', '\t'], " ");
        println!("{cpus} processors,{model}; load {}", read("/proc/loadavg").trim());
        println!("{} runs each; the median is quoted, and the spread as lowest to highest", self.runs);
    }

    /// Adds figures of which more is better, with their floors run by run.
    pub(crate) fn rate(
        &mut self,
        what: &str,
        unit: &'static str,
        target: &'static str,
        pairs: &[(f64, f64)],
    ) {
        self.add(what, unit, target, pairs, false);
    }

    /// Adds figures of which less is better.
    pub(crate) fn cost(
        &mut self,
        what: &str,
        unit: &'static str,
        target: &'static str,
        pairs: &[(f64, f64)],
    ) {
        self.add(what, unit, target, pairs, true);
    }

    fn add(
        &mut self,
        what: &str,
        unit: &'static str,
        target: &'static str,
        pairs: &[(f64, f64)],
        less: bool,
    ) {
        let line = Line {
            what: what.to_owned(),
            figures: pairs.iter().map(|p| p.0).collect(),
            floors: pairs.iter().map(|p| p.1).collect(),
            unit,
            target,
            less_is_better: less,
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
        write!(f, "{:<44} {figure:>10.1} {:<6}", self.what, self.unit)?;
        if floor.is_finite() {
            write!(f, " floor {floor:>10.1}  ratio {:>5.2}", median(&ratios))?;
        }
        write!(f, "  ({low:.1} to {high:.1})")?;
        if !self.target.is_empty() {
            write!(
                f,
                "  target {}{}",
                if self.less_is_better { "at most " } else { "at least " },
                self.target
            )?;
        }
        Ok(())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines.iter().try_for_each(|line| writeln!(f, "{line}"))
    }
}
