//! `systole permissions`: the rights at the broker as text, the keys that it makes once and never shows, and the
//! variable for the pump's key.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;

use crate::broker::KEY;
use crate::golden::golden;
use crate::organism::folder;
use crate::program::{Ran, systole, systole_with};

const HOUSE: &str = "organism: {name: shop, entry: web.search}
bus: {nats: 'nats://127.0.0.1:14222', key_env: BUS_KEY}
payloads: {say: text, said: text}
console: {listen: '127.0.0.1:0'}
listeners:
  web.search: {nats: true, accepts: [say], returns: [said]}
  local: {run: [cat], accepts: [say], returns: [said]}
";

fn house() -> tempfile::TempDir {
    folder(&[("organism.yaml", HOUSE)])
}

fn configure(folder: &Path, more: &[&str]) -> Ran {
    let ran = systole(folder, &[&["permissions", "--nats-config"], more].concat());
    for (_, seed) in keys(&folder.join("keys")) {
        assert!(!ran.stdout.contains(&seed) && !ran.stderr.contains(&seed), "a secret was shown");
    }
    ran
}

/// The contents of a folder of keys.
fn keys(folder: &Path) -> BTreeMap<String, String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return BTreeMap::new() };
    let one = |path: std::path::PathBuf| {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        (name, std::fs::read_to_string(path).unwrap().trim().to_owned())
    };
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_none_or(|end| end != "pub")).map(one).collect()
}

#[test]
fn d6_the_rights_are_told_in_words() {
    let folder = house();
    let ran = systole(folder.path(), &["permissions"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    golden("tests/suite/golden/permissions.txt", &ran.stdout);
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ran.stdout);
    let ran = systole(folder.path(), &["permissions", "--json"]);
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    let parties: Vec<&str> =
        told["parties"].as_array().unwrap().iter().map(|party| party["party"].as_str().unwrap()).collect();
    assert_eq!(parties, ["the pump", "web.search", "an auditor"]);
    assert_eq!(told["parties"][1]["publish"][0]["subject"], "o.shop.in.web_search.*");
    assert_eq!(told["parties"][1]["inbox"], "_INBOX_web_search");
    assert!(keys(&folder.path().join("keys")).is_empty(), "looking made keys");
}

#[test]
fn d6_keys_are_made_once_for_their_owner_alone_and_stay() {
    let folder = house();
    let first = configure(folder.path(), &[]);
    assert_eq!(first.code, Some(0), "{first:?}");
    assert!(first.stderr.contains("3 keys were made, in "), "{}", first.stderr);
    assert!(first.stderr.contains("BUS_KEY=\"$(cat "), "{}", first.stderr);
    assert!(first.stdout.contains("listen: \"127.0.0.1:14222\"\n"), "{}", first.stdout);
    let made = keys(&folder.path().join("keys"));
    assert_eq!(
        made.keys().map(String::as_str).collect::<Vec<_>>(),
        ["_auditor.nk", "_pump.nk", "web.search.nk"]
    );
    for (name, mode) in made.keys().map(|name| (name.as_str(), 0o600)).chain([("", 0o700)]) {
        let path = folder.path().join("keys").join(name);
        assert_eq!(std::fs::metadata(path).unwrap().permissions().mode() & 0o777, mode, "{name}");
    }
    let public = folder.path().join("keys/web.search.pub");
    let half = std::fs::read_to_string(&public).unwrap();
    assert!(first.stdout.contains(&format!("{{ nkey: {}, ", half.trim_end())), "{half}");
    // What stands in its place hinders only the making of a key.
    std::fs::remove_file(&public).unwrap();
    std::fs::create_dir(&public).unwrap();
    let second = configure(folder.path(), &[]);
    std::fs::remove_dir(&public).unwrap();
    assert_eq!((&second.stdout, second.code), (&first.stdout, Some(0)));
    assert!(second.stderr.contains("all keys were there already"), "{}", second.stderr);
    // One more listener: the existing ones keep their keys.
    let more = format!("{HOUSE}  pump: {{nats: true, accepts: [say], returns: [said]}}\n");
    std::fs::write(folder.path().join("organism.yaml"), more).unwrap();
    let third = configure(folder.path(), &["--listen", "0.0.0.0:5222"]);
    assert!(
        third.stderr.contains("1 key was made") && third.stderr.contains("without TLS"),
        "{}",
        third.stderr
    );
    assert!(third.stdout.contains("listen: \"0.0.0.0:5222\"\n"), "{}", third.stdout);
    let now = keys(&folder.path().join("keys"));
    assert_eq!(now.len(), 4);
    assert!(made.iter().all(|(name, seed)| now.get(name) == Some(seed)));
    assert_eq!(std::fs::read_to_string(&public).unwrap(), half, "it is written again");
}

#[test]
fn d6_a_file_that_holds_no_key_is_left_alone_and_nothing_is_made_beside_it() {
    let folder = house();
    let keys_folder = folder.path().join("elsewhere");
    std::fs::create_dir(&keys_folder).unwrap();
    let operator = "SOALU7LPGJK2BDF7IHD7UZT6ZM23UMKYLGJLNN35QJSUI5BNR4DJRFH4R4";
    for (text, shown) in [("hunter2-and-more", "hunter2"), (operator, operator), ("", "\u{1b}")] {
        std::fs::write(keys_folder.join("web.search.nk"), text).unwrap();
        let ran = configure(folder.path(), &["--keys", "elsewhere"]);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains("web.search.nk: it does not hold the seed"), "{}", ran.stderr);
        assert!(!ran.stderr.contains(shown), "{}", ran.stderr);
        assert_eq!(keys(&keys_folder).len(), 1);
    }
    std::fs::write(keys_folder.join("web.search.nk"), KEY.0).unwrap();
    let ran = configure(folder.path(), &["--keys", "elsewhere"]);
    assert!(ran.code == Some(0) && ran.stdout.contains(KEY.1), "{ran:?}");
    assert!(ran.stderr.contains("others than its owner may read this key"), "{}", ran.stderr);
    assert!(!ran.stderr.contains(KEY.0));
}

