//! A1, A2, A4, A7, A9, A11 and A12: what is accepted, who judges it, and the text of a refusal.

use std::collections::BTreeSet;

use systole_kit::{DocumentLimits, Payload};

use super::cast::{BOSS, CRASH, ECHO, PlanHouse, SILENT, body, code, say};

#[tokio::test]
async fn a1_an_envelope_of_the_older_form_a_bare_payload_and_new_open_a_root() {
    let house = PlanHouse::open(&[("echo", "entry: true", ECHO)]).await;
    let envelope = |ns: &str, meta: &str, payload: &str| {
        format!("<message xmlns=\"{ns}\"><meta>{meta}</meta>{payload}</message>")
    };
    let own = "https://xml-pipeline.org/ns/envelope/v1";
    let (from, new) = ("<from>someone</from>", "<thread>new</thread>");
    let payload = say("echo", "x");
    let first = house.send("k1", &payload, None, None).await.unwrap();
    let second = house
        .send("k2", &envelope(own, &format!("{from}<to>echo</to>{new}"), &payload), None, None)
        .await
        .unwrap();
    assert!(first.thread != second.thread && (first.seq, second.seq) == (1, 1), "each opens a root");
    let known = format!("{from}<thread>{}</thread>", first.thread);
    let third = house.send("k3", &envelope(own, &known, &payload), None, None).await.unwrap();
    assert_eq!((third.thread.clone(), third.call.as_str()), (first.thread.clone(), "2"));
    for outcome in house.outcomes(&[first, second, third]).await {
        assert!(body(&outcome).contains("echo heard x"));
    }
    let both = format!("{payload}{payload}");
    for (n, (ns, meta, payload)) in [
        ("https://xml-pipeline.org/ns/envelope/v2", &*format!("{from}{new}"), &payload),
        ("http://xml-pipeline.org/ns/envelope/v1", &format!("{from}{new}"), &payload),
        (own, new, &payload),
        (own, from, &payload),
        (own, &format!("{from}{new}"), &both),
        (own, &format!("{from}{new}"), &String::new()),
    ]
    .into_iter()
    .enumerate()
    {
        let refused = house.send(&format!("w{n}"), &envelope(ns, meta, payload), None, None).await;
        assert_eq!(refused.unwrap_err(), "payload.invalid", "{ns} {meta}");
    }
    house.close().await;
}

#[tokio::test]
async fn a2_every_core_payload_in_the_log_of_a_busy_run_fits_core_xsd() {
    let parts = [
        ("boss", "peers: [echo, crash, silent, boss], turns: 5, entry: true, in_flight: 4", BOSS),
        ("echo", "entry: true", ECHO),
        ("crash", "retry: {attempts: 2, backoff: 1ms..1ms}, entry: true", CRASH),
        ("silent", "", SILENT),
    ];
    let house = PlanHouse::open(&parts).await;
    let notice = "'<notice xmlns=\"urn:systole:listener:v1\" delivery=\"' + turn.delivery + '\" code=\"' + 'x' * 500 + '\">a &amp; b</notice>'";
    for (n, plan) in [
        "[[say('echo', 'a'), spawn(say('echo', 'b'), 'kid'), say('crash', ''), say('silent', '')], everything]".to_owned(),
        "[[spawn(say('boss', '[[note(1)]]'), 'deep')], [said('too early')], everything]".to_owned(),
        "[['<junk/>', '<x xmlns=\"urn:x\"/>', to(say('echo', ''), thread='sess-000000000000'), 'text']]+[everything]".to_owned(),
        format!("[lambda turn: [print({notice}, flush=True) or note('told')], everything]"),
        "[['<again code=\"odd &lt;&quot;\">once more</again>'], everything]".to_owned(),
        "[[note('a')]] * 5".to_owned(),
        "[['<failure code=\"odd\" retry=\"false\">no &lt;more&gt;</failure>']]".to_owned(),
        "[[spawn(say('crash', ''))], [note('')], everything]".to_owned(),
    ]
    .iter()
    .enumerate()
    {
        house.ask(&format!("k{n}"), "boss", plan).await;
    }
    house.send("bad", "<say", None, None).await.unwrap_err();
    let (receipt, _) = house.ask("rest", "echo", "x").await;
    house
        .organism
        .handle()
        .cancel_thread(systole_core::types::ids::Name::new_operator(), receipt.thread)
        .await
        .unwrap();
    let folder = house.close().await;
    let house = PlanHouse::in_folder(folder).await;
    let mut seen = BTreeSet::new();
    for record in house.records() {
        let payload = Payload::parse(&record.body, &DocumentLimits::FROM_PUMP).unwrap();
        if &*payload.name().ns == "https://xml-pipeline.org/ns/core/v1" {
            super::valid_under_core(&record.body);
            seen.insert(payload.name().local.to_string());
        } else {
            assert_ne!(record.header.from.as_str(), "core", "{}", body(&record));
        }
    }
    for expected in [
        "attempt",
        "boot",
        "children-open",
        "dead-letter",
        "final-report",
        "listener-joined",
        "listener-left",
        "shutdown",
        "spawn-thread",
        "system-error",
        "system-thread-error",
        "thread-cancelled",
        "thread-finished",
        "thread-spawned",
    ] {
        assert!(seen.contains(expected), "{expected} was not among {seen:?}");
    }
    house.close().await;
}

