//! The todo lists of a thread, now or as they were after a record.
//!
//! A thread comes in; the lists of `systole_queries::todo` go out.

use askama::Template;
use axum::response::Response;

use super::asked::{PageRequest, rendered};
use super::frame::{Frame, PageTab};
use super::shorten::encoded;
use crate::reading::{of_number, thread_of};
use systole_core::types::refusal::Refusal;
use systole_queries::todo::{self, TodoLists};
use systole_show::columns::plain;

/// A list.
struct ListView {
    listener: String,
    call: String,
    seq: u64,
    href: String,
    condition: String,
    open: usize,
    /// Each step, and whether it is done.
    steps: Vec<(bool, String)>,
}

#[derive(Template)]
#[template(path = "todo.html")]
struct TodoPage {
    frame: Frame,
    name: String,
    thread: String,
    seq: u64,
    lists: Vec<ListView>,
}

/// Shows the lists.
pub(super) async fn todo(asked: PageRequest) -> Response {
    asked.answered(shown(&asked).await)
}

async fn shown(asked: &PageRequest) -> Result<Response, Refusal> {
    let typed = asked.part("id").to_owned();
    let (id, seq, lists) = asked
        .look(&["seq"], move |moment, fields| {
            let id = thread_of(moment, &typed)?;
            let seq = of_number(moment, &id, fields.number("seq")?)?.1.header.seq;
            let lists = todo::read(&*moment.reader, &id, seq)?.unwrap_or_default();
            Ok((id, seq, lists))
        })
        .await?;
    if !asked.is_html {
        return Ok(asked.json(&todo::as_json(&id, seq, &lists)));
    }
    let frame = asked.frame(PageTab::Threads, &format!("Todo lists of {id}"));
    let frame = frame.with_command(format!("systole todo {id}@{seq}"));
    let path = format!("/t/{}", encoded(id.as_str()));
    let page = TodoPage {
        name: id.to_string(),
        thread: frame.to(&path),
        seq,
        lists: lists.iter().flat_map(|call| views(&frame, &path, call)).collect(),
        frame,
    };
    Ok(rendered(&page))
}

fn views(frame: &Frame, path: &str, call: &TodoLists) -> Vec<ListView> {
    let view = |(seq, list): &(u64, systole_core::types::primitive::TodoList)| ListView {
        listener: call.listener.to_string(),
        call: call.call.to_string(),
        seq: *seq,
        href: frame.to(&format!("{path}/{seq}")),
        condition: plain(&list.condition),
        open: list.steps.iter().filter(|step| !step.is_done).count(),
        steps: list.steps.iter().map(|step| (step.is_done, plain(step.text.trim()))).collect(),
    };
    call.lists.iter().map(view).collect()
}
