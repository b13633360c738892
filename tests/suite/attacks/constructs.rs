//! Rows 1 to 4, 6 and 7: what XML allows and Systole refuses, and what Systole accepts without obeying
//! it.

use std::process::{Command, Stdio};

use crate::siege::{Siege, python, say};

/// A reply of mallory whose document begins with something that only a document can begin with.
fn python_reply(document: &str) -> String {
    let (subset, item) = document.split_at(document.rfind("<say").unwrap());
    format!("{} + reply({})", python(subset.as_bytes()), python(item.as_bytes()))
}

#[test]
fn row_1_internal_dtd_billion_laughs() {
    let siege = Siege::begin();
    let mut entities = "<!ENTITY l0 'lol'>".to_owned();
    for level in 1..10 {
        let inner = format!("&l{};", level - 1).repeat(10);
        entities.push_str(&format!("<!ENTITY l{level} '{inner}'>"));
    }
    let document = format!("<!DOCTYPE say [{entities}]>{}", say("<text>&l9;</text>"));
    siege.refused_at(document.as_bytes(), "payload.forbidden-construct", 1, 1);
    // Mallory's document with a DOCTYPE does not begin with a reply, so it answers nothing: it is
    // refused in `sys`, and mallory's next message is accepted.
    stray(&siege, &python_reply(&document), "payload.forbidden-construct");
    siege.ends_well();
}

/// Mallory sends this, and then a final. The first must be refused in `sys`, with a hash.
fn stray(siege: &Siege, frame: &str, code: &str) {
    let before = siege.last();
    let struck = siege.strike(&format!("[{frame}, struck('heard')]"));
    assert!(struck.told.contains("heard"), "{frame:.200}: {struck:?}");
    struck.was_frugal(frame);
    let strays: Vec<_> = siege.after(before).into_iter().filter(|(_, r)| r.header.thread.is_sys()).collect();
    let [(_, stray)] = &strays[..] else { panic!("one stray of {frame:.200}, not {strays:?}") };
    assert_eq!((stray.header.kind.as_str(), stray.header.code.unwrap().as_str()), ("refusal", code));
    assert_eq!(stray.header.to.as_ref().unwrap().as_str(), "mallory");
    let body = String::from_utf8(stray.body.to_vec()).unwrap();
    let hash = &body.split_once("hash=\"").unwrap_or_else(|| panic!("no hash: {body}")).1[..64];
    assert!(siege.kept(hash).unwrap().len() <= 1024, "a bounded excerpt");
}

#[test]
fn row_2_quadratic_blow_up() {
    let siege = Siege::begin();
    let entity = "x".repeat(50_000);
    let uses = "&e;".repeat(10_000);
    let document = format!("<!DOCTYPE say [<!ENTITY e '{entity}'>]>{}", say(&format!("<text>{uses}</text>")));
    siege.refused_at(document.as_bytes(), "payload.forbidden-construct", 1, 1);
    // An item uses an entity that is not declared: it is refused, and never expanded.
    let item = say(&format!("<text>{}</text>", "&e;".repeat(1_000)));
    siege.foiled(&python(item.as_bytes()), "payload.malformed");
    siege.ends_well();
}

/// The calls that opened a foreign file or socket during an attack.
fn opened(siege: &Siege, deed: impl FnOnce()) -> Vec<String> {
    let trace = siege.folder.path().join("trace");
    let pid = siege.organism.pid().to_string();
    let mut strace = Command::new("strace")
        .args(["-f", "-qq", "-e", "trace=open,openat,openat2,creat,socket,connect,accept4", "-p", &pid, "-o"])
        .arg(&trace)
        .stderr(Stdio::null())
        .spawn()
        .expect("strace is installed");
    // strace is attached to every thread when it shows that the door accepts a connection.
    let read = || std::fs::read_to_string(&trace).unwrap_or_default();
    let mut tries = 0;
    while !read().contains("accept4(") {
        tries += 1;
        assert!(tries < 1_000, "strace shows nothing");
        siege.post(b"");
    }
    deed();
    rustix::process::kill_process(rustix::process::Pid::from_child(&strace), rustix::process::Signal::INT)
        .unwrap();
    strace.wait().unwrap();
    // SQLite may open its own files for another reader, and the C library counts processors.
    let known = ["accept4", "/hello.db", "/sys/devices/system/cpu/"];
    read().lines().filter(|line| !known.iter().any(|known| line.contains(known))).map(str::to_owned).collect()
}

#[test]
fn row_3_external_entities_open_nothing() {
    let siege = Siege::begin();
    let net = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    net.set_nonblocking(true).unwrap();
    let url = format!("http://{}/x", net.local_addr().unwrap());
    let opened = opened(&siege, || {
        for subset in [
            "say SYSTEM 'file:///etc/passwd'".to_owned(),
            format!("say PUBLIC '-//x' '{url}'"),
            "say [<!ENTITY e SYSTEM 'file:///etc/passwd'>]".to_owned(),
            format!("say [<!ENTITY % p SYSTEM '{url}'> %p;]"),
        ] {
            let document = format!("<!DOCTYPE {subset}>{}", say("<text>&e;</text>"));
            siege.refused_at(document.as_bytes(), "payload.forbidden-construct", 1, 1);
            stray(&siege, &python_reply(&document), "payload.forbidden-construct");
        }
    });
    assert!(net.accept().is_err(), "nothing connected");
    assert!(opened.is_empty(), "{opened:#?}");
    siege.ends_well();
}