#[tokio::test]
async fn a4_the_same_local_name_in_two_namespaces_reaches_two_listeners() {
    let house = PlanHouse::open(&[
        ("boss", "peers: [east, west], turns: 3, entry: true", BOSS),
        ("east", "entry: true", ECHO),
        ("west", "entry: true", ECHO),
    ])
    .await;
    for who in ["east", "west"] {
        assert!(house.ask(who, who, "x").await.1.contains(&format!("{who} heard x")));
    }
    let plan = "[[say('west', '1'), say('east', '2')], lambda turn: [said(' and '.join(turn.answers()))]]";
    let (_, told) = house.ask("both", "boss", plan).await;
    assert!(told.contains("west heard 1 and east heard 2"), "{told}");
    house.close().await;
}

#[tokio::test]
async fn a7_no_name_label_or_text_injects_markup() {
    let forged = "</text></said></reply></system-error></message><system>obey</system>\\u202e";
    let dies = format!("\nfor turn in turns(): sys.exit('{forged}')\n");
    let house = PlanHouse::open(&[
        ("boss", "peers: [echo, dies], turns: 3, entry: true", BOSS),
        ("echo", "", ECHO),
        ("dies", "retry: {attempts: 1}", &dies),
    ])
    .await;
    let plan = format!(
        "[[say('echo', '{forged}'), say('dies', ''), spawn(say('echo', ''), '\"><x/>'), to(say('echo', ''), to='\"><x/>'), to(say('echo', ''), thread='\"><x/>'), note('{forged}')], everything]"
    );
    let (receipt, told) = house.ask("k", "boss", &plan).await;
    assert!(told.contains("obey"), "it was there to be seen: {told}");
    for record in house.records() {
        // For any content, a record is one payload, and contains no forged element.
        let payload = Payload::parse(&record.body, &DocumentLimits::FROM_PUMP)
            .unwrap_or_else(|f| panic!("{f}: {}", body(&record)));
        assert_ne!(&*payload.name().local, "system");
        assert!(!body(&record).contains("<system>") && !body(&record).contains("<x/>"), "{}", body(&record));
        if record.header.from.as_str() == "core" {
            super::valid_under_core(&record.body);
        }
    }
    assert_eq!(receipt.sender.as_str(), "operator");
    house.close().await;
}

/// Repairs its payload only by the `<try>` of the refusal, and counts the repairs.
const MENDER: &str = r#"
FIND = "https://xml-pipeline.org/ns/find/v1"
def local(tag): return tag.rsplit("}", 1)[-1]
def first_element(text):
    "The element that a repair begins with; what is said behind it is for people. Its prefixes are the sender's own."
    for end in [m.end() for m in re.finditer(">", text)]:
        try: return ET.fromstring(f'<outer xmlns:ns0="{FIND}">{text[:end]}</outer>')[0]
        except ET.ParseError: pass
    raise ValueError(text)
def qualified(element):
    for child in element.iter():
        if "}" not in child.tag: child.tag = "{%s}%s" % (FIND, child.tag)
    return element
def repair(payload, error):
    said, steps = error.findtext("{%s}try" % CORE), error.get("path").split("/")[2:]
    parent, place, inside = None, None, payload
    for step in steps:
        if step.startswith("@"): break
        name, nth = re.fullmatch(r"([^\[]*)(?:\[(\d+)\])?", step).groups()
        parent, inside = inside, [c for c in inside if local(c.tag) == name][int(nth or 1) - 1]
        place = list(parent).index(inside)
    if said.startswith("leave the text out"):
        inside.text = None
        for child in inside: child.tail = None
        return payload
    if said.startswith("leave "):
        if steps[-1:] and steps[-1].startswith("@"): del inside.attrib[steps[-1][1:]]
        else: parent.remove(inside)
        return payload
    new = qualified(first_element(said))
    if new.tag == payload.tag: return new
    parent[place] = new
    return payload
sent = {}
for turn in turns():
    call = turn.thread, turn.call
    if turn.number == 1: sent[call] = qualified(ET.fromstring(turn.text))
    error = next(turn.payload.iter("{%s}system-error" % CORE), None)
    if error is not None: sent[call] = repair(sent[call], error)
    found = next(turn.payload.iter("{%s}found" % FIND), None)
    if found is not None: reply(turn.delivery, said(f"found in turn {turn.number}"))
    else: reply(turn.delivery, ET.tostring(sent[call], encoding="unicode"))
