//! Finds messages by words and fields, newest first.
//!
//! The search file says where to look; the log says what is there. Each hit is read from the log, proved against its
//! chain and judged again, so a wrong search file can hide a message but cannot invent one. A query comes in; records
//! go out.

mod found_text;
mod search_fields;
mod word_split;

pub use search_fields::{SearchFields, SearchMistake, phrases};

use std::ops::Range;
use std::path::Path;

use found_text::TextReader;

use crate::limits;
use systole_core::types::ids::Digest;
use systole_core::types::ports::{LogFault, LogReader, PlacedRecord, Position};
use systole_log::search::{self, LogQuery, SearchEntry, SearchFault, SearchFile};

/// A message that was found.
pub struct SearchHit {
    /// The record.
    pub placed: PlacedRecord,
    /// Its text, as it reads.
    pub text: String,
    /// Where the first phrase is in the text; `None` if no words were asked for.
    pub at: Option<Range<usize>>,
}

/// Which phrases an argument means: its words, in order. Empty if it has no letter and no digit.
pub fn phrase(argument: &str) -> Vec<String> {
    word_split::fold_case(argument).split(' ').filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

/// A search in one log.
pub struct LogSearch<'a> {
    /// The log whose search file it is; `None` if the caller keeps the file.
    log: Option<&'a Path>,
    reader: &'a dyn LogReader,
    file: SearchFile,
    /// Whether the file was made anew by this search: then it is not at fault again.
    is_anew: bool,
    /// The last position whose message is shown.
    end: Option<Position>,
    /// What a person should know about the file.
    pub notes: Vec<String>,
}

/// Reports how far the search file is, of the last position.
pub type SearchProgress<'a> = &'a mut dyn FnMut(Position, Position);

/// Why a message of the file is not looked at again.
enum Judgement {
    Fits(Box<SearchHit>),
    /// It is outside of the asked time.
    Outside,
    /// The log says something else there than the file.
    Differs,
}

