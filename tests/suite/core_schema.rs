//! `core.xsd` and `envelope.xsd` compile, accept every payload of Systole and reject near misses.

use std::sync::Arc;

use systole_config::{CORE_XSD, ENVELOPE_XSD};
use systole_core::rules::budget_payload;
use systole_core::rules::core_payload::{self, AttemptRecord};
use systole_core::rules::shutdown_payload::{self, RunEnding};
use systole_core::rules::view_payload::{self, ClearedView, RecallPart};
use systole_core::types::budget::{Ceiling, ExceededLimit, Measure, MoneySpent, RecordedTime, UsedAmounts};
use systole_core::types::codes::Code;
use systole_core::types::ids::{CallPath, Digest, Name, ThreadId, TimerId};
use systole_core::types::ports::{LostRange, Position, ProgramFile};
use systole_core::types::refusal::Refusal;
use systole_core::types::subject::Subject;
use systole_core::types::time::Millis;
use systole_judge::{LibxmlJudge, SchemaSource, SchemaVerdict};
use systole_kit::money::Money;
use systole_workflow::WORKFLOW_XSD;

const HASH: &str = "1f0c9a2b77d11f0c9a2b77d11f0c9a2b77d11f0c9a2b77d11f0c9a2b77d11f0c";

/// What the log says of itself after an order of a person.
const OF_ORDERS: [&str; 10] = [
    "<shutdown X mode='drained' out='2' for='reload'/>",
    "<reloaded X config='H' before='H' by='operator'/>",
    "<reloaded X config='H' before='H' by='operator' back='true'/>",
    "<reload-failed X config='H' by='operator'>exit 1</reload-failed>",
    "<erased X/>",
    "<erased X reason='asked for' complete='true'><record position='41' parts='0 2'/><document hash='H'/><document hash='H' before='H'/></erased>",
    "<erased X forked='true'><record position='3' parts='1'/></erased>",
    "<erased-body X>[erased]</erased-body>",
    "<forked X call='1' turn='2'/>",
    "<subject X text='Chapter 7'/>",
];

/// What the log says of its followers.
const OF_FOLLOWERS: [&str; 6] = [
    "<follower-began X name='siem' position='0'/>",
    "<follower-caught-up X name='siem' position='41'/>",
    "<follow-skipped X name='siem' position='41'>400: no</follow-skipped>",
    "<follower-behind X name='siem' position='41'>nothing listens there</follower-behind>",
    "<follower-stopped X name='siem' position='41'>410: Gone</follower-stopped>",
    "<stuck X listener='search' cause='outage' calls='3' thread='sess-0123456789ab' call='1' \
     since='2026-11-23T08:05:00.000Z' at='2026-11-23T09:05:00.000Z'/>",
];

/// What the log says of schedules.
const OF_SCHEDULES: [&str; 7] = [
    "<schedule-began X name='digest' rule='0 7 * * 1-5 Europe/Vienna' at='2026-11-23T08:05:00.000Z'/>",
    "<schedule-ended X name='digest'/>",
    "<schedule-fired X name='digest' tick='2026-11-23T06:00:00.000Z' thread='sess-0123456789ab'/>",
    "<schedule-fired X name='digest' tick='2026-11-23T06:00:00.123Z' thread='sess-0123456789ab' by='operator'/>",
    "<schedule-skipped X name='digest' reason='missed' from='2026-11-20T06:00:00.000Z' to='2026-11-23T06:00:00.000Z'/>",
    "<schedule-paused X name='digest' by='operator'/>",
    "<schedule-resumed X name='digest' by='operator'/>",
];

const OF_TIMERS: [&str; 9] = [
    "<timer-set X id='tea' due='2026-11-20T07:00:00.000Z'/>",
    "<timer-fired X id='tea' missed='3'>drink it</timer-fired>",
    "<timer-fired X id='tea'/>",
    "<timer-fired X id='tea' clock='set-back'/>",
    "<timer-cancelled X id='tea'/>",
    "<set-timer X/>",
    "<set-timer X id='tea' after='1m'>drink it</set-timer>",
    "<set-timer X every='1h'/>",
    "<cancel-timer X id='tea'/>",
];

