//! The language of search queries: words, `"phrases"`, `/patterns/`, `+`, `-`, `AND`, `OR`, brackets, and
//! `ext: lang: file: dir:`.
//!
//! Text comes in; a tree of terms goes out, or what is wrong with the text. No files here. A question in plain words
//! is a query: its signs are read as words wherever they cannot be meant as signs.

use super::scan::{FileFilter, QuerySign, QueryToken, SearchQueryFault, scan_tokens};
use super::tokens::{WordStemmer, find_word_start, is_filler, split_words};
use crate::limits::{QUERY_DEPTH, TERMS};

/// A query.
#[derive(Debug)]
pub(crate) struct SearchQuery {
    /// The terms, in order.
    pub(crate) terms: Vec<QueryTerm>,
    /// What has to hold of a place.
    pub(crate) group: QueryGroup,
    /// Which files are searched.
    pub(crate) filters: Vec<FileFilter>,
}

/// A term.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum QueryTerm {
    /// A word of one stem or several: `openFile` has two.
    Word(Vec<WordStem>),
    /// A text, without regard to case.
    Phrase(String),
    /// A regular expression.
    Pattern(String),
}

/// A stem of a word.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct WordStem {
    pub(crate) stem: String,
    /// The letters with which all words of the stem begin.
    pub(crate) start: String,
}

/// Expressions side by side: all of `must`, none of `not`, and one of `may` if there is no `must`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct QueryGroup {
    pub(crate) must: Vec<QueryExpression>,
    pub(crate) not: Vec<QueryExpression>,
    pub(crate) may: Vec<QueryExpression>,
}

/// A part of a query.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum QueryExpression {
    /// The term of this number.
    Term(usize),
    /// Every part.
    All(Vec<QueryExpression>),
    /// At least one part.
    Any(Vec<QueryExpression>),
    Group(QueryGroup),
}

impl SearchQuery {
    /// Reads a query.
    pub(crate) fn parse_text(text: &str) -> Result<SearchQuery, SearchQueryFault> {
        let tokens = scan_tokens(text)?;
        let read = SearchQuery::from_tokens(&tokens, false)?;
        // A query of nothing but common words means these words.
        let read = if read.terms.is_empty() { SearchQuery::from_tokens(&tokens, true)? } else { read };
        if read.group.must.is_empty() && read.group.may.is_empty() {
            let message = "the query has nothing to look for".to_owned();
            return Err(SearchQueryFault { message, fix: "a word, as in: login ext:rs".to_owned() });
        }
        Ok(read)
    }

    fn from_tokens(tokens: &[QueryToken], keeps_filler: bool) -> Result<SearchQuery, SearchQueryFault> {
        let mut reading = QueryReading {
            tokens,
            at: 0,
            depth: 0,
            keeps_filler,
            stemmer: WordStemmer::new(),
            terms: Vec::new(),
            filters: Vec::new(),
        };
        let group = reading.read_group()?;
        if reading.at < tokens.len() {
            let message = "the query closes a bracket that it does not open".to_owned();
            return Err(SearchQueryFault { message, fix: "the query without it, or in quotes".to_owned() });
        }
        Ok(SearchQuery { terms: reading.terms, group, filters: reading.filters })
    }
}

impl QueryGroup {
    /// Whether it holds, if `has` says which terms are there.
    pub(crate) fn holds(&self, has: &dyn Fn(usize) -> bool) -> bool {
        self.holds_without_not(has) && self.is_free(has)
    }

    /// Whether it holds, apart from what must be absent.
    pub(crate) fn holds_without_not(&self, has: &dyn Fn(usize) -> bool) -> bool {
        self.must.iter().all(|one| one.holds(has))
            && (!self.must.is_empty() || self.may.is_empty() || self.may.iter().any(|one| one.holds(has)))
    }

    /// Whether nothing is there that must be absent.
    pub(crate) fn is_free(&self, has: &dyn Fn(usize) -> bool) -> bool {
        !self.not.iter().any(|one| one.holds(has))
    }

    /// The terms that are looked for. Those that must be absent are not among them.
    pub(crate) fn list_wanted(&self) -> Vec<usize> {
        let mut found: Vec<usize> =
            self.must.iter().chain(&self.may).flat_map(QueryExpression::list_wanted).collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

impl QueryExpression {
    fn holds(&self, has: &dyn Fn(usize) -> bool) -> bool {
        match self {
            QueryExpression::Term(term) => has(*term),
            QueryExpression::All(all) => all.iter().all(|one| one.holds(has)),
            QueryExpression::Any(any) => any.iter().any(|one| one.holds(has)),
            QueryExpression::Group(group) => group.holds(has),
        }
    }

    fn list_wanted(&self) -> Vec<usize> {
        match self {
            QueryExpression::Term(term) => vec![*term],
            QueryExpression::All(all) | QueryExpression::Any(all) => {
                all.iter().flat_map(QueryExpression::list_wanted).collect()
            }
            QueryExpression::Group(group) => group.list_wanted(),
        }
    }
}

struct QueryReading<'t> {
    tokens: &'t [QueryToken],
    at: usize,
    depth: usize,
    keeps_filler: bool,
    stemmer: WordStemmer,
    terms: Vec<QueryTerm>,
    filters: Vec<FileFilter>,
}

impl QueryReading<'_> {
    fn is_sign(&self, sign: QuerySign) -> bool {
        matches!(self.tokens.get(self.at), Some(QueryToken::Sign(found)) if *found == sign)
    }

