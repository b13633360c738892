//! The prompt of an agent's model call, part by part, with what is new since the call before.
//!
//! A thread and a record's number come in; the parts of `systole_organism::prompt_view` go out.

use askama::Template;
use axum::response::Response;

use super::asked::{PageRequest, rendered};
use super::frame::{Frame, PageTab};
use super::shorten::{encoded, shortened};
use crate::log_view::LogMoment;
use crate::reading::{ReadFault, ReadRefusal, ReadResult, of_number, thread_of};
use std::sync::Arc;
use systole_core::types::codes::Code;
use systole_core::types::ids::ThreadId;
use systole_core::types::refusal::Refusal;
use systole_kit::writer::make_visible;
use systole_organism::prompt_view::{self, PromptPart};
use systole_queries::prompts::{JournaledCall, PromptFault};

/// Characters of a part. The command prints all.
const PART: usize = 200_000;

/// A part on the page.
struct PartView {
    title: String,
    text: String,
    is_new: bool,
}

#[derive(Template)]
#[template(path = "prompt.html")]
struct PromptPage {
    frame: Frame,
    name: String,
    thread: String,
    listener: String,
    model: String,
    turn: String,
    seq: u64,
    record: String,
    hash: String,
    parts: Vec<PartView>,
    /// How many parts the call before had too, if there was one.
    before: Option<(u64, String, usize)>,
}

/// A prompt that was read.
struct ReadPrompt {
    id: ThreadId,
    called: JournaledCall,
    links: Vec<Arc<str>>,
    before: Option<(u64, Vec<PromptPart>)>,
}

/// Shows the prompt.
pub(super) async fn prompt(asked: PageRequest) -> Response {
    asked.answered(shown(&asked).await)
}

async fn shown(asked: &PageRequest) -> Result<Response, Refusal> {
    let typed = asked.part("id").to_owned();
    let read = asked
        .look(&["seq"], move |moment, fields| {
            let id = thread_of(moment, &typed)?;
            let seq = of_number(moment, &id, fields.number("seq")?)?.1.header.seq;
            let Some((called, links)) = prompt_of(moment, &id, seq)? else {
                let words = format!("thread {id} has no call to a model up to record {seq}");
                let fix = "another thread, or a later record; only agents call a model";
                return Err(ReadRefusal::missing(words, fix).into());
            };
            let before = before(moment, &id, &called)?;
            Ok(ReadPrompt { id, called, links, before })
        })
        .await?;
    if !asked.is_html {
        return Ok(asked.json(&prompt_view::as_json(&read.id, &read.called, &read.links)));
    }
    Ok(rendered(&page(asked, &read)))
}

fn prompt_of(
    moment: &LogMoment,
    id: &ThreadId,
    seq: u64,
) -> ReadResult<Option<(JournaledCall, Vec<Arc<str>>)>> {
    prompt_view::read_prompt(&*moment.reader, id, seq).map_err(|why| match why {
        PromptFault::Log(fault) => ReadFault::Log(fault),
        erased @ PromptFault::Erased(_) => {
            ReadRefusal::missing(erased.to_string(), "another record; what was erased cannot be read again")
                .into()
        }
        other => {
            let refusal = Refusal::new(Code::DamagedThread, other.to_string());
            ReadRefusal::from(refusal.fixed_by("systole doctor, where the log is")).into()
        }
    })
}

/// The prompt of the listener's call before, if it can be read.
fn before(
    moment: &LogMoment,
    id: &ThreadId,
    called: &JournaledCall,
) -> ReadResult<Option<(u64, Vec<PromptPart>)>> {
    let Some(seq) = called.seq.checked_sub(1).filter(|seq| *seq > 0) else { return Ok(None) };
    match prompt_of(moment, id, seq) {
        Ok(Some((earlier, links))) if earlier.listener == called.listener => {
            Ok(Some((earlier.seq, prompt_view::split_parts(&links))))
        }
        Err(ReadFault::Log(fault)) => Err(ReadFault::Log(fault)),
        Ok(_) | Err(ReadFault::Refused(_)) => Ok(None),
    }
}

fn page(asked: &PageRequest, read: &ReadPrompt) -> PromptPage {
    let (id, called) = (&read.id, &read.called);
    let frame = asked.frame(PageTab::Threads, &format!("Prompt of {id}"));
    let frame = frame.with_command(format!("systole context {id}@{}", called.seq));
    let path = format!("/t/{}", encoded(id.as_str()));
    let parts = prompt_view::split_parts(&read.links);
    let earlier = read.before.as_ref().map(|(_, parts)| parts.as_slice()).unwrap_or_default();
    let same = parts.iter().zip(earlier).take_while(|(one, other)| one == other).count();
    let has_before = read.before.is_some();
    let view = |(at, part): (usize, &PromptPart)| PartView {
        title: make_visible(&part.title).into_owned(),
        text: shortened(&make_visible(&part.text), PART),
        is_new: has_before && at >= same,
    };
    PromptPage {
        name: id.to_string(),
        thread: frame.to(&path),
        listener: called.listener.to_string(),
        model: make_visible(&called.model).into_owned(),
        turn: called.turn.map(|turn| turn.to_string()).unwrap_or_default(),
        seq: called.seq,
        record: frame.to(&format!("{path}/{}", called.seq)),
        hash: called.prompt.clone(),
        parts: parts.iter().enumerate().map(view).collect(),
        before: read
            .before
            .as_ref()
            .map(|(seq, _)| (*seq, frame.to(&format!("{path}/context?seq={seq}")), same)),
        frame,
    }
}