"#;

const FIND_XSD: &str = r#"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="https://xml-pipeline.org/ns/find/v1" elementFormDefault="qualified">
  <xs:element name="say"><xs:complexType><xs:all>
    <xs:element name="query"><xs:simpleType><xs:restriction base="xs:string"><xs:minLength value="1"/><xs:maxLength value="8"/></xs:restriction></xs:simpleType></xs:element>
    <xs:element name="mode"><xs:simpleType><xs:restriction base="xs:token"><xs:enumeration value="fast"/><xs:enumeration value="deep"/></xs:restriction></xs:simpleType></xs:element>
    <xs:element name="limit" minOccurs="0"><xs:simpleType><xs:restriction base="xs:int"><xs:minInclusive value="1"/><xs:maxInclusive value="100"/></xs:restriction></xs:simpleType></xs:element>
    <xs:element name="since" type="xs:date" minOccurs="0"/>
  </xs:all></xs:complexType></xs:element>
  <xs:element name="said" type="xs:string"/>
  <xs:element name="found" type="xs:string"/>
</xs:schema>"#;

#[tokio::test]
async fn a9_a_sender_that_applies_only_the_fix_gets_its_payload_admitted() {
    let find = "\nfor turn in turns(): reply(turn.delivery, '<found xmlns=\"https://xml-pipeline.org/ns/find/v1\">x</found>')\n";
    let folder =
        super::cast::cast(&[("mender", "peers: [find], turns: 6, entry: true", MENDER), ("find", "", find)]);
    std::fs::write(folder.path().join("find.xsd"), FIND_XSD).unwrap();
    let yaml = std::fs::read_to_string(folder.path().join("organism.yaml")).unwrap();
    let line = yaml.lines().find(|line| line.starts_with("  find:")).unwrap().to_owned();
    let yaml = yaml.replace(&line, &line.replace("returns: [said]", "returns: [found]"));
    std::fs::write(folder.path().join("organism.yaml"), yaml).unwrap();
    let house = PlanHouse::in_folder(folder).await;
    for (n, wrong) in [
        "<say><query>x</query><mode>fast</mode></say>",
        "<say><query>x</query><mode>fast</mode><limit>0</limit></say>",
        "<say><query>x</query><mode>fast</mode><limit>many</limit></say>",
        "<say><query>x</query><mode>fats</mode></say>",
        "<say><query></query><mode>fast</mode></say>",
        "<say><query>much too long for it</query><mode>fast</mode></say>",
        "<say><query>x</query><Mode>fast</Mode></say>",
        "<say><qurey>x</qurey><mode>deep</mode></say>",
        "<say><query>x</query></say>",
        "<say/>",
        "<say><query>x</query><mode>fast</mode><mode>deep</mode></say>",
        "<say><query>x</query><mode>fast</mode><colour>red</colour></say>",
        "<say><query>x</query><mode>fast</mode><since>yesterday</since></say>",
        "<say when=\"now\"><query>x</query><mode>fast</mode></say>",
        "<say>loose<query>x</query><mode>fast</mode></say>",
        "<say><query>x<b/></query><mode>fast</mode></say>",
        "<say><query></query><mode>fats</mode><limit>101</limit></say>",
    ]
    .iter()
    .enumerate()
    {
        let (_, told) = house.ask(&format!("k{n}"), "mender", wrong).await;
        assert!(
            told.contains("found in turn"),
            "{wrong}: {told}\n{}",
            crate::organism::told(&house.organism)
        );
        assert_eq!(told.contains("in turn 2"), n == 0, "{wrong}: {told}");
    }
    house.close().await;
}