/// Every payload of this step, each with the fewest parts and with all of them.
fn taken() -> Vec<String> {
    let shapes = [
        "<spawn-thread X><initial-payload><a xmlns='urn:a'/></initial-payload></spawn-thread>",
        "<spawn-thread X suggested_sub_id='heat'><initial-payload><a xmlns='urn:a'/></initial-payload></spawn-thread>",
        "<thread-spawned X assigned_id='sess-1f0c9a2b77d1.heat' parent_id='sess-1f0c9a2b77d1' head='H'/>",
        "<thread-spawned X assigned_id='sess-1f0c9a2b77d1.a' parent_id='sess-1f0c9a2b77d1' head='H' message='m'/>",
        "<thread-finished X id='sess-1f0c9a2b77d1.heat' outcome='answered' head='H'><a xmlns='urn:a'/></thread-finished>",
        "<thread-finished X id='sess-1f0c9a2b77d1.heat' outcome='handled' head='H'/>",
        "<thread-cancelled X id='sess-1f0c9a2b77d1.heat' threads='3'/>",
        "<thread-ended X id='sess-1f0c9a2b77d1'/>",
        "<cancel-thread X id='sess-1f0c9a2b77d1.heat'/>",
        "<cancel-thread X id='bad'/>",
        "<await-threads X mode='all'/>",
        "<await-threads X mode='all'><thread id='bad'/><thread id=''/></await-threads>",
        "<await-threads X mode='12'><thread id='sess-1f0c9a2b77d1.a'/><thread id='sess-1f0c9a2b77d1.b'/></await-threads>",
        "<await-over X reason='done' finished='2' open='0'/>",
        "<await-over X reason='timer' finished='0' open='1'/>",
        "<steer X><a xmlns='urn:a'/></steer>",
        "<steer X from='calc.add'><a xmlns='urn:a'/></steer>",
        "<todo-until X condition='it works'/>",
        "<todo-until X condition=''><step done='true'>read</step><step done='false'/></todo-until>",
        "<todo-open X open='2' total='3'/>",
        "<timer-finished X id='tea' outcome='answered' note='drink it' thread='sess-1f0c9a2b77d1' call='2' listener='cook'><a xmlns='urn:a'/></timer-finished>",
        "<timer-finished X id='tea' outcome='handled' note='' thread='sess-1f0c9a2b77d1' call='2' listener='cook'/>",
        "<clear-context X keep='10'/>",
        "<context-cleared X kept_messages='4' from_seq='2' to_seq='7' digest='H'/>",
        "<context-cleared X kept_messages='4' from_seq='0' to_seq='0' digest='H'/>",
        "<ask-person X expires='1d'><question>Go?</question></ask-person>",
        "<ask-person X expires='1s'><question>Go?</question><show seq='3'>the plan</show><choice>go</choice><choice>stop</choice></ask-person>",
        "<person-asked X id='a1' expires='2026-11-20T07:00:00.000Z' thread='sess-1f0c9a2b77d1' call='1/1.0' from='calc.add'><question>Go?</question></person-asked>",
        "<person-asked X id='a1' expires='2026-11-20T07:00:00.000Z' thread='sess-1f0c9a2b77d1' call='1/1.0' from='a'><question/><show seq='1' record='7' hash='H'>it</show><choice>go</choice></person-asked>",
        "<person-said X outcome='chosen' choice='go' by='operator'>after lunch</person-said>",
        "<person-said X outcome='expired' clock='set-back'/>",
        "<recall X from_seq='2' to_seq='7'/>",
        "<recall X from_seq='0' to_seq='0' offset='7' length='1'/>",
        "<recalled X from_seq='2' to_seq='2' total='9' offset='0'><message seq='2' from='calc.add'>&lt;a/&gt;</message></recalled>",
        "<recalled X from_seq='2' to_seq='3' total='9' offset='4' next='5'><message seq='2' from='core'/><message seq='3' from='a'/></recalled>",
        "<system-thread-error X unknown_id='../x &gt;' code='unknown_thread' message='Unknown thread'/>",
        "<system-thread-error X unknown_id='sess-1f0c9a2b77d1.a' code='thread_ended' message='Ended'/>",
        "<system-error X code='payload.invalid' retry_allowed='true' message='limit: 0'/>",
        "<system-error X code='payload.invalid' retry_allowed='true' element='search' hash='H' path='/search/limit' \
         line='3' column='10' message='m'><expected>e</expected><received>&lt;limit&gt;</received><schema>s</schema>\
         <try>t</try></system-error>",
        "<throttled X count='9980' first='2026-11-20T07:00:00.000Z' last='2026-11-20T07:00:09.000Z'/>",
        "<handled X/>",
        "<budget-exceeded X what='turns' used='10' limit='10'/>",
        "<final-report X source='synthetic' outcome='partial' reason='budget'>so far</final-report>",
        "<attempt X number='2' code='listener.lost' due='2026-11-20T07:00:00.000Z'>exit 1</attempt>",
        "<dead-letter X delivery='d-1' attempts='5'/>",
        "<boot X organism='hello' config='H' at='2026-11-20T07:00:00.000Z' listeners='calc.add search'/>",
        "<boot X organism='hello' config='H' at='2026-11-20T07:00:00.000Z' listeners=''/>",
        "<children-open X count='2'/>",
        "<attempt X number='1' due='2026-11-20T07:00:00.000Z'/>",
        "<attempt X number='3' code='listener.lost' with_pump='true' due='2026-11-20T07:00:00.000Z'/>",
        "<shutdown X mode='drain'/>",
        "<loss-accepted X first='32' last='60'/>",
        "<listener-joined X name='calc.add'/>",
        "<listener-joined X name='calc.add' sandbox='landlock'/>",
        "<listener-joined X name='calc'><file path='a b.py' sha256='H'/><file path='/c'/></listener-joined>",
        "<listener-left X name='search' reason='exit 1'/>",
    ];
    let (ns, hash) = ("xmlns='https://xml-pipeline.org/ns/core/v1'", format!("'{HASH}'"));
    let spell = |shape: &&str| shape.replace('X', ns).replace("'H'", &hash);
    shapes
        .iter()
        .chain(&OF_TIMERS)
        .chain(&OF_ORDERS)
        .chain(&OF_FOLLOWERS)
        .chain(&OF_SCHEDULES)
        .map(spell)
        .collect()
}

