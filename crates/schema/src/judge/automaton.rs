//! Runs a pattern: all its states side by side, one pass over the value, no backtracking.
//!
//! A program of steps comes in from the pattern reader; yes or no, or a sample value, goes out.

use super::classes;

/// A set of characters.
#[derive(Clone, Debug)]
pub(crate) struct CharacterClass {
    pub(crate) negated: bool,
    pub(crate) members: Vec<ClassMember>,
    /// The set that is subtracted, as in `[a-z-[aeiou]]`.
    pub(crate) without: Option<Box<CharacterClass>>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum ClassMember {
    Char(char),
    Range(char, char),
    Digit { negated: bool },
    Space { negated: bool },
    Word { negated: bool },
    NameStart { negated: bool },
    NameChar { negated: bool },
}

impl ClassMember {
    fn has_char(self, c: char) -> bool {
        match self {
            Self::Char(only) => c == only,
            Self::Range(low, high) => (low..=high).contains(&c),
            Self::Digit { negated } => classes::is_digit(c) != negated,
            Self::Space { negated } => matches!(c, ' ' | '\t' | '\n' | '\r') != negated,
            Self::Word { negated } => classes::is_word(c) != negated,
            Self::NameStart { negated } => classes::is_name_start(c) != negated,
            Self::NameChar { negated } => classes::is_name_char(c) != negated,
        }
    }
}

impl CharacterClass {
    pub(crate) fn from_members(members: Vec<ClassMember>) -> Self {
        Self { negated: false, members, without: None }
    }

    pub(crate) fn from_excluded(members: Vec<ClassMember>) -> Self {
        Self { negated: true, members, without: None }
    }

    pub(crate) fn has_char(&self, c: char) -> bool {
        let found = self.members.iter().any(|member| member.has_char(c)) != self.negated;
        found && !self.without.as_ref().is_some_and(|without| without.has_char(c))
    }

    /// Whether it names a category of Unicode.
    pub(crate) fn has_categories(&self) -> bool {
        let is_category = |member: &ClassMember| {
            !matches!(member, ClassMember::Char(_) | ClassMember::Range(..) | ClassMember::Space { .. })
        };
        self.members.iter().any(is_category)
            || self.without.as_ref().is_some_and(|without| without.has_categories())
    }

    /// The characters at which the set begins or ends, and their neighbours.
    pub(crate) fn collect_edges(&self, into: &mut Vec<char>) {
        for member in &self.members {
            let (low, high) = match member {
                ClassMember::Char(c) => (*c, *c),
                ClassMember::Range(low, high) => (*low, *high),
                _ => continue,
            };
            let beside = [u32::from(low).checked_sub(1), u32::from(high).checked_add(1)];
            into.extend(
                [low, high].into_iter().chain(beside.into_iter().flatten().filter_map(char::from_u32)),
            );
        }
        if let Some(without) = &self.without {
            without.collect_edges(into);
        }
    }

    /// A plain character of the set: readable ones first.
    fn sample(&self) -> Option<char> {
        let lows = self.members.iter().filter_map(|member| match member {
            ClassMember::Char(c) | ClassMember::Range(c, _) => Some(*c),
            _ => None,
        });
        let readable = ['a', 'A', '1', '0', '-', '_', '.', ' '].into_iter().chain('b'..='z').chain('B'..='Z');
        let all = readable.chain('2'..='9').chain(lows).chain('!'..='~');
        let mut found = all.filter(|c| self.has_char(*c));
        // For a set given as a range, its first character is a better sample than a letter that happens
        // to fit.
        let first = self.members.first().and_then(|member| match member {
            ClassMember::Range(low, _) if !self.negated && self.has_char(*low) => Some(*low),
            _ => None,
        });
        first.or_else(|| found.next())
    }
}

#[derive(Clone, Debug)]
enum ProgramStep {
    Class(CharacterClass),
    /// Continues at the next step and at the other one.
    Split(usize),
    Jump(usize),
    Done,
}

/// The steps of a pattern. `split` and `jump` give the place of a step whose target `land` sets.
#[derive(Clone, Debug, Default)]
pub(crate) struct PatternProgram {
    steps: Vec<ProgramStep>,
}

impl PatternProgram {
    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    pub(crate) fn push_class(&mut self, class: CharacterClass) {
        self.steps.push(ProgramStep::Class(class));
    }

