//! What a server asks of a person in the middle of a call.
//!
//! The listener sends itself a form, which waits for a person. What comes back are values; what they answer is kept
//! here, by thread and call. A process that was started again keeps nothing, and says so.
//!
//! An open call that no one waits for any more is cancelled at its server: a server that works on one call after the
//! other would answer no other call.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::model::{CallToolRequestParams, InputRequests, InputRequiredResult, JsonObject};
use serde_json::Value;
use systole_kit::Payload;
use systole_kit::answers::Answers;
use systole_kit::envelope::Delivered;
use systole_kit::reply::{Item, ReplyContent};

use super::answer::{self, MCP};
use super::form::{self, GivenValues, InputQuestions};
use crate::client::{AskedCall, SentCall};

/// The key of a question that its server gave none.
const ONLY: &str = "input";

/// A call that waits for a person.
struct WaitingCall {
    thread: String,
    call: String,
    tool: String,
    questions: InputQuestions,
    way: AnswerWay,
}

/// How a call goes on with the answers of a person.
enum AnswerWay {
    /// It is sent again.
    Again {
        arguments: JsonObject,
        /// What the server wants back as it was.
        state: Option<String>,
    },
    /// It is open, and its server waits for the answer.
    Open(Box<AskedCall>),
}

impl AnswerWay {
    /// Ends the call without an answer of a person. A call that would be sent again is not open anywhere.
    async fn give_up(self) {
        if let AnswerWay::Open(call) = self {
            call.give_up().await;
        }
    }
}

/// Ends calls that no one waits for any more.
async fn give_up(calls: Vec<WaitingCall>) {
    for call in calls {
        call.way.give_up().await;
    }
}

/// The number of the top call of its thread in which a call is: 2 of `2` and of `2/1.0`.
fn read_top_number(call: &str) -> Option<u32> {
    call.split(|sign: char| !sign.is_ascii_digit()).next()?.parse().ok()
}

/// The calls that wait for a person.
#[derive(Default)]
pub(super) struct WaitingCalls(Mutex<VecDeque<WaitingCall>>);

/// What to do after a person has decided.
pub(super) enum CallDecision {
    /// Call the tool again with the answers.
    Call(Box<CallToolRequestParams>),
    /// Wait for the result of the open call. The parameters name its tool.
    Wait(Box<CallToolRequestParams>, Box<SentCall>),
    /// Say this to the pump.
    Say(ReplyContent),
}

impl WaitingCalls {
    /// Asks a person before a call is sent again. `own` is the name of this listener.
    pub(super) async fn ask(
        &self,
        asked: &Delivered,
        own: &str,
        call: &CallToolRequestParams,
        required: InputRequiredResult,
    ) -> ReplyContent {
        let arguments = call.arguments.clone().unwrap_or_default();
        let way = AnswerWay::Again { arguments, state: required.request_state };
        let requests = required.input_requests.unwrap_or_default();
        if requests.is_empty() {
            return build_refusal("the server wants to be called again later, and asks nothing");
        }
        self.begin_form((asked, own), &call.name, &requests, way).await
    }

    /// Asks a person while a call is open.
    pub(super) async fn ask_in(
        &self,
        asked: &Delivered,
        own: &str,
        tool: &str,
        call: AskedCall,
    ) -> ReplyContent {
        let requests = InputRequests::from([(ONLY.to_owned(), call.question.asked.clone())]);
        self.begin_form((asked, own), tool, &requests, AnswerWay::Open(Box::new(call))).await
    }

    async fn begin_form(
        &self,
        (asked, own): (&Delivered, &str),
        tool: &str,
        requests: &InputRequests,
        way: AnswerWay,
    ) -> ReplyContent {
        let questions = match form::read_questions(requests) {
            Ok(questions) => questions,
            Err(why) => {
                way.give_up().await;
                return build_refusal(&why);
            }
        };
        let waiting = WaitingCall {
            thread: asked.thread.clone(),
            call: asked.stamp.call.clone(),
            tool: tool.to_owned(),
            questions,
            way,
        };
        self.send_form(waiting, own, None, "").await
    }

