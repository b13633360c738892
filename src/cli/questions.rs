//! The commands of the questions: each row of `systole_queries::questions` is one. What is typed comes in; what the log
//! answers goes out, as lines or as JSON.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ArgMatches, Args as _, Command, Error, FromArgMatches, Subcommand};
use serde_json::Value;

use super::exit::CommandExit;
use super::find;
use super::looking::{Looking, PastPosition, split_number};
use super::place::Place;
use super::refusal_text;
use super::schedules::ScheduleCommand;
use super::screen::Screen;
use super::unfound::report_not_found;
use systole_api::types::{ApiRefusal, refuse_wide_reading};
use systole_core::types::client::Role;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::LogReader;
use systole_core::types::refusal::Refusal;
use systole_core::types::time::Millis;
use systole_log::search::LogQuery;
use systole_organism::workflow_steps;
use systole_queries::finding;
use systole_queries::log_state::LogState;
use systole_queries::picture::ReadSteps;
use systole_queries::prompts::PromptFault;
use systole_queries::query::{
    ArgumentMistake, AskIndex, FieldPlace, PayloadForms, Query as _, QueryFault, QueryField, QueryMoment,
    QueryRow, join_choices,
};
use systole_queries::questions::schedules::ScheduleQuery;
use systole_queries::questions::{find_query, list_commands};
use systole_queries::runs::ReadStep;
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
    /// An order in place of the question.
    order: Option<ScheduleCommand>,
}

/// The thread that is asked about if none is typed.
const NEWEST: &str = "@last";

fn build_argument(field: &QueryField, subject: Option<&QueryField>) -> Arg {
    let argument = Arg::new(field.name).help(field.about);
    let mut argument = match field.metavar {
        "" => argument.action(ArgAction::SetTrue),
        metavar => argument.value_name(metavar),
    };
    if !field.choices.is_empty() {
        argument = argument.value_parser(PossibleValuesParser::new(field.choices));
    }
    match (field.place, subject) {
        (FieldPlace::Subject, _) => argument.default_value(NEWEST),
        (FieldPlace::OnlySubject | FieldPlace::FreeSubject, _) => argument,
        (FieldPlace::InPlaceOfJson, _) => argument.long(field.name).conflicts_with("json"),
        (FieldPlace::WithSubject, Some(subject)) => argument.long(field.name).requires(subject.name),
        (_, Some(subject)) if subject.place == FieldPlace::OnlySubject => {
            argument.long(field.name).conflicts_with(subject.name)
        }
        _ => argument.long(field.name),
    }
}

/// The command of a question.
fn build_command(row: &'static QueryRow) -> Command {
    let examples = row.examples.iter().map(|example| format!("\n  {example}"));
    // The shared options would put their own words in place of the question's, so it says its own afterwards.
    let command = PastPosition::augment_args(Place::augment_args(Command::new(row.name)));
    let command = command.about(row.about).after_help(format!("Examples:{}", examples.collect::<String>()));
    let fields = row.fields.iter().filter(|field| field.place != FieldPlace::BehindSubject);
    let command = fields.fold(command, |command, field| command.arg(build_argument(field, row.subject())));
    match row.name {
        ScheduleQuery::NAME => ScheduleCommand::augment_subcommands(command)
            .subcommand_required(false)
            .arg_required_else_help(false)
            .args_conflicts_with_subcommands(true),
        _ => command,
    }
}

