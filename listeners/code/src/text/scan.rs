//! The tokens of a search query.
//!
//! Text comes in; tokens go out. A sign counts only where it can be one: `foo()` and `a-b` are words.

/// A condition on the path of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileFilter {
    pub(crate) kind: FilterKind,
    /// In lower case. A file has to fit one of them.
    pub(crate) values: Vec<String>,
    /// Whether it leaves files out.
    pub(crate) is_not: bool,
}

/// What a filter compares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FilterKind {
    Extension,
    Language,
    File,
    Folder,
}

/// Why a query cannot be read, and how to write it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SearchQueryFault {
    pub(crate) message: String,
    pub(crate) fix: String,
}

/// A token of a query.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum QueryToken {
    Word(String),
    Phrase(String),
    Pattern(String),
    Filter(FileFilter),
    Sign(QuerySign),
}

/// A sign of a query.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum QuerySign {
    Must,
    Not,
    And,
    Or,
    Open,
    Close,
}

/// The filters by their names.
const FILTERS: [(&str, FilterKind); 4] = [
    ("ext", FilterKind::Extension),
    ("lang", FilterKind::Language),
    ("file", FilterKind::File),
    ("dir", FilterKind::Folder),
];

/// The tokens of a query.
pub(super) fn scan_tokens(text: &str) -> Result<Vec<QueryToken>, SearchQueryFault> {
    let mut scanner = QueryScanner { rest: text, depth: 0, tokens: Vec::new() };
    while scanner.take_token()? {}
    Ok(scanner.tokens)
}

struct QueryScanner<'t> {
    rest: &'t str,
    depth: usize,
    tokens: Vec<QueryToken>,
}

impl QueryScanner<'_> {
    /// Takes one token. `false` at the end.
    fn take_token(&mut self) -> Result<bool, SearchQueryFault> {
        self.rest = self.rest.trim_start();
        let Some(first) = self.rest.chars().next() else { return Ok(false) };
        let after = self.rest.get(first.len_utf8()..).unwrap_or_default();
        let next = after.chars().next();
        let begins = next.is_some_and(|c| c.is_alphanumeric() || matches!(c, '"' | '(' | '/' | '_'));
        match first {
            '(' => {
                (self.rest, self.depth) = (after, self.depth + 1);
                self.tokens.push(QueryToken::Sign(QuerySign::Open));
            }
            ')' if self.depth > 0 => {
                (self.rest, self.depth) = (after, self.depth - 1);
                self.tokens.push(QueryToken::Sign(QuerySign::Close));
            }
            '+' | '-' if begins => {
                self.rest = after;
                let sign = if first == '+' { QuerySign::Must } else { QuerySign::Not };
                self.tokens.push(QueryToken::Sign(sign));
            }
            '"' => self.read_quoted(after)?,
            '/' if find_pattern_end(after).is_some() => {
                let end = find_pattern_end(after).unwrap_or_default();
                let pattern = after.get(..end).unwrap_or_default().to_owned();
                self.rest = after.get(end + 1..).unwrap_or_default();
                self.tokens.push(QueryToken::Pattern(pattern));
            }
            _ => self.read_word(),
        }
        Ok(true)
    }

    fn read_quoted(&mut self, after: &str) -> Result<(), SearchQueryFault> {
        let Some((text, rest)) = after.split_once('"') else {
            let message = "the query has a quote that is not closed".to_owned();
            return Err(SearchQueryFault { message, fix: format!("\"{}\"", after.trim()) });
        };
        if !text.trim().is_empty() {
            self.tokens.push(QueryToken::Phrase(text.to_owned()));
        }
        // The borrow of `rest` is that of the whole text.
        let from = self.rest.len() - rest.len();
        self.rest = self.rest.get(from..).unwrap_or_default();
        Ok(())
    }

    fn read_word(&mut self) {
        let mut open = 0usize;
        let end = self.rest.char_indices().find(|(_, c)| {
            match c {
                '(' => open += 1,
                ')' if open > 0 => open -= 1,
                ')' => return self.depth > 0,
                _ => {}
            }
            c.is_whitespace()
        });
        let end = end.map_or(self.rest.len(), |(at, _)| at);
        let (word, rest) = self.rest.split_at_checked(end).unwrap_or((self.rest, ""));
        self.rest = rest;
        let token = match word {
            "AND" | "&&" => QueryToken::Sign(QuerySign::And),
            "OR" | "||" => QueryToken::Sign(QuerySign::Or),
            "NOT" => QueryToken::Sign(QuerySign::Not),
            _ => match self.read_filter(word) {
                Some(filter) => filter,
                None => QueryToken::Word(word.to_owned()),
            },
        };
        self.tokens.push(token);
    }

    /// A filter. A sign before it belongs to it.
    fn read_filter(&mut self, word: &str) -> Option<QueryToken> {
        let (name, value) = word.split_once(':')?;
        let (_, kind) = FILTERS.iter().find(|(known, _)| *known == name)?;
        let values = value.split(',').map(|one| one.trim_matches('"').to_lowercase());
        let values: Vec<String> = values.filter(|one| !one.is_empty()).collect();
        if values.is_empty() {
            return None;
        }
        let signed = match self.tokens.last() {
            Some(QueryToken::Sign(sign @ (QuerySign::Must | QuerySign::Not))) => Some(*sign),
            _ => None,
        };
        if signed.is_some() {
            self.tokens.pop();
        }
        Some(QueryToken::Filter(FileFilter { kind: *kind, values, is_not: signed == Some(QuerySign::Not) }))
    }
}

/// The end of a pattern: a slash at the end of a word. `/usr/bin` is a word.
fn find_pattern_end(after: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, c) in after.char_indices() {
        match c {
            '\\' if !escaped => {
                escaped = true;
                continue;
            }
            '/' if !escaped && at > 0 => {
                let next = after.get(at + 1..).and_then(|rest| rest.chars().next());
                if next.is_none_or(|c| c.is_whitespace() || c == ')') {
                    return Some(at);
                }
            }
            _ => {}
        }
        escaped = false;
    }
    None
}
