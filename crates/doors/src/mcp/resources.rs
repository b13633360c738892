//! Resources: what was said in the threads that a client opened, and the files that their records name. All is read from
//! the log as the client sees it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use systole_kit::file_reference;
use systole_log::index::RootRow;
use systole_queries::transcript::{Transcript, TranscriptTurn};

use crate::limits;
use systole_core::types::codes::Code;
use systole_core::types::composition::Composition;
use systole_core::types::ids::{Name, ThreadId};
use systole_core::types::ports::LogFault;
use systole_core::types::record::Record;
use systole_doorway::rpc::RpcFault;
use systole_hall::http_state::HttpState;
use systole_hall::log_view::{LogMoment, MomentAsked};
use systole_hall::reading::ReadFault;
use systole_hall::record_files::find_file;
use systole_hall::runs::own_roots::read_own_roots;
use systole_payloads::answers::{describe_failure, read_question, write_answer};
use systole_show::columns::{cut, plain};

/// How the address of a thread begins.
const THREAD: &str = "systole://thread/";

/// Where a resource is.
#[derive(Clone)]
enum ResourcePlace {
    Thread(ThreadId),
    /// The file of that number in that record of the thread.
    File(ThreadId, u64, String),
}

impl ResourcePlace {
    fn parse(uri: &str) -> Option<ResourcePlace> {
        let mut parts = uri.strip_prefix(THREAD)?.split('/');
        let thread = ThreadId::parse(parts.next()?).ok()?;
        let place = match (parts.next(), parts.next()) {
            (None, _) => ResourcePlace::Thread(thread),
            (Some(seq), Some(number)) => ResourcePlace::File(thread, seq.parse().ok()?, number.to_owned()),
            (Some(_), None) => return None,
        };
        parts.next().is_none().then_some(place)
    }
}

/// `resources/templates/list`.
pub(super) fn list_templates() -> Value {
    json!({"resourceTemplates": [
        {"uriTemplate": format!("{THREAD}{{id}}"), "name": "thread", "mimeType": "text/plain",
         "description": "What was said in a thread that you opened."},
        {"uriTemplate": format!("{THREAD}{{id}}/{{record}}/{{number}}"), "name": "file",
         "description": "A file that a record of such a thread names; the text of the thread has the addresses."},
    ]})
}

/// `resources/list`: the client's own threads, the newest first.
pub(super) async fn list_resources(
    state: &HttpState,
    client: &Name,
    cursor: Option<&str>,
) -> Result<Value, RpcFault> {
    let page = read_own_roots(state, client, cursor).await.map_err(|refusal| match refusal.code {
        Code::Invalid => RpcFault::refuse_params(refusal.message.to_string()),
        _ => RpcFault::refuse_unavailable(refusal.message.to_string()),
    })?;
    let resources: Vec<Value> = page.rows.iter().map(show_thread).collect();
    Ok(page.add_cursor(json!({"resources": resources})))
}

fn show_thread(row: &RootRow) -> Value {
    let name = if row.name.is_empty() { row.thread.clone() } else { format!("@{}", row.name) };
    let about = if row.subject.is_empty() { String::new() } else { format!(": {}", row.subject) };
    let outcome = if row.outcome.is_empty() { "open" } else { &row.outcome };
    json!({
        "uri": format!("{THREAD}{}", row.thread),
        "name": name,
        "description": format!("<{}> to {}, {outcome}{about}", row.element, row.entry),
        "mimeType": "text/plain",
    })
}

/// `resources/read`.
pub(super) async fn read_resource(
    state: &HttpState,
    client: &Name,
    uri: Option<&str>,
) -> Result<Value, RpcFault> {
    let Some(uri) = uri else {
        return Err(RpcFault::refuse_params("params.uri is missing; resources/list names the threads"));
    };
    let missing = |words: &str| {
        let data = json!({"uri": uri.chars().take(limits::RESOURCE_URI).collect::<String>()});
        RpcFault::refuse_params(words).with_details(data)
    };
    let place = ResourcePlace::parse(uri);
    let place =
        place.ok_or_else(|| missing("no resource has this address; they begin with systole://thread/"))?;
    let (organism, asked) = (state.front.composition().clone(), place);
    let read = read_as(state, client, move |moment| match &asked {
        ResourcePlace::Thread(thread) => read_thread(moment, &organism, thread),
        ResourcePlace::File(thread, seq, number) => read_file(moment, (thread, *seq), number),
    });
    let mut content = read.await?.map_err(|words| missing(&words))?;
    if let Some(fields) = content.as_object_mut() {
        fields.insert("uri".to_owned(), json!(uri));
    }
    Ok(json!({"contents": [content]}))
}

