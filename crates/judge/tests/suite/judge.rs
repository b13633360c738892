//! libxml2 as judge: verdicts, silence, no fetching, flat memory.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::process::Command;

use systole_judge::{CompiledSchemaId, LibxmlJudge, SchemaSetError, SchemaSource, SchemaVerdict};

const SEARCH: &str = r###"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:search"
    elementFormDefault="qualified">
  <xs:element name="search"><xs:complexType><xs:all>
    <xs:element name="query" type="xs:string"/>
    <xs:element name="limit" minOccurs="0"><xs:simpleType><xs:restriction base="xs:long">
      <xs:minInclusive value="1"/><xs:maxInclusive value="100"/></xs:restriction></xs:simpleType></xs:element>
  </xs:all></xs:complexType></xs:element>
  <xs:element name="anything"><xs:complexType><xs:sequence>
    <xs:any namespace="##other" processContents="lax" minOccurs="0" maxOccurs="unbounded"/>
  </xs:sequence></xs:complexType></xs:element>
</xs:schema>"###;

fn source(name: &str, xsd: &str) -> SchemaSource {
    SchemaSource { name: name.to_owned(), xsd: xsd.as_bytes().to_vec() }
}

fn search() -> (LibxmlJudge, CompiledSchemaId) {
    let judge =
        LibxmlJudge::compile_sources(&[source("search", SEARCH)]).expect("the schema is in the profile");
    let id = judge.find_schema("search").expect("it was compiled under this name");
    (judge, id)
}

fn invalid_words(verdict: SchemaVerdict) -> String {
    match verdict {
        SchemaVerdict::Invalid { words } => words,
        other => panic!("expected a refusal, got {other:?}"),
    }
}

