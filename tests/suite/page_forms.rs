//! Payloads by the form of their schema, over HTTP and without a browser: sent from `/send`, and changed under
//! `/approvals`.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::process::Command;

use crate::approving::waits;
use crate::log_records::read_all;
use crate::organism::folder;
use crate::program::{Answer, Running, answer, connect, run_file};

const ALICE: &str = "alice-token-0123456789";
const BOB: &str = "bob-token-0123456789";
const TOKENS: [(&str, &str); 2] = [("ALICE_TOKEN", ALICE), ("BOB_TOKEN", BOB)];

const FILE: &str = "organism: {name: hello}
listeners:
  shop: {run: [python3, shop.py], schema: shop.xsd, accepts: [order], returns: [done], entry: true}
  vault: {run: [python3, shop.py], schema: vault.xsd, accepts: [order], returns: [done], entry: true}
clients:
  alice: {token_env: ALICE_TOKEN, may: [shop]}
  bob: {token_env: BOB_TOKEN, roles: [read]}
log: {path: ./hello.db}
console: {listen: \"127.0.0.1:0\"}
";

const SHOP: &str = r###"<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" targetNamespace="urn:shop"
    elementFormDefault="qualified">
  <xs:element name="order"><xs:annotation><xs:documentation>Orders goods</xs:documentation></xs:annotation>
    <xs:complexType><xs:sequence>
    <xs:element name="note" type="xs:string" minOccurs="0"/>
    <xs:element name="line" maxOccurs="4"><xs:complexType>
      <xs:sequence><xs:element name="sku" type="xs:token"/></xs:sequence>
      <xs:attribute name="count" use="required"><xs:simpleType><xs:restriction base="xs:int">
        <xs:minInclusive value="1"/><xs:maxInclusive value="99"/></xs:restriction></xs:simpleType></xs:attribute>
      </xs:complexType></xs:element>
    <xs:choice><xs:element name="card" type="xs:token"/><xs:element name="cash" type="xs:boolean"/></xs:choice>
  </xs:sequence></xs:complexType></xs:element>
  <xs:element name="done" type="xs:string"/>
</xs:schema>"###;

const PROGRAM: &str = r#"
import sys, re
for line in sys.stdin:
    if line.startswith("<message"):
        delivery = re.search('delivery="([^"]*)"', line).group(1)
        space = re.search('"(urn:shop|urn:vault)"', line).group(1)
        print(f'<reply xmlns="urn:systole:listener:v1" delivery="{delivery}"><done xmlns="{space}">done</done></reply>', flush=True)
"#;

fn shop() -> tempfile::TempDir {
    let vault = SHOP.replace("urn:shop", "urn:vault");
    folder(&[("organism.yaml", FILE), ("shop.xsd", SHOP), ("vault.xsd", &vault), ("shop.py", PROGRAM)])
}

/// A browser without scripts.
struct PlainBrowser<'f> {
    folder: &'f Path,
    /// A bearer token or the cookie of a session.
    credential: (&'static str, String),
}

impl PlainBrowser<'_> {
    fn with_token<'f>(folder: &'f Path, token: &str) -> PlainBrowser<'f> {
        PlainBrowser { folder, credential: ("Authorization", format!("Bearer {token}")) }
    }

    /// Signs in as a person does.
    fn signed_in<'f>(folder: &'f Path, token: &str) -> PlainBrowser<'f> {
        let mut browser = PlainBrowser { folder, credential: ("X-None", String::new()) };
        let came = browser.post("/session", &[("code", token)]);
        assert_eq!(came.status, 303, "{came:?}");
        let cookie = came.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        browser.credential = ("Cookie", cookie);
        browser
    }

    fn get(&self, path: &str) -> Answer {
        self.ask("GET", path, "")
    }

    fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let pairs = fields.iter().map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
        self.ask("POST", path, &pairs.collect::<Vec<_>>().join("&"))
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        let run = run_file(self.folder);
        let (address, (name, value)) = (run.address, &self.credential);
        let mut stream = connect(&run);
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nOrigin: http://{address}\r\nConnection: close\r\n\
             Accept: text/html\r\nContent-Type: application/x-www-form-urlencoded\r\n{name}: {value}\r\n\
             Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).unwrap();
        answer(stream)
    }
}

fn encoded(text: &str) -> String {
    let one = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(one).collect()
}

fn unescaped(text: &str) -> String {
    let named = [("&#60;", "<"), ("&#62;", ">"), ("&#34;", "\""), ("&#39;", "'"), ("&#38;", "&")];
    named.iter().fold(text.to_owned(), |text, (escaped, character)| text.replace(escaped, character))
}

/// The value of an attribute in a start tag.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let (_, rest) = tag.split_once(&format!(" {name}=\""))?;
    rest.split_once('"').map(|(value, _)| unescaped(value))
}

