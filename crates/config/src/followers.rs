//! The section `follow`: who gets the events of the log, where, and how much of them.
//!
//! Input: the nodes. Output: the settings for the program that runs the organism. Nothing is asked, and no variable is
//! read: hosts of listeners and tests have none of them.

use systole_follow::{
    EventContent, EventSet, EventSettings, FollowedKind, FollowerSettings, HookForm, SentForm, WebhookAddress,
};
use systole_kit::schema::find_nearest;

use super::diagnostics::Diagnostics;
use super::forms::{NamedSection, OneOrMore, PartyMap, WordOf, word_choice};
use super::key::KeyForm;
use super::names::one_of;
use super::party::Party;
use super::reach::KeyVariable;
use super::section::{Form, form, section};
use super::tree::Node;
use super::value::{self, At};
use systole_follow::limits::FOLLOWERS;

section! {
    /// One follower as it is declared.
    pub(super) FollowerKeys "one follower: a receiver of what happens; its name is that of its cursor" with own never ["secret": "a secret belongs in no file", "secret_env: VARIABLE, the environment variable that holds it"; "url": "it has another name", "webhook";] {
        webhook: optional("this or `otlp` is required") <HookAddress> "the address to which each event is posted, `http://` or `https://`; an address of this machine or its network only as an IP address or `localhost`";
        otlp: optional("this or `webhook` is required") <CollectorAddress> "in place of `webhook` and its keys: the address of a collector, asked as OTLP over HTTP; `/v1/traces` or `/v1/metrics` is added if it has no path";
        sends: default(SentSignal::Traces) <WordOf<SentWord>> "with `otlp`: `traces`, a span for each turn; `metrics`, each minute the numbers of `GET /metrics`";
        form: default(HookForm::Standard) <WordOf<HookWord>> "`standard`: JSON, signed as Standard Webhooks says; `slack`: a text for an incoming webhook of Slack";
        secret_env: optional("required with `webhook` and `form: standard`") <KeyVariable> "the environment variable that holds the secret of the signatures, `whsec_` and base64; read when the organism starts";
        on: optional("required with `webhook`") <Events> "the events that are sent: `everything`, or some of `person` (asked for an approval or an answer), `failed` and `answered` (a message from outside), `reopened` (by a retry), `stuck` (a call waits for longer than `limits.stuck`), `refused` and `budget`";
        content: optional("`none`") <WordOf<ContentWord>> "`none`: who, where, when and which code; `whole`: the payload too, without its sensitive values";
    }
}

word_choice! { SentWord: SentSignal { "traces" = SentSignal::Traces, "metrics" = SentSignal::Metrics } }
word_choice! { HookWord: HookForm { "standard" = HookForm::Standard, "slack" = HookForm::Slack } }
word_choice! { ContentWord: EventContent { "none" = EventContent::None, "whole" = EventContent::Whole } }

form! {
    /// The followers by name.
    pub(super) FollowerMap -> Vec<NamedSection<FollowerKeys>> { <PartyMap<FollowerKeys>>::FORM, read_followers, below <PartyMap<FollowerKeys>>::BELOW }
}
form! {
    /// An address to post to.
    pub(super) HookAddress -> WebhookAddress { KeyForm::Pattern("^[Hh][Tt][Tt][Pp][Ss]?://"), read_address }
}
form! {
    /// The address of a collector.
    pub(super) CollectorAddress -> WebhookAddress { KeyForm::Pattern("^[Hh][Tt][Tt][Pp][Ss]?://"), read_collector }
}
form! {
    /// Events, none of them twice, or all of them.
    pub(super) Events -> EventSet { KeyForm::Texts, read_events }
}

/// What a collector gets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SentSignal {
    Traces,
    Metrics,
}

impl SentSignal {
    /// What is sent, and where if an address has no path.
    fn choose_form(self) -> (SentForm, &'static str) {
        match self {
            SentSignal::Traces => (SentForm::Traces, "/v1/traces"),
            SentSignal::Metrics => (SentForm::Metrics, "/v1/metrics"),
        }
    }
}

fn read_followers(
    diagnostics: &mut Diagnostics,
    node: &Node,
    path: &str,
) -> Option<Vec<NamedSection<FollowerKeys>>> {
    let followers = PartyMap::<FollowerKeys>::read(diagnostics, node, path)?;
    if let Some(more) = followers.get(FOLLOWERS) {
        let message = format!("{path}: it has {} followers", followers.len());
        diagnostics.report_value(more.key.at, &message, &format!("{FOLLOWERS} followers at most"));
    }
    for NamedSection { key, keys, .. } in &followers {
        if let Some(keys) = keys {
            check_carrier(diagnostics, &format!("{path}.{}", key.value), keys);
        }
    }
    Some(followers)
}

/// The keys of a webhook, and why a collector has none of them.
const NOT_OF_OTLP: [(&str, &str); 4] = [
    ("on", "`sends` says what is sent"),
    ("form", "all of it has the form of OTLP"),
    ("secret_env", "OTLP has no signature"),
    ("content", "no payload is sent"),
];