    fn read_group(&mut self) -> Result<QueryGroup, SearchQueryFault> {
        let mut group = QueryGroup::default();
        while self.at < self.tokens.len() && !self.is_sign(QuerySign::Close) {
            let is_signed = self.is_sign(QuerySign::Must) || self.is_sign(QuerySign::Not);
            let list = match self.tokens.get(self.at) {
                Some(QueryToken::Sign(QuerySign::Must)) => &mut group.must,
                Some(QueryToken::Sign(QuerySign::Not)) => &mut group.not,
                _ => &mut group.may,
            };
            self.at += usize::from(is_signed);
            list.extend(self.read_any(is_signed)?);
        }
        Ok(group)
    }

    /// One expression, or several joined by `OR`.
    fn read_any(&mut self, is_signed: bool) -> Result<Option<QueryExpression>, SearchQueryFault> {
        let mut found = vec![self.read_all(is_signed)?];
        while self.is_sign(QuerySign::Or) {
            self.at += 1;
            found.push(self.read_all(true)?);
        }
        Ok(join_expressions(found, QueryExpression::Any))
    }

    fn read_all(&mut self, is_signed: bool) -> Result<Option<QueryExpression>, SearchQueryFault> {
        let mut found = vec![self.read_one(is_signed)?];
        while self.is_sign(QuerySign::And) {
            self.at += 1;
            found.push(self.read_one(true)?);
        }
        Ok(join_expressions(found, QueryExpression::All))
    }

    /// A term or a bracket. `None` for a filter or a word that says nothing.
    fn read_one(&mut self, is_signed: bool) -> Result<Option<QueryExpression>, SearchQueryFault> {
        let Some(token) = self.tokens.get(self.at) else {
            let message = "the query ends where a word is expected".to_owned();
            return Err(SearchQueryFault { message, fix: "a word after AND, OR, + and -".to_owned() });
        };
        self.at += 1;
        let term = match token {
            QueryToken::Sign(QuerySign::Open) => return self.read_bracket(),
            QueryToken::Sign(_) => {
                let message = "two signs of the query follow each other".to_owned();
                return Err(SearchQueryFault {
                    message,
                    fix: "a word between them, or the sign in quotes".to_owned(),
                });
            }
            QueryToken::Filter(filter) => {
                self.filters.push(filter.clone());
                return Ok(None);
            }
            QueryToken::Phrase(text) => QueryTerm::Phrase(text.clone()),
            QueryToken::Pattern(text) => QueryTerm::Pattern(text.clone()),
            QueryToken::Word(text) => match self.read_word(text, is_signed) {
                Some(term) => term,
                None => return Ok(None),
            },
        };
        if let Some(known) = self.terms.iter().position(|known| *known == term) {
            return Ok(Some(QueryExpression::Term(known)));
        }
        if self.terms.len() >= TERMS {
            let message = format!("the query has more than {TERMS} terms");
            return Err(SearchQueryFault { message, fix: "the few words that matter".to_owned() });
        }
        self.terms.push(term);
        Ok(Some(QueryExpression::Term(self.terms.len() - 1)))
    }

    fn read_bracket(&mut self) -> Result<Option<QueryExpression>, SearchQueryFault> {
        self.depth += 1;
        if self.depth > QUERY_DEPTH {
            let message = format!("the query has brackets more than {QUERY_DEPTH} deep");
            return Err(SearchQueryFault { message, fix: "fewer brackets".to_owned() });
        }
        let group = self.read_group()?;
        if !self.is_sign(QuerySign::Close) {
            let message = "the query opens a bracket that it does not close".to_owned();
            return Err(SearchQueryFault {
                message,
                fix: "a closing bracket, or the text in quotes".to_owned(),
            });
        }
        self.at += 1;
        self.depth -= 1;
        let is_empty = group.must.is_empty() && group.may.is_empty() && group.not.is_empty();
        Ok((!is_empty).then_some(QueryExpression::Group(group)))
    }

