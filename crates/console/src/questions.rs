//! The pages of the questions: each row of `systole_queries::questions` has one, with a form of its fields and the command
//! that shows the same.

use askama::Template;
use axum::response::Response;

use super::frame::{Frame, PageTab};
use super::page_request::{PageRequest, render_page};
use super::shorten::{begin_with_capital, encode_part, shorten_text};
use crate::limits;
use systole_core::types::refusal::Refusal;
use systole_hall::door_row::DoorRoute;
use systole_hall::reading::ask;
use systole_kit::writer::make_visible;
use systole_queries::query::{FieldPlace, QueryField, QueryPage, QueryRow};
use systole_queries::questions::QUERIES;
use systole_show::blocks::{
    Block, Fact, FactColumn, FactLink, FactRow, FactTable, ListCell, ListRow, RowList,
};
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
    metavar: &'static str,
}

#[derive(Template)]
#[template(path = "question.html")]
struct QuestionPage {
    frame: Frame,
    page: &'static QueryPage,
    /// Its own path.
    path: String,
    /// As of which record of the thread it answers, if as of one.
    as_of: Option<u64>,
    /// The thread that is asked about: its name and its address.
    thread: Option<(String, String)>,
    choices: Vec<ChoiceField>,
    texts: Vec<TextField>,
    blocks: Vec<Block>,
    /// Whether the export that is shown has nothing of which the answer is made.
    is_lost: bool,
    /// The page with the next part.
    next: Option<String>,
}

impl QuestionPage {
    /// What an export leaves out, if the answer is made of it.
    fn lacks(&self) -> Option<&'static str> {
        self.page.without_requests.filter(|_| self.frame.lacks_requests())
    }

    /// What is not there, as a sentence.
    fn note(&self, words: &str) -> String {
        format!("{}.", begin_with_capital(words))
    }

    /// A text that may come from a listener.
    fn plain(&self, text: &str) -> String {
        plain(text)
    }

    /// A long text that may come from a listener.
    fn body(&self, text: &str) -> String {
        shorten_text(&make_visible(text), limits::TEXT)
    }

    /// Where a fact leads: the address, and the number of the record.
    fn link(&self, link: &FactLink) -> (String, u64) {
        match link {
            FactLink::Record(thread, seq) => (self.frame.record(&encode_part(thread), seq), *seq),
            FactLink::AsOf(seq) => (self.frame.to(&format!("{}?seq={seq}", self.path)), *seq),
        }
    }

    /// The address of a record.
    fn record(&self, (thread, seq): &(String, u64)) -> String {
        self.frame.record(&encode_part(thread), seq)
    }

    /// The beginning of a cell's text.
    fn cut(&self, text: &str) -> String {
        shorten_text(text, limits::WORDS)
    }

    /// The cells of a row, each with its title and its class.
    fn list_cells<'a>(
        &self,
        list: &RowList,
        row: &'a ListRow,
    ) -> Vec<(&'static str, &'static str, &'a ListCell)> {
        list.columns.iter().zip(&row.cells).map(|((title, class), cell)| (*title, *class, cell)).collect()
    }

    /// The facts of a row, each with its column.
    fn cells<'a>(&self, table: &'a FactTable, row: &'a FactRow) -> Vec<(&'a FactColumn, &'a Fact)> {
        table.facts.iter().zip(&row.facts).collect()
    }
}

/// The pages of all questions.
pub(super) fn list_question_pages() -> Vec<DoorRoute> {
    let pages = QUERIES.iter().filter_map(|row| Some((row, row.page.as_ref()?)));
    pages.map(|(row, page)| DoorRoute::get(page.path, move |asked| show(row, page, asked))).collect()
}

async fn show(row: &'static QueryRow, page: &'static QueryPage, asked: PageRequest) -> Response {
    asked.answer_page(answer(row, page, &asked).await)
}

