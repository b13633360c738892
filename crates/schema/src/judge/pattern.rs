//! Reads the pattern facet: the regular expressions of XSD 1.0, without Unicode properties.
//!
//! The text of a pattern comes in. A `CompiledPattern` that matches whole values in linear time goes out, or the
//! reason for a refusal. It never backtracks, and it refuses a pattern that would unfold beyond `STEPS`.

use crate::judge::ambiguity;
use crate::judge::automaton::{CharacterClass, ClassMember, PatternProgram};
use crate::limits::{self, PATTERN_STEPS};

/// A pattern facet, ready to match.
#[derive(Clone, Debug)]
pub(crate) struct CompiledPattern {
    /// As written in the schema.
    pub(crate) source: String,
    pub(crate) tree: PatternTree,
    program: PatternProgram,
}

impl CompiledPattern {
    /// Reads a pattern or reports why it is refused.
    pub(crate) fn parse(source: &str) -> Result<Self, String> {
        let mut reader = PatternParser { rest: source.chars().collect::<Vec<_>>(), at: 0, nesting: 0 };
        let tree = reader.read_alternatives()?;
        match reader.peek() {
            None => {}
            Some(c) => return Err(format!("an unexpected {c}")),
        }
        let program = tree.to_program()?;
        if tree.has_starred_branch() {
            return Err("libxml2 runs an alternative that may repeat or be empty into its neighbours; \
                        write (a+|b)? instead of (a*|b)"
                .to_owned());
        }
        let looped = tree.to_loop().to_program()?;
        if ambiguity::has_doubles(&looped) || ambiguity::has_overlaps(&looped) {
            return Err("its repetitions overlap, so that one value can be read in very many ways; \
                        let them read different characters, as [^@]+@[^@]+ instead of .+@.+"
                .to_owned());
        }
        if tree.is_delicate() && ambiguity::has_forks(&looped) {
            return Err(
                "two parts can read the same character beside a { }, a -[ ] or a | with repetitions, and libxml2 errs \
                        there; \
                        let each character belong to one part only"
                    .to_owned(),
            );
        }
        Ok(Self { source: source.to_owned(), tree, program })
    }

    /// The number of steps that it unfolds into.
    pub(crate) fn steps(&self) -> usize {
        self.program.len()
    }

    /// Whether the whole value matches.
    pub(crate) fn is_match(&self, value: &str) -> bool {
        self.program.is_match(value)
    }

    /// A shortest value of at least `least` characters that matches.
    pub(crate) fn find_sample(&self, least: usize) -> Option<String> {
        self.program.find_sample(least)
    }
}

/// A parsed pattern, before it is unfolded.
#[derive(Clone, Debug)]
pub(crate) enum PatternTree {
    One(CharacterClass),
    Row(Vec<PatternTree>),
    Either(Vec<PatternTree>),
    Repeat { what: Box<PatternTree>, least: usize, most: Option<usize> },
}

impl PatternTree {
    fn to_program(&self) -> Result<PatternProgram, String> {
        let mut program = PatternProgram::default();
        self.emit_steps(&mut program)?;
        program.finish();
        Ok(program)
    }

    /// Whether it contains something that libxml2 reads correctly only without forks: a count, a class
    /// with another subtracted, or a repetition inside one of several alternatives.
    fn is_delicate(&self) -> bool {
        match self {
            Self::One(class) => class.without.is_some(),
            Self::Row(parts) => parts.iter().any(Self::is_delicate),
            Self::Either(branches) => {
                let several = branches.len() > 1;
                branches.iter().any(|branch| branch.is_delicate() || (several && branch.has_repeats()))
            }
            Self::Repeat { what, least, most } => {
                what.is_delicate() || *least > 1 || most.is_some_and(|most| most > 1)
            }
        }
    }

    /// Whether one of several alternatives is `x*` as a whole: libxml2 admits `bx` for `(x*|b)` if the
    /// characters are classes.
    fn has_starred_branch(&self) -> bool {
        match self {
            Self::One(_) => false,
            Self::Row(parts) => parts.iter().any(Self::has_starred_branch),
            Self::Either(branches) => {
                let several = branches.len() > 1;
                branches.iter().any(|branch| branch.has_starred_branch() || (several && branch.is_star()))
            }
            Self::Repeat { what, .. } => what.has_starred_branch(),
        }
    }

