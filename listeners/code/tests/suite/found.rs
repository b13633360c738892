//! What is found, and how a request that finds nothing is answered.

use super::room::Room;

const LEASE: &str = "//! Leases of deliveries.\n\nuse std::time;\n\n/// Renews a lease.\n#[must_use]\nfn renew_lease(token: &str) -> bool {\n    let lease = find(token);\n    lease.renew()\n}\n\nstruct Lease {\n    until: u64,\n}\n\nimpl Lease {\n    fn renew(&mut self) -> bool {\n        self.until += 1;\n        true\n    }\n\n    fn end(&mut self) {}\n}\n\nimpl Other {\n    fn end(&self) {}\n}\n";

fn room() -> Room {
    Room::new(&[
        ("src/lease.rs", LEASE),
        (
            "src/other.rs",
            "fn other() {\n    // mentions a lease once\n}\n\nfn apart() {\n    let x = 1;\n}\n",
        ),
        ("tests/lease.rs", "#[test]\nfn a_lease_is_renewed() {\n    renew_lease(\"x\");\n}\n"),
        ("target/lease.rs", "fn renew_lease() {}\n"),
        (".gitignore", "/target\n"),
        (
            "app/view.py",
            "import os\n\n\n@route\ndef show(user):\n    return user.name\n\n\nclass View:\n    def draw(self):\n        pass\n",
        ),
        (
            "web/a.ts",
            "export function open(a: string) {\n  return a;\n}\n\nexport class Door {\n  close() {}\n}\n",
        ),
        ("README.md", "# Title\n\nWords.\n\n## Leases\n\nA lease ends.\n\n```\n# no heading\n```\n"),
    ])
}

#[tokio::test]
async fn g1_a_search_finds_whole_blocks_ranked_and_says_when_only_plain_text_was_found() {
    let room = room();
    let answer = room.search("renewing a lease").await;
    assert_eq!(answer.attribute("kind"), "ranked");
    let places = answer.places();
    assert_eq!(places[0], "src/lease.rs:5-10", "with its comment and attribute: {places:?}");
    assert!(places.contains(&"src/lease.rs:17-20".to_owned()), "{places:?}");
    let near = room.search("lease struct until").await;
    assert!(near.places().contains(&"src/lease.rs:12-20".to_owned()), "merged: {:?}", near.places());
    let last = places.last().unwrap();
    assert!(last.starts_with("tests/lease.rs"), "tests come last: {places:?}");
    assert!(!places.iter().any(|place| place.contains("target")), "ignored files are left out");
    let answer = room.search("+renew -struct lang:rust").await;
    assert!(answer.places().iter().all(|place| place.contains("lease.rs")));
    let answer = room.search("mentions").await;
    assert_eq!(answer.places(), ["src/other.rs:1-3"], "a whole function");
    assert_eq!(answer.texts()[0], "fn other() {\n    // mentions a lease once\n}");
    let plain = room.search("enew_leas").await;
    assert_eq!(plain.attribute("kind"), "plain");
    assert!(plain.places().iter().any(|place| place.starts_with("src/lease.rs:")), "{:?}", plain.places());
    let none = room.search("nowhere_at_all").await;
    assert_eq!((none.places().len(), none.attribute("found").as_str()), (0, "0"));
    let below = room.ask("search", &[("query", "lease"), ("path", "src/other.rs")]).await;
    assert_eq!(below.places(), ["src/other.rs:1-3"]);
}

#[tokio::test]
async fn g1_a_definition_comes_first_and_a_method_of_go_is_found_by_its_type() {
    let go = "package a\n\nfunc (h *Handler[T]) Check() bool {\n\treturn true\n}\n\nfunc (o other) Check() bool {\n\treturn false\n}\n\nfunc Check() {}\n";
    let uses =
        "def test():\n    # make_response make_response make_response\n    make_response(make_response(1))\n";
    let app = "class App:\n    def make_response(self):\n        return 1\n\n\ndef make_response(x):\n    return x\n";
    let room = Room::new(&[
        ("a.go", go),
        ("src/make_response.py", uses),
        ("src/app.py", app),
        ("b.rs", "impl Lease {\n    fn end(&self) {}\n}\n\nstruct Lease {\n    until: u64,\n}\n"),
        ("c.c", "int add(int a);\n\nint add(int a) {\n    return a;\n}\n"),
    ]);
    for (asked, first) in [
        ("a.go#Handler.Check", "3"),
        ("a.go#other.Check", "7"),
        ("a.go#Check", "11"),
        ("src/app.py#make_response", "6"),
        ("src/app.py#App.make_response", "2"),
        ("b.rs#Lease", "5"),
        ("b.rs#Lease.end", "2"),
        ("c.c#add", "3"),
    ] {
        let answer = room.ask("extract", &[("file_path", asked)]).await;
        assert_eq!(answer.attribute("first"), first, "{asked}");
    }
    let places = room.search("make_response").await.places();
    assert!(places[0].starts_with("src/app.py:"), "{places:?}");
}

