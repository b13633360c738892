//! Several namespaces in the judge: imports come only from memory, and the judge knows only what a
//! schema imports.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use systole_config as config;
use systole_core::rules::sent_files::FoundFile;
use systole_core::rules::{admit, introspection};
use systole_core::types::ids::Name;
use systole_judge::{LibxmlJudge, SchemaSetError, SchemaSource, SchemaVerdict};
use systole_organism::compiled_schemas::CompiledSchemas;

fn source(name: &str, namespace: &str, imports: &[&str], body: &str) -> SchemaSource {
    let imports: String = imports.iter().map(|ns| format!("<xs:import namespace=\"{ns}\"/>")).collect();
    let xsd = format!(
        "<xs:schema xmlns:xs=\"http://www.w3.org/2001/XMLSchema\" xmlns:a=\"urn:a\" xmlns:b=\"urn:b\" xmlns:c=\"urn:c\" \
         targetNamespace=\"{namespace}\" elementFormDefault=\"qualified\">{imports}{body}</xs:schema>"
    );
    SchemaSource { name: name.to_owned(), xsd: xsd.into_bytes() }
}

const A: &str = "<xs:element name=\"a\"><xs:complexType><xs:sequence><xs:element ref=\"b:b\"/>\
    <xs:any namespace=\"##other\" processContents=\"lax\" minOccurs=\"0\"/></xs:sequence></xs:complexType></xs:element>";
const B: &str = "<xs:element name=\"b\" type=\"c:few\"/>";
const C: &str = "<xs:element name=\"c\" type=\"few\"/><xs:simpleType name=\"few\"><xs:restriction base=\"xs:int\">\
    <xs:maxInclusive value=\"9\"/></xs:restriction></xs:simpleType>";
const D: &str = "<xs:element name=\"d\" type=\"xs:int\"/>";

/// A chain of imports, two schemas that import one another, and a stranger.
fn chain() -> [SchemaSource; 4] {
    let mut c = source("c.xsd", "urn:c", &["urn:a"], C);
    c.xsd = String::from_utf8(c.xsd)
        .unwrap()
        .replacen("<xs:schema ", "<xs:schema xmlns=\"urn:c\" ", 1)
        .into_bytes();
    [
        source("a.xsd", "urn:a", &["urn:b"], A),
        source("b.xsd", "urn:b", &["urn:c"], B),
        c,
        source("d.xsd", "urn:d", &[], D),
    ]
}

fn verdict(judge: &mut LibxmlJudge, name: &str, payload: &str) -> bool {
    let id = judge.find_schema(name).expect("it was compiled under this name");
    let verdict = judge.judge_payload(id, payload.as_bytes());
    let is_valid = verdict == SchemaVerdict::Valid;
    let found = judge.find_model(id).expect("each has its model").explain_payload(payload.as_bytes());
    assert_eq!(is_valid, found.is_none(), "{verdict:?} {found:?} {payload}");
    is_valid
}

