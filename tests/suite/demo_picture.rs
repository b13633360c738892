//! The picture of the demo matches the output of the demo. `SYSTOLE_GOLDEN=1` draws it
//! again.

use std::path::Path;
use std::process::Command;

#[test]
fn the_picture_of_the_demo_is_what_it_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let ran = Command::new("python3")
        .arg(root.join("tools/record-demo"))
        .arg(env!("CARGO_BIN_EXE_systole"))
        .output()
        .unwrap();
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    crate::golden::golden("docs/demo.svg", &ran.stdout);
    assert!(std::fs::read_to_string(root.join("docs/start.md")).unwrap().contains("(demo.svg)"));
}