/// What a browser posts of a page: the values of all its inputs by name.
fn filled(page: &str) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    for (at, _) in page.match_indices('<') {
        let rest = &page[at..];
        let tag = &rest[..rest.find('>').unwrap_or(rest.len())];
        let Some(name) = attribute(tag, "name") else { continue };
        let inner = |end: &str| rest[tag.len() + 1..].split(end).next().unwrap_or_default().to_owned();
        if tag.starts_with("<input") {
            fields.insert(name, attribute(tag, "value").unwrap_or_default());
        } else if tag.starts_with("<textarea") {
            let text = inner("</textarea>");
            fields.insert(name, unescaped(text.strip_prefix('\n').unwrap_or(&text)));
        } else if tag.starts_with("<select") {
            let options = inner("</select>");
            let chosen = options
                .split("<option")
                .find(|option| option.split('>').next().is_some_and(|o| o.ends_with(" selected")));
            let value = chosen.and_then(|option| attribute(option.split('>').next()?, "value"));
            fields.insert(name, value.unwrap_or_default());
        }
    }
    fields
}

fn pairs(fields: &BTreeMap<String, String>) -> Vec<(&str, &str)> {
    fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
}

fn set(fields: &mut BTreeMap<String, String>, values: &[(&str, &str)]) {
    for (name, value) in values {
        assert!(fields.contains_key(*name), "the page has no {name}: {fields:#?}");
        fields.insert((*name).to_owned(), (*value).to_owned());
    }
}

/// The text of the element that begins with this tag.
fn text_of(page: &str, tag: &str) -> String {
    let (_, rest) = page.split_once(tag).unwrap_or_else(|| panic!("no {tag} in {page}"));
    unescaped(rest.split_once('<').unwrap().0.trim_start_matches(|c| c != '>').trim_start_matches('>'))
}

/// The bodies of all requests from outside with their senders.
fn requests(folder: &Path) -> Vec<(String, String)> {
    let log = read_all(&folder.join("hello.db")).into_iter();
    let asked = log.filter(|record| record.header.code.is_some_and(|code| code.as_str() == "request"));
    let part = |record: systole_core::types::record::Record| {
        (record.header.from.to_string(), String::from_utf8_lossy(&record.body).into_owned())
    };
    asked.map(part).collect()
}

const HOSTILE: &str = "</textarea><script>alert(1)</script> & \"it's\"]]>\nsecond line";

