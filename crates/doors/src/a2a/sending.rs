//! A message of a client: it begins a task, or it is for one, which it answers, decides or steers.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use systole_queries::asked_decisions::read_decision;
use systole_queries::persons::{RequestSubject, WaitingRequest};

use super::answered::AnsweredMessages;
use super::faults::{A2aFault, A2aResult, FaultKind};
use super::messages::{SaidParts, write_message};
use super::params::SentMessage;
use super::tasks::{NAMED, OpenTask};
use systole_core::types::codes::Code;
use systole_core::types::ids::{Key, Name, ThreadId};
use systole_core::types::limits::THREAD_NAME_BYTES;
use systole_core::types::person::PersonRequestId;
use systole_core::types::thread_choice::{ThreadName, fit_foreign};
use systole_following::run_ids::find_run_id;
use systole_hall::http_state::HttpState;
use systole_hall::runs::form_answers::{FormEnd, take_answer};
use systole_hall::runs::requests::{RunRequests, find_approvals_page, name_request};
use systole_hall::runs::sending::send_message;
use systole_hall::runs::steering_words::steer_thread;
use systole_hall::runs::work::read_blocking;

/// Where a message of that context goes. `None` is a new thread.
fn read_address(context: Option<&str>) -> A2aResult<Option<String>> {
    let Some(context) = context.filter(|context| !context.is_empty()) else { return Ok(None) };
    if ThreadId::parse(context).is_ok_and(|thread| thread.parent().is_none()) {
        return Ok(Some(context.to_owned()));
    }
    // It is returned as it came, so none is made to fit.
    let most = THREAD_NAME_BYTES - NAMED.len();
    let name = ThreadName::parse(&format!("{NAMED}{context}")).ok();
    let name = name.filter(|_| fit_foreign(context, most) == context);
    name.map(|name| Some(name.to_string())).ok_or_else(|| {
        let words = format!(
            "message.contextId has at most {most} visible ASCII characters without / and @; \
             leave it out and take the one of the answer"
        );
        A2aFault::refuse_params(words)
    })
}

/// Takes a message. Returns the task that it began, or that it is for.
pub(super) async fn take_message(
    (state, client): (Arc<HttpState>, Name),
    answered: &AnsweredMessages,
    mut message: SentMessage,
) -> A2aResult<OpenTask> {
    let key = message.read_key()?;
    let (task, context) = (message.task_id.take(), message.context_id.take());
    let said = message.read_parts()?;
    let Some(task) = task.filter(|task| !task.is_empty()) else {
        return begin_task(state, client, (key, read_address(context.as_deref())?), &said).await;
    };
    let task = OpenTask::find(&state, &client, &task).await?;
    let is_same = context.is_none_or(|context| {
        context.is_empty() || context == task.context || context == task.receipt.thread
    });
    if !is_same {
        let words = format!("message.contextId is not that of the task, which is {}", task.context);
        return Err(A2aFault::refuse_params(words));
    }
    task.take_words(key, said, answered).await?;
    Ok(task)
}

async fn begin_task(
    state: Arc<HttpState>,
    client: Name,
    (key, thread): (Key, Option<String>),
    said: &SaidParts,
) -> A2aResult<OpenTask> {
    let organism = state.front.composition().clone();
    let written = write_message((&state, &organism), &client, said)?;
    let sent = (written.to, written.message.document.clone());
    let receipt = send_message(&state, &client, sent, (&key, thread)).await.map_err(|refusal| {
        if refusal.code == Code::UnknownThread {
            return A2aFault::refuse_params(
                "there is no such context of this client: leave contextId out to begin one",
            );
        }
        refusal.into()
    })?;
    let id = find_run_id(&receipt).ok_or_else(A2aFault::refuse_task)?;
    OpenTask::find(&state, &client, &id.to_string()).await
}

/// What a text for a task was.
enum TakenText {
    /// The answer to a question.
    Answered,
    /// Words for its listener.
    Said,
}

impl OpenTask {
    /// Takes a message for this task.
    async fn take_words(&self, key: Key, said: SaidParts, answered: &AnsweredMessages) -> A2aResult<()> {
        let text = match said {
            SaidParts::Data(data) => return self.decide(&data).await,
            SaidParts::Text(said) if !said.files.is_empty() => {
                let words = "a file goes with the message that begins a task, not with one for it";
                return Err(A2aFault::new(FaultKind::Content, words));
            }
            SaidParts::Text(said) => said.text,
        };
        if self.is_said(&key).await? || !answered.keep(&self.client, &key) {
            return Ok(());
        }
        let taken = self.take_text(&key, &text).await;
        // What has answered nothing may come again.
        if !matches!(taken, Ok(TakenText::Answered)) {
            answered.forget(&self.client, &key);
        }
        taken.map(drop)
    }