    pub(crate) fn push_split(&mut self) -> usize {
        self.steps.push(ProgramStep::Split(0));
        self.steps.len().saturating_sub(1)
    }

    pub(crate) fn push_jump(&mut self) -> usize {
        self.steps.push(ProgramStep::Jump(0));
        self.steps.len().saturating_sub(1)
    }

    pub(crate) fn jump_back(&mut self, target: usize) {
        self.steps.push(ProgramStep::Jump(target));
    }

    /// Sets the target of an earlier split or jump to the next step.
    pub(crate) fn land_at(&mut self, step: usize) {
        let here = self.steps.len();
        if let Some(ProgramStep::Split(target) | ProgramStep::Jump(target)) = self.steps.get_mut(step) {
            *target = here;
        }
    }

    pub(crate) fn finish(&mut self) {
        self.steps.push(ProgramStep::Done);
    }

    /// The steps that read a character.
    pub(crate) fn readers<'p>(&'p self) -> Vec<(usize, &'p CharacterClass)> {
        let reader = |(at, step): (usize, &'p ProgramStep)| match step {
            ProgramStep::Class(class) => Some((at, class)),
            _ => None,
        };
        self.steps.iter().enumerate().filter_map(reader).collect()
    }

    /// The steps that can come first.
    pub(crate) fn first(&self) -> Vec<usize> {
        self.close_over(vec![0])
    }

    /// The steps that can follow a step that reads a character.
    pub(crate) fn follow_from(&self, at: usize) -> Vec<usize> {
        self.close_over(vec![at.saturating_add(1)])
    }

    pub(crate) fn is_match(&self, value: &str) -> bool {
        let mut states = self.close_over(vec![0]);
        for c in value.chars() {
            let next =
                states.iter().filter(|at| self.can_take(**at, c)).map(|at| at.saturating_add(1)).collect();
            states = self.close_over(next);
            if states.is_empty() {
                return false;
            }
        }
        states.iter().any(|at| self.is_done(*at))
    }

    /// Searches breadth first, so the first value that ends is a shortest one.
    pub(crate) fn find_sample(&self, least: usize) -> Option<String> {
        let mut layer: Vec<(usize, String)> =
            self.close_over(vec![0]).into_iter().map(|at| (at, String::new())).collect();
        for length in 0..=crate::limits::SAMPLE {
            if length >= least
                && let Some((_, found)) = layer.iter().find(|(at, _)| self.is_done(*at))
            {
                return Some(found.clone());
            }
            let mut seen = vec![false; self.steps.len()];
            let mut next = Vec::new();
            for (at, text) in layer {
                let Some(ProgramStep::Class(class)) = self.steps.get(at) else { continue };
                let Some(c) = class.sample() else { continue };
                let mut longer = text;
                longer.push(c);
                for state in self.close_over(vec![at.saturating_add(1)]) {
                    if let Some(mark) = seen.get_mut(state).filter(|mark| !**mark) {
                        *mark = true;
                        next.push((state, longer.clone()));
                    }
                }
            }
            layer = next;
        }
        None
    }

    fn can_take(&self, at: usize, c: char) -> bool {
        matches!(self.steps.get(at), Some(ProgramStep::Class(class)) if class.has_char(c))
    }

    fn is_done(&self, at: usize) -> bool {
        matches!(self.steps.get(at), Some(ProgramStep::Done))
    }

    /// Follows splits and jumps until only steps are left that take a character or end.
    fn close_over(&self, mut open: Vec<usize>) -> Vec<usize> {
        let mut seen = vec![false; self.steps.len()];
        let mut states = Vec::new();
        open.reverse();
        while let Some(at) = open.pop() {
            let Some(mark) = seen.get_mut(at) else { continue };
            if std::mem::replace(mark, true) {
                continue;
            }
            match self.steps.get(at) {
                Some(ProgramStep::Jump(target)) => open.push(*target),
                Some(ProgramStep::Split(target)) => {
                    open.push(*target);
                    open.push(at.saturating_add(1));
                }
                Some(ProgramStep::Class(_) | ProgramStep::Done) => states.push(at),
                None => {}
            }
        }
        states
    }
}