    fn is_star(&self) -> bool {
        match self {
            Self::Row(parts) | Self::Either(parts) => matches!(parts.as_slice(), [only] if only.is_star()),
            Self::Repeat { what, least, most } => (*least == 0 && most.is_none()) || what.is_star(),
            Self::One(_) => false,
        }
    }

    fn has_repeats(&self) -> bool {
        match self {
            Self::One(_) => false,
            Self::Row(parts) | Self::Either(parts) => parts.iter().any(Self::has_repeats),
            Self::Repeat { what, most, .. } => what.has_repeats() || most.is_none_or(|most| most > 1),
        }
    }

    /// The same pattern with every count made a loop. libxml2 miscounts if one counted repetition can run
    /// into another, so they follow the same rule as loops.
    fn to_loop(&self) -> Self {
        let all = |trees: &[Self]| trees.iter().map(Self::to_loop).collect();
        match self {
            Self::One(class) => Self::One(class.clone()),
            Self::Row(parts) => Self::Row(all(parts)),
            Self::Either(branches) => Self::Either(all(branches)),
            Self::Repeat { what, least, most } => {
                let what = Box::new(what.to_loop());
                let most = most.filter(|most| *most <= 1);
                Self::Repeat { what, least: (*least).min(1), most }
            }
        }
    }

    fn emit_steps(&self, program: &mut PatternProgram) -> Result<(), String> {
        if program.len() > PATTERN_STEPS {
            return Err(format!("it unfolds into more than {PATTERN_STEPS} steps"));
        }
        match self {
            Self::One(class) => program.push_class(class.clone()),
            Self::Row(parts) => parts.iter().try_for_each(|part| part.emit_steps(program))?,
            Self::Either(branches) => {
                let mut ends = Vec::new();
                for (at, branch) in branches.iter().enumerate() {
                    if at.saturating_add(1) == branches.len() {
                        branch.emit_steps(program)?;
                        break;
                    }
                    let split = program.push_split();
                    branch.emit_steps(program)?;
                    ends.push(program.push_jump());
                    program.land_at(split);
                }
                ends.into_iter().for_each(|jump| program.land_at(jump));
            }
            Self::Repeat { what, least, most } => {
                for _ in 0..*least {
                    what.emit_steps(program)?;
                }
                match most {
                    None => {
                        let start = program.len();
                        let split = program.push_split();
                        what.emit_steps(program)?;
                        program.jump_back(start);
                        program.land_at(split);
                    }
                    Some(most) => {
                        let mut splits = Vec::new();
                        for _ in *least..*most {
                            splits.push(program.push_split());
                            what.emit_steps(program)?;
                        }
                        splits.into_iter().for_each(|split| program.land_at(split));
                    }
                }
            }
        }
        Ok(())
    }
}

struct PatternParser {
    rest: Vec<char>,
    at: usize,
    nesting: usize,
}

impl PatternParser {
    fn peek(&self) -> Option<char> {
        self.rest.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.at = self.at.saturating_add(1);
        Some(c)
    }