/// Each follower has one carrier, and the keys of that.
fn check_carrier(diagnostics: &mut Diagnostics, path: &str, keys: &FollowerKeys) {
    let own = &keys.own;
    match (own.has("webhook"), own.place_of("otlp")) {
        (false, None) => {
            let fix = "webhook: https://HOST/PATH, for events; or otlp: http://HOST:4318, for traces";
            own.report_missing(diagnostics, "webhook", fix);
        }
        (true, Some(at)) => {
            let message = format!("{path} has both `webhook` and `otlp`");
            diagnostics.report_value(at, &message, "one of them, and another follower for the other");
        }
        (true, None) => check_webhook(diagnostics, path, keys),
        (false, Some(_)) => {
            for (key, why) in NOT_OF_OTLP {
                if let Some(at) = own.place_of(key) {
                    let message = format!("{path}.{key}: there is no such key beside `otlp`: {why}");
                    diagnostics.report_value(at, &message, "leave it out");
                }
            }
        }
    }
}

fn check_webhook(diagnostics: &mut Diagnostics, path: &str, keys: &FollowerKeys) {
    if let Some(at) = keys.own.place_of("sends") {
        let message = format!("{path}.sends: there is no such key beside `webhook`: `on` names its events");
        diagnostics.report_value(at, &message, "leave it out");
    }
    keys.own.report_missing(diagnostics, "on", "on: [person, failed]");
    match (keys.form.value, &keys.secret_env) {
        (HookForm::Standard, None) => {
            let fix = "secret_env: VARIABLE, the environment variable that holds its secret; or form: slack";
            keys.own.report_missing(diagnostics, "secret_env", fix);
        }
        (HookForm::Slack, Some(secret)) => {
            let message = format!("{path}.secret_env: Slack checks no signature");
            diagnostics.report_value(secret.at, &message, "leave it out, or form: standard");
        }
        _ => {}
    }
}

fn read_address(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<WebhookAddress> {
    let fix = "https://HOST/PATH, as its receiver names it";
    parse_address(diagnostics, (node, path), ("a webhook", fix))
}

fn read_collector(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<WebhookAddress> {
    let fix = "http://HOST:4318, where the collector takes OTLP over HTTP";
    parse_address(diagnostics, (node, path), ("a collector", fix))
}

fn parse_address(
    diagnostics: &mut Diagnostics,
    (node, path): (&Node, &str),
    (of, fix): (&str, &str),
) -> Option<WebhookAddress> {
    let found = value::text(diagnostics, node, path)?;
    let parsed = WebhookAddress::parse(&found.value);
    if let Err(why) = &parsed {
        // It may hold a password.
        diagnostics.hide(found.at, &found.value);
        let message = format!("{path}: this is no address for {of}, and is not repeated: {why}");
        diagnostics.report_value(found.at, &message, fix);
    }
    parsed.ok()
}

fn read_events(diagnostics: &mut Diagnostics, node: &Node, path: &str) -> Option<EventSet> {
    let named = OneOrMore::read(diagnostics, node, path)?;
    if let [only] = &named[..]
        && only.value == EventSet::EVERYTHING
    {
        return Some(EventSet::Everything);
    }
    let kinds: Vec<Option<FollowedKind>> =
        named.iter().map(|one| read_event(diagnostics, one, path)).collect();
    kinds.into_iter().collect::<Option<_>>().map(EventSet::These)
}

fn read_event(diagnostics: &mut Diagnostics, named: &At<String>, path: &str) -> Option<FollowedKind> {
    let found = FollowedKind::NAMED.into_iter().find(|kind| kind.as_str() == named.value);
    if found.is_none() {
        let known = || FollowedKind::NAMED.iter().map(|kind| kind.as_str()).chain([EventSet::EVERYTHING]);
        let (message, fix) = match named.value.as_str() {
            EventSet::EVERYTHING => {
                (format!("{path}: `everything` has all the others"), "on: everything".to_owned())
            }
            other => {
                let nearest = find_nearest(other, known()).map(str::to_owned);
                (format!("{path}: there is no event `{other}`"), nearest.unwrap_or_else(|| one_of(known())))
            }
        };
        diagnostics.report_value(named.at, &message, &fix);
    }
    found
}

/// The followers of a file that runs.
pub(super) fn resolve(
    diagnostics: &mut Diagnostics,
    followers: &[NamedSection<FollowerKeys>],
    parties: &[Party],
) -> Vec<FollowerSettings> {
    let settings = followers.iter().filter_map(|one| {
        let keys = one.keys.as_ref()?;
        if let Some(secret) = &keys.secret_env {
            check_secret(diagnostics, &one.key.value, secret, parties);
        }
        let name = one.name.clone()?;
        if let Some(otlp) = &keys.otlp {
            let (sends, path) = keys.sends.value.choose_form();
            return Some(FollowerSettings { name, to: otlp.value.clone().complete_path(path), sends });
        }
        let events = EventSettings {
            form: keys.form.value,
            secret_env: keys.secret_env.as_ref().map(|secret| secret.value.clone()),
            on: keys.on.as_ref()?.value.clone(),
            content: keys.content.as_ref().map_or(EventContent::None, |content| content.value),
        };
        let to = keys.webhook.as_ref()?.value.clone();
        Some(FollowerSettings { name, to, sends: SentForm::Events(events) })
    });
    settings.collect()
}

/// Who has the secret can send what looks like an event, so no program gets it.
fn check_secret(diagnostics: &mut Diagnostics, name: &str, secret: &At<String>, parties: &[Party]) {
    if let Some(party) = parties.iter().find(|party| party.pass.contains(&secret.value)) {
        let listener = party.key.value.as_str();
        let message = format!("follow.{name}.secret_env: `{}` is passed on to {listener}", secret.value);
        let fix = format!("another variable, or leave it out of listeners.{listener}.pass");
        diagnostics.report_value(secret.at, &message, &fix);
    }
}