#[tokio::test]
async fn g1_extract_by_line_and_symbol_names_the_nearest() {
    let room = room();
    let whole =
        |answer: super::room::Answer| format!("{}-{}", answer.attribute("first"), answer.attribute("last"));
    assert_eq!(
        whole(room.extract("src/lease.rs#renew_lease").await),
        "5-10",
        "with its comment and attribute"
    );
    assert_eq!(whole(room.extract("src/lease.rs:8").await), "5-10");
    assert_eq!(whole(room.extract("src/lease.rs:8-9").await), "8-9");
    assert_eq!(whole(room.extract("src/lease.rs").await), "1-27");
    assert_eq!(whole(room.extract("src/lease.rs#Lease::end").await), "22-22");
    let both = room.extract("src/lease.rs#end").await;
    assert_eq!((both.attribute("first"), both.attribute("also")), ("22".to_owned(), "26-26".to_owned()));
    assert_eq!(whole(room.extract("app/view.py#show").await), "4-6", "with its decorator");
    assert_eq!(whole(room.extract("app/view.py#View.draw").await), "10-11");
    assert_eq!(whole(room.extract("web/a.ts#open").await), "1-3");
    assert_eq!(whole(room.extract("README.md#leases").await), "5-11");
    let (code, message, _) = room.extract("src/leese.rs").await.fault();
    assert_eq!(
        (code.as_str(), message.as_str()),
        ("code.not-found", "File not found at path 'src/leese.rs'")
    );
    assert_eq!(room.extract("src/leese.rs").await.nearest()[0], "src/lease.rs");
    assert_eq!(room.extract("lease.rs").await.nearest(), ["src/lease.rs", "tests/lease.rs"]);
    let answer = room.extract("src/lease.rs#renew_leese").await;
    assert_eq!(answer.nearest()[0], "renew_lease");
    let (code, message, fix) = room.extract("src/lease.rs:900").await.fault();
    assert_eq!(code, "code.bad-lines");
    assert!(message.contains("has 27 lines") && fix.contains("1 to 27"), "{message} {fix}");
    assert_eq!(room.extract("src/lease.rs").await.attribute("sha256").len(), 64);
}

#[tokio::test]
async fn g1_a_pattern_query_finds_syntax_and_repairs_a_bad_one() {
    let room = room();
    let answer = room
        .ask("query", &[("pattern", "fn $NAME(&mut self) -> $R { $$$BODY }"), ("language", "rust")])
        .await;
    assert_eq!(answer.places(), ["src/lease.rs:17-20"]);
    let answer = room.ask("query", &[("pattern", "let $A = $B;")]).await;
    assert_eq!(answer.places(), ["src/lease.rs:8-8", "src/other.rs:6-6"]);
    let answer =
        room.ask("query", &[("pattern", "def $F($$$A): $$$B"), ("language", "py"), ("path", "app")]).await;
    assert_eq!(answer.places(), ["app/view.py:5-6", "app/view.py:10-11"]);
    let broken = room.ask("query", &[("pattern", "let $A = find($B"), ("language", "rust")]).await;
    let (code, message, _) = broken.fault();
    assert_eq!(code, "code.bad-pattern");
    assert!(message.contains("rust"), "{message}");
    let near = broken.nearest();
    assert_eq!(near.len(), 1);
    let again = room.ask("query", &[("pattern", &near[0]), ("language", "rust")]).await;
    assert_eq!(again.element, "query-result", "the nearest pattern can be read: {near:?}");
    let (code, _, fix) = room.ask("query", &[("pattern", "x"), ("language", "ruby")]).await.fault();
    assert!(code == "code.bad-query" && fix.contains("rust"), "{fix}");
    let unknown = room.ask("query", &[("pattern", "x"), ("language", "rusty")]).await;
    assert_eq!(unknown.nearest(), ["rust"]);
}

#[tokio::test]
async fn g1_bad_queries_and_deep_patterns_are_answered() {
    let room = room();
    for (query, code) in [
        ("\"open", "code.bad-query"),
        ("a AND", "code.bad-query"),
        ("/a(/", "code.bad-pattern"),
        ("x lang:rusty", "code.bad-query"),
    ] {
        assert_eq!(room.search(query).await.fault().0, code, "{query}");
    }
    let deep = format!("{}1{}", "(".repeat(400), ")".repeat(400));
    let answer = room.ask("query", &[("pattern", &deep), ("language", "rust")]).await;
    assert_eq!(answer.fault().0, "code.bad-pattern");
    for pattern in ["$$$", "", "{", "\u{0}", "$", "'", "fn"] {
        let answer = room.ask("query", &[("pattern", pattern)]).await;
        assert!(["code-error", "query-result"].contains(&answer.element.as_str()), "{pattern:?}");
    }
    let (code, message, _) = room.ask("search", &[("query", "x"), ("path", "scr")]).await.fault();
    assert_eq!((code.as_str(), message.as_str()), ("code.not-found", "File not found at path 'scr'"));
    assert_eq!(room.ask("search", &[("query", "x"), ("path", "scr")]).await.nearest(), ["src"]);
}

/// A file whose syntax is nested so deeply that a match of two equal parts would need the whole stack.
#[tokio::test]
async fn g1_a_deeply_nested_file_does_not_exhaust_the_stack() {
    let deep = format!("let a = {}1{};", "[".repeat(200_000), "]".repeat(200_000));
    let text = format!("{deep}\nlet needle = 1;\n");
    let room =
        Room::new(&[("deep.js", &text), ("deep.rs", &format!("fn f() {{ {deep} }}\nfn needle() {{}}\n"))]);
    let answer = room.ask("query", &[("pattern", "$A == $A")]).await;
    assert_eq!(answer.element, "query-result");
    let answer = room.search("needle").await;
    assert_eq!(answer.places().len(), 2, "found as plain text: {:?}", answer.places());
    assert_eq!(room.extract("deep.rs:2").await.element, "extract-result");
}
