//! `systole find`: messages by their words and fields, newest first. The search file beside the log says where to
//! look; every hit is read from the log.

use clap::Args;

use super::exit::CommandExit;
use super::forms::Forms;
use super::looking::{Looking, PastPosition, split_number};
use super::moments::parse_period;
use super::place::Place;
use super::screen::Screen;
use super::system_faults;
use crate::limits;
use systole_core::types::ports::Position;

use systole_judge::trial::TrialOutcome;
use systole_judge::xpath_filter::{XpathFault, XpathFilter};
use systole_log::search::{LogQuery, SearchFault, SearchField, SearchTerm};
use systole_queries::glance::glance;
use systole_queries::narrate::as_json;
use systole_queries::search::{LogSearch, SearchFields, SearchHit, SearchMistake, phrase};
use systole_show::columns::{cut, plain, wrapped};
use systole_show::layout::{self, TextTone, paint};

/// The option that names an expression.
const OPTION: &str = "--xpath";

/// Finds messages by words and fields, newest first.
///
/// A word is letters and digits; small and capital letters are the same. Several words must all be in
/// the message; words in quotes must follow each other. All filters must hold.
#[derive(Args, Debug)]
#[command(after_help = r#"Examples:
  systole find sinoatrial
  systole find "moving house" --from coordinator --since 7d
  systole find --person alice --kind approval --since 7d --json"#)]
pub(super) struct FindMessages {
    #[command(flatten)]
    place: Place,
    #[command(flatten)]
    past: PastPosition,
    /// Words of the message
    #[arg(value_name = "WORDS")]
    words: Vec<String>,
    /// Only messages with this root element, or {namespace}element
    #[arg(long, value_name = "ELEMENT")]
    element: Option<String>,
    /// Only messages from this listener or client
    #[arg(long, value_name = "NAME")]
    from: Option<String>,
    /// Only messages to this listener or client
    #[arg(long, value_name = "NAME")]
    to: Option<String>,
    /// Only records with this code, as payload.invalid or approved
    #[arg(long, value_name = "CODE")]
    code: Option<String>,
    /// Only records of this kind, as message, refusal, approval
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Only records since then: 10m, 2h, 14:30, 2026-11-21
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only records before then
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only this thread and the threads below it
    #[arg(long, value_name = "THREAD")]
    thread: Option<String>,
    /// Only conversations that this client opened
    #[arg(long, value_name = "CLIENT")]
    client: Option<String>,
    /// Only what this person decided, answered, paused or ended
    #[arg(long, value_name = "NAME")]
    person: Option<String>,
    /// Only payloads for which this XPath 1.0 expression is true
    #[arg(long, value_name = "XPATH")]
    xpath: Option<String>,
    /// Print at most this many; 0 means all
    #[arg(long, value_name = "COUNT", default_value_t = 100)]
    limit: usize,
}

impl FindMessages {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        let screen = self.place.screen();
        let phrases = self.phrases(screen)?;
        let terms = self.terms(screen)?;
        let looking = Looking::open_anywhere_at(&self.place, self.past)?;
        let query = self.query(&looking, phrases, terms)?;
        let mut printed = Printed::new(&looking, self.limit, self.filter(screen)?);
        let found = search(&looking, &query, &mut |hit| printed.take(hit));
        found.map_err(|fault| search_fault(&looking, &fault))?;
        let (shown, more) = printed.end()?;
        if shown == 0 {
            screen.say("no message fits");
            return Ok(CommandExit::Failed);
        }
        let hits = if shown == 1 { "1 hit".to_owned() } else { format!("{shown} hits") };
        let older = if more { ", the newest; older messages fit too: --limit 0 prints all" } else { "" };
        screen.say(format!("{hits}{older}"));
        Ok(CommandExit::Done)
    }

    fn filter(&self, screen: Screen) -> Result<Option<XpathFilter>, CommandExit> {
        let filter = self.xpath.as_deref().map(XpathFilter::new).transpose();
        filter.map_err(|fault| xpath_fault(screen, OPTION, &fault, None))
    }

    fn phrases(&self, screen: Screen) -> Result<Vec<Vec<String>>, CommandExit> {
        let read = |words: &String| {
            let phrase = phrase(words);
            if phrase.is_empty() {
                let words = format!("`{words}` has no letter and no digit");
                return Err(screen.refuse(words, "a word; systole trail --text finds a text with its signs"));
            }
            Ok(phrase)
        };
        self.words.iter().map(read).collect()
    }

    /// The filters that need no log.
    fn terms(&self, screen: Screen) -> Result<Vec<SearchTerm>, CommandExit> {
        let fields = SearchFields {
            element: self.element.as_deref(),
            from: self.from.as_deref(),
            to: self.to.as_deref(),
            code: self.code.as_deref(),
            kind: self.kind.as_deref(),
            client: self.client.as_deref(),
            person: self.person.as_deref(),
        };
        fields.terms().map_err(|mistake| {
            let SearchMistake { field, value, words, fix } = mistake;
            screen.refuse(format!("--{field} `{value}`: {words}"), fix)
        })
    }

    fn query(
        &self,
        looking: &Looking,
        phrases: Vec<Vec<String>>,
        mut terms: Vec<SearchTerm>,
    ) -> Result<LogQuery, CommandExit> {
        let times = (self.since.as_deref(), self.until.as_deref());
        let (since, until) = parse_period(looking.screen, times, looking.now)?;
        if let Some(typed) = &self.thread {
            let thread = looking.find(split_number(typed).0)?;
            terms.push(SearchTerm::new(SearchField::Thread, thread.as_str()));
        }
        let is_filtered = since.is_some() || until.is_some() || self.xpath.is_some();
        if phrases.is_empty() && terms.is_empty() && !is_filtered {
            let fix = "a word, or a filter as --from NAME; systole log prints everything";
            return Err(looking.screen.refuse("nothing says which messages are wanted", fix));
        }
        Ok(LogQuery { phrases, terms, since, until })
    }
}