    async fn send_form(
        &self,
        waiting: WaitingCall,
        own: &str,
        given: Option<&GivenValues>,
        problem: &str,
    ) -> ReplyContent {
        let payload = form::write_form(&waiting.tool, &waiting.questions, given, problem);
        let mut over = self.taken_if(|other| other.is_of(&waiting.thread, &waiting.call));
        {
            let mut all = self.lock_calls();
            if all.len() >= crate::limits::WAITING_CALLS {
                over.extend(all.pop_front());
            }
            all.push_back(waiting);
        }
        give_up(over).await;
        ReplyContent::Items(vec![Item { to: Some(own.to_owned()), ..Item::plain(payload) }])
    }

    /// Gives up what waits in earlier calls of a delivery's thread: a top call begins only when the one before it is
    /// over.
    pub(super) async fn give_up_before(&self, asked: &Delivered) {
        let now = read_top_number(&asked.stamp.call);
        give_up(self.taken_if(|other| other.thread == asked.thread && read_top_number(&other.call) < now))
            .await;
    }

    /// Takes out the calls of which this is true.
    fn taken_if(&self, is_meant: impl Fn(&WaitingCall) -> bool) -> Vec<WaitingCall> {
        let mut all = self.lock_calls();
        let (meant, others) = std::mem::take(&mut *all).into_iter().partition(is_meant);
        *all = others;
        meant.into()
    }

    fn lock_calls(&self) -> MutexGuard<'_, VecDeque<WaitingCall>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_call(&self, asked: &Delivered) -> Option<WaitingCall> {
        let mut all = self.lock_calls();
        let at = all.iter().position(|waiting| waiting.is_of(&asked.thread, &asked.stamp.call))?;
        all.remove(at)
    }

    /// What a person decided about a form, as the next turn of its call.
    pub(super) async fn decide_form(&self, asked: &Delivered, own: &str, answers: &Answers) -> CallDecision {
        let Some(waiting) = self.take_call(asked) else {
            let words = "the listener was started again since the server asked a person, so the server's question is \
                         over; send the call again";
            return CallDecision::Say(build_failure("mcp.input-lost", words.to_owned()));
        };
        let answer = answers.items.first().and_then(|item| item.payload.as_ref());
        if let Some(given) = answer.and_then(form::read_values) {
            return match form::accept_answers(&waiting.questions, &given) {
                Ok(answers) => waiting.go_on(answers),
                Err(problem) => CallDecision::Say(self.send_form(waiting, own, Some(&given), &problem).await),
            };
        }
        let code = answer.and_then(|answer| answer.find_attribute("code")).unwrap_or_default();
        let action = if code == "approval.rejected" { "decline" } else { "cancel" };
        let answers = form::answer_without(&waiting.questions, action);
        waiting.go_on(answers)
    }
}

impl WaitingCall {
    fn is_of(&self, thread: &str, call: &str) -> bool {
        self.thread == thread && self.call == call
    }

    /// How the call goes on with these answers.
    fn go_on(self, mut answers: BTreeMap<String, Value>) -> CallDecision {
        let params = CallToolRequestParams::new(self.tool);
        match self.way {
            AnswerWay::Again { arguments, state } => {
                let params = params.with_arguments(arguments).with_input_responses(answers);
                CallDecision::Call(Box::new(match state {
                    Some(state) => params.with_request_state(state),
                    None => params,
                }))
            }
            AnswerWay::Open(open) => {
                let AskedCall { question, call } = *open;
                if let Some(Ok(answer)) = answers.remove(ONLY).map(serde_json::from_value) {
                    // A server that no longer waits ends its call by itself.
                    let _waits = question.answer.send(answer);
                }
                CallDecision::Wait(Box::new(params), Box::new(call))
            }
        }
    }
}

/// A form that comes to this listener, approved by a person: it goes back as it is, to the call that asked.
pub(super) fn return_approved(asked: &Delivered, own: &str) -> Option<ReplyContent> {
    let name = asked.payload.name();
    if &*name.ns != MCP || &*name.local != "input-form" {
        return None;
    }
    let payload: Payload = if asked.from == own {
        asked.payload.clone()
    } else {
        answer::build_failure("mcp.refused", "only the listener itself sends <input-form>")
    };
    Some(ReplyContent::Items(vec![Item::plain(payload)]))
}

fn build_refusal(why: &str) -> ReplyContent {
    ReplyContent::Items(vec![Item::plain(answer::build_failure("mcp.input-refused", why))])
}

fn build_failure(code: &str, words: String) -> ReplyContent {
    ReplyContent::new_failure(code, false, words)
}