    fn take_if(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at = self.at.saturating_add(1);
        }
        found
    }

    fn enter_group(&mut self) -> Result<(), String> {
        self.nesting = self.nesting.saturating_add(1);
        if self.nesting > limits::PATTERN_DEPTH { Err("it is nested too deep".to_owned()) } else { Ok(()) }
    }

    fn read_alternatives(&mut self) -> Result<PatternTree, String> {
        self.enter_group()?;
        let mut branches = vec![self.read_row()?];
        while self.take_if('|') {
            branches.push(self.read_row()?);
        }
        self.nesting = self.nesting.saturating_sub(1);
        Ok(PatternTree::Either(branches))
    }

    fn read_row(&mut self) -> Result<PatternTree, String> {
        let mut parts = Vec::new();
        while let Some(c) = self.peek() {
            if matches!(c, '|' | ')') {
                break;
            }
            let atom = self.read_atom()?;
            parts.push(self.read_repetition(atom)?);
        }
        Ok(PatternTree::Row(parts))
    }

    fn read_atom(&mut self) -> Result<PatternTree, String> {
        match self.next() {
            Some('(') => {
                let inner = self.read_alternatives()?;
                if self.take_if(')') { Ok(inner) } else { Err("a ( is never closed".to_owned()) }
            }
            Some('[') => Ok(PatternTree::One(self.read_class()?)),
            Some('.') => Ok(PatternTree::One(CharacterClass::from_excluded(vec![
                ClassMember::Char('\n'),
                ClassMember::Char('\r'),
            ]))),
            Some('\\') => Ok(PatternTree::One(CharacterClass::from_members(vec![self.read_escape()?]))),
            Some(c @ ('?' | '*' | '+' | '{' | '}' | ']')) => Err(format!("a {c} with nothing before it")),
            Some(c) => Ok(PatternTree::One(CharacterClass::from_members(vec![ClassMember::Char(c)]))),
            None => Err("it ends too early".to_owned()),
        }
    }

    fn read_repetition(&mut self, atom: PatternTree) -> Result<PatternTree, String> {
        let (least, most) = match self.peek() {
            Some('?') => (0, Some(1)),
            Some('*') => (0, None),
            Some('+') => (1, None),
            Some('{') => return self.read_counts(atom),
            _ => return Ok(atom),
        };
        self.next();
        Ok(PatternTree::Repeat { what: Box::new(atom), least, most })
    }

    fn read_counts(&mut self, atom: PatternTree) -> Result<PatternTree, String> {
        self.next();
        let least = self.read_number()?;
        let most = match self.next() {
            Some('}') => Some(least),
            Some(',') if self.take_if('}') => None,
            Some(',') => {
                let most = self.read_number()?;
                if !self.take_if('}') {
                    return Err("a { is never closed".to_owned());
                }
                Some(most)
            }
            _ => return Err("a { is never closed".to_owned()),
        };
        if most.is_some_and(|most| most < least)
            || least > PATTERN_STEPS
            || most.is_some_and(|most| most > PATTERN_STEPS)
        {
            return Err("the counts in { } do not fit".to_owned());
        }
        Ok(PatternTree::Repeat { what: Box::new(atom), least, most })
    }

    fn read_number(&mut self) -> Result<usize, String> {
        let mut digits = String::new();
        while let Some(c) = self.peek().filter(char::is_ascii_digit) {
            digits.push(c);
            self.next();
        }
        digits.parse().map_err(|_| "the counts in { } do not fit".to_owned())
    }

    /// After the `[`: ranges and escapes, then optionally `-[...]`.
    fn read_class(&mut self) -> Result<CharacterClass, String> {
        self.enter_group()?;
        let negated = self.take_if('^');
        let mut members = Vec::new();
        let mut without = None;
        loop {
            match self.next() {
                None => return Err("a [ is never closed".to_owned()),
                Some(']') if !members.is_empty() => break,
                Some('-') if self.peek() == Some('[') => {
                    self.next();
                    without = Some(Box::new(self.read_class()?));
                    if !self.take_if(']') {
                        return Err("a [ is never closed".to_owned());
                    }
                    break;
                }
                Some('[') => return Err("a [ inside [ ] is written \\[".to_owned()),
                Some('\\') => {
                    let member = self.read_escape()?;
                    members.push(self.read_range(member)?);
                }
                Some(c) => members.push(self.read_range(ClassMember::Char(c))?),
            }
        }
        self.nesting = self.nesting.saturating_sub(1);
        Ok(CharacterClass { negated, members, without })
    }

    /// A single character, or a range if `-` and another character follow.
    fn read_range(&mut self, from: ClassMember) -> Result<ClassMember, String> {
        let ClassMember::Char(low) = from else { return Ok(from) };
        let after = self.rest.get(self.at.saturating_add(1)).copied();
        if self.peek() != Some('-') || matches!(after, None | Some(']' | '[')) {
            return Ok(from);
        }
        self.next();
        let high = match self.next() {
            Some('\\') => match self.read_escape()? {
                ClassMember::Char(c) => c,
                _ => return Err("a range ends in a class".to_owned()),
            },
            Some(c) => c,
            None => return Err("a [ is never closed".to_owned()),
        };
        if high < low { Err("a range runs backwards".to_owned()) } else { Ok(ClassMember::Range(low, high)) }
    }

    fn read_escape(&mut self) -> Result<ClassMember, String> {
        let c = self.next().ok_or("it ends in a \\")?;
        Ok(match c {
            'n' => ClassMember::Char('\n'),
            'r' => ClassMember::Char('\r'),
            't' => ClassMember::Char('\t'),
            'd' | 'D' => ClassMember::Digit { negated: c == 'D' },
            's' | 'S' => ClassMember::Space { negated: c == 'S' },
            'w' | 'W' => ClassMember::Word { negated: c == 'W' },
            'i' | 'I' => ClassMember::NameStart { negated: c == 'I' },
            'c' | 'C' => ClassMember::NameChar { negated: c == 'C' },
            '\\' | '|' | '.' | '-' | '^' | '?' | '*' | '+' | '{' | '}' | '(' | ')' | '[' | ']' => {
                ClassMember::Char(c)
            }
            'p' | 'P' => return Err("Unicode properties (\\p) are not supported".to_owned()),
            other => return Err(format!("\\{other} is not an escape of XSD")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::CompiledPattern;

    #[test]
    fn whole_values_match_and_samples_do() {
        let rows = [
            (r"[A-Z]{2}-\d{6}", "AB-123456", "AB-12345"),
            (r"(a+b)+x", "aabaabx", "aab"),
            (r"[^@\s]+@[^@\s]+", "a@b.org", "a@b@c"),
            (r"[a-z]([a-z0-9-]*[a-z0-9])?", "a-b-1", "a-"),
            (r"(\w+\.)*\w+@\w+", "a.b@c", "a.@c"),
            (r"[a-z-[aeiou]]+", "xyz", "xaz"),
            (r"[^0-9]?", "", "5"),
            (r"|a+", "", "b"),
            (r"[\-+]?\d+(\.\d*)?", "-1.5", "--1"),
            (r"^x$", "^x$", "x"),
        ];
        for (source, good, bad) in rows {
            let pattern = CompiledPattern::parse(source).expect(source);
            assert!(pattern.is_match(good), "{source} takes {good}");
            assert!(!pattern.is_match(bad), "{source} refuses {bad}");
            let sample = pattern.find_sample(0).expect(source);
            assert!(pattern.is_match(&sample), "{source} takes its sample {sample}");
        }
    }

    #[test]
    fn classes_of_characters_are_those_of_libxml2() {
        for (class, inside, outside) in [
            (r"\d", "07٣८", "½Ⅷ①²a"),
            (r"\w", "a7©€😀½$+", "_-·. \u{a0}\u{2028}"),
            (r"\i", ":_aé中", "-7ªー"),
            (r"\c", ":_a-.·7ー", "²½ "),
        ] {
            let pattern = CompiledPattern::parse(class).expect(class);
            inside.chars().for_each(|c| assert!(pattern.is_match(&c.to_string()), "{class} takes {c:?}"));
            outside.chars().for_each(|c| assert!(!pattern.is_match(&c.to_string()), "{class} refuses {c:?}"));
        }
    }

    #[test]
    fn a_hostile_pattern_is_refused_and_a_hostile_value_is_cheap() {
        for bad in
            ["(", "[a", "a{2,1}", "a{99999}", "(a{100}){100}", r"\p{L}", "*", "[z-a]", r"\q", "a{", ")"]
        {
            assert!(CompiledPattern::parse(bad).is_err(), "{bad}");
        }
        assert!(CompiledPattern::parse(&"(".repeat(10_000)).is_err());
        let long = CompiledPattern::parse("([a-z]{1,9}-)*X").expect("it is read");
        assert!(!long.is_match(&"a".repeat(20_000)));
    }

    #[test]
    fn row_24_a_pattern_that_reads_one_value_in_very_many_ways_is_refused() {
        let bombs = [
            "(a|aa)+x",
            "((a|aa)+)+x",
            "a*a*x",
            ".+@.+",
            "(a|a)*",
            "(a|aa){30}",
            ".*b.*",
            r"\d{1,3}\d{2}",
            "([^a]..)*|a",
        ];
        for bomb in bombs {
            assert!(CompiledPattern::parse(bomb).is_err(), "{bomb}");
        }
    }
}
