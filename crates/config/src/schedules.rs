//! The section `schedules`: what is sent to whom at which times.
//!
//! Input: the nodes. Output: the settings for the program that runs the organism, each with the document that it sends.
//! The time zones are those of this machine, so a stored configuration has none of them.

use std::path::Path;

use systole_judge::{LibxmlJudge, SchemaSource, SchemaVerdict};
use systole_kit::Payload;
use systole_kit::schema::find_nearest;

use super::diagnostics::Diagnostics;
use super::forms::{AnyText, AsWritten, NamedSection, PartyMap, PartyName, TimeWithin, WordOf, word_choice};
use super::names::one_of;
use super::party::Party;
use super::section::{Form, form, section};
use super::tree::{Node, Value};
use super::value::{At, join_path};
use super::written_payloads::{Among, WrittenPayload, read_payload};
use crate::limits;
use systole_core::rules::admit::gate_limits;
use systole_core::rules::introspection::model_of;
use systole_core::rules::sent_files::refuse_files;
use systole_core::types::codes::Code;
use systole_core::types::composition::{Composition, Listener, Schema};
use systole_core::types::ids::Name;
use systole_schedule::{RuleFault, TickRule, list_zones};

section! {
    /// One schedule as it is declared.
    pub(super) ScheduleKeys "one schedule: what is sent at which times; its name is in the key of each message" with own never ["at": "it has another name", "cron: \"0 7 * * *\", for each day at 7:00"; "timezone": "it has another name", "zone"; "tz": "it has another name", "zone"; "payload": "it has another name", "send";] {
        cron: optional("this or `every` is required") <AnyText> "the times, as five fields: minute, hour, day of the month, month, day of the week";
        zone: optional("`UTC`") <AnyText> "with `cron`: the time zone of its times, as `Europe/Vienna`, of those that this machine knows";
        every: optional("this or `cron` is required") <TimeWithin<{ limits::SECOND }, { limits::YEAR }>> "in place of `cron`: the time between two messages, {bounds}, in whole seconds; counted from 1970, so that `15m` means each quarter of an hour";
        to: required("to: the name of a listener") <PartyName> "the listener that gets the message; it needs no `entry: true`";
        send: required("send: {ELEMENT: {FIELD: VALUE}}, or XML") <AsWritten> "the message: an element with its fields, or XML";
        catch_up: default(true) <WordOf<CatchUpWord>> "after a time in which no organism ran: `last` sends the newest message that was missed, `none` sends none of them";
    }
}

word_choice! { CatchUpWord: bool { "last" = true, "none" = false } }

form! {
    /// The schedules by name.
    pub(super) ScheduleMap -> Vec<NamedSection<ScheduleKeys>> { <PartyMap<ScheduleKeys>>::FORM, read_schedules, below <PartyMap<ScheduleKeys>>::BELOW }
}

/// A schedule of the file.
#[derive(Clone, Debug)]
pub struct ScheduleSettings {
    /// Its name.
    pub name: Name,
    /// Its ticks.
    pub rule: TickRule,
    /// The listener that gets what it sends.
    pub to: Name,
    /// What it sends.
    pub document: Vec<u8>,
    /// Whether the newest of several missed ticks fires.
    pub catches_up: bool,
}

/// A schedule whose payload is not made yet.
pub(super) struct TimedSchedule {
    settings: ScheduleSettings,
    path: String,
    send: At<WrittenPayload>,
}

fn read_schedules(
    diagnostics: &mut Diagnostics,
    node: &Node,
    path: &str,
) -> Option<Vec<NamedSection<ScheduleKeys>>> {
    let schedules = PartyMap::<ScheduleKeys>::read(diagnostics, node, path)?;
    if let Some(more) = schedules.get(limits::SCHEDULES) {
        let message = format!("{path}: it has {} schedules", schedules.len());
        diagnostics.report_value(more.key.at, &message, &format!("{} schedules at most", limits::SCHEDULES));
    }
    Some(schedules)
}