#[test]
fn a_verdict_is_valid_or_names_the_fault() {
    let (mut judge, id) = search();
    let good = br#"<search xmlns="urn:search"><limit>7</limit><query>x</query></search>"#;
    assert_eq!(judge.judge_payload(id, good), SchemaVerdict::Valid);
    let words = invalid_words(
        judge.judge_payload(id, br#"<search xmlns="urn:search"><query>x</query><limit>0</limit></search>"#),
    );
    assert!(words.contains("minInclusive"), "{words}");
    assert_eq!(judge.judge_payload(id, good), SchemaVerdict::Valid, "a refusal leaves nothing behind");
}

#[test]
fn malformed_bytes_are_never_recovered() {
    let (mut judge, id) = search();
    let good = r#"<search xmlns="urn:search"><query>a &amp; b</query></search>"#;
    for cut in 0..good.len() {
        let words = invalid_words(judge.judge_payload(id, &good.as_bytes()[..cut]));
        assert!(!words.is_empty(), "cut at {cut}");
    }
    for tail in ["x", "<b/>", "&", "</search>"] {
        let _ = invalid_words(judge.judge_payload(id, format!("{good}{tail}").as_bytes()));
    }
}

#[test]
fn two_schemas_judge_only_their_own() {
    let other = SEARCH.replace("urn:search", "urn:other");
    let mut judge = LibxmlJudge::compile_sources(&[source("a", SEARCH), source("b", &other)])
        .expect("both are in the profile");
    let (a, b) = (judge.find_schema("a").expect("a"), judge.find_schema("b").expect("b"));
    let payload = br#"<search xmlns="urn:other"><query>x</query></search>"#;
    let _ = invalid_words(judge.judge_payload(a, payload));
    assert_eq!(judge.judge_payload(b, payload), SchemaVerdict::Valid);
    assert_eq!(judge.find_schema("c"), None);
}

#[test]
fn a_fault_of_libxml2_is_broken_and_the_judge_lives_on() {
    let (mut judge, id) = search();
    // The gate refuses a DOCTYPE; here libxml2 gets an entity reference that it cannot validate.
    let hostile = br#"<!DOCTYPE s [<!ENTITY e "x">]><search xmlns="urn:search"><query>&e;</query></search>"#;
    assert!(matches!(judge.judge_payload(id, hostile), SchemaVerdict::Broken { .. }));
    assert_eq!(
        judge.judge_payload(id, br#"<search xmlns="urn:search"><query>x</query></search>"#),
        SchemaVerdict::Valid
    );
}

/// A socket that counts connections: the proof that nothing was fetched.
struct Trap {
    socket: TcpListener,
}

impl Trap {
    fn set() -> (Self, String) {
        let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
        socket.set_nonblocking(true).expect("a socket can be made non-blocking");
        let url = format!("http://{}/evil.xsd", socket.local_addr().expect("it is bound"));
        (Self { socket }, url)
    }

    fn assert_untouched(&self) {
        // A blocking fetch would connect before the verdict comes back.
        let error = self.socket.accept().expect_err("a fetch connected");
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
    }
}

#[test]
fn row_04_a_schema_location_in_an_instance_is_never_fetched() {
    let (mut judge, id) = search();
    let (trap, url) = Trap::set();
    let hinted = |root: &str, content: &str| {
        format!(
            r#"<{root} xmlns="urn:search" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"
              xsi:schemaLocation="urn:search {url} urn:else {url}" xsi:noNamespaceSchemaLocation="{url}">{content}</{root}>"#
        )
    };
    assert_eq!(
        judge.judge_payload(id, hinted("search", "<query>x</query>").as_bytes()),
        SchemaVerdict::Valid
    );
    assert_eq!(
        judge.judge_payload(id, hinted("anything", r#"<e xmlns="urn:else"/>"#).as_bytes()),
        SchemaVerdict::Valid
    );
    let _ = invalid_words(judge.judge_payload(id, hinted("unknown", "").as_bytes()));
    trap.assert_untouched();
}

#[test]
fn row_05_a_schema_that_names_a_location_is_refused_unfetched() {
    let (trap, url) = Trap::set();
    for construct in ["include", "import", "redefine"] {
        for location in [url.as_str(), "file:///etc/passwd", "../other.xsd"] {
            let head = r#"elementFormDefault="qualified">"#;
            let with = format!(r#"{head}<xs:{construct} schemaLocation="{location}"/>"#);
            let xsd = SEARCH.replacen(head, &with, 1);
            let Err(SchemaSetError::Unfit { name, unfit }) =
                LibxmlJudge::compile_sources(&[source("bad", &xsd)])
            else {
                panic!("xs:{construct} of {location} must be refused by the model");
            };
            assert_eq!(name, "bad");
            assert!(unfit.iter().any(|u| u.construct == format!("xs:{construct}")), "{unfit:?}");
        }
    }
    trap.assert_untouched();
}

#[test]
fn row_14_a_value_split_by_comment_cdata_and_references_is_one_value() {
    let (mut judge, id) = search();
    let with = |limit: &str| {
        format!(r#"<search xmlns="urn:search"><query>x</query><limit>{limit}</limit></search>"#)
    };
    for whole in ["1<!-- -->2", "<![CDATA[1]]>2", "&#49;2", "&#x31;<!-- a --><![CDATA[2]]>"] {
        assert_eq!(judge.judge_payload(id, with(whole).as_bytes()), SchemaVerdict::Valid, "{whole}");
    }
    for whole in ["1<!-- -->01", "10<![CDATA[1]]>", "1&#48;1"] {
        let words = invalid_words(judge.judge_payload(id, with(whole).as_bytes()));
        assert!(words.contains("101"), "the whole value is compared: {words}");
    }
}

/// Resident pages of this process, in bytes.
fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux tells its memory");
    let pages: u64 = statm.split(' ').nth(1).expect("the second figure").parse().expect("a number");
    pages * 4096
}

/// Every message has new names and values: the worst case for a judge that interns strings.
fn growth_over(messages: u32) -> u64 {
    let (mut judge, id) = search();
    let mut run = |from: u32, to: u32| {
        for n in from..to {
            let payload = format!(
                r#"<anything xmlns="urn:search"><n{n}:e{n} xmlns:n{n}="urn:n{n}" a{n}="v{n}">t{n}</n{n}:e{n}></anything>"#
            );
            assert_eq!(judge.judge_payload(id, payload.as_bytes()), SchemaVerdict::Valid);
            let wrong = format!(r#"<search xmlns="urn:search"><query>x</query><w{n}>v{n}</w{n}></search>"#);
            let _ = invalid_words(judge.judge_payload(id, wrong.as_bytes()));
        }
    };
    run(0, 2_000);
    let before = resident_bytes();
    run(2_000, 2_000 + messages / 2);
    resident_bytes().saturating_sub(before)
}

#[test]
fn memory_stays_flat_over_names_never_seen_before() {
    // In its own process, so no other test allocates.
    let output = alone("judge::growth_alone");
    let text = String::from_utf8_lossy(&output.stdout);
    let growth = text.lines().find_map(|l| l.split_once("growth=")).expect("the child tells its growth").1;
    let growth: u64 = growth.trim().parse().expect("a number of bytes");
    assert!(growth < 3 << 20, "{growth} bytes over 100,000 messages");
}

#[test]
fn the_judge_writes_nothing_to_the_console() {
    let output = alone("judge::noise_alone");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

/// Runs one ignored test of this binary by itself.
fn alone(test: &str) -> std::process::Output {
    let binary = std::env::current_exe().expect("a test knows its binary");
    let mut command = Command::new(binary);
    let output = command.args(["--exact", test, "--ignored", "--nocapture"]).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let ran = String::from_utf8_lossy(&output.stdout).contains("1 passed");
    assert!(ran, "{test} does not exist");
    output
}

#[test]
#[ignore = "run in a process of its own by memory_stays_flat_over_names_never_seen_before"]
fn growth_alone() {
    println!("growth={}", growth_over(100_000));
}

#[test]
#[ignore = "the long form: a million messages, by hand"]
fn growth_over_a_million_alone() {
    println!("growth={}", growth_over(1_000_000));
}

#[test]
#[ignore = "run in a process of its own by the_judge_writes_nothing_to_the_console"]
fn noise_alone() {
    let (mut judge, id) = search();
    for payload in
        ["", "<", "<a>", "<a></b>", "<a>&nope;</a>", "\u{0}", "<search xmlns='urn:search'/>", "<p:a/>"]
    {
        let _ = invalid_words(judge.judge_payload(id, payload.as_bytes()));
    }
    let entity = br#"<!DOCTYPE s [<!ENTITY e "x">]><search xmlns="urn:search"><query>&e;</query></search>"#;
    let _ = judge.judge_payload(id, entity);
    // Our reader accepts `--` inside a comment; libxml2 does not, and would say so on stderr.
    let dashes = SEARCH.replacen("<xs:element", "<!-- a -- b --><xs:element", 1);
    for bad in ["", "<xs:schema", "<a/>", &SEARCH.replace("xs:long", "xs:nothing"), &dashes] {
        assert!(LibxmlJudge::compile_sources(&[source("bad", bad)]).is_err(), "{bad}");
    }
}

#[test]
fn row_25_many_repeated_elements_are_admitted() {
    let xsd = SEARCH.replace(
        r#"<xs:element name="anything">"#,
        r#"<xs:element name="many"><xs:complexType><xs:sequence>
             <xs:element name="b" type="xs:int" maxOccurs="unbounded"/></xs:sequence></xs:complexType></xs:element>
           <xs:element name="anything">"#,
    );
    let mut judge =
        LibxmlJudge::compile_sources(&[source("many", &xsd)]).expect("the schema is in the profile");
    let id = judge.find_schema("many").expect("many");
    let body = "<b>1</b>".repeat(65_535);
    let with = |last: &str| format!(r#"<many xmlns="urn:search">{body}<b>{last}</b></many>"#);
    assert_eq!(judge.judge_payload(id, with("2").as_bytes()), SchemaVerdict::Valid);
    let words = invalid_words(judge.judge_payload(id, with("x").as_bytes()));
    assert!(words.contains("'x'"), "{words}");
}

#[test]
#[ignore = "a measurement, by hand: cargo test --release --test suite cost_of -- --ignored --nocapture"]
fn cost_of_a_message_of_512_bytes() {
    let (mut judge, id) = search();
    let model =
        systole_kit::schema::SchemaModel::from_xsd(SEARCH.as_bytes()).expect("the schema is in the profile");
    let with = |limit: &str| {
        let query = "login ".repeat(70);
        format!(r#"<search xmlns="urn:search"><query>{query}</query><limit>{limit}</limit></search>"#)
    };
    let (good, bad) = (with("50"), with("500"));
    let rounds = 200_000;
    let per_message_ns = |run: &mut dyn FnMut()| {
        #[expect(clippy::disallowed_methods, reason = "a measurement needs the real clock")]
        let start = std::time::Instant::now();
        (0..rounds).for_each(|_| run());
        start.elapsed().as_nanos() / rounds
    };
    println!("{} bytes", good.len());
    println!(
        "judge, valid: {} ns",
        per_message_ns(&mut || assert_eq!(judge.judge_payload(id, good.as_bytes()), SchemaVerdict::Valid))
    );
    println!(
        "judge, invalid: {} ns",
        per_message_ns(&mut || assert_ne!(judge.judge_payload(id, bad.as_bytes()), SchemaVerdict::Valid))
    );
    println!(
        "explain: {} ns",
        per_message_ns(&mut || assert!(model.explain_payload(bad.as_bytes()).is_some()))
    );
}

#[test]
fn a_schema_is_utf_8_and_may_begin_with_a_byte_order_mark_and_a_payload_may_not() {
    let compiled =
        |xsd: Vec<u8>| LibxmlJudge::compile_sources(&[SchemaSource { name: "s".to_owned(), xsd }]).err();
    let marked = [b"\xef\xbb\xbf", SEARCH.as_bytes()].concat();
    assert!(compiled(marked.clone()).is_none());
    let declared =
        |encoding: &str| format!("<?xml version=\"1.0\" encoding=\"{encoding}\"?>{SEARCH}").into_bytes();
    assert!(compiled(declared("UTF-8")).is_none());
    let utf16: Vec<u8> = SEARCH.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for other in
        [declared("ISO-8859-1"), declared("UTF-16"), utf16.clone(), [&[0xff, 0xfe], &*utf16].concat()]
    {
        assert!(matches!(compiled(other), Some(SchemaSetError::Unfit { .. })));
    }
    let mut judge =
        LibxmlJudge::compile_sources(&[SchemaSource { name: "s".to_owned(), xsd: marked }]).unwrap();
    let id = judge.find_schema("s").unwrap();
    let good = "<search xmlns=\"urn:search\"><query>x</query></search>";
    assert_eq!(judge.judge_payload(id, good.as_bytes()), SchemaVerdict::Valid);
    let fault = systole_kit::Payload::parse(
        ["\u{feff}", good].concat().as_bytes(),
        &systole_kit::DocumentLimits::default(),
    );
    assert!(fault.unwrap_err().message.contains("a byte order mark before UTF-8"));
}

#[test]
fn minus_zero_is_zero_except_where_libxml2_reads_no_sign() {
    let signed = [
        "decimal",
        "integer",
        "long",
        "int",
        "short",
        "byte",
        "nonPositiveInteger",
        "nonNegativeInteger",
        "double",
    ];
    let unsigned = ["unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte"];
    for (name, takes) in signed.map(|name| (name, true)).into_iter().chain(unsigned.map(|name| (name, false)))
    {
        let xsd = format!(
            "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" targetNamespace=\"urn:t\" \
             elementFormDefault=\"qualified\"><xs:element name=\"n\" type=\"xs:{name}\"/></xs:schema>"
        );
        let mut judge = LibxmlJudge::compile_sources(&[source("t", &xsd)]).unwrap();
        let id = judge.find_schema("t").unwrap();
        let payload = b"<n xmlns=\"urn:t\">-0</n>";
        assert_eq!(judge.judge_payload(id, payload) == SchemaVerdict::Valid, takes, "{name}");
        assert_eq!(judge.find_model(id).unwrap().explain_payload(payload).is_none(), takes, "{name}");
    }
}