#[test]
fn d6_without_listeners_over_nats_permissions_explains_how_to_have_one() {
    let alone = "organism: {name: shop, entry: local}\npayloads: {say: text}\nlisteners:\n  \
                 local: {run: [cat], accepts: [say]}\n";
    let folder = folder(&[("organism.yaml", alone)]);
    for arguments in [&["permissions"][..], &["permissions", "--nats-config"], &["permissions", "--json"]] {
        let ran = systole(folder.path(), arguments);
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(2), ""), "{ran:?}");
        assert!(ran.stderr.contains("no listener of shop is reached over NATS"), "{}", ran.stderr);
        assert!(ran.stderr.contains("try: nats: true"), "{}", ran.stderr);
    }
    assert!(!folder.path().join("keys").exists());
}

#[test]
fn d6_a_start_without_the_pumps_key_names_the_variable_and_the_line_and_shows_no_seed() {
    let folder = house();
    let unfit = KEY.0.replace("SU", "XU");
    for (set, what) in [(None, "is not set"), (Some(""), "is not set"), (Some(unfit.as_str()), "holds none")]
    {
        let set: Vec<(&str, &str)> = set.map(|seed| ("BUS_KEY", seed)).into_iter().collect();
        let ran = systole_with(folder.path(), &["run"], &set);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        let words =
            format!("error: organism.yaml:2: the variable BUS_KEY, which bus.key_env names, {what}: ");
        let told: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("BUS_KEY")).collect();
        assert!(told.len() == 1 && told.iter().all(|line| line.starts_with(&words)), "{}", ran.stderr);
        assert!(!ran.stderr.contains(&unfit), "{}", ran.stderr);
    }
}

#[test]
fn d6_a_seed_in_the_file_is_refused_and_not_repeated() {
    for written in [
        HOUSE.replace("BUS_KEY", KEY.0),
        HOUSE.replace("key_env: BUS_KEY", &format!("seed: {}", KEY.0)),
        HOUSE.replace("key_env: BUS_KEY", "password: hunter2-and-more"),
        HOUSE.replace("BUS_KEY", "'not a variable'"),
    ] {
        let folder = folder(&[("organism.yaml", &written)]);
        let ran = systole(folder.path(), &["check"]);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        let told = [ran.stdout, ran.stderr].concat();
        assert!(!told.contains(KEY.0) && !told.contains("hunter2"), "{told}");
        assert!(told.contains("bus."), "{told}");
    }
    assert_eq!(systole(house().path(), &["check"]).code, Some(0));
}
