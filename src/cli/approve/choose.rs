//! `systole choose`: a person's answer to a question. The question is shown in full before it is answered, with every
//! message that it shows. The organism decides whether the answer fits.

use clap::Args;

use super::{BoundHashes, parse_note, parse_request, reading, rule_all};
use crate::cli::exit::CommandExit;
use crate::cli::looking::Looking;
use crate::cli::place::Place;
use systole_core::types::ids::{Digest, Name};
use systole_core::types::person::{PersonDecision, PersonRequestId, RequestKind};
use systole_organism::validators::PersonOrder;
use systole_queries::persons::RequestSubject;

/// Answers a question that waits for a person.
///
/// The question is shown whole before it is answered, with the messages that it shows. If that is longer than the
/// screen, it is shown page by page; without a terminal, --hash is needed. `systole approve` lists the
/// questions.
#[derive(Args, Debug)]
#[command(after_help = r#"Examples:
  systole choose a2 go
  systole choose a2 revise --note "name the rollback"
  systole choose a3 --note "Monday""#)]
pub(in crate::cli) struct ChooseCommand {
    #[command(flatten)]
    place: Place,
    /// The question, as in a1
    #[arg(value_parser = parse_request)]
    id: PersonRequestId,
    /// One of its choices; none if it has no choices
    choice: Option<String>,
    #[command(flatten)]
    bound: BoundHashes,
    /// What the listener reads beside the choice, or the answer itself
    #[arg(long, value_name = "TEXT", value_parser = parse_note, required_unless_present = "choice")]
    note: Option<String>,
}

impl ChooseCommand {
    pub(in crate::cli) fn run(self) -> Result<CommandExit, CommandExit> {
        let ChooseCommand { place, id, choice, bound, note } = self;
        let hash = match &bound.hash {
            Some(_) => bound.find_hash(&place, id)?,
            None if !fits_choice(&place, id, choice.as_deref())? => None,
            None => match reading::read_payloads(&place, RequestKind::Question, &[id])? {
                (read, unread) if read.is_empty() => return Ok(unread),
                (read, _) => read.first().map(|(_, hash): &(_, Digest)| *hash),
            },
        };
        let says = PersonDecision::Choose(choice);
        rule_all(&place, vec![PersonOrder { by: Name::new_operator(), request: id, hash, note, says }])
    }
}

/// Whether the question has that choice. If not, no one needs to read it before the organism refuses the answer.
fn fits_choice(place: &Place, id: PersonRequestId, choice: Option<&str>) -> Result<bool, CommandExit> {
    let looking = Looking::open_anywhere(place)?;
    let waiting = looking.requests()?;
    let found = waiting.into_iter().find(|one| one.id == id);
    Ok(found.is_some_and(|one| match (&one.about, choice) {
        (RequestSubject::Approval { .. }, _) => false,
        (RequestSubject::Question { choices, .. }, None) => choices.is_empty(),
        (RequestSubject::Question { choices, .. }, Some(choice)) => choices.iter().any(|one| one == choice),
    }))
}
