//! The pages of the questions: each row of `systole_queries::questions` has one, with a form of its fields and the command
//! that shows the same.

use std::sync::Arc;

use askama::Template;
use axum::Router;
use axum::response::Response;
use axum::routing::get;

use super::asked::{PageRequest, rendered};
use super::frame::{Frame, PageTab};
use crate::http_state::HttpState;
use crate::reading::ask;
use systole_core::types::refusal::Refusal;
use systole_queries::query::{QueryField, QueryPage, QueryRow};
use systole_queries::questions::QUERIES;
use systole_show::blocks::{Block, Fact, FactColumn, FactRow, FactTable};
use systole_show::columns::plain;

/// A field that takes one of some words.
struct ChoiceField {
    name: &'static str,
    label: String,
    words: Vec<(&'static str, bool)>,
}

/// A field that takes a text.
struct TextField {
    name: &'static str,
    label: String,
    value: String,
}

#[derive(Template)]
#[template(path = "question.html")]
struct QuestionPage {
    frame: Frame,
    page: &'static QueryPage,
    choices: Vec<ChoiceField>,
    texts: Vec<TextField>,
    blocks: Vec<Block>,
}

impl QuestionPage {
    /// What an export leaves out, if the answer is made of it.
    fn lacks(&self) -> Option<&'static str> {
        self.page.without_requests.filter(|_| self.frame.lacks_requests())
    }

    /// What is not there, as a sentence.
    fn note(&self, words: &str) -> String {
        format!("{}.", sentence(words))
    }

    /// A name that may come from a listener.
    fn name(&self, name: &str) -> String {
        plain(name)
    }

    /// The facts of a row, each with its column.
    fn cells<'a>(&self, table: &'a FactTable, row: &'a FactRow) -> Vec<(&'a FactColumn, &'a Fact)> {
        table.facts.iter().zip(&row.facts).collect()
    }
}

/// The pages of all questions.
pub(super) fn routes() -> Router<Arc<HttpState>> {
    QUERIES
        .iter()
        .fold(Router::new(), |router, row| router.route(row.page.path, get(move |asked| show(row, asked))))
}

async fn show(row: &'static QueryRow, asked: PageRequest) -> Response {
    asked.answered(answer(row, &asked).await)
}

async fn answer(row: &'static QueryRow, asked: &PageRequest) -> Result<Response, Refusal> {
    let known: Vec<&str> = row.page_fields().map(|field| field.name).collect();
    let answer = asked
        .look(&known, move |moment, fields| ask(row, moment, &|name| fields.text(name).map(str::to_owned)));
    let answer = answer.await?;
    if !asked.is_html {
        return Ok(asked.json(&answer.value));
    }
    let tab = PageTab::of(row.page.path);
    let page = QuestionPage {
        frame: asked.frame(tab, row.page.title).with_known_command(Some(command(row, asked))),
        page: &row.page,
        choices: row.page_fields().filter_map(|field| choice_field(field, asked)).collect(),
        texts: row.page_fields().filter_map(|field| text_field(field, asked)).collect(),
        blocks: answer.blocks,
    };
    Ok(rendered(&page))
}

fn choice_field(field: &'static QueryField, asked: &PageRequest) -> Option<ChoiceField> {
    let chosen = asked.value(field.name).or(field.choices.first().copied())?;
    let words = field.choices.iter().map(|word| (*word, *word == chosen)).collect();
    (!field.choices.is_empty()).then(|| ChoiceField { name: field.name, label: sentence(field.name), words })
}

fn text_field(field: &'static QueryField, asked: &PageRequest) -> Option<TextField> {
    let value = asked.value(field.name).unwrap_or_default().to_owned();
    field.choices.is_empty().then(|| TextField { name: field.name, label: sentence(field.name), value })
}

/// The command that shows the same. If nothing is typed it would show its newest subject, so it names a choice.
fn command(row: &QueryRow, asked: &PageRequest) -> String {
    let names: Vec<&str> = row.page_fields().map(|field| field.name).collect();
    let options = asked.options(&names);
    let choice = row.page_fields().find_map(|field| Some((field.name, *field.choices.first()?)));
    match choice.filter(|_| options.is_empty() && row.subject().is_some()) {
        Some((name, word)) => format!("systole {} --{name} {word}", row.name),
        None => format!("systole {}{options}", row.name),
    }
}

/// A text that begins with a capital letter.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