#[test]
fn a3_a_chain_of_imports_is_resolved_from_memory() {
    let mut judge = LibxmlJudge::compile_sources(&chain()).expect("all are in the profile");
    assert!(verdict(&mut judge, "a.xsd", r#"<a xmlns="urn:a"><b xmlns="urn:b">9</b></a>"#));
    assert!(!verdict(&mut judge, "a.xsd", r#"<a xmlns="urn:a"><b xmlns="urn:b">10</b></a>"#));
    assert!(!verdict(&mut judge, "a.xsd", r#"<a xmlns="urn:a"><b>9</b></a>"#));
    assert!(verdict(&mut judge, "b.xsd", r#"<b xmlns="urn:b">9</b>"#));
}

#[test]
fn a3_a_root_of_an_imported_namespace_is_no_payload_of_the_schema() {
    let mut judge = LibxmlJudge::compile_sources(&chain()).expect("all are in the profile");
    assert!(verdict(&mut judge, "c.xsd", r#"<c xmlns="urn:c">1</c>"#));
    assert!(!verdict(&mut judge, "a.xsd", r#"<c xmlns="urn:c">1</c>"#));
    assert!(!verdict(&mut judge, "a.xsd", r#"<c>1</c>"#));
}

#[test]
fn a3_a_lax_wildcard_knows_what_is_imported_and_nothing_else() {
    let mut judge = LibxmlJudge::compile_sources(&chain()).expect("all are in the profile");
    let with = |inner: &str| format!(r#"<a xmlns="urn:a"><b xmlns="urn:b">9</b>{inner}</a>"#);
    assert!(verdict(&mut judge, "a.xsd", &with(r#"<c xmlns="urn:c">1</c>"#)));
    assert!(!verdict(&mut judge, "a.xsd", &with(r#"<c xmlns="urn:c">x</c>"#)));
    // The fourth schema is listed but not imported: its declaration of <d> is not known here.
    assert!(verdict(&mut judge, "a.xsd", &with(r#"<d xmlns="urn:d">x</d>"#)));
}

#[test]
fn row_09_namespaces_that_look_alike_are_different_ones() {
    let mut judge = LibxmlJudge::compile_sources(&[source("a.xsd", "http://x.org/ns/a", &[], D)])
        .expect("it is in the profile");
    assert!(verdict(&mut judge, "a.xsd", r#"<d xmlns="http://x.org/ns/a">1</d>"#));
    let alike = [
        "http://X.org/ns/a",
        "http://x.org/ns/a/",
        "http://x.org/ns/%61",
        "http://x.org/ns/\u{430}",
        "http://x.org/ns/a\u{200b}",
    ];
    for other in alike {
        assert!(!verdict(&mut judge, "a.xsd", &format!(r#"<d xmlns="{other}">1</d>"#)), "{other}");
        // A schema does not replace the imported one.
        let importing = source("b.xsd", "urn:b", &[other], D);
        let refused =
            LibxmlJudge::compile_sources(&[source("a.xsd", "http://x.org/ns/a", &[], D), importing]);
        assert!(matches!(refused, Err(SchemaSetError::Unfit { name, .. }) if name == "b.xsd"), "{other}");
    }
}

#[test]
fn row_05_imports_open_no_file_and_no_socket() {
    // Some containers forbid tracing; then the test shows nothing, and says so.
    let may =
        Command::new("strace").args(["-qq", "-o", "/dev/null", "true"]).status().is_ok_and(|s| s.success());
    if !may {
        println!("SKIPPED: strace is not here, or may not trace");
        return;
    }
    let trace = tempfile::NamedTempFile::new().expect("a file for the trace");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", "trace=%file,%net,openat2,memfd_create", "-o"]).arg(trace.path());
    command.arg(std::env::current_exe().expect("a test knows its binary"));
    command.args(["--exact", "judge_imports::imports_alone", "--ignored", "--nocapture"]);
    let output = command.output().expect("strace runs");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && told.contains("1 passed"), "{told}");
    let trace = std::fs::read_to_string(trace.path()).expect("strace has written");
    let between: Vec<&str> = trace
        .lines()
        .skip_while(|line| !line.contains("systole-begins"))
        .take_while(|line| !line.contains("systole-ends"))
        .skip(1)
        .collect();
    assert!(
        between.iter().any(|line| line.contains("memfd_create")),
        "the documents stay in memory: {between:?}"
    );
    let known =
        |line: &&&str| line.contains("memfd_create(\"systole-schema\"") || line.contains("\"/proc/self/fd/");
    let others: Vec<&&str> = between.iter().filter(|line| !known(line)).collect();
    assert!(others.is_empty(), "{others:#?}");
}

#[test]
#[ignore = "run under strace by row_05_imports_open_no_file_and_no_socket"]
fn imports_alone() {
    let sources = chain();
    // Two lookups of missing files mark the place in the trace.
    let _absent = std::fs::metadata("systole-begins");
    let mut judge = LibxmlJudge::compile_sources(&sources).expect("all are in the profile");
    assert!(verdict(&mut judge, "a.xsd", r#"<a xmlns="urn:a"><b xmlns="urn:b">9</b></a>"#));
    assert!(!verdict(&mut judge, "a.xsd", r#"<a xmlns="urn:a"><b xmlns="urn:b">x</b></a>"#));
    let _absent = std::fs::metadata("systole-ends");
}

const ORGANISM: &str = "
organism: {name: acme}
listeners:
  shop: {run: [a], schema: shop.xsd, accepts: [basket], entry: true}
  post: {run: [a], schema: post.xsd, accepts: [parcel], peers: [shop], turns: 4}
";

#[test]
fn a3_the_schemas_of_an_organism_import_one_another() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let shop = "<xs:element name=\"basket\"><xs:complexType><xs:sequence><xs:element ref=\"b:parcel\"/></xs:sequence></xs:complexType></xs:element>";
    let post = "<xs:element name=\"parcel\" type=\"xs:int\"/>";
    std::fs::write(at("organism.yaml"), ORGANISM).expect("it can be written");
    std::fs::write(at("shop.xsd"), source("", "urn:a", &["urn:b"], shop).xsd).expect("it can be written");
    std::fs::write(at("post.xsd"), source("", "urn:b", &[], post).xsd).expect("it can be written");
    let composition =
        config::load(&at("organism.yaml")).unwrap_or_else(|refused| panic!("{refused}")).composition;
    // The stored configuration reads back with its imports: it contains both schemas.
    let again = config::read_source(&composition.source, Path::new("/"))
        .unwrap_or_else(|refused| panic!("{refused}"));
    assert_eq!(again.hash, composition.hash);
    let composition = Arc::new(again);
    let mut schemas = CompiledSchemas::set_up(std::iter::once(&composition)).expect("all schemas compile");
    let mut judged = |document: &str| {
        admit::admit_message(
            &composition,
            &Name::new_operator(),
            document.as_bytes(),
            None,
            None,
            (&mut schemas, &|_| FoundFile::Unknown),
        )
        .payload
    };
    assert!(judged(r#"<basket xmlns="urn:a"><parcel xmlns="urn:b">7</parcel></basket>"#).is_ok());
    let refusal = judged(r#"<basket xmlns="urn:a"><parcel xmlns="urn:b">x</parcel></basket>"#).unwrap_err();
    let refusal = refusal.refusal;
    assert_eq!(refusal.path.as_deref(), Some("/basket/parcel"));
    assert_eq!(refusal.fix.as_deref(), Some("<parcel xmlns=\"urn:b\">1</parcel>"));
    let post = composition.find_listener(&Name::parse("post").unwrap()).unwrap();
    let told = introspection::describe_element(&composition, post, "basket", None).unwrap();
    let told = String::from_utf8_lossy(&told).into_owned();
    assert!(
        told.contains("&lt;parcel xmlns=\"urn:b\"&gt;1&lt;/parcel&gt;"),
        "the example reaches across: {told}"
    );
}
