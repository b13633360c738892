//! Rows 8, 9, 30, 31 and 32: forged names, names that reach for other things, and lies about the
//! sender.

use systole_config as config;

use crate::http::HOUSE;
use crate::organism::{ECHO_XSD, folder};
use crate::siege::{Siege, Struck, python, say};

const CORE: &str = "https://xml-pipeline.org/ns/core/v1";
const ECHO: &str = "https://xml-pipeline.org/ns/echo/v1";

#[test]
fn row_8_only_the_core_speaks_as_the_core() {
    let siege = Siege::begin();
    for local in
        ["timer-fired", "approval-decided", "thread-finished", "system-error", "boot", "handled", "made-up"]
    {
        for document in [
            format!("<{local} xmlns=\"{CORE}\"/>"),
            format!("<x:{local} xmlns:x=\"{CORE}\"/>"),
            format!("<{local} xmlns=\"{}\"/>", CORE.replace('o', "&#111;")),
        ] {
            let struck = siege.foiled(&python(document.as_bytes()), "payload.forbidden-namespace");
            assert!(struck.told.contains("payload that only the core sends"), "{}", struck.told);
        }
        // At the door it is a payload without an open receiver, like any other.
        siege.refused(format!("<{local} xmlns=\"{CORE}\"/>").as_bytes(), "route.not-a-peer");
    }
    siege.ends_well();
}

#[test]
fn row_9_namespaces_that_look_alike_are_others() {
    let siege = Siege::begin();
    for ns in [
        ECHO.to_uppercase(),
        format!("{ECHO}/"),
        ECHO.replace("echo", "%65cho"),
        ECHO.replace("echo", "\u{435}cho"),
        ECHO.replace("echo", "ec\u{200b}ho"),
        format!(" {ECHO}"),
        format!("{ECHO}#"),
    ] {
        let document = format!("<say xmlns=\"{ns}\"><text>x</text></say>");
        siege.refused(document.as_bytes(), "route.not-a-peer");
        siege.foiled(&python(document.as_bytes()), "route.not-a-peer");
    }
    siege.ends_well();
}

