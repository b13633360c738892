//! Finds the lines of a file on which the terms of a query are, and counts them.
//!
//! A query comes in once, and the bytes of one file after another; counted lines go out. The first look is a search
//! for text, which leaves out nearly all lines; only the others are taken apart into words.

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, SearcherBuilder, sinks};
use regex::{Regex, RegexBuilder};

use crate::failure::{self, CodeFault};
use crate::limits;
use crate::text::query::{QueryTerm, SearchQuery};
use crate::text::tokens::{WordStemmer, split_words};

/// A unit that is counted: a stem, or the text of a phrase or pattern.
#[derive(Debug)]
enum CountedUnit {
    Stem { stem: String, start: String },
    Text(Regex),
}

/// A query, prepared for many files.
#[derive(Debug)]
pub(crate) struct TermMatcher {
    first_look: RegexMatcher,
    units: Vec<CountedUnit>,
    /// The units of each term. A term is there if all its units are.
    of_term: Vec<Vec<usize>>,
    /// Whether a unit counts for ranking: those of terms that must be absent do not.
    is_wanted: Vec<bool>,
}

/// A line with matches: how often each unit is on it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MatchedLine {
    /// Counted from 1.
    pub(crate) line: usize,
    /// Pairs of a unit and a count.
    pub(crate) counts: Vec<(usize, u32)>,
}

impl TermMatcher {
    pub(crate) fn new(query: &SearchQuery) -> Result<TermMatcher, CodeFault> {
        let (mut units, mut of_term, mut looks) = (Vec::new(), Vec::new(), Vec::new());
        for term in &query.terms {
            let first = units.len();
            match term {
                QueryTerm::Word(stems) => {
                    for one in stems {
                        looks.push(regex::escape(&one.start));
                        units.push(CountedUnit::Stem { stem: one.stem.clone(), start: one.start.clone() });
                    }
                }
                QueryTerm::Phrase(text) => {
                    let escaped: Vec<String> = text.split_whitespace().map(regex::escape).collect();
                    let pattern = escaped.join(r"[ \t]+");
                    units.push(CountedUnit::Text(compile_pattern(&pattern)?));
                    looks.push(pattern);
                }
                QueryTerm::Pattern(pattern) => {
                    units.push(CountedUnit::Text(compile_pattern(pattern)?));
                    looks.push(pattern.clone());
                }
            }
            of_term.push((first..units.len()).collect::<Vec<usize>>());
        }
        let first_look = build_first_look(&looks, false)?;
        let wanted = query.group.list_wanted();
        let mut is_wanted = vec![false; units.len()];
        for unit in wanted.iter().filter_map(|term| of_term.get(*term)).flatten() {
            if let Some(wanted) = is_wanted.get_mut(*unit) {
                *wanted = true;
            }
        }
        Ok(TermMatcher { first_look, units, of_term, is_wanted })
    }

    /// The number of units.
    pub(crate) fn count_units(&self) -> usize {
        self.units.len()
    }

    /// Whether a unit counts for ranking.
    pub(crate) fn is_wanted(&self, unit: usize) -> bool {
        self.is_wanted.get(unit).copied().unwrap_or_default()
    }

    /// Whether a term is there, if these units are.
    pub(crate) fn has_term(&self, term: usize, is_there: &dyn Fn(usize) -> bool) -> bool {
        self.of_term.get(term).is_some_and(|units| units.iter().all(|unit| is_there(*unit)))
    }

    /// The matching lines of a file.
    pub(crate) fn find_lines(&self, bytes: &[u8], stemmer: &WordStemmer) -> Vec<MatchedLine> {
        let mut found = Vec::new();
        let mut searcher = SearcherBuilder::new().binary_detection(BinaryDetection::none()).build();
        let sink = sinks::Lossy(|line, text| {
            let counts = self.count_stems(cut_line(text), stemmer);
            if !counts.is_empty() {
                found.push(MatchedLine { line: usize::try_from(line).unwrap_or(usize::MAX), counts });
            }
            Ok(found.len() < limits::LINES)
        });
        // Searching bytes in memory cannot fail; if it did, the lines found until then count.
        let _searched = searcher.search_slice(&self.first_look, bytes, sink);
        found
    }