#[test]
fn a8_a_payload_is_sent_from_the_page_by_its_form() {
    let folder = shop();
    let organism = Running::organism_with(folder.path(), &TOKENS);
    let alice = PlainBrowser::with_token(folder.path(), ALICE);
    let listed = alice.get("/send").body;
    assert!(listed.contains("to=shop&#38;element=order") && listed.contains("Orders goods"), "{listed}");
    assert!(!listed.contains("vault"), "a client sees only what it may send to: {listed}");
    let forbidden = alice.get("/send?to=vault&element=order");
    assert_eq!(forbidden.status, 400, "{forbidden:?}");
    let everything = PlainBrowser::with_token(folder.path(), BOB).get("/send").body;
    assert!(everything.contains("to=vault&#38;element=order"), "{everything}");

    let mut fields = filled(&alice.get("/send?to=shop&element=order").body);
    assert!(fields.contains_key("/order/line[2]/sku") && !fields.contains_key("/order/line[3]/sku"));
    let key = fields["key"].clone();
    set(&mut fields, &[("/order/note", HOSTILE), ("/order/line[2]/sku", "A-1"), ("/order/?.2", "2")]);
    set(&mut fields, &[("/order/line[2]/@count", "700"), ("/order/cash", "true")]);

    // One more place keeps what is filled in, and the key.
    let mut more = pairs(&fields);
    more.retain(|(name, _)| *name != "more");
    more.push(("more", "/order/line"));
    let page = alice.post("/send/show", &more).body;
    let shown = filled(&page);
    assert!(shown.contains_key("/order/line[3]/sku"), "{page}");
    assert_eq!((&shown["/order/note"], &shown["key"]), (&HOSTILE.to_owned(), &key));
    assert!(!page.contains("<script>alert"), "{page}");

    // A mistake is shown beside its field, before and when it is sent, and nothing is recorded.
    for (path, status) in [("/send/show", 200), ("/send", 422)] {
        let refused = alice.post(path, &pairs(&shown_without_more(&shown)));
        assert_eq!(refused.status, status, "{refused:?}");
        let beside = text_of(&refused.body, "id=\"/order/line[2]/@count:m1\"");
        assert_eq!(beside, "", "the words follow the strong text");
        assert!(refused.body.contains("700 is more than 99"), "{}", refused.body);
        assert!(refused.body.contains("href=\"#/order/line[2]/@count\""), "{}", refused.body);
    }
    assert!(requests(folder.path()).is_empty());

    set(&mut fields, &[("/order/line[2]/@count", "7")]);
    let page = alice.post("/send/show", &pairs(&fields)).body;
    assert!(page.contains("<strong>Valid</strong>"), "{page}");
    let xml = text_of(&page, "aria-label=\"The payload\"");
    let note = "</textarea><script>alert(1)</script> & \"it's\"]]>";
    assert!(xml.contains(&note.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")), "{xml}");
    assert!(xml.contains("<line count=\"7\"><sku>A-1</sku></line><cash>true</cash>"), "{xml}");
    assert!(requests(folder.path()).is_empty(), "showing records nothing");
    let command = text_of(&page, "<pre class=\"command\"");
    assert!(command.starts_with("systole send order "), "{command}");

    // The cookie of a session only reads: a change needs the token, and keeps what was filled in.
    let person = PlainBrowser::signed_in(folder.path(), ALICE);
    let asked = person.post("/send", &pairs(&fields));
    assert_eq!(asked.status, 403, "{asked:?}");
    let mut kept = filled(&asked.body);
    assert_eq!(kept["/order/note"].replace("\r\n", "\n"), HOSTILE);
    kept.insert("token".to_owned(), ALICE.to_owned());
    let sent = person.post("/send", &pairs(&kept));
    assert_eq!(sent.status, 303, "{sent:?}");
    let place = sent.header("location").unwrap().to_owned();
    assert!(place.starts_with("/t/sess-"), "{place}");
    let again = person.post("/send", &pairs(&kept));
    assert_eq!(again.header("location"), Some(place.as_str()), "a double click sends once");
    let stored = requests(folder.path());
    let [(from, body)] = stored.as_slice() else { panic!("{stored:?}") };
    assert_eq!((from.as_str(), body), ("alice", &xml));

    // The command makes the same payload.
    let program = Path::new(env!("CARGO_BIN_EXE_systole")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let ran = Command::new("sh").args(["-c", &command]).current_dir(folder.path()).env("PATH", path).output();
    let ran = ran.unwrap();
    assert!(ran.status.success(), "{ran:?}");
    assert_eq!(requests(folder.path())[1], ("operator".to_owned(), xml));
    organism.interrupt();
}

fn shown_without_more(shown: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut fields = shown.clone();
    fields.remove("more");
    fields
}

#[test]
fn g4_a_person_amends_by_the_fields_of_the_schema() {
    let folder = waits(&[
        r#"<pay xmlns="urn:vault"><note>as agreed &amp; signed</note><amount>999999</amount></pay>"#,
    ]);
    let organism = Running::organism(folder.path());
    let token = run_file(folder.path()).token.secret().to_owned();
    let person = PlainBrowser::signed_in(folder.path(), &token);
    let page = person.get("/approvals/a1/amend");
    assert_eq!(page.status, 200, "{page:?}");
    let mut fields = filled(&page.body);
    assert_eq!(fields["/pay/note"], "as agreed & signed");
    assert_eq!(fields["/pay/amount"], "999999");

    set(&mut fields, &[("/pay/amount", "5 000")]);
    let wrong = person.post("/approvals/a1/amend/show", &pairs(&fields)).body;
    assert!(wrong.contains("id=\"/pay/amount:m1\"") && wrong.contains("whole number"), "{wrong}");
    set(&mut fields, &[("/pay/amount", "5000"), ("note", "too much")]);
    let right = person.post("/approvals/a1/amend/show", &pairs(&fields)).body;
    let xml = text_of(&right, "aria-label=\"The amended payload\"");
    assert!(right.contains("<strong>Valid</strong>") && xml.contains("<amount>5000</amount>"), "{right}");
    let still = person.get("/approvals/a1/amend");
    assert_eq!(filled(&still.body)["/pay/amount"], "999999", "showing decides nothing");

    let mut stale = fields.clone();
    stale.insert("token".to_owned(), token.clone());
    stale.insert("hash".to_owned(), "0".repeat(64));
    assert_eq!(person.post("/approvals/a1/amend", &pairs(&stale)).status, 409, "other bytes were shown");
    let mut last = fields.clone();
    assert_eq!(
        person.post("/approvals/a1/amend", &pairs(&last)).status,
        403,
        "a cookie alone decides nothing"
    );
    last.insert("token".to_owned(), token);
    let done = person.post("/approvals/a1/amend", &pairs(&last));
    assert_eq!((done.status, done.header("location")), (303, Some("/approvals?done=a1")), "{done:?}");
    assert_ne!(person.post("/approvals/a1/amend", &pairs(&last)).status, 303, "it is decided");
    organism.interrupt();
    let bodies: Vec<String> = read_all(&folder.path().join("hello.db"))
        .iter()
        .map(|record| String::from_utf8_lossy(&record.body).into_owned())
        .collect();
    assert!(bodies.iter().any(|body| body.contains(&xml)), "{xml}: {bodies:#?}");
    assert!(bodies.iter().any(|body| body.contains("too much")), "{bodies:#?}");
}