    /// Whether that message was said to the task's listener.
    async fn is_said(&self, key: &Key) -> A2aResult<bool> {
        let (reader, client, key) = (self.state.front.reader().clone(), self.client.clone(), key.clone());
        let thread = self.thread()?;
        let said = read_blocking(move || reader.by_key(&thread, &client, &key)).await?;
        Ok(said.is_some())
    }

    fn thread(&self) -> A2aResult<ThreadId> {
        ThreadId::parse(&self.receipt.thread).map_err(|_| A2aFault::refuse_task())
    }

    /// Takes a text that was not sent before, as far as the door knows.
    async fn take_text(&self, key: &Key, text: &str) -> A2aResult<TakenText> {
        let now = self.read_now().await?;
        if now.has_ended() {
            let words =
                format!("the task is over, {}: a message without taskId begins the next one", now.state());
            return Err(A2aFault::new(FaultKind::Unsupported, words));
        }
        if now.waits() {
            self.answer(text).await?;
            return Ok(TakenText::Answered);
        }
        if now.is_queued() {
            let words = "the task waits for its turn, and no one works on it yet: say it when it is WORKING";
            return Err(A2aFault::new(FaultKind::Unsupported, words));
        }
        if !self.has_answered(now.decided, text).await? {
            steer_thread((&self.state, &self.client), &self.thread()?, text, key.clone()).await?;
        }
        Ok(TakenText::Said)
    }

    /// Whether the newest question of the run was answered with just that: the message was sent before, and its answer lost.
    async fn has_answered(&self, decided: Option<PersonRequestId>, text: &str) -> A2aResult<bool> {
        let (reader, Some(decided)) = (self.state.front.reader().clone(), decided) else { return Ok(false) };
        let known = read_blocking(move || read_decision(&*reader, decided)).await?;
        let known = known.filter(|known| known.outcome == "chosen");
        Ok(known.is_some_and(|known| known.choice.or(known.note).as_deref() == Some(text)))
    }

    /// A text answers a question, if there is one that it can be for.
    async fn answer(&self, text: &str) -> A2aResult<()> {
        let waits = RunRequests::read(&self.state, &self.client, &self.receipt).await?;
        let [waiting] = waits.own.as_slice() else {
            if waits.own.is_empty() {
                let ids: Vec<String> = waits.ids.iter().map(ToString::to_string).collect();
                let page = find_approvals_page(&self.state.addresses);
                let words =
                    format!("{} is not for this client to decide; it is decided at {page}", ids.join(", "));
                return Err(A2aFault::new(FaultKind::Unsupported, words));
            }
            return Err(refuse_text(&waits.own));
        };
        let RequestSubject::Question { choices, .. } = &waiting.about else {
            return Err(refuse_text(&waits.own));
        };
        if !choices.is_empty() && !choices.iter().any(|choice| choice == text) {
            let words = format!("the answer to {} is one of {}", waiting.id, choices.join(", "));
            return Err(A2aFault::refuse_params(words));
        }
        let field = if choices.is_empty() { "note" } else { "choice" };
        self.take_form(&name_request(waiting), json!({field: text})).await
    }

    /// Decides what the data names.
    async fn decide(&self, data: &RawValue) -> A2aResult<()> {
        let mut form: Value = serde_json::from_str(data.get()).unwrap_or_default();
        let name = form.as_object_mut().and_then(|fields| fields.remove("request"));
        let Some(name) = name.as_ref().and_then(Value::as_str) else {
            let words = "data for a task has request, with the hash of what was shown, as a1.0123456789abcdef, \
                         and the fields of its answer";
            return Err(A2aFault::refuse_params(words));
        };
        self.take_form(name, form).await
    }

    async fn take_form(&self, name: &str, content: Value) -> A2aResult<()> {
        let answer = json!({"action": "accept", "content": content});
        match take_answer((&self.state, &self.client), &self.receipt, (name, &answer)).await {
            Ok(FormEnd::Taken) => Ok(()),
            Ok(_) => Err(A2aFault::refuse_params(format!("{name:?} is no request of this task"))),
            Err(why) => Err(A2aFault::refuse_params(why)),
        }
    }
}

/// A text decides nothing that could be more than one thing.
fn refuse_text(own: &[WaitingRequest]) -> A2aFault {
    let forms = own.iter().map(|one| match &one.about {
        RequestSubject::Approval { .. } => json!({"request": name_request(one), "approved": true}),
        RequestSubject::Question { choices, .. } => match choices.first() {
            Some(choice) => json!({"request": name_request(one), "choice": choice}),
            None => json!({"request": name_request(one), "note": "…"}),
        },
    });
    let forms: Vec<String> = forms.map(|form| json!({"data": form}).to_string()).collect();
    A2aFault::refuse_params(format!("a text decides nothing here: send one part, as {}", forms.join(" or ")))
}