    /// How often each unit is in a text.
    pub(crate) fn count_stems(&self, text: &str, stemmer: &WordStemmer) -> Vec<(usize, u32)> {
        let mut counts: Vec<(usize, u32)> = Vec::new();
        let mut add = |unit: usize, more: u32| match counts.iter_mut().find(|(known, _)| *known == unit) {
            Some((_, count)) => *count = count.saturating_add(more),
            None => counts.push((unit, more)),
        };
        for word in split_words(text) {
            for (unit, counted) in self.units.iter().enumerate() {
                if let CountedUnit::Stem { stem, start } = counted
                    && word.starts_with(start)
                    && stemmer.find_stem(&word) == *stem
                {
                    add(unit, 1);
                }
            }
        }
        for (unit, counted) in self.units.iter().enumerate() {
            if let CountedUnit::Text(pattern) = counted {
                let count = pattern.find_iter(text).take(100).count();
                if count > 0 {
                    add(unit, u32::try_from(count).unwrap_or(u32::MAX));
                }
            }
        }
        counts
    }
}

/// Finds lines by plain text, without regard to case and to the bounds of words.
pub(crate) fn find_plain_lines(texts: &[&str], bytes: &[u8]) -> Vec<usize> {
    let looks: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    let Ok(matcher) = build_first_look(&looks, true) else { return Vec::new() };
    let mut found = Vec::new();
    let mut searcher = SearcherBuilder::new().binary_detection(BinaryDetection::none()).build();
    let sink = sinks::Lossy(|line, _| {
        found.push(usize::try_from(line).unwrap_or(usize::MAX));
        Ok(found.len() < limits::LINES)
    });
    let _searched = searcher.search_slice(&matcher, bytes, sink);
    found
}

fn build_first_look(looks: &[String], is_plain: bool) -> Result<RegexMatcher, CodeFault> {
    let mut builder = RegexMatcherBuilder::new();
    builder.case_insensitive(true).line_terminator(Some(b'\n')).fixed_strings(is_plain);
    builder.size_limit(limits::PATTERN_BYTES).dfa_size_limit(limits::PATTERN_BYTES).nest_limit(64);
    builder.build_many(looks).map_err(|error| describe_unusable(&error.to_string()))
}

fn compile_pattern(pattern: &str) -> Result<Regex, CodeFault> {
    let mut builder = RegexBuilder::new(pattern);
    builder
        .case_insensitive(true)
        .size_limit(limits::PATTERN_BYTES)
        .dfa_size_limit(limits::PATTERN_BYTES)
        .nest_limit(64);
    builder.build().map_err(|error| describe_unusable(&error.to_string()))
}

fn describe_unusable(error: &str) -> CodeFault {
    // The last line of the library's words says what is wrong; those before it draw the pattern.
    let why = error.lines().last().unwrap_or(error).trim_start_matches("error: ");
    let message = format!("the pattern of the query cannot be used: {why}");
    CodeFault::new(failure::BAD_PATTERN, message)
        .with_fix("the text in \"quotes\", which is looked for as it is written")
}

/// The part of a line that is looked at.
fn cut_line(text: &str) -> &str {
    let mut end = text.len().min(limits::LINE_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(query: &str, text: &str) -> Vec<usize> {
        let matcher = TermMatcher::new(&SearchQuery::parse_text(query).unwrap()).unwrap();
        matcher.find_lines(text.as_bytes(), &WordStemmer::new()).iter().map(|line| line.line).collect()
    }

    #[test]
    fn lines_are_found_by_stem_phrase_and_pattern() {
        let text = "fn renewLease() {}\nleases\nrelease\nlet  mut x = 1;\n// LEASE\n";
        assert_eq!(lines("lease", text), [1, 2, 5]);
        assert_eq!(lines("\"let mut\"", text), [4]);
        assert_eq!(lines("/re\\w+\\(/", text), [1]);
        assert_eq!(lines("renewLease", text), [1, 2, 5], "each part of a word counts");
    }

    #[test]
    fn a_bad_pattern_says_why() {
        for pattern in ["/a(/", "/(?=x)/", "/a\\nb/", "/(a{1000}){1000}/"] {
            let query = SearchQuery::parse_text(pattern).unwrap();
            let fault = TermMatcher::new(&query).unwrap_err();
            assert_eq!(fault.code, failure::BAD_PATTERN, "{pattern}");
            assert!(fault.message.len() > 50, "{}", fault.message);
        }
    }
}
