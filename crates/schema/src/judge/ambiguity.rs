//! Detects patterns that can read one value in very many ways, or that libxml2 cannot count in.
//!
//! libxml2 tries those ways one after another: `(a|aa)+x` against sixty letters costs it a second, and the
//! sender of the letters decides when. A pattern's steps come in; yes or no goes out. The check compares
//! pairs and triples of steps that read the same text side by side, and never looks at a value.

use std::collections::{HashSet, VecDeque};

use crate::judge::automaton::{CharacterClass, PatternProgram};
use crate::limits;

/// The letters for comparing classes, in addition to those that the classes name.
const OTHERS: [char; 8] = ['é', 'Ā', '٣', 'ー', '中', '\u{a0}', '\u{2028}', '😀'];

/// The steps of a pattern that read a character, and which can follow which.
struct ProgramGraph {
    follows: Vec<Vec<usize>>,
    /// The steps that can come first.
    starts: Vec<usize>,
    /// Per step, which of the compared letters it reads.
    reads: Vec<Vec<bool>>,
}

/// Whether some text leads from a step back to itself in two ways; the ways then double with each turn.
pub(crate) fn has_doubles(program: &PatternProgram) -> bool {
    let graph = ProgramGraph::from_program(program);
    let mut left = limits::TANGLED_STATES;
    (0..graph.follows.len()).any(|step| {
        // Two walks that separate at `step`, read the same text, and meet in `step` again.
        let mut seen = HashSet::new();
        let mut open = VecDeque::from([(step, step, false)]);
        while let Some((a, b, parted)) = open.pop_front() {
            for next in graph.list_pairs(a, b) {
                let parted = parted || next.0 != next.1;
                if next == (step, step) && parted {
                    return true;
                }
                if seen.insert((next, parted)) {
                    left = left.saturating_sub(1);
                    open.push_back((next.0, next.1, parted));
                }
            }
            if left == 0 {
                return true;
            }
        }
        false
    })
}

/// Whether two consecutive repetitions can read the same text, so that every position is a possible border
/// between them.
pub(crate) fn has_overlaps(program: &PatternProgram) -> bool {
    let graph = ProgramGraph::from_program(program);
    let mut left = limits::TANGLED_STATES;
    let loops: Vec<usize> = (0..graph.follows.len()).filter(|step| graph.can_reach(*step, *step)).collect();
    let pairs = loops.iter().flat_map(|p| loops.iter().map(move |q| (*p, *q)));
    pairs.filter(|(p, q)| p != q && graph.can_reach(*p, *q)).any(|(p, q)| {
        // Three walks over one text: p to p, p to q, q to q.
        let mut seen = HashSet::new();
        let mut open = VecDeque::from([(p, p, q)]);
        while let Some((a, b, c)) = open.pop_front() {
            for (a, b) in graph.list_pairs(a, b) {
                for c in graph.list_followers(c).iter().copied() {
                    if !graph.can_meet(&[a, b, c]) {
                        continue;
                    }
                    if (a, b, c) == (p, q, q) {
                        return true;
                    }
                    if seen.insert((a, b, c)) {
                        left = left.saturating_sub(1);
                        open.push_back((a, b, c));
                    }
                }
            }
            if left == 0 {
                return true;
            }
        }
        false
    })
}

/// Whether some text leads to two steps at once. In that case libxml2 miscounts `{n,m}`, admitting `aa` for
/// `(a{2}aa|a)`, and overlooks what `-[ ]` excludes, refusing `c` for `[a-c-[b]]*[^a]`.
pub(crate) fn has_forks(program: &PatternProgram) -> bool {
    let graph = ProgramGraph::from_program(program);
    std::iter::once(&graph.starts).chain(&graph.follows).any(|next| {
        let pairs = next.iter().flat_map(|a| next.iter().map(move |b| (*a, *b)));
        pairs.filter(|(a, b)| a < b).any(|(a, b)| graph.can_meet(&[a, b]))
    })
}

impl ProgramGraph {
    fn from_program(program: &PatternProgram) -> Self {
        let steps = program.readers();
        let mut letters: Vec<char> = ('\0'..='\u{7f}').chain(OTHERS).collect();
        steps.iter().for_each(|(_, class)| class.collect_edges(&mut letters));
        letters.sort_unstable();
        letters.dedup();
        let number = |at: &usize| steps.iter().position(|(known, _)| known == at);
        let reads = |class: &CharacterClass| letters.iter().map(|c| class.has_char(*c)).collect();
        Self {
            follows: steps
                .iter()
                .map(|(at, _)| program.follow_from(*at).iter().filter_map(number).collect())
                .collect(),
            starts: program.first().iter().filter_map(number).collect(),
            reads: steps.iter().map(|(_, class)| reads(class)).collect(),
        }
    }

    fn list_followers(&self, step: usize) -> &[usize] {
        self.follows.get(step).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether one letter is read by all these steps.
    fn can_meet(&self, steps: &[usize]) -> bool {
        let letters = self.reads.first().map_or(0, Vec::len);
        let reads = |step: &usize, letter: usize| {
            self.reads.get(*step).and_then(|reads| reads.get(letter)).copied().unwrap_or_default()
        };
        (0..letters).any(|letter| steps.iter().all(|step| reads(step, letter)))
    }

    fn list_pairs(&self, a: usize, b: usize) -> Vec<(usize, usize)> {
        let all =
            self.list_followers(a).iter().flat_map(|a| self.list_followers(b).iter().map(move |b| (*a, *b)));
        all.filter(|(a, b)| self.can_meet(&[*a, *b])).collect()
    }

    fn can_reach(&self, from: usize, to: usize) -> bool {
        let mut seen = HashSet::new();
        let mut open = vec![from];
        while let Some(step) = open.pop() {
            for next in self.list_followers(step) {
                if *next == to {
                    return true;
                }
                if seen.insert(*next) {
                    open.push(*next);
                }
            }
        }
        false
    }
}