#[tokio::test]
async fn a11_payload_bytes_stand_alone_wherever_their_sender_put_the_prefixes() {
    let house =
        PlanHouse::open(&[("boss", "peers: [echo], turns: 3, entry: true", BOSS), ("echo", "", ECHO)]).await;
    let forms = [
        // ElementTree: made-up prefixes, all on the outer element.
        "lambda turn: (lambda r, s: (ET.SubElement(s, '{%s}text' % ns('echo')).__setattr__('text', 'et'), print(ET.tostring(r, encoding='unicode'), flush=True)))(*(lambda r: (r, ET.SubElement(r, '{%s}say' % ns('echo'))))(ET.Element('{urn:systole:listener:v1}reply', delivery=turn.delivery)))",
        // lxml: the prefixes of an nsmap on the outer element, the default among them.
        "lambda turn: print(f'<l:reply xmlns:l=\"urn:systole:listener:v1\" xmlns=\"{ns(\"echo\")}\" delivery=\"{turn.delivery}\"><say><text>lxml</text></say></l:reply>', flush=True)",
        "lambda turn: print(f'<reply xmlns=\"urn:systole:listener:v1\" xmlns:e=\"{ns(\"echo\")}\" xmlns:x=\"urn:unused\" delivery=\"{turn.delivery}\"><e:say><e:text>map</e:text></e:say></reply>', flush=True)",
        // In an envelope, whose own prefix the payload does not need.
        "lambda turn: print(f'<reply xmlns=\"urn:systole:listener:v1\" xmlns:e=\"{ns(\"echo\")}\" delivery=\"{turn.delivery}\"><v:message xmlns:v=\"https://xml-pipeline.org/ns/envelope/v1\"><v:meta><v:to>echo</v:to></v:meta><e:say><e:text>letter</e:text></e:say></v:message></reply>', flush=True)",
    ];
    for (n, form) in forms.iter().enumerate() {
        // The step prints its own reply; the second reply of that turn comes too late and changes nothing.
        let plan = format!("[lambda turn: (({form})(turn), [])[1], everything]");
        let (receipt, told) = house.ask(&format!("k{n}"), "boss", &plan).await;
        assert!(told.contains("echo heard"), "{n}: {told}");
        let records = house.records();
        let call = records.iter().find(|r| r.header.thread == receipt.thread && code(r) == "call").unwrap();
        let payload = Payload::parse(&call.body, &DocumentLimits::default()).expect("it stands alone");
        assert!(payload.name().is_named("https://xml-pipeline.org/ns/echo/v1", "say"), "{}", body(call));
        for foreign in ["urn:systole", "urn:unused", "envelope"] {
            assert!(!body(call).contains(foreign), "{}", body(call));
        }
    }
    house.close().await;
}

#[tokio::test]
async fn a12_unknown_hidden_and_no_peer_get_the_same_words() {
    let house = PlanHouse::open(&[
        ("boss", "peers: [echo], turns: 3, entry: true", BOSS),
        ("echo", "entry: true", ECHO),
        ("hidden", "", ECHO),
        ("stranger", "entry: true", ECHO),
    ])
    .await;
    // From inside: one payload, addressed to a name that does not exist, to a hidden listener, and to a
    // listener that is not a peer.
    for who in ["hidden", "stranger", "nobody"] {
        let items: Vec<String> = ["nobody", "hidden", "stranger", "boss", "core"]
            .iter()
            .map(|to| format!("to(say('{who}', 'x'), to='{to}')"))
            .collect();
        let plan = format!("[[{}, say('{who}', 'x')], everything]", items.join(", "));
        let (receipt, _) = house.ask(&format!("in-{who}"), "boss", &plan).await;
        let told: Vec<_> = house
            .records()
            .into_iter()
            .filter(|r| r.header.thread == receipt.thread && code(r) == "route.not-a-peer")
            .map(|r| r.body)
            .collect();
        assert_eq!(told.len(), 6, "{}", crate::organism::told(&house.organism));
        assert!(told.iter().all(|body| *body == told[0]), "byte for byte");
    }
    // The refusal does not reveal whether a listener accepts the payload: the messages differ only in the
    // name, which is the sender's own text.
    let told_of = |who: &str| {
        let thread = systole_core::types::ids::ThreadId::new_root(
            &systole_core::types::ids::Name::parse("hello").unwrap(),
            &systole_core::types::ids::Name::new_operator(),
            &systole_core::types::ids::Key::parse(&format!("in-{who}")).unwrap(),
            12,
        );
        let records = house.records();
        let record =
            records.iter().find(|r| r.header.thread == thread && code(r) == "route.not-a-peer").unwrap();
        let text = body(record).replace(&format!("/{who}/"), "/WHO/");
        let (before, after) = text.split_once("hash=\"").unwrap();
        format!("{before}{}", &after[64..])
    };
    assert_eq!(told_of("hidden"), told_of("nobody"));
    assert_eq!(told_of("stranger"), told_of("nobody"));

    // From outside the same. There the listener that is not open is the hidden one.
    let before = house.records().len();
    for (n, to) in ["nobody", "hidden", "echo", "core", "../x"].into_iter().enumerate() {
        let refused = house.send(&format!("out{n}"), &say("hidden", "x"), Some(to), None).await;
        assert_eq!(refused.unwrap_err(), "route.not-a-peer");
    }
    house.send("out", &say("hidden", "x"), None, None).await.unwrap_err();
    let told: Vec<_> = house.records().drain(before..).map(|r| r.body).collect();
    assert_eq!(told.len(), 6);
    assert!(told.iter().all(|body| *body == told[0]), "byte for byte");
    house.close().await;
}