impl Subcommand for AskedQuestion {
    fn augment_subcommands(command: Command) -> Command {
        list_commands().fold(command, |command, row| command.subcommand(build_command(row)))
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
        let fields = row.fields.iter().filter(|field| field.place != FieldPlace::BehindSubject);
        let typed = fields.filter_map(|field| Some((field.name, typed_value(field, below)?)));
        Ok(AskedQuestion {
            row,
            place: Place::from_arg_matches(below)?,
            past: PastPosition::from_arg_matches(below)?,
            typed: split_subject(row, typed.collect()),
            order: below.subcommand().map(|_| ScheduleCommand::from_arg_matches(below)).transpose()?,
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = AskedQuestion::from_arg_matches(matches)?;
        Ok(())
    }
}

/// What was typed for a field. One without a value is there or not.
fn typed_value(field: &QueryField, matches: &ArgMatches) -> Option<String> {
    match field.metavar {
        "" => matches.get_flag(field.name).then(String::new),
        _ => matches.get_one::<String>(field.name).cloned(),
    }
}

/// Takes the number of a record off the end of what is asked about, if the question has one.
fn split_subject(row: &QueryRow, typed: Vec<(&'static str, String)>) -> Vec<(&'static str, String)> {
    let behind = row.fields.iter().find(|field| field.place == FieldPlace::BehindSubject);
    let Some((subject, behind)) = row.subject().zip(behind) else { return typed };
    let split = |(name, text): (&'static str, String)| match split_number(&text) {
        (thread, Some(seq)) if name == subject.name => {
            vec![(name, thread.to_owned()), (behind.name, seq.to_string())]
        }
        _ => vec![(name, text)],
    };
    typed.into_iter().flat_map(split).collect()
}

impl AskedQuestion {
    pub(super) fn run(&self) -> Result<CommandExit, CommandExit> {
        if let Some(order) = &self.order {
            return order.run();
        }
        let looking = Looking::open_anywhere_at(&self.place, self.past)?;
        let screen = looking.screen;
        let typed = |name: &str| match self.row.subject() {
            // Without anything else the newest thread is asked about.
            Some(subject)
                if subject.name == name
                    && self.typed.is_empty()
                    && subject.place == FieldPlace::OnlySubject =>
            {
                Some(NEWEST.to_owned())
            }
            _ => self.typed.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone()),
        };
        let answer = (self.row.ask)(&looking, &typed).map_err(|fault| looking.report_fault(fault))?;
        if screen.json {
            screen.show_value(&answer.value);
            return Ok(CommandExit::Done);
        }
        for block in &answer.blocks {
            match block {
                Block::Note(words) => screen.say(words),
                Block::Sheet(sheet) => screen.show_document(sheet.as_bytes()),
                data => data.lines().iter().for_each(|line| screen.show_drawn(line)),
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

    fn state(&self) -> Result<Arc<LogState>, QueryFault> {
        self.read_state().map(Arc::new).map_err(QueryFault::Log)
    }

    fn ask_index(&self, ask: AskIndex<'_>) -> Result<(), QueryFault> {
        self.read_index(|index| ask(index, None))
    }

    fn sent_anew(&self, id: &ThreadId) -> Result<Vec<ThreadId>, QueryFault> {
        self.list_sent_anew(id)
    }

    fn steps(&self) -> ReadStep<'static> {
        &workflow_steps::describe_step
    }

    fn start(&self) -> Option<&str> {
        self.start()
    }

    fn alarms(&self) -> Option<Vec<Value>> {
        Some(self.alarms().iter().filter_map(|alarm| serde_json::to_value(alarm).ok()).collect())
    }

    fn read_declared(&self) -> ReadSteps<'static> {
        &workflow_steps::list_declared
    }

    fn forms(&self) -> Option<&dyn PayloadForms> {
        self.screen.json.then_some(&self.forms)
    }

    fn still_note(&self) -> Option<String> {
        self.still_note()
    }

    fn list_notes(&self, awaited: &BTreeSet<&str>) -> Vec<String> {
        if self.screen.json {
            return Vec::new();
        }
        let alarms = self.alarms();
        let alarms =
            alarms.iter().flat_map(|alarm| [alarm.sentence(self.now), format!("  try: {}", alarm.fix)]);
        let workers = if awaited.is_empty() { BTreeMap::new() } else { self.workers() };
        let missing = awaited.iter().filter(|name| workers.get(**name) == Some(&0));
        let missing =
            missing.map(|name| format!("{name}: no worker of that name answers at the broker; start one"));
        alarms.chain(missing).collect()
    }

    fn sees_all(&self) -> bool {
        let roles = self.elsewhere.as_ref().and_then(|elsewhere| elsewhere.status.roles.as_ref());
        roles.is_none_or(|roles| roles.iter().any(|role| role == Role::Read.as_str()))
    }

    fn thread(&self, typed: &str) -> Result<ThreadId, QueryFault> {
        finding::find(&*self.view, typed, &self.owner()).map_err(QueryFault::Unfound)
    }

    fn newest(&self, query: &LogQuery, take: &mut dyn FnMut(SearchHit) -> bool) -> Result<(), QueryFault> {
        find::search(self, query, take).map_err(QueryFault::Search)
    }
}

impl Looking {
    /// Reports why a question has no answer.
    pub(super) fn report_fault(&self, fault: QueryFault) -> CommandExit {
        let refuse = |refusal: &Refusal| {
            refusal_text::say(self.screen, &ApiRefusal::from(refusal));
            refusal_text::exit_of(refusal.code)
        };
        match fault {
            QueryFault::Log(fault) => self.fault(&fault),
            QueryFault::Search(fault) => find::search_fault(self, &fault),
            QueryFault::Unfound(why) => report_not_found(self.screen, &why),
            QueryFault::NoRecord { thread, seq, last } => {
                let words = format!("thread {thread} has no record {seq}; its last is {last}");
                self.screen.refuse(words, format!("systole log {thread}, which prints their numbers"))
            }
            QueryFault::NoPrompt { thread, .. } => {
                let words = format!("thread {thread} has no call to a model up to there");
                let fix = "systole ps, which lists threads; a model is called by agents alone";
                self.screen.refuse(words, fix)
            }
            QueryFault::Prompt(why) => self.report_prompt(why),
            QueryFault::Mistake(mistake) => report_mistake(self.screen, &mistake),
            QueryFault::NeedsRead(what) => refuse(&refuse_wide_reading(what)),
            QueryFault::Refused(refusal) => refuse(&refusal),
        }
    }
}

impl Looking {
    /// Reports why a prompt is not shown.
    fn report_prompt(&self, why: PromptFault) -> CommandExit {
        match (why, self.refused_document()) {
            (PromptFault::Log(fault), _) => self.fault(&fault),
            (_, Some(exit)) => exit,
            (erased @ PromptFault::Erased(_), None) => self.screen.fail(CommandExit::Unavailable, erased),
            (other, None) => self.screen.fail(CommandExit::Log, other),
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
        ArgumentMistake::NotAfter { field, other } => screen.refuse(
            format!("--{field} is not after --{other}"),
            format!("an earlier --{other}, or a later --{field}"),
        ),
    }
}