fn judge(name: &str, xsd: &[u8], payload: &str) -> SchemaVerdict {
    let mut judge =
        LibxmlJudge::compile_sources(&[SchemaSource { name: name.to_owned(), xsd: xsd.to_vec() }]).unwrap();
    let id = judge.find_schema(name).unwrap();
    judge.judge_payload(id, payload.as_bytes())
}

#[test]
fn every_core_payload_is_taken() {
    for payload in taken() {
        assert_eq!(judge("core", CORE_XSD, &payload), SchemaVerdict::Valid, "{payload}");
    }
}

#[test]
fn a_core_payload_without_one_of_its_attributes_is_refused() {
    let optional = [
        "suggested_sub_id",
        "message='m'/",
        "code='listener.lost'",
        "with_pump",
        "element",
        "hash",
        "path",
        "line",
        "column",
        "reason='budget'",
        "missed",
        "offset='7'",
        "length",
        "next",
        "from='calc.add'",
        "clock",
        "sandbox",
        "choice",
        "by='operator'",
        "expires='1d'",
        "expires='1s'",
        "forked='true'",
        "complete='true'",
        "out='2'",
        "for='reload'",
        "back='true'",
    ];
    // All attributes of this payload are optional; the door checks which must appear together.
    for payload in taken().into_iter().filter(|payload| !payload.starts_with("<set-timer")) {
        let start = &payload[..payload.find('>').unwrap()];
        for attribute in start.split(' ').skip(1).filter(|a| a.contains('=') && !a.starts_with("xmlns")) {
            if optional.iter().any(|o| attribute.starts_with(o)) || attribute.matches('\'').count() != 2 {
                continue;
            }
            let attribute = attribute.trim_end_matches('/');
            let less = payload.replacen(attribute, "", 1);
            assert!(matches!(judge("core", CORE_XSD, &less), SchemaVerdict::Invalid { .. }), "{less}");
        }
    }
}