/// The schedules of a file that runs, with their ticks.
pub(super) fn resolve(
    diagnostics: &mut Diagnostics,
    schedules: &[NamedSection<ScheduleKeys>],
    parties: &[Party],
) -> Vec<TimedSchedule> {
    let mut found = Vec::new();
    for one in schedules {
        let (Some(keys), path) = (&one.keys, join_path("schedules", &one.key.value)) else { continue };
        let (rule, to) =
            (read_rule(diagnostics, keys, &path), find_listener(diagnostics, keys, parties, &path));
        let send = keys.send.as_ref().and_then(|send| read_sent(diagnostics, send, &path));
        if let (Some(name), Some(rule), Some(to), Some(send)) = (one.name.clone(), rule, to, send) {
            let catches_up = keys.catch_up.value;
            let settings = ScheduleSettings { name, rule, to, document: Vec::new(), catches_up };
            found.push(TimedSchedule { settings, path, send });
        }
    }
    found
}

fn read_rule(diagnostics: &mut Diagnostics, keys: &ScheduleKeys, path: &str) -> Option<TickRule> {
    if let (Some(zone), None) = (&keys.zone, &keys.cron) {
        let message = format!("{path}.zone: only the times of `cron` have a zone");
        diagnostics.report_value(
            zone.at,
            &message,
            "leave it out, or cron: \"0 7 * * *\" in place of `every`",
        );
    }
    match (&keys.cron, &keys.every) {
        (None, None) => {
            keys.own.report_missing(diagnostics, "cron", "cron: \"0 7 * * 1-5\", or every: 15m");
            None
        }
        (Some(_), Some(every)) => {
            let message = format!("{path} has both `cron` and `every`");
            diagnostics.report_value(every.at, &message, "one of them, and another schedule for the other");
            None
        }
        (None, Some(every)) => {
            let rule = TickRule::from_period(every.value);
            rule.map_err(|fault| diagnostics.report_value(every.at, &format!("{path}.every: {fault}"), "1s"))
                .ok()
        }
        (Some(cron), None) => {
            let zone = keys.zone.as_ref().map(|zone| zone.value.as_str());
            let rule = TickRule::from_cron(&cron.value, zone);
            rule.map_err(|fault| report_fault(diagnostics, keys, cron, path, &fault)).ok()
        }
    }
}

fn report_fault(
    diagnostics: &mut Diagnostics,
    keys: &ScheduleKeys,
    cron: &At<String>,
    path: &str,
    fault: &RuleFault,
) {
    let zone_at = keys.zone.as_ref().map_or(cron.at, |zone| zone.at);
    let (at, key, fix) = match fault {
        RuleFault::Field { fix, .. } => (cron.at, "cron", format!("\"{fix}\"")),
        RuleFault::NoZones(_) => {
            let fix = "the package tzdata, which brings /usr/share/zoneinfo; or TZDIR, with the path of another such folder; or zone: UTC";
            (zone_at, "zone", fix.to_owned())
        }
        RuleFault::UnknownZone(zone) => {
            let zones = list_zones();
            let near = find_nearest(zone, zones.iter().map(String::as_str)).map(str::to_owned);
            (
                zone_at,
                "zone",
                near.unwrap_or_else(|| "a name of the tz database, as Europe/Vienna".to_owned()),
            )
        }
        RuleFault::Never => (cron.at, "cron", "a day that its month has, as \"0 7 28 2 *\"".to_owned()),
        RuleFault::Fields(_) | RuleFault::Period | RuleFault::Unreadable(_) => {
            (cron.at, "cron", "\"0 7 * * 1-5\", for 7:00 from Monday to Friday".to_owned())
        }
    };
    diagnostics.report_value(at, &format!("{path}.{key}: {fault}"), &fix);
}