/// Shows the messages that fit, newest first, until `show` has enough: by the search file of the log, or by the
/// organism elsewhere that has one.
pub(super) fn search(
    looking: &Looking,
    query: &LogQuery,
    show: &mut dyn FnMut(SearchHit) -> bool,
) -> Result<(), SearchFault> {
    if let Some(elsewhere) = &looking.elsewhere {
        let searched = elsewhere.log_at(looking.at).search_newest(query, show);
        return searched.map(drop).map_err(SearchFault::Log);
    }
    let screen = looking.screen;
    let mut follow = screen.follow_progress("search file");
    let mut told = |at, last| {
        follow(at, last);
    };
    let mut search = LogSearch::open(&looking.log, &*looking.reader, &mut told)?;
    search.end_at(looking.at);
    screen.show_progress("");
    search.notes.iter().for_each(|note| screen.say(format!("note: {note}")));
    search.newest(query, &mut told, show).map(drop)
}

/// Prints hits, up to a limit. With an expression they are judged in batches first.
struct Printed<'a> {
    looking: &'a Looking,
    forms: Forms,
    filter: Option<XpathFilter>,
    /// Hits that are not judged yet, and their bytes.
    waiting: Vec<SearchHit>,
    bytes: usize,
    limit: usize,
    shown: usize,
    more: bool,
    failed: Option<CommandExit>,
}