#[test]
fn a_core_payload_with_something_more_is_refused() {
    for payload in taken() {
        let more = payload.replacen(" xmlns=", " surplus='x' xmlns=", 1);
        assert!(matches!(judge("core", CORE_XSD, &more), SchemaVerdict::Invalid { .. }), "{more}");
    }
}

#[test]
fn a1_the_older_envelope_is_taken_and_what_is_no_envelope_is_refused() {
    let ns = "xmlns='https://xml-pipeline.org/ns/envelope/v1'";
    let message = |meta: &str, payload: &str| format!("<message {ns}><meta>{meta}</meta>{payload}</message>");
    let payload = "<a xmlns='urn:a'/>";
    let good = [
        message("<from>a</from><thread>new</thread>", payload),
        message("<from>a</from><to>b.c</to><thread>sess-1f0c9a2b77d1.heat</thread>", payload),
        message("<from>a</from><thread>sys</thread><stamp xmlns='urn:systole:stamp:v1' id='x'/>", payload),
    ];
    for envelope in good {
        assert_eq!(judge("envelope", ENVELOPE_XSD, &envelope), SchemaVerdict::Valid, "{envelope}");
    }
    let bad = [
        message("<thread>new</thread>", payload),
        message("<from>a</from>", payload),
        message("<from>a</from><thread>new</thread>", ""),
        message("<from>a</from><thread>new</thread>", "<a xmlns='urn:a'/><b xmlns='urn:a'/>"),
        message("<from>A</from><thread>new</thread>", payload),
        message("<from>a</from><thread>../x</thread>", payload),
        message("<from>a</from><thread>new</thread>", payload).replace("envelope/v1", "envelope/v2"),
    ];
    for envelope in bad {
        assert!(
            matches!(judge("envelope", ENVELOPE_XSD, &envelope), SchemaVerdict::Invalid { .. }),
            "{envelope}"
        );
    }
}

fn part(next: Option<u64>, text: &str) -> RecallPart {
    let messages =
        vec![(2, Name::new_core(), text.to_owned()), (3, Name::parse("calc.add").unwrap(), String::new())];
    RecallPart { range: (2, 3), total: u64::MAX, offset: 0, next, messages }
}

/// A refusal in which nothing is left out.
fn with_everything(odd: &'static str) -> Refusal {
    let mut refusal = Refusal::new(Code::Invalid, odd);
    refusal.element = Some(odd.to_owned());
    refusal.path = Some("/search/limit".to_owned());
    refusal.at = Some((3, 10));
    refusal.schema = Some(odd.into());
    refusal.fix = Some(odd.to_owned());
    refusal.hash = Some(Digest([7; 32]));
    refusal.with_expected(odd).with_received(odd)
}

