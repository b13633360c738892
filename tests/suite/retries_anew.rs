//! The requests of failed threads that are sent anew, in whole organisms: repaired under their schema, once each, and
//! linked to where they come from.

use std::path::Path;

use rustix::process::Signal;
use serde_json::{Value, json};
use systole_core::types::record::Record;

use crate::log_records::read_all;
use crate::organism::folder;
use crate::program::{Answer, Ran, Running, ask, ask_as, command, page, run_file, systole};

/// Ships to every city but one, and says nothing about another.
const SHIPPER: &str = r#"
import os, sys
import xml.etree.ElementTree as ET
T, L, S, E = "{https://xml-pipeline.org/ns/hello/v1}", "{urn:systole:listener:v1}", "{urn:systole:stamp:v1}", "{https://xml-pipeline.org/ns/envelope/v1}"
for line in sys.stdin:
    if not line.startswith("<message"): continue
    message = ET.fromstring(line)
    stamp = message.find(f"{E}meta/{S}stamp")
    reply = ET.Element(L + "reply", delivery=stamp.get("delivery"))
    city = message[1].findtext(T + "city")
    if city == "Nowhere": continue
    if city == "Atlantis":
        failure = ET.SubElement(reply, L + "failure", code="no-such-city", retry="false")
        failure.text = "no ship finds it"
    else:
        ET.SubElement(reply, T + "shipped").text = "to " + city
    print(ET.tostring(reply, encoding="unicode"), flush=True)
"#;

const FILE: &str = "organism: {name: hello}
payloads:
  order: {city: text, amount: int 1..10, iban?: sensitive word, tags: [word]}
  shipped: text
listeners:
  ship: {run: [python3, shipper.py], accepts: [order], returns: [shipped], entry: true}
  pay: {run: [python3, shipper.py], accepts: [order], returns: [shipped], entry: true, on_unknown: fail}
clients:
  ann: {token_env: ANN_TOKEN, may: [ship, pay]}
  bob: {token_env: BOB_TOKEN, may: [ship]}
