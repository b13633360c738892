//! The routes of the questions: each row of `systole_queries::questions` says which it has. A path and a query come in; the
//! answer for programs goes out.

use std::sync::Arc;

use axum::Json;

use super::answers::{serve_reading, thread_of};
use super::records::no_record;
use super::refusals::{ReadFault, ReadRefusal, ReadResult};
use super::searching::{found_in, search_fault};
use crate::door_row::DoorRoute;
use crate::limits;
use crate::log_view::LogMoment;
use crate::request_refusals::describe_unfit_address;
use systole_core::types::codes::Code;
use systole_core::types::ids::ThreadId;
use systole_core::types::ports::LogReader;
use systole_core::types::refusal::Refusal;
use systole_core::types::time::Millis;
use systole_log::search::LogQuery;
use systole_organism::workflow_steps;
use systole_queries::log_state::LogState;
use systole_queries::picture::ReadSteps;
use systole_queries::prompts::PromptFault;
use systole_queries::query::{
    ArgumentMistake, AskIndex, QueryAnswer, QueryFault, QueryMoment, QueryRoute, QueryRow, join_choices,
};
use systole_queries::questions::QUERIES;
use systole_queries::runs::ReadStep;
use systole_queries::search::SearchHit;

/// The routes of the questions.
pub fn list_question_routes() -> Vec<DoorRoute> {
    let rows = QUERIES.iter().flat_map(|row| row.routes.iter().map(move |route| (row, route)));
    let serve = |(row, route): (&'static QueryRow, &QueryRoute)| {
        serve_reading(route.path, route.fields, move |moment, fields| {
            let answer = ask(row, moment, &|name| fields.text(name).map(str::to_owned))?;
            Ok(Json(answer.value))
        })
    };
    rows.map(serve).collect()
}

/// Asks a question at a moment.
pub fn ask(
    row: &QueryRow,
    moment: &LogMoment,
    typed: &dyn Fn(&str) -> Option<String>,
) -> ReadResult<QueryAnswer> {
    (row.ask)(moment, typed).map_err(refuse_fault)
}

/// Why a question has no answer, for a client.
pub(crate) fn refuse_fault(fault: QueryFault) -> ReadFault {
    match fault {
        QueryFault::Log(fault) => ReadFault::Log(fault),
        QueryFault::Search(fault) => search_fault(fault),
        QueryFault::Mistake(mistake) => ReadFault::Refused(refuse_mistake(&mistake)),
        QueryFault::Unfound(_) => ReadRefusal::unknown_thread().into(),
        QueryFault::NoRecord { thread, seq, last } => no_record(&thread, seq, last).into(),
        QueryFault::NoPrompt { thread, seq } => {
            let words = format!("thread {thread} has no call to a model up to record {seq}");
            ReadRefusal::missing(words, "another thread, or a later record; only agents call a model").into()
        }
        QueryFault::Prompt(why) => refuse_prompt(why),
        QueryFault::NeedsRead(what) => ReadRefusal::needs_read(what).into(),
        QueryFault::Refused(refusal) => ReadRefusal::from(*refusal).into(),
    }
}

/// Why a prompt is not shown.
fn refuse_prompt(why: PromptFault) -> ReadFault {
    match why {
        PromptFault::Log(fault) => ReadFault::Log(fault),
        erased @ PromptFault::Erased(_) => {
            ReadRefusal::missing(erased.to_string(), "another record; what was erased cannot be read again")
                .into()
        }
        other => {
            let refusal = Refusal::new(Code::DamagedThread, other.to_string());
            ReadRefusal::from(refusal.fixed_by("systole doctor, where the log is")).into()
        }
    }
}

/// The refusal of a wrong value.
fn refuse_mistake(mistake: &ArgumentMistake) -> ReadRefusal {
    let refusal = match mistake {
        ArgumentMistake::Unfit { field, words, examples, .. } => {
            // A time of day alone would be in the time zone of the organism.
            let fits = examples.iter().filter(|example| !example.contains(':') || example.contains('-'));
            let fits: Vec<String> = fits.map(|example| format!("{field}={example}")).collect();
            let refusal = describe_unfit_address(format!("{field}: {words}"));
            match join_choices(&fits) {
                Some(fits) => refusal.fixed_by(fits),
                None => refusal,
            }
        }
        ArgumentMistake::NotAfter { field, other } => {
            describe_unfit_address(format!("{field}: it is not after {other}"))
        }
    };
    ReadRefusal::unfit(refusal)
}

impl QueryMoment for LogMoment {
    fn log(&self) -> &dyn LogReader {
        &*self.reader
    }

    fn now(&self) -> Millis {
        self.now
    }

    fn state(&self) -> Result<Arc<LogState>, QueryFault> {
        Ok(self.read_state()?)
    }

    fn ask_index(&self, ask: AskIndex<'_>) -> Result<(), QueryFault> {
        let own = self.own_name().map(|name| name.as_str());
        Ok(LogMoment::ask_index(self, |index| ask(index, own))?)
    }

    fn steps(&self) -> ReadStep<'static> {
        &workflow_steps::describe_step
    }

    fn read_declared(&self) -> ReadSteps<'static> {
        &workflow_steps::list_declared
    }

    fn sees_all(&self) -> bool {
        self.sees_all
    }

    fn most(&self) -> usize {
        limits::ENTRIES
    }

    fn thread(&self, typed: &str) -> Result<ThreadId, QueryFault> {
        thread_of(self, typed).map_err(as_query_fault)
    }

    fn newest(&self, query: &LogQuery, take: &mut dyn FnMut(SearchHit) -> bool) -> Result<(), QueryFault> {
        found_in(self, query, take).map_err(as_query_fault)
    }
}

fn as_query_fault(fault: ReadFault) -> QueryFault {
    match fault {
        ReadFault::Log(fault) => QueryFault::Log(fault),
        ReadFault::Refused(refusal) => {
            let refusal: Refusal = refusal.into_refusal();
            QueryFault::Refused(Box::new(refusal))
        }
    }
}