/// Everything that the pump itself writes, with the odd values that could reach it.
fn written() -> Vec<Arc<[u8]>> {
    let (name, timer) = (Name::parse("calc.add").unwrap(), TimerId::parse("tea").unwrap());
    let root = ThreadId::parse("sess-1f0c9a2b77d1").unwrap();
    let child = root.make_child("heat").unwrap();
    let odd = "<&>\"'\u{202e}\n\tü";
    let refusal = with_everything(odd);
    let limit = ExceededLimit { what: Measure::Messages, used: 400, limit: 500 };
    let attempt = |number, code: Option<Code>| AttemptRecord {
        number,
        due: Millis(0),
        code,
        with_pump: code.is_some(),
        words: odd.to_owned(),
    };
    let money = MoneySpent::from_money(Money::parse("0.5 USD"));
    let ceiling = Ceiling { messages: Some(249), tokens: Some(100_000), spent: Some(money) };
    let used = UsedAmounts { tokens: 12, spent: money, requests: 3, ..UsedAmounts::SPAWN };
    let dear = ExceededLimit { what: Measure::Money(money.coin.unwrap()), used: 1_600_000, limit: 2_000_000 };
    let clocked = RecordedTime { runs: true, used_ms: 90_500, limit_ms: 1_800_000 };
    let file = |hash| ProgramFile { path: format!("{odd}.py"), hash };
    vec![
        budget_payload::write_time(&clocked),
        core_payload::write_boot("hello", Digest([1; 32]), Millis(0), &[], None),
        core_payload::write_boot(
            "hello",
            Digest([1; 32]),
            Millis(0),
            &[name.clone(), name.clone()],
            Some(Digest([2; 32])),
        ),
        core_payload::loss_accepted(LostRange { first: Position(32), last: Position(60) }),
        core_payload::write_fork(&CallPath::new_top(1), 2),
        shutdown_payload::write_shutdown(false, 3, RunEnding::Stop),
        shutdown_payload::write_shutdown(true, 0, RunEnding::Command),
        core_payload::listener_joined(&name, None, &[]),
        core_payload::listener_joined(&name, Some("full"), &[]),
        core_payload::listener_joined(&name, None, &[file(Some(Digest([7; 32]))), file(None)]),
        core_payload::listener_left(&name, odd),
        core_payload::write_handled(),
        core_payload::write_throttling(u64::MAX, Millis(0), Millis(1)),
        core_payload::thread_spawned(&child, &root, Digest([2; 32]), &Ceiling::default()),
        core_payload::thread_spawned(&child, &root, Digest([2; 32]), &ceiling),
        core_payload::thread_finished(&child, "answered", Digest([2; 32]), used, Some(b"<a xmlns='urn:a'/>")),
        core_payload::thread_finished(&child, "handled", Digest([2; 32]), UsedAmounts::default(), None),
        budget_payload::write_warning(&limit),
        budget_payload::write_warning(&dear),
        budget_payload::write_exceeded(&limit),
        core_payload::thread_cancelled(&child, 3),
        core_payload::thread_ended(&root),
        core_payload::children_open(2),
        core_payload::write_steer(&name, b"<a xmlns='urn:a'/>"),
        core_payload::await_over("done", 1, 2),
        core_payload::timer_set(&timer, Millis(0)),
        core_payload::timer_fired(&timer, 0, false, None, ""),
        core_payload::timer_fired(&timer, u64::MAX, true, Some(odd), odd),
        core_payload::timer_cancelled(&timer),
        core_payload::todo_open(2, u64::MAX),
        view_payload::view_cleared(&ClearedView { kept: 4, range: (2, 7), digest: Digest([2; 32]) }),
        view_payload::view_cleared(&ClearedView { kept: u64::MAX, range: (0, 0), digest: Digest([2; 32]) }),
        view_payload::write_recalled(&part(None, odd)),
        view_payload::write_recalled(&part(Some(u64::MAX), "]]>\r\u{fffe}")),
        core_payload::system_thread_error("../x >", false, odd),
        core_payload::system_thread_error(child.as_str(), true, odd),
        core_payload::dead_letter("d-1", 5),
        core_payload::final_report("synthetic", "partial", odd, odd),
        core_payload::system_error(&Refusal::new(Code::Invalid, odd)),
        core_payload::system_error(&refusal),
        core_payload::listener_error("upstream-down", &refusal),
        core_payload::write_attempt(&attempt(1, None)),
        core_payload::write_attempt(&attempt(2, Some(Code::ListenerLost))),
    ]
}

#[test]
fn a2_what_the_pump_writes_is_valid_under_its_own_schema() {
    let subject = core_payload::write_subject(&Subject::parse("<&>\"'ü").unwrap());
    for payload in written().into_iter().chain([subject]) {
        let text = String::from_utf8(payload.to_vec()).unwrap();
        assert_eq!(judge("core", CORE_XSD, &text), SchemaVerdict::Valid, "{text}");
    }
}

/// The judge accepts the output of the goal request writer, in each form that has a golden file.
#[test]
fn f1_every_form_of_a_goal_request_is_valid() {
    let folder = std::fs::read_dir("listeners/workflow/tests/suite/golden").unwrap();
    let forms: Vec<String> =
        folder.map(|entry| std::fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
    assert!(forms.len() >= 8, "{}", forms.len());
    for form in &forms {
        assert_eq!(judge("workflow", WORKFLOW_XSD, form), SchemaVerdict::Valid, "{form}");
        let forged = form.replace("</current-goal>", "</current-goal><current-goal id='x'/>");
        let forged = forged.replace("</task>", "</task><task/>");
        assert!(
            matches!(judge("workflow", WORKFLOW_XSD, &forged), SchemaVerdict::Invalid { .. }),
            "{forged}"
        );
    }
}