impl<'a> LogSearch<'a> {
    /// Opens the search file of a log and brings it up to date.
    pub fn open(
        log: &'a Path,
        reader: &'a dyn LogReader,
        told: SearchProgress<'_>,
    ) -> Result<LogSearch<'a>, SearchFault> {
        let (file, notes) = match SearchFile::open_file(log) {
            Ok(file) => (file, Vec::new()),
            Err(why) => (SearchFile::in_memory()?, vec![unwritable(&why)]),
        };
        let mut search = LogSearch { log: Some(log), reader, file, is_anew: false, end: None, notes };
        search.refresh(told)?;
        Ok(search)
    }

    /// The same for a log beside which nothing is written. The caller keeps the search file, which is made from this log
    /// alone.
    pub fn apart(
        kept: Option<SearchFile>,
        reader: &'a dyn LogReader,
        told: SearchProgress<'_>,
    ) -> Result<LogSearch<'a>, SearchFault> {
        let file = kept.map_or_else(SearchFile::in_memory, Ok)?;
        let mut search = LogSearch { log: None, reader, file, is_anew: true, end: None, notes: Vec::new() };
        search.refresh(told)?;
        Ok(search)
    }

    /// The search file, for the next search.
    pub fn into_file(self) -> SearchFile {
        self.file
    }

    /// Shows only messages up to a position. The search file still has all.
    pub fn end_at(&mut self, end: Option<Position>) {
        self.end = end;
    }

    fn refresh(&mut self, told: SearchProgress<'_>) -> Result<(), SearchFault> {
        match self.extend(told) {
            Err(SearchFault::Stale(_)) if !self.is_anew => {
                self.anew()?;
                self.refresh(told)
            }
            Err(SearchFault::Unwritable(why)) if self.file.path().is_some() => {
                let path = self.file.path().map(|path| path.display().to_string()).unwrap_or_default();
                self.notes.push(unwritable(&format!("{path}: {why}")));
                self.file = SearchFile::in_memory()?;
                self.refresh(told)
            }
            extended => extended,
        }
    }

    /// Drops what the file has.
    fn anew(&mut self) -> Result<(), SearchFault> {
        self.is_anew = true;
        self.file = SearchFile::in_memory()?;
        let Some(log) = self.log else { return Ok(()) };
        let opened = search::forget_file(log).map_err(|error| error.to_string());
        match opened.and_then(|_| SearchFile::open_file(log)) {
            Ok(file) => self.file = file,
            Err(why) => self.notes.push(unwritable(&why)),
        }
        Ok(())
    }

    /// Adds to the file what the log has after its end.
    fn extend(&mut self, told: SearchProgress<'_>) -> Result<(), SearchFault> {
        let last = self.reader.read_last()?;
        if let Some((end, head)) = self.file.read_end()? {
            if self.head_at(end)? != Some(head) {
                return Err(SearchFault::Stale("it belongs to another log".to_owned()));
            }
            if end == last {
                return Ok(());
            }
        } else if last == Position(0) {
            return Ok(());
        }
        let mut texts = TextReader::new(self.reader);
        let reader = self.reader;
        let mut read = |after: Position| -> Result<Vec<SearchEntry>, LogFault> {
            let page = reader.read_after(after, limits::SEARCH_SPAN)?;
            page.iter()
                .map(|(position, record)| {
                    let found = texts.read(record)?;
                    let words = word_split::fold_case(&found.text);
                    let (position, head, time) = (*position, record.head, record.header.time);
                    Ok(SearchEntry { position, head, time, words, terms: found.terms })
                })
                .collect()
        };
        self.file.extend_file(&mut read, &mut |at| told(at, last.max(at)))
    }

    fn head_at(&self, position: Position) -> Result<Option<Digest>, LogFault> {
        Ok(self.record(position)?.map(|(_, record)| record.head))
    }

    fn record(&self, position: Position) -> Result<Option<PlacedRecord>, LogFault> {
        let Some(before) = position.0.checked_sub(1) else { return Ok(None) };
        let found = self.reader.read_after(Position(before), 1)?.pop();
        Ok(found.filter(|(at, _)| *at == position))
    }

    /// Shows the messages that fit, newest first, until `show` has enough. Returns whether more may follow.
    pub fn newest(
        &mut self,
        query: &LogQuery,
        told: SearchProgress<'_>,
        show: impl FnMut(SearchHit) -> bool,
    ) -> Result<bool, SearchFault> {
        self.newest_before(query, Position(u64::MAX), told, show)
    }

    /// The same for messages before a position.
    pub fn newest_before(
        &mut self,
        query: &LogQuery,
        before: Position,
        told: SearchProgress<'_>,
        mut show: impl FnMut(SearchHit) -> bool,
    ) -> Result<bool, SearchFault> {
        let mut texts = TextReader::new(self.reader);
        let end = self.end.map_or(Position(u64::MAX), |end| Position(end.0.saturating_add(1)));
        let mut before = before.min(end);
        loop {
            let page = match self.file.find_newest(query, before, limits::SEARCH_HITS) {
                Err(SearchFault::Stale(_)) if !self.is_anew => {
                    self.anew()?;
                    self.refresh(told)?;
                    continue;
                }
                page => page?,
            };
            if page.is_empty() {
                return Ok(false);
            }
            for position in page {
                match self.judge_record(query, position, &mut texts)? {
                    Judgement::Fits(hit) => {
                        before = position;
                        if !show(*hit) {
                            return Ok(true);
                        }
                    }
                    Judgement::Outside => before = position,
                    Judgement::Differs if self.is_anew => before = position,
                    Judgement::Differs => {
                        // What was shown was true; the rest is looked up again.
                        self.anew()?;
                        self.refresh(told)?;
                        break;
                    }
                }
            }
        }
    }

    /// Whether the record at a position fits, by what the log says.
    fn judge_record(
        &self,
        query: &LogQuery,
        position: Position,
        texts: &mut TextReader<'_>,
    ) -> Result<Judgement, SearchFault> {
        let Some(placed) = self.record(position)? else { return Ok(Judgement::Differs) };
        let found = texts.read(&placed.1)?;
        let mut places = query.phrases.iter().map(|phrase| word_split::first(&found.text, phrase));
        let at = places.next();
        let has_words = !matches!(at, Some(None)) && places.all(|place| place.is_some());
        if !has_words || !query.terms.iter().all(|term| found.terms.contains(term)) {
            return Ok(Judgement::Differs);
        }
        let time = placed.1.header.time;
        if query.since.is_some_and(|since| time < since) || query.until.is_some_and(|until| time >= until) {
            return Ok(Judgement::Outside);
        }
        Ok(Judgement::Fits(Box::new(SearchHit { placed, text: found.text, at: at.flatten() })))
    }
}

fn unwritable(why: &str) -> String {
    format!("{why}; the search file is made in memory, for this search alone")
}