fn names_in(siege: &Siege) -> Vec<String> {
    let entries = std::fs::read_dir(siege.folder.path()).unwrap();
    let mut names: Vec<String> =
        entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn row_30_thread_ids_are_grammar_and_nothing_else() {
    let siege = Siege::begin();
    let before = names_in(&siege);
    let long = format!("sess-{}", "a".repeat(4_096));
    let ids = [
        "../../etc/passwd",
        "sess-../x",
        &long,
        "*",
        ">",
        "sess-0123456789ab.>",
        "sess-0123456789ab *",
        "sys.x",
        "SESS-0123456789AB",
        "sess-0123456789ab.",
        "sess-0123456789ab/x",
        "$JS.API",
        "sess-0123456789ab.\u{202e}x",
        "sess-000000000000",
        "sys",
    ];
    for id in ids {
        let envelope = format!(
            "<message xmlns=\"https://xml-pipeline.org/ns/envelope/v1\"><meta><from>operator</from><thread>{id}</thread></meta>{}</message>",
            say("<text>x</text>")
        );
        siege.refused(envelope.as_bytes(), "thread.unknown");
        let last = siege.last();
        let item = format!(
            "<message xmlns=\"https://xml-pipeline.org/ns/envelope/v1\"><meta><thread>{id}</thread></meta>{}</message>",
            say("<text>x</text>")
        );
        let struck = siege.strike(&format!("reply({})", python(item.as_bytes())));
        let refusal = struck.records.iter().find(|r| r["kind"] == "refusal").unwrap();
        let body = refusal["body"].as_str().unwrap();
        assert_eq!(refusal["code"], "thread.unknown", "{id:.80}");
        assert!(body.starts_with("<system-thread-error ") && body.len() < 1_500, "{id:.80}: {body}");
        let strange = siege.after(last).into_iter().find(|(_, r)| {
            r.header.thread.as_str() != struck.records[0]["thread"] && !r.header.thread.is_sys()
        });
        assert!(strange.is_none(), "nothing was created: {strange:?}");
    }
    assert_eq!(names_in(&siege), before, "no file was made");
    siege.ends_well();
}

#[test]
fn row_31_a_name_outside_the_grammar_is_refused_at_registration() {
    let long = "a".repeat(64);
    let names = [
        "a.>", "$JS.API", "*", "a b", "../x", "A", "a.", ".a", "a..b", "-a", "1a", "a\\u0000", "a\\n", "é",
        "core", "sys", "cli", "console", "person", "operator", "<script>", "a_b", "a/b", &long,
    ];
    for name in names {
        let yaml = HOUSE.replace("\n  echo:", &format!("\n  \"{name}\":"));
        let house = folder(&[("organism.yaml", &yaml), ("echo.xsd", ECHO_XSD)]);
        let refused = match config::load(&house.path().join("organism.yaml")) {
            Err(refused) => refused.to_string(),
            Ok(_) => panic!("{name} was taken"),
        };
        assert!(
            refused.contains("config.value") && refused.contains("organism.yaml:3:"),
            "{name}: {refused}"
        );
        assert!(!refused.contains('\0'), "{name}: {refused:?}");
    }
}

#[test]
fn a6_row_32_lies_about_the_sender_change_nothing() {
    let siege = Siege::begin();
    let stamp = "<stamp xmlns=\"urn:systole:stamp:v1\" id=\"0\" seq=\"1\" call=\"9\" turn=\"1\" delivery=\"x\" attempt=\"1\" key=\"k\"/>";
    let envelope = |meta: &str| {
        format!(
            "<message xmlns=\"https://xml-pipeline.org/ns/envelope/v1\"><meta>{meta}</meta>{}</message>",
            say("<text>x</text>")
        )
    };
    for liar in ["core", "mallory", "person", "operator2", "../x", "<b/>"] {
        let from = liar.replace('<', "&lt;");
        let document = envelope(&format!("<from>{from}</from><thread>new</thread>{stamp}"));
        let headers = [("From", liar), ("X-From", liar), ("Systole-From", liar), ("X-Forwarded-User", liar)];
        let taken = siege.post_to("/v1/messages", &headers, document.as_bytes());
        assert_eq!((taken.status, &taken.json["sender"]), (202, &"operator".into()), "{taken:?}");
        assert_eq!(taken.json["claimed"], liar, "the receipt says what was replaced");
        let records = siege.outcome(&taken);
        assert_eq!((&records[0]["from"], &records[0]["call"]), (&"operator".into(), &"1".into()));

        let item = envelope(&format!("<from>{from}</from>{stamp}"));
        let struck = siege.strike(&format!("reply({})", python(item.as_bytes())));
        let call =
            struck.records.iter().find(|r| r["code"] == "call").unwrap_or_else(|| panic!("{struck:?}"));
        assert_eq!((&call["from"], &call["to"]), (&"mallory".into(), &"echo".into()), "{liar}");
        assert_eq!(false_senders(&struck).len(), usize::from(liar != "mallory"), "{liar}: {struck:?}");
        let shown = struck.told.contains("code=\"reply.false-sender\"");
        assert_eq!(shown, liar != "mallory", "{liar}: mallory reads it beside the answer: {}", struck.told);
    }
    siege.ends_well();
}

/// The records of false names in the thread.
fn false_senders(struck: &Struck) -> Vec<&serde_json::Value> {
    let about = |r: &&serde_json::Value| r["body"].as_str().is_some_and(|b| b.contains("reply.false-sender"));
    struck.records.iter().filter(|r| r["code"] == "inbox" && r["to"] == "mallory").filter(about).collect()
}

#[test]
fn a6_row_32_a_false_sender_is_reported_once_per_reply_and_shortened() {
    let mut siege = Siege::begin();
    let lie = |from: &str, item: &str| {
        let ns = "https://xml-pipeline.org/ns/envelope/v1";
        format!("<message xmlns=\"{ns}\"><meta><from>{from}</from></meta>{item}</message>")
    };
    // Thirty lies of 4 KB become one notice with the beginning of the first.
    let text = |n: u32| say(&format!("<text>{n}</text>"));
    let lies: String = (0..30).map(|n| lie(&"é".repeat(2_048), &text(n))).collect();
    let struck = siege.strike(&format!("reply({})", python(lies.as_bytes())));
    let told = false_senders(&struck);
    assert_eq!(told.len(), 1, "{told:?}");
    let body = told[0]["body"].as_str().unwrap();
    assert!(body.len() < 1_000 && body.contains("éé") && body.contains('…'), "{body}");
    crate::promises::valid_under_core(body.as_bytes());
    assert_eq!(struck.records.iter().filter(|r| r["code"] == "call").count(), 30, "all went on");
    assert!(siege.organism.shows("reply.false-sender").contains("mallory"));
    siege.ends_well();
}