log: {path: ./hello.db}
console: {listen: \"127.0.0.1:0\"}
";

const ANN: &str = "ann-token-0123456789";
const BOB: &str = "bob-token-0123456789";

struct House {
    folder: tempfile::TempDir,
}

impl House {
    fn new() -> House {
        House { folder: folder(&[("organism.yaml", FILE), ("shipper.py", SHIPPER)]) }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn start(&self) -> Running {
        Running::organism_with(self.path(), &[("ANN_TOKEN", ANN), ("BOB_TOKEN", BOB)])
    }

    fn run(&self, arguments: &[&str]) -> Ran {
        systole(self.path(), arguments)
    }

    /// Sends an order that fails, and returns its thread.
    fn fail(&self, to: &str) -> String {
        let fields = ["city=Atlantis", "amount=3", "iban=DE02120300000000202051", "tags=a", "tags=b"];
        let sent = self.run(&[&["send", "order", "--to", to], &fields[..]].concat());
        assert_eq!(sent.code, Some(1), "{sent:?}");
        self.roots().pop().unwrap().header.thread.to_string()
    }

    /// The first record of each root, the oldest first.
    fn roots(&self) -> Vec<Record> {
        let all = read_all(&self.path().join("hello.db")).into_iter();
        all.filter(|record| record.header.seq == 1 && !record.header.thread.is_sys()).collect()
    }

    fn ask(&self, method: &str, path: &str, body: &str) -> Answer {
        ask(&run_file(self.path()), method, path, &[], body)
    }

    fn ask_as(&self, token: &str, path: &str, body: &str) -> Answer {
        let bearer = format!("Bearer {token}");
        ask_as(&run_file(self.path()), "POST", path, &[("Authorization", &bearer)], body)
    }
}

fn read_text(json: &Value) -> &str {
    json.as_str().unwrap_or_else(|| panic!("no text: {json}"))
}

#[test]
fn d10_a_repaired_request_is_sent_as_a_new_thread_and_both_name_each_other() {
    let house = House::new();
    let organism = house.start();
    let old = house.fail("ship");
    for (value, told, fix) in [
        ("cty=Rome", "cty: is not known in order", "city=Rome"),
        ("amount=77", "amount: 77 is more than 10", "amount=10"),
    ] {
        let refused = house.run(&["retry", &old, "--yes", "--anew", value]);
        assert_eq!(refused.code, Some(4), "{refused:?}");
        let has = |words: &str| refused.stderr.contains(words);
        assert!(has("payload.invalid") && has(told) && has(fix), "{refused:?}");
    }
    let several = house.run(&["retry", &old, "@last", "--anew"]);
    assert_eq!(several.code, Some(2), "{several:?}");
    let shown = house.run(&["retry", &old, "--anew", "city=Rome", "tags[2]=c"]);
    assert_eq!((shown.code, house.roots().len()), (Some(0), 1), "it only shows: {shown:?}");
    for words in ["no-such-city", "<city>Rome</city>", "<item>a</item><item>c</item>", "[sensitive]", "--yes"]
    {
        assert!(shown.stderr.contains(words), "{words}: {shown:?}");
    }
    assert!(!shown.stderr.contains("DE02"), "{shown:?}");
    let sent = house.run(&["retry", &old, "--yes", "--wait", "--anew", "city=Rome", "tags=c"]);
    assert_eq!((sent.code, sent.stdout.contains("to Rome")), (Some(0), true), "{sent:?}");
    let roots = house.roots();
    let new = roots[1].header.thread.to_string();
    let body = String::from_utf8(roots[1].body.to_vec()).unwrap();
    assert!(
        body.contains("DE02120300000000202051") && body.contains("<tags><item>c</item></tags>"),
        "{body}"
    );
    assert_eq!((roots[1].header.from.as_str(), roots.len()), ("operator", 2));
    let again = house.run(&["retry", &old, "--yes", "--anew", "city=Rome", "tags=c"]);
    assert!(again.stderr.contains(&format!("was sent anew before, as {new}")), "{again:?}");
    assert_eq!(house.roots().len(), 2, "the same command again is the same thread");
    let in_place = house.run(&["retry", &old, "--yes"]);
    assert!(in_place.stderr.contains("retry.superseded") && in_place.stderr.contains(&new), "{in_place:?}");
    let in_place = house.ask("POST", &format!("/v1/threads/{old}/retry"), "");
    assert_eq!((in_place.status, &in_place.json["code"]), (422, &"retry.superseded".into()), "{in_place:?}");
    let answered = house.run(&["retry", &new, "--yes", "--anew", "city=Oslo"]);
    assert!(answered.stderr.contains("retry.not-failed"), "{answered:?}");
    let links = |id: &str| house.ask("GET", &format!("/v1/threads/{id}"), "").json["why"]["anew"].take();
    assert_eq!(links(&old), json!({"from": null, "as": [new]}));
    assert_eq!(links(&new), json!({"from": old, "as": []}));
    let shows = |id: &str| page(&run_file(house.path()), "GET", &format!("/t/{id}"), "text/html", &[]).body;
    assert!(shows(&old).contains("Sent anew as") && shows(&old).contains(&format!("href=\"/t/{new}\"")));
    assert!(shows(&new).contains("Sent anew from") && shows(&new).contains(&format!("href=\"/t/{old}\"")));
    let told = house.run(&["why", &old]).stdout;
    assert!(told.contains(&format!("sent anew as {new}")), "{told}");
    organism.interrupt();
    assert!(house.run(&["why", &new]).stdout.contains(&format!("sent anew from {old}")));
    for id in [&old, &new] {
        let replayed = house.run(&["replay", id]);
        assert_eq!(replayed.code, Some(0), "{replayed:?}");
        let exported = house.run(&["export", id, "--out", &format!("{id}.jsonl")]);
        assert_eq!(exported.code, Some(0), "{exported:?}");
        let verified = house.run(&["verify", &format!("{id}.jsonl")]);
        assert_eq!(verified.code, Some(0), "{verified:?}");
    }
    assert_eq!(house.run(&["verify", "--state"]).code, Some(0));
}

#[test]
fn d10_a_request_is_sent_anew_once_by_many_shells_and_through_kills() {
    let house = House::new();
    let organism = house.start();
    let old = house.fail("ship");
    let shell = || {
        let arguments = ["retry", &old, "--yes", "--json", "--anew", "city=Rome"];
        Running::of(command(house.path(), &arguments).spawn().unwrap())
    };
    let shells: Vec<Running> = (0..6).map(|_| shell()).collect();
    let given: Vec<Ran> = shells.into_iter().map(Running::end).collect();
    let threads: Vec<String> = given
        .iter()
        .map(|ran| {
            read_text(&ran.json_lines().pop().unwrap_or_else(|| panic!("{ran:?}"))["thread"]).to_owned()
        })
        .collect();
    assert!(threads.iter().all(|thread| *thread == threads[0]), "{threads:?}");
    assert_eq!(house.roots().len(), 2);
    // A kill while shells send: the same command again does the rest, and no more.
    let old = house.fail("ship");
    let arguments = ["retry", &old, "--yes", "--json", "--anew", "city=Oslo"];
    let shells: Vec<Running> =
        (0..3).map(|_| Running::of(command(house.path(), &arguments).spawn().unwrap())).collect();
    organism.signal(Signal::KILL);
    organism.end();
    shells.into_iter().map(Running::end).for_each(drop);
    let here = house.run(&arguments);
    assert_eq!(here.code, Some(0), "{here:?}");
    let organism = house.start();
    let again = house.run(&["retry", &old, "--yes", "--wait", "--anew", "city=Oslo"]);
    assert_eq!((again.code, again.stdout.contains("to Oslo")), (Some(0), true), "{again:?}");
    assert_eq!(house.roots().len(), 4, "{:?}", house.roots());
    // Other values are another request.
    let other = house.run(&["retry", &old, "--yes", "--anew", "city=Bergen"]);
    assert!(other.stderr.contains("it was sent anew before, as "), "{other:?}");
    assert_eq!((other.code, house.roots().len()), (Some(0), 5), "{other:?}");
    organism.interrupt();
    assert_eq!(house.run(&["verify", "--state"]).code, Some(0));
}

#[test]
fn d10_the_request_of_a_client_is_sent_anew_over_http_by_those_who_may() {
    let house = House::new();
    let organism = house.start();
    let order = "<order xmlns=\"https://xml-pipeline.org/ns/hello/v1\"><city>Atlantis</city><amount>3</amount><tags/></order>";
    let posted = house.ask_as(ANN, "/v1/messages?to=pay", order);
    let old = read_text(&posted.json["thread"]).to_owned();
    let why = format!("/v1/threads/{old}/why");
    while house.ask("GET", &why, "").json["state"] != "failed" {}
    let path = |fields: &str| format!("/v1/threads/{old}/retry?{fields}");
    let values = "[\"city=Rome\"]";
    for body in ["{}", "[1]", "city=Rome"] {
        assert_eq!(house.ask_as(ANN, &path("anew=show"), body).status, 400, "{body}");
    }
    for fields in ["anew=", "anew=both", "anew=send&note=x", "anew=send&seen=x"] {
        assert_eq!(house.ask_as(ANN, &path(fields), values).status, 400, "{fields}");
    }
    let hidden = house.ask_as(BOB, &path("anew=show"), values);
    assert_eq!(hidden.json["code"], "thread.unknown", "{hidden:?}");
    let shown = house.ask_as(ANN, &path("anew=show"), values).json;
    assert!(read_text(&shown["request"]).contains("<city>Rome</city>"), "{shown}");
    assert_eq!(shown["effects"], json!([format!("pay in {old}: <order>")]));
    let send = |token: &str, fields: &str| house.ask_as(token, &path(fields), values);
    let refused = send(ANN, "anew=send");
    assert_eq!((refused.status, &refused.json["code"]), (422, &"retry.effects".into()), "{refused:?}");
    let refused = send(ANN, "anew=send&effects=true");
    assert_eq!((refused.status, &refused.json["code"]), (403, &"ingress.forbidden".into()), "{refused:?}");
    let moved = house.ask("POST", &path(&format!("anew=send&effects=true&seen={}", "0".repeat(64))), values);
    assert_eq!(moved.json["code"], "retry.moved", "{moved:?}");
    assert_eq!(house.roots().len(), 1, "nothing was sent");
    let seen = read_text(&shown["seen"]);
    let sent = house.ask("POST", &path(&format!("anew=send&effects=true&seen={seen}")), values);
    assert_eq!((sent.status, &sent.json["repeated"]), (200, &false.into()), "{sent:?}");
    assert_eq!(sent.json["sender"], "operator");
    // A key that names a thread links nothing unless its sender knows how the thread ended.
    let forged = format!("anew:{old}:4:{}:1", "0".repeat(16));
    let (bearer, key) = (format!("Bearer {BOB}"), ("Idempotency-Key", forged.as_str()));
    let headers = [("Authorization", bearer.as_str()), key];
    let forged = ask_as(&run_file(house.path()), "POST", "/v1/messages?to=ship", &headers, order);
    assert_eq!(forged.status, 202, "{forged:?}");
    let links = house.ask("GET", &format!("/v1/threads/{old}"), "").json["why"]["anew"].take();
    assert_eq!(links, json!({"from": null, "as": [sent.json["thread"]]}));
    organism.interrupt();
}

#[test]
fn d10_an_ended_thread_and_a_cancelled_one_are_sent_anew_and_an_erased_one_is_not() {
    let house = House::new();
    let organism = house.start();
    let ended = house.fail("ship");
    assert_eq!(house.run(&["end", &ended]).code, Some(0));
    let refused = house.run(&["retry", &ended]);
    assert!(refused.stderr.contains("--anew"), "the fix: {refused:?}");
    let sent = house.run(&["retry", &ended, "--yes", "--wait", "--anew", "city=Rome"]);
    assert_eq!((sent.code, sent.stdout.contains("to Rome")), (Some(0), true), "{sent:?}");
    let answered = house.roots().pop().unwrap().header.thread.to_string();
    assert_eq!(house.run(&["end", &answered]).code, Some(0));
    let refused = house.run(&["retry", &answered, "--anew"]);
    assert!(refused.stderr.contains("retry.not-failed"), "{refused:?}");
    let lost =
        house.run(&["send", "order", "--no-wait", "--to", "ship", "city=Nowhere", "amount=1", "tags=a"]);
    assert_eq!(lost.code, Some(0), "{lost:?}");
    let lost = house.roots().pop().unwrap().header.thread.to_string();
    let working = house.run(&["retry", &lost, "--anew", "city=Rome"]);
    assert!(working.stderr.contains("retry.not-failed"), "{working:?}");
    assert_eq!(house.run(&["cancel", &lost]).code, Some(0));
    let sent = house.run(&["retry", &lost, "--yes", "--wait", "--anew", "city=Bergen"]);
    assert_eq!((sent.code, sent.stdout.contains("to Bergen")), (Some(0), true), "{sent:?}");
    let erased = house.fail("ship");
    let over = house.fail("ship");
    let later =
        house.run(&["send", "order", "--to", "ship", "--thread", &over, "city=Rome", "amount=1", "tags=a"]);
    assert_eq!(later.code, Some(0), "{later:?}");
    let refused = house.run(&["retry", &over, "--anew"]);
    assert!(refused.stderr.contains("retry.not-failed"), "the last call was answered: {refused:?}");
    organism.interrupt();
    assert_eq!(house.run(&["erase", &format!("{erased}@1"), "--reason", "asked for"]).code, Some(0));
    let refused = house.run(&["retry", &erased, "--yes", "--anew", "city=Rome"]);
    assert_eq!(refused.code, Some(4), "{refused:?}");
    assert!(
        refused.stderr.contains("erased") && refused.stderr.contains("systole send --file"),
        "{refused:?}"
    );
    assert_eq!(house.roots().len(), 6);
}

#[test]
fn d10_a_person_repairs_the_request_of_a_failed_thread_in_its_form() {
    let house = House::new();
    let organism = house.start();
    let old = house.fail("pay");
    let run = run_file(house.path());
    let own = format!("/t/{old}/anew");
    let shown = page(&run, "GET", &format!("/t/{old}"), "text/html", &[]).body;
    assert!(shown.contains(&format!("href=\"{own}\"")), "{shown}");
    let form = page(&run, "GET", &own, "text/html", &[]).body;
    assert!(
        form.contains("Atlantis</textarea>") && form.contains("an effect that may happen again"),
        "{form}"
    );
    let (_, seen) = form.split_once("name=\"seen\" value=\"").unwrap();
    let seen = seen.split('"').next().unwrap();
    let fields = |city: &'static str, amount: &'static str| {
        vec![
            ("seen", seen),
            ("/order/city", city),
            ("/order/amount", amount),
            ("/order/tags/item[1]", "a"),
            ("/order/tags/item[2]", "b"),
        ]
    };
    let judged = page(&run, "POST", &format!("{own}/show"), "application/json", &fields("Rome", "3")).json;
    assert!(read_text(&judged["xml"]).contains("<city>Rome</city>"), "{judged}");
    let wrong = page(&run, "POST", &own, "text/html", &fields("Rome", "77"));
    assert_eq!((wrong.status, wrong.body.contains("Not sent.")), (422, true), "{wrong:?}");
    let refused = page(&run, "POST", &own, "application/json", &fields("Rome", "3"));
    assert_eq!(refused.json["code"], "retry.effects", "{refused:?}");
    assert_eq!(house.roots().len(), 1);
    let allowed = [&fields("Rome", "3")[..], &[("effects", "true")]].concat();
    let sent = page(&run, "POST", &own, "text/html", &allowed);
    let new = house.roots().pop().unwrap().header.thread.to_string();
    assert_eq!((sent.status, sent.header("location")), (303, Some(&*format!("/t/{new}"))), "{sent:?}");
    let twice = page(&run, "POST", &own, "application/json", &allowed);
    assert_eq!((&twice.json["thread"], &twice.json["repeated"]), (&new.into(), &true.into()), "{twice:?}");
    organism.interrupt();
}
