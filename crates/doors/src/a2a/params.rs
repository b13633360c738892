//! What A2A clients send: the parameters of all methods in one form, as JSON-RPC, a body or an address has them. A field may
//! also have the name that it has in the protocol's own file. Fields that are not here change nothing.

use axum::http::Uri;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::faults::{A2aFault, A2aResult, FaultKind};
use crate::limits;
use systole_core::types::time::Millis;

/// The types of what is answered.
const OUTPUTS: [&str; 4] = ["text/plain", "application/json", "text/*", "*/*"];

/// The parameters of a request.
#[derive(Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct A2aParams {
    tenant: Option<String>,
    pub(super) message: Option<SentMessage>,
    configuration: Option<SendConfiguration>,
    id: Option<String>,
    #[serde(alias = "context_id")]
    pub(super) context_id: Option<String>,
    pub(super) status: Option<String>,
    #[serde(alias = "page_size")]
    page_size: Option<i64>,
    #[serde(alias = "page_token")]
    pub(super) page_token: Option<String>,
    #[serde(alias = "history_length")]
    history_length: Option<i64>,
    #[serde(alias = "status_timestamp_after")]
    status_timestamp_after: Option<String>,
    #[serde(alias = "include_artifacts")]
    pub(super) include_artifacts: Option<bool>,
}

/// A message.
#[derive(Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SentMessage {
    #[serde(alias = "message_id")]
    pub(super) message_id: Option<String>,
    #[serde(alias = "context_id")]
    pub(super) context_id: Option<String>,
    #[serde(alias = "task_id")]
    pub(super) task_id: Option<String>,
    pub(super) role: Option<String>,
    pub(super) parts: Vec<SentPart>,
}

/// A part of a message: it has one of the first four fields.
#[derive(Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct SentPart {
    pub(super) text: Option<String>,
    pub(super) raw: Option<String>,
    pub(super) url: Option<String>,
    pub(super) data: Option<Box<RawValue>>,
    pub(super) filename: Option<String>,
}

#[derive(Deserialize, Default, Debug)]
#[serde(rename_all = "camelCase", default)]
struct SendConfiguration {
    #[serde(alias = "accepted_output_modes")]
    accepted_output_modes: Option<Vec<String>>,
    #[serde(alias = "task_push_notification_config")]
    task_push_notification_config: Option<Box<RawValue>>,
    #[serde(alias = "history_length")]
    history_length: Option<i64>,
    #[serde(alias = "return_immediately")]
    return_immediately: Option<bool>,
}

impl A2aParams {
    /// Those of an address. The path has named the task.
    pub(super) fn parse_query(uri: &Uri, id: Option<String>) -> A2aResult<A2aParams> {
        let mut params = A2aParams { id, ..A2aParams::default() };
        let read = |name: &str, value: &str| {
            let words = format!("{name} is a whole number, and {value:?} is none");
            value.parse::<i64>().map(Some).map_err(|_| A2aFault::refuse_params(words))
        };
        for (name, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
            match &*name {
                "contextId" => params.context_id = Some(value.into_owned()),
                "status" => params.status = Some(value.into_owned()),
                "pageToken" => params.page_token = Some(value.into_owned()),
                "statusTimestampAfter" => params.status_timestamp_after = Some(value.into_owned()),
                "pageSize" => params.page_size = read(&name, &value)?,
                "historyLength" => params.history_length = read(&name, &value)?,
                "includeArtifacts" => params.include_artifacts = Some(value == "true"),
                _ => {}
            }
        }
        Ok(params)
    }

    /// Refuses what no request may have.
    pub(super) fn check(&self) -> A2aResult<()> {
        if self.tenant.as_ref().is_some_and(|tenant| !tenant.is_empty()) {
            return Err(A2aFault::refuse_params("there are no tenants here: leave tenant out"));
        }
        let Some(wanted) = &self.configuration else { return Ok(()) };
        if wanted.task_push_notification_config.as_ref().is_some_and(|push| push.get() != "null") {
            return Err(A2aFault::new(FaultKind::Push, NO_PUSH));
        }
        let modes = wanted.accepted_output_modes.as_deref().unwrap_or_default();
        if !modes.is_empty() && !modes.iter().any(|mode| OUTPUTS.contains(&mode.as_str())) {
            let words = "acceptedOutputModes has none of text/plain and application/json, which answers are";
            return Err(A2aFault::new(FaultKind::Content, words));
        }
        Ok(())
    }

    /// The task.
    pub(super) fn task(&self) -> A2aResult<&str> {
        let named = self.id.as_deref().filter(|id| !id.is_empty());
        named.ok_or_else(|| A2aFault::refuse_params("id, the task, is missing"))
    }

    /// Whether the answer is wanted before the task is over.
    pub(super) fn is_immediate(&self) -> bool {
        self.configuration.as_ref().and_then(|wanted| wanted.return_immediately).unwrap_or(false)
    }

    /// How many of the newest messages of a task are wanted.
    pub(super) fn count_history(&self) -> A2aResult<usize> {
        let of_message = self.configuration.as_ref().and_then(|wanted| wanted.history_length);
        match self.history_length.or(of_message) {
            Some(length) if length < 0 => {
                Err(A2aFault::refuse_params(format!("historyLength is 0 or more, and {length} is less")))
            }
            length => Ok(length.and_then(|length| usize::try_from(length).ok()).unwrap_or(usize::MAX)),
        }
    }

    /// How many tasks a page has.
    pub(super) fn count_tasks(&self) -> A2aResult<usize> {
        let wanted = self.page_size.unwrap_or(limits::TASKS_OF_PAGE);
        let fits = usize::try_from(wanted).ok().filter(|wanted| (1..=limits::RESOURCES).contains(wanted));
        fits.ok_or_else(|| {
            A2aFault::refuse_params(format!("pageSize is 1 to {}, and {wanted} is not", limits::RESOURCES))
        })
    }

    /// From when on the status of a task must be.
    pub(super) fn since(&self) -> A2aResult<Option<Millis>> {
        let Some(written) = &self.status_timestamp_after else { return Ok(None) };
        let seconds = written.strip_suffix('Z').unwrap_or_default();
        let (seconds, fraction) = seconds.split_once('.').unwrap_or((seconds, ""));
        let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
        let time = Millis::parse(&format!("{seconds}.{digits}Z"));
        time.map(Some).ok_or_else(|| {
            A2aFault::refuse_params("statusTimestampAfter is a time as 2026-01-31T09:00:00.000Z")
        })
    }
}

/// Why there is no configuration for notifications.
pub(super) const NO_PUSH: &str =
    "no address is called when a task goes on: follow it with SubscribeToTask, or ask for it with GetTask";