#[test]
fn row_4_a_schema_location_is_never_fetched() {
    let siege = Siege::begin();
    let net = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    net.set_nonblocking(true).unwrap();
    let url = format!("http://{}/x.xsd", net.local_addr().unwrap());
    let xsi = "xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\"";
    let located = |ns: &str| {
        format!(
            "<text {xsi} xsi:schemaLocation=\"{ns} {url}\">x</text><z xmlns=\"urn:z\" {xsi} xsi:schemaLocation=\"urn:z {url}\"/>"
        )
    };
    let document = say(&located("https://xml-pipeline.org/ns/echo/v1"));
    let opened = opened(&siege, || {
        let answer = siege.post(document.as_bytes());
        assert!(answer.status == 202 || answer.json["code"] == "payload.invalid", "{answer:?}");
        siege.strike(&format!("reply({})", python(document.as_bytes())));
    });
    assert!(net.accept().is_err(), "nothing connected");
    assert!(opened.is_empty(), "{opened:#?}");
    siege.ends_well();
}

#[test]
fn row_6_instructions_are_refused_and_inclusion_means_nothing() {
    let siege = Siege::begin();
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap();
    let first = passwd.lines().next().unwrap();
    let plain = say("<text>x</text>");
    for (document, column) in [
        (format!("<?xml-stylesheet href='x'?>{plain}"), 1),
        (format!("{plain}<?x?>"), plain.len() + 1),
        (say("<?php system('x') ?><text>x</text>"), plain.find("<text").unwrap() + 1),
    ] {
        siege.refused_at(document.as_bytes(), "payload.forbidden-construct", 1, column as u64);
    }
    let item = say("<?php system('x') ?><text>x</text>");
    siege.foiled(&python(item.as_bytes()), "payload.forbidden-construct");

    let include = "<text>x</text><z xmlns=\"urn:z\" xml:base=\"file:///etc/\"><xi:include \
                   xmlns:xi=\"http://www.w3.org/2001/XInclude\" href=\"passwd\" parse=\"text\"/></z>";
    let records = siege.taken(say(include).as_bytes());
    assert_eq!(records[0]["body"], say(include).as_str(), "stored as it was sent");
    assert!(!records.iter().any(|r| r["body"].as_str().unwrap().contains(first)), "{records:?}");
    siege.ends_well();
}

#[test]
fn row_7_prefixes_are_not_names() {
    let siege = Siege::begin();
    let echo = "https://xml-pipeline.org/ns/echo/v1";
    let taken = [
        format!("<p:say xmlns:p=\"{echo}\"><p:text>x</p:text></p:say>"),
        format!("<mallory:say xmlns:mallory=\"{echo}\"><q:text xmlns:q=\"{echo}\">x</q:text></mallory:say>"),
    ];
    for document in &taken {
        assert_eq!(siege.taken(document.as_bytes()).last().unwrap()["from"], "echo", "{document}");
        let struck = siege.strike(&format!("reply({})", python(document.as_bytes())));
        assert!(struck.records.iter().any(|r| r["code"] == "call" && r["to"] == "echo"), "{struck:?}");
    }
    for (document, code) in [
        (
            format!("<p:say xmlns:p=\"{echo}\" xmlns:q=\"urn:q\"><q:text>x</q:text></p:say>"),
            "payload.invalid",
        ),
        (format!("<say xmlns=\"{echo}\"><text xmlns=\"\">x</text></say>"), "payload.invalid"),
        (
            format!("<echo:say xmlns:echo=\"urn:q\" xmlns:q=\"{echo}\"><q:text>x</q:text></echo:say>"),
            "route.not-a-peer",
        ),
        (format!("<say xmlns=\"{echo}\" xmlns:xml=\"urn:q\"><text>x</text></say>"), "payload.malformed"),
        (format!("<say xmlns=\"{echo}\" xmlns:xmlns=\"urn:q\"><text>x</text></say>"), "payload.malformed"),
        (format!("<say xmlns=\"{echo}\" xmlns:p=\"\"><text>x</text></say>"), "payload.malformed"),
        ("<p:say><text>x</text></p:say>".to_owned(), "payload.undeclared"),
        ("<say><text>x</text></say>".to_owned(), "payload.no-namespace"),
    ] {
        siege.refused(document.as_bytes(), code);
        // Inside a reply the default namespace is the one of the reply, so here it must be empty.
        let inside = document.replacen("<say>", "<say xmlns=''>", 1);
        siege.foiled(&python(inside.as_bytes()), code);
    }
    siege.ends_well();
}