    fn read_word(&self, text: &str, is_signed: bool) -> Option<QueryTerm> {
        let mut parts: Vec<String> = Vec::new();
        for identifier in text.split(|c: char| !c.is_alphanumeric()) {
            parts.extend(super::tokens::split_parts(identifier).into_iter().map(str::to_lowercase));
        }
        parts.dedup();
        // The `s` of a genitive and other single letters beside words say nothing.
        if parts.iter().any(|part| part.chars().count() > 1) {
            parts.retain(|part| part.chars().count() > 1);
        }
        if parts.is_empty() {
            // An operator such as `=>` is looked for as it is written; the signs of a sentence are not.
            let is_sentence = text.chars().all(|c| ",.;:?!()[]'".contains(c));
            return (!is_sentence || is_signed).then(|| QueryTerm::Phrase(text.to_owned()));
        }
        if !is_signed && !self.keeps_filler && split_words(text).iter().all(|word| is_filler(word)) {
            return None;
        }
        let stem = |word: String| {
            let stem = self.stemmer.find_stem(&word);
            WordStem { start: find_word_start(&word, &stem), stem }
        };
        Some(QueryTerm::Word(parts.into_iter().map(stem).collect()))
    }
}

fn join_expressions(
    found: Vec<Option<QueryExpression>>,
    join: fn(Vec<QueryExpression>) -> QueryExpression,
) -> Option<QueryExpression> {
    let mut found: Vec<QueryExpression> = found.into_iter().flatten().collect();
    if found.len() > 1 { Some(join(found)) } else { found.pop() }
}

#[cfg(test)]
mod tests {
    use super::super::scan::FilterKind;
    use super::*;

    /// Whether a query holds where exactly these words are.
    fn holds(query: &str, there: &[&str]) -> bool {
        let query = SearchQuery::parse_text(query).unwrap();
        let stemmer = WordStemmer::new();
        let stems: Vec<String> = there.iter().map(|word| stemmer.find_stem(word)).collect();
        query.group.holds(&|term| match &query.terms[term] {
            QueryTerm::Word(parts) => parts.iter().all(|part| stems.contains(&part.stem)),
            QueryTerm::Phrase(text) | QueryTerm::Pattern(text) => there.contains(&text.as_str()),
        })
    }

    #[test]
    fn words_are_joined_by_signs_and_operators() {
        assert!(holds("lease token", &["lease"]));
        assert!(!holds("lease AND token", &["lease"]));
        assert!(holds("lease AND token", &["leases", "tokens"]));
        assert!(!holds("+lease token", &["token"]));
        assert!(!holds("lease -token", &["lease", "token"]));
        assert!(holds("lease -(token AND key)", &["lease", "token"]));
        assert!(holds("a1 b1 AND c1", &["a1"]), "AND binds closer than blanks");
        assert!(holds("(lease OR token) AND key", &["token", "key"]));
        assert!(!holds("(lease OR token) AND key", &["token"]));
        assert!(holds("NOT token lease", &["lease"]));
        assert!(holds("\"let mut\"", &["let mut"]));
        assert!(holds("/fn \\w+/", &["fn \\w+"]));
        assert!(holds("openFile", &["open", "file"]));
    }

    #[test]
    fn a_question_is_a_query() {
        let query =
            SearchQuery::parse_text("Where does the pump (see run()) renew a listener's lease?").unwrap();
        let stems: Vec<&str> = query
            .terms
            .iter()
            .flat_map(|term| match term {
                QueryTerm::Word(parts) => parts.iter().map(|part| part.stem.as_str()).collect(),
                _ => Vec::new(),
            })
            .collect();
        assert_eq!(stems, ["pump", "see", "run", "renew", "listen", "leas"]);
        assert_eq!(SearchQuery::parse_text("is it").unwrap().terms.len(), 2, "common words alone are meant");
        assert_eq!(SearchQuery::parse_text("=>").unwrap().terms, [QueryTerm::Phrase("=>".to_owned())]);
    }

    #[test]
    fn filters_belong_to_the_whole_query() {
        let query = SearchQuery::parse_text("lease ext:rs,toml -dir:tests lang:Rust file:a.rs").unwrap();
        let kinds: Vec<_> =
            query.filters.iter().map(|one| (one.kind, one.values.len(), one.is_not)).collect();
        assert_eq!(
            kinds,
            [
                (FilterKind::Extension, 2, false),
                (FilterKind::Folder, 1, true),
                (FilterKind::Language, 1, false),
                (FilterKind::File, 1, false)
            ]
        );
    }

    #[test]
    fn a_bad_query_is_refused_with_its_fix() {
        for (query, says) in [
            ("", "nothing to look for"),
            ("-token", "nothing to look for"),
            ("ext:rs", "nothing to look for"),
            ("lease AND", "ends where"),
            ("lease OR AND token", "two signs"),
            ("(lease", "does not close"),
            ("\"lease", "quote"),
            (&"(".repeat(40), "deep"),
            (&(0..40).map(|at| format!("w{at} ")).collect::<String>(), "more than 32 terms"),
        ] {
            let fault = SearchQuery::parse_text(query).unwrap_err();
            assert!(fault.message.contains(says), "{query}: {}", fault.message);
            assert!(!fault.fix.is_empty());
        }
    }
}