async fn read_as<T: Send + 'static>(
    state: &HttpState,
    client: &Name,
    read: impl FnOnce(&LogMoment) -> Result<T, LogFault> + Send + 'static,
) -> Result<T, RpcFault> {
    let read = state.views.run_reading(&state.front, client, MomentAsked::default(), read).await;
    read.map_err(|refusal| RpcFault::refuse_unavailable(refusal.message.to_string()))
}

/// A file of a record. The inner error says why there is none.
fn read_file(
    moment: &LogMoment,
    (thread, seq): (&ThreadId, u64),
    number: &str,
) -> Result<Result<Value, String>, LogFault> {
    let record =
        moment.reader.of_thread(thread, seq, 1)?.pop().filter(|(_, record)| record.header.seq == seq);
    let Some((_, record)) = record else { return Ok(Err("there is no such record".to_owned())) };
    let found = ReadFault::split_result(find_file(moment, &record, number))?;
    Ok(match found {
        Ok(file) => {
            let media_type = file.media_type.unwrap_or("application/octet-stream");
            Ok(json!({"mimeType": media_type, "blob": STANDARD.encode(&file.bytes)}))
        }
        Err(refusal) => Err(refusal.into_refusal().message.to_string()),
    })
}

/// What was said in a thread, the newest of it.
fn read_thread(
    moment: &LogMoment,
    organism: &Composition,
    thread: &ThreadId,
) -> Result<Result<Value, String>, LogFault> {
    if thread.parent().is_some() || moment.reader.of_thread(thread, 1, 1)?.is_empty() {
        return Ok(Err("there is no such thread of yours".to_owned()));
    }
    let said = Transcript::read(&*moment.reader, thread, 1)?;
    let mut turns = Vec::new();
    let mut room = limits::RESOURCE_BYTES;
    for turn in said.turns.iter().rev() {
        let mut text = write_turn(organism, turn);
        if turns.is_empty() && text.len() > room {
            text.truncate(text.floor_char_boundary(room));
            text.push_str(&format!("\n(cut here; systole log {thread} has the rest)\n\n"));
        }
        let left = room.saturating_sub(text.len());
        if turns.len() >= limits::RESOURCE_TURNS || left == 0 && !turns.is_empty() {
            break;
        }
        room = left;
        turns.push(text);
    }
    let mut text = match said.turns.len() - turns.len() {
        0 => String::new(),
        left => format!("(the {left} oldest messages are left out; systole log {thread} has them)\n\n"),
    };
    text.extend(turns.into_iter().rev());
    if said.has_ended {
        text.push_str("(the thread has ended)\n");
    }
    Ok(Ok(json!({"mimeType": "text/plain", "text": text})))
}

fn write_turn(organism: &Composition, turn: &TranscriptTurn) -> String {
    let (_, asked) = &turn.asked;
    let mut text = write_words(asked, &read_question(organism, asked));
    match &turn.end {
        None => text.push_str("(no answer yet)\n\n"),
        Some((how, record)) => {
            let answer = write_answer(organism, *how, record).unwrap_or_else(|| {
                let failure = describe_failure(record);
                format!("(failed, {}: {})", failure.code, failure.words)
            });
            text.push_str(&write_words(record, &answer));
        }
    }
    text
}

/// What one record says, with the addresses of its files.
fn write_words(record: &Record, words: &str) -> String {
    let h = &record.header;
    let mut text = format!("{}, {}:\n", h.from, h.time);
    // What is said is indented, so that none of it reads as another record.
    for line in words.trim_end().lines() {
        text.push_str(&format!("  {line}\n"));
    }
    for (at, file) in file_reference::list_files(&record.body).iter().enumerate() {
        let number = at + 1;
        let shorten = |text: &str| cut(&plain(text), limits::FILE_NAME);
        let name = shorten(file.name.as_deref().unwrap_or("a file"));
        text.push_str(&format!(
            "{name}, {}: {THREAD}{}/{}/{number}\n",
            shorten(&file.media_type),
            h.thread,
            h.seq
        ));
    }
    text.push('\n');
    text
}