async fn answer(
    row: &'static QueryRow,
    page: &'static QueryPage,
    asked: &PageRequest,
) -> Result<Response, Refusal> {
    let known: Vec<&str> = row.page_fields().map(|field| field.name).collect();
    let subject = row.subject().map(|field| (field.name, asked.part(field.name).to_owned()));
    let subject = subject.filter(|(_, thread)| !thread.is_empty());
    let of_path = subject.clone();
    let answer = asked.look(&known, move |moment, fields| {
        let in_path =
            |name: &str| of_path.iter().find(|(known, _)| *known == name).map(|(_, text)| text.clone());
        ask(row, moment, &|name| in_path(name).or_else(|| fields.text(name).map(str::to_owned)))
    });
    let answer = answer.await?;
    if !asked.is_html {
        return Ok(asked.json(&answer.value));
    }
    let thread = subject.map(|(_, thread)| thread);
    let title = thread.as_ref().map_or(page.title.to_owned(), |thread| format!("{} of {thread}", page.title));
    let frame = asked.frame(PageTab::of(page.path), &title);
    let (next, part) = (answer.next, row.field_at(FieldPlace::Part).map(|field| field.name));
    let frame = frame.with_command(command(row, asked, (thread.as_deref(), answer.as_of), next.is_some()));
    let is_part = part.is_some_and(|part| asked.value(part).is_some());
    let frame = if row.is_live && !is_part { frame.live() } else { frame };
    let next = next.zip(part).map(|(value, part)| {
        let others = row.page_fields().map(|field| field.name).filter(|name| *name != part);
        let set = others.filter_map(|name| Some(format!("{name}={}&", encode_part(asked.value(name)?))));
        frame.to(&format!("{}?{}{part}={}", asked.path(), set.collect::<String>(), encode_part(&value)))
    });
    let shown = QuestionPage {
        is_lost: row.is_of_sys && frame.lacks_own_thread(),
        next,
        path: asked.path().to_owned(),
        as_of: answer.as_of,
        thread: thread.map(|name| (frame.to(&format!("/t/{}", encode_part(&name))), name)),
        frame,
        page,
        choices: row.page_fields().filter_map(|field| choice_field(field, asked)).collect(),
        texts: row.page_fields().filter_map(|field| text_field(field, asked)).collect(),
        blocks: answer.blocks,
    };
    Ok(render_page(&shown))
}

fn choice_field(field: &'static QueryField, asked: &PageRequest) -> Option<ChoiceField> {
    let chosen = asked.value(field.name).or(field.choices.first().copied())?;
    let words = field.choices.iter().map(|word| (*word, *word == chosen)).collect();
    (!field.choices.is_empty()).then(|| ChoiceField {
        name: field.name,
        label: begin_with_capital(field.name),
        words,
    })
}

fn text_field(field: &'static QueryField, asked: &PageRequest) -> Option<TextField> {
    let value = asked.value(field.name).unwrap_or_default().to_owned();
    let is_typed =
        field.choices.is_empty() && !matches!(field.place, FieldPlace::Part | FieldPlace::PartSize);
    let label = begin_with_capital(field.name);
    is_typed.then_some(TextField { name: field.name, label, value, metavar: field.metavar })
}

/// The command that shows the same. If nothing is typed it would show its newest subject, so it names a choice. It shows
/// all of a long answer, so it names how much the page has of one that goes on.
fn command(
    row: &QueryRow,
    asked: &PageRequest,
    (thread, as_of): (Option<&str>, Option<u64>),
    goes_on: bool,
) -> String {
    let is_option = |field: &&QueryField| field.place != FieldPlace::BehindSubject;
    let names: Vec<&str> = row.page_fields().filter(is_option).map(|field| field.name).collect();
    let mut options = asked.options(&names);
    let size = row.field_at(FieldPlace::PartSize).map(|field| field.name);
    if let Some(size) = size.filter(|size| goes_on && asked.value(size).is_none()) {
        options.push_str(&format!(" --{size} {}", limits::ENTRIES));
    }
    if let Some(thread) = thread {
        let behind = as_of.map(|seq| format!("@{seq}")).unwrap_or_default();
        return format!("systole {} {thread}{behind}{options}", row.name);
    }
    let choice = row.page_fields().find_map(|field| Some((field.name, *field.choices.first()?)));
    match choice.filter(|_| options.is_empty() && row.subject().is_some()) {
        Some((name, word)) => format!("systole {} --{name} {word}", row.name),
        None => format!("systole {}{options}", row.name),
    }
}