fn find_listener(
    diagnostics: &mut Diagnostics,
    keys: &ScheduleKeys,
    parties: &[Party],
    path: &str,
) -> Option<Name> {
    let to = keys.to.as_ref()?;
    let names = || parties.iter().map(|party| party.key.value.as_str());
    if names().any(|name| name == to.value) {
        return Name::parse(&to.value).ok();
    }
    let message = format!("{path}.to: there is no listener `{}`", to.value);
    let fix = find_nearest(&to.value, names()).map_or_else(|| one_of(names()), str::to_owned);
    diagnostics.report(Code::ConfigUnknownName, to.at, &message, &fix);
    None
}

fn read_sent(diagnostics: &mut Diagnostics, send: &At<Node>, path: &str) -> Option<At<WrittenPayload>> {
    let path = format!("{path}.send");
    if let Value::Text { text, .. } = &send.value.value
        && text.ends_with(".xml")
        && !text.trim_start().starts_with('<')
    {
        // The configuration that the log stores would not have it.
        let message = format!("{path}: a schedule reads no file");
        diagnostics.report_value(send.at, &message, "the element with its fields, or the XML itself");
        return None;
    }
    read_payload(diagnostics, &send.value, &path, Path::new(""))
}

/// The documents that schedules send, each as the schema of its listener takes it.
pub(super) fn make_payloads(
    diagnostics: &mut Diagnostics,
    timed: Vec<TimedSchedule>,
    composition: &Composition,
    has_schemas: bool,
) -> Vec<ScheduleSettings> {
    let mut judge = if has_schemas && !timed.is_empty() { compile(composition) } else { None };
    let mut found = Vec::new();
    for TimedSchedule { settings, path, send } in timed {
        let Some(listener) = composition.find_listener(&settings.to) else { continue };
        let what = format!("{path}.send");
        let among = Among { composition, elements: listener.accepts.iter().collect(), what: &what };
        let Some(document) = among.document(diagnostics, &send) else { continue };
        if let Err((message, fix)) = judge_document(composition, listener, judge.as_mut(), &document) {
            diagnostics.report_value(send.at, &format!("{what}: {message}"), &fix);
        }
        found.push(ScheduleSettings { document, ..settings });
    }
    found
}

fn compile(composition: &Composition) -> Option<LibxmlJudge> {
    let source = |schema: &Schema| SchemaSource { name: schema.name.clone(), xsd: schema.text.to_vec() };
    let sources: Vec<SchemaSource> = composition.schemas.iter().map(source).collect();
    // They were compiled before, each with its mistakes reported.
    LibxmlJudge::compile_sources(&sources).ok()
}

/// What is wrong with a document, and its fix.
fn judge_document(
    composition: &Composition,
    listener: &Listener,
    judge: Option<&mut LibxmlJudge>,
    document: &[u8],
) -> Result<(), (String, String)> {
    let one_element = "one XML element".to_owned();
    let payload = Payload::parse(document, &gate_limits(composition))
        .map_err(|fault| (fault.message.to_string(), one_element))?;
    if let Some(refusal) = refuse_files(&payload) {
        let element = refusal.element.map(|element| format!("<{element}>: ")).unwrap_or_default();
        let fix = "an element without a file: a schedule has no bytes to send with it".to_owned();
        return Err((format!("{element}{}", refusal.message), fix));
    }
    let Some(schema) = listener.find_accepted(payload.name()) else {
        let taken: Vec<String> = listener.accepts.iter().map(|taken| taken.name.to_string()).collect();
        return Err((
            format!("{} does not take {}", listener.name, payload.name()),
            one_of(taken.iter().map(String::as_str)),
        ));
    };
    let Some(judge) = judge else { return Ok(()) };
    let id = judge.list_schemas().nth(schema.0);
    let Some(SchemaVerdict::Invalid { words }) = id.map(|id| judge.judge_payload(id, payload.bytes())) else {
        return Ok(());
    };
    let model = composition.schemas.get(schema.0).and_then(|one| model_of(composition, &one.text));
    let finding = model.and_then(|model| model.explain_refused(payload.bytes()));
    let fix = "a payload that the schema of its listener takes".to_owned();
    Err(finding
        .map_or((words, fix), |finding| (format!("{}: {}", finding.path, finding.message), finding.fix)))
}