impl<'a> Printed<'a> {
    fn new(looking: &'a Looking, limit: usize, filter: Option<XpathFilter>) -> Printed<'a> {
        let limit = if limit == 0 { usize::MAX } else { limit };
        let (forms, waiting) = (Forms::default(), Vec::new());
        Printed { looking, forms, filter, waiting, bytes: 0, limit, shown: 0, more: false, failed: None }
    }

    /// Takes the next hit, and returns whether another one is wanted.
    fn take(&mut self, hit: SearchHit) -> bool {
        if self.filter.is_none() {
            return self.print(&hit);
        }
        self.bytes += hit.placed.1.body.len();
        self.waiting.push(hit);
        self.waiting.len() < limits::HITS && self.bytes < limits::HIT_BYTES || self.judge()
    }

    /// Judges the hits that wait, and prints those for which the expression is true.
    fn judge(&mut self) -> bool {
        let (waiting, _) = (std::mem::take(&mut self.waiting), std::mem::take(&mut self.bytes));
        let Some(filter) = &self.filter else { return true };
        let bodies: Vec<&[u8]> = waiting.iter().map(|hit| &*hit.placed.1.body).collect();
        match filter.filter_payloads(&bodies) {
            Ok(held) => waiting.iter().zip(held).filter(|(_, held)| *held).all(|(hit, _)| self.print(hit)),
            Err(fault) => {
                let at = match fault {
                    XpathFault::Costly(at, _) => waiting.get(at).map(|hit| hit.placed.0),
                    XpathFault::Wrong(_) | XpathFault::Machine(_) => None,
                };
                self.failed = Some(xpath_fault(self.looking.screen, OPTION, &fault, at));
                false
            }
        }
    }

    /// Prints a hit, and returns whether another one is wanted.
    fn print(&mut self, hit: &SearchHit) -> bool {
        if self.shown == self.limit {
            self.more = true;
            return false;
        }
        self.shown += 1;
        let screen = self.looking.screen;
        if screen.json {
            let (position, record) = &hit.placed;
            screen.show_value(&self.forms.add_to_record(&*self.looking.reader, &as_json(*position, record)));
        } else {
            lines(hit).iter().for_each(|line| screen.show_drawn(line));
        }
        true
    }

    /// How many were printed, and whether there are more.
    fn end(mut self) -> Result<(usize, bool), CommandExit> {
        if self.failed.is_none() && !self.more {
            self.judge();
        }
        self.failed.map_or(Ok((self.shown, self.more)), Err)
    }
}

/// Reports why an expression judges nothing.
pub(super) fn xpath_fault(
    screen: Screen,
    option: &str,
    fault: &XpathFault,
    at: Option<Position>,
) -> CommandExit {
    let place = at.map_or_else(String::new, |at| format!(" for the message at position {}", at.0));
    let (exit, words, fix) = match fault {
        XpathFault::Wrong(words) => {
            let words = format!("{option}: {words}");
            (CommandExit::Usage, words, "an XPath 1.0 expression without prefixes, as /order/total > 100")
        }
        XpathFault::Costly(_, why) => {
            let what = match why {
                TrialOutcome::Memory => "memory",
                TrialOutcome::Processor | TrialOutcome::Wall | TrialOutcome::Refused(_) => "time",
            };
            let words = format!("{option}: the expression takes too much {what}{place}");
            (
                CommandExit::Failed,
                words,
                "a simpler expression, or words and filters that leave fewer messages",
            )
        }
        XpathFault::Machine(words) => {
            (CommandExit::Unavailable, format!("{option}: {words}"), "run it again; systole doctor")
        }
    };
    screen.fail_with(exit, words, fix)
}

/// Reports why nothing can be searched.
pub(super) fn search_fault(looking: &Looking, fault: &SearchFault) -> CommandExit {
    let screen = looking.screen;
    screen.show_progress("");
    match fault {
        SearchFault::Log(fault) => looking.fault(fault),
        SearchFault::Stale(why) | SearchFault::Unwritable(why) => {
            let error = std::io::Error::other(why.clone());
            system_faults::report_missing(screen, "the search file", &error)
        }
    }
}

/// A hit: one line in a pipe, wrapped on a terminal.
fn lines(hit: &SearchHit) -> Vec<String> {
    let (position, record) = &hit.placed;
    let h = &record.header;
    let name = |name: &str| paint(TextTone::Name, &cut(name, systole_show::limits::NAME_COLUMNS));
    let parties = match &h.to {
        Some(to) => format!("{} → {}", name(h.from.as_str()), name(to.as_str())),
        None => name(h.from.as_str()),
    };
    let seen = glance(&record.body);
    let words = match &hit.at {
        Some(at) => around(&hit.text, at),
        None => seen.line(limits::BEFORE_WORD + limits::AFTER_WORD),
    };
    let (day, clock, offset) = (layout::day(h.time), layout::clock(h.time), layout::offset(h.time));
    let place = format!("{}@{}", h.thread.as_str(), h.seq);
    let text = format!(" {place}  {parties}  <{}>  {words}", seen.element);
    wrapped(&format!("{:>6}  {day} {clock}{offset} ", position.0), 4, &text)
}

/// The text around a place, on one line.
fn around(text: &str, at: &std::ops::Range<usize>) -> String {
    let part = |range: std::ops::Range<usize>| text.get(range).unwrap_or_default();
    let (before, word, after) = (part(0..at.start), part(at.clone()), part(at.end..text.len()));
    let start = before.char_indices().rev().nth(limits::BEFORE_WORD - 1).map(|(at, _)| at);
    let end = after.char_indices().nth(limits::AFTER_WORD).map(|(at, _)| at);
    // A blank at the word must survive the collapse of white space.
    let blank = |is_blank: Option<bool>| if is_blank == Some(true) { " " } else { "" };
    let gap_before = blank(before.chars().next_back().map(char::is_whitespace));
    let gap_after = blank(after.chars().next().map(char::is_whitespace));
    format!(
        "{}{}{gap_before}{}{gap_after}{}{}",
        if start.is_some_and(|start| start > 0) { "…" } else { "" },
        plain(before.get(start.unwrap_or(0)..).unwrap_or_default()),
        paint(TextTone::Good, &plain(word)),
        plain(after.get(..end.unwrap_or(after.len())).unwrap_or_default()),
        if end.is_some() { "…" } else { "" },
    )
}
