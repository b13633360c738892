//! The commands of the questions: each row of `systole_queries::questions` is one. What is typed comes in; what the log
//! answers goes out, as lines or as JSON.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Args as _, Command, Error, FromArgMatches, Subcommand};

use super::exit::CommandExit;
use super::find;
use super::looking::{Looking, PastPosition};
use super::place::Place;
use super::refused;
use super::screen::Screen;
use super::unfound::report_not_found;
use systole_core::types::client::Role;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::LogReader;
use systole_core::types::refusal::Refusal;
use systole_core::types::time::Millis;
use systole_doors::api_types::{ApiRefusal, refuse_wide_reading};
use systole_log::search::LogQuery;
use systole_queries::finding;
use systole_queries::query::{ArgumentMistake, QueryFault, QueryField, QueryMoment, QueryRow, join_choices};
use systole_queries::questions::{QUERIES, find_query};
use systole_queries::search::SearchHit;
use systole_show::blocks::Block;

/// A question that was typed.
#[derive(Debug)]
pub(super) struct AskedQuestion {
    row: &'static QueryRow,
    place: Place,
    past: PastPosition,
    /// The typed value of each field.
    typed: Vec<(&'static str, String)>,
}

fn build_argument(field: &QueryField, subject: Option<&QueryField>) -> Arg {
    let mut argument = Arg::new(field.name).help(field.about).value_name(field.metavar);
    if !field.choices.is_empty() {
        argument = argument.value_parser(PossibleValuesParser::new(field.choices));
    }
    match subject {
        _ if field.is_subject => argument,
        Some(subject) => argument.long(field.name).conflicts_with(subject.name),
        None => argument.long(field.name),
    }
}

/// The command of a question.
fn build_command(row: &'static QueryRow) -> Command {
    let examples = row.examples.iter().map(|example| format!("\n  {example}"));
    // The shared options would put their own words in place of the question's, so it says its own afterwards.
    let command = PastPosition::augment_args(Place::augment_args(Command::new(row.name)));
    let command = command.about(row.about).after_help(format!("Examples:{}", examples.collect::<String>()));
    row.fields.iter().fold(command, |command, field| command.arg(build_argument(field, row.subject())))
}

impl Subcommand for AskedQuestion {
    fn augment_subcommands(command: Command) -> Command {
        QUERIES.iter().fold(command, |command, row| command.subcommand(build_command(row)))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        AskedQuestion::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        find_query(name).is_some()
    }
}

impl FromArgMatches for AskedQuestion {
    fn from_arg_matches(matches: &ArgMatches) -> Result<AskedQuestion, Error> {
        let asked = matches.subcommand().and_then(|(name, below)| Some((find_query(name)?, below)));
        let (row, below) = asked.ok_or_else(|| Error::new(clap::error::ErrorKind::InvalidSubcommand))?;
        let typed = row
            .fields
            .iter()
            .filter_map(|field| Some((field.name, below.get_one::<String>(field.name)?.clone())));
        Ok(AskedQuestion {
            row,
            place: Place::from_arg_matches(below)?,
            past: PastPosition::from_arg_matches(below)?,
            typed: typed.collect(),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = AskedQuestion::from_arg_matches(matches)?;
        Ok(())
    }
}

impl AskedQuestion {
    pub(super) fn run(self) -> CommandExit {
        self.show().unwrap_or_else(|exit| exit)
    }

    fn show(&self) -> Result<CommandExit, CommandExit> {
        let looking = Looking::open_anywhere_at(&self.place, self.past)?;
        let screen = looking.screen;
        let typed = |name: &str| match self.row.subject() {
            // Without anything else the newest thread is asked about.
            Some(subject) if subject.name == name && self.typed.is_empty() => Some("@last".to_owned()),
            _ => self.typed.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone()),
        };
        let answer = (self.row.ask)(&looking, &typed).map_err(|fault| looking.report_fault(fault))?;
        if screen.json {
            screen.show_value(&answer.value);
            return Ok(CommandExit::Done);
        }
        for block in &answer.blocks {
            match block {
                Block::Table(table) => table.lines().iter().for_each(|line| screen.show_drawn(line)),
                Block::Note(words) => screen.say(words),
            }
        }
        Ok(CommandExit::Done)
    }
}

impl QueryMoment for Looking {
    fn log(&self) -> &dyn LogReader {
        &*self.view
    }

    fn now(&self) -> Millis {
        self.now
    }

    fn sees_all(&self) -> bool {
        let roles = self.elsewhere.as_ref().and_then(|elsewhere| elsewhere.status.roles.as_ref());
        roles.is_none_or(|roles| roles.iter().any(|role| role == Role::Read.as_str()))
    }

    fn thread(&self, typed: &str) -> Result<ThreadId, QueryFault> {
        finding::find(&*self.view, typed).map_err(QueryFault::Unfound)
    }

    fn newest(&self, query: &LogQuery, take: &mut dyn FnMut(SearchHit) -> bool) -> Result<(), QueryFault> {
        find::search(self, query, take).map_err(QueryFault::Search)
    }
}

impl Looking {
    /// Reports why a question has no answer.
    fn report_fault(&self, fault: QueryFault) -> CommandExit {
        let refuse = |refusal: &Refusal| {
            refused::say(self.screen, &ApiRefusal::from(refusal));
            refused::exit_of(refusal.code)
        };
        match fault {
            QueryFault::Log(fault) => self.fault(&fault),
            QueryFault::Search(fault) => find::search_fault(self, &fault),
            QueryFault::Unfound(why) => report_not_found(self.screen, &why),
            QueryFault::Mistake(mistake) => report_mistake(self.screen, &mistake),
            QueryFault::NeedsRead(what) => refuse(&refuse_wide_reading(what)),
            QueryFault::Refused(refusal) => refuse(&refusal),
        }
    }
}

/// Reports a wrong value.
fn report_mistake(screen: Screen, mistake: &ArgumentMistake) -> CommandExit {
    match mistake {
        ArgumentMistake::Unfit { field, value, words, examples } => {
            let exit = screen.fail(CommandExit::Usage, format!("--{field} `{value}`: {words}"));
            let fits: Vec<String> = examples.iter().map(|example| format!("--{field} {example}")).collect();
            if let Some(fits) = join_choices(&fits) {
                screen.say(format!("  try: {fits}"));
            }
            exit
        }
        ArgumentMistake::NotAfter { field, other } => {
            let exit = screen.fail(CommandExit::Usage, format!("--{field} is not after --{other}"));
            screen.say(format!("  try: an earlier --{other}, or a later --{field}"));
            exit
        }
    }
}
