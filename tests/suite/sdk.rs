//! `systole sdk`: the files beside an organism, the same bytes each time, and only its own files are touched.

use std::path::{Path, PathBuf};

use crate::session::Shell;

/// A shell in a fresh organism.
fn organism() -> (Shell, PathBuf) {
    let shell = Shell::new();
    shell.run("systole init hello && cd hello");
    shell.run("cd hello");
    shell.run("printf 'payloads:\\n  weather: {city: line, days?: number 0..9}\\n' >> organism.yaml");
    let folder = shell.folder().join("hello");
    (shell, folder)
}

fn read(path: impl AsRef<Path>) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn g7_the_sdk_is_written_with_the_same_bytes_each_time_and_a_change_is_named() {
    for (language, module) in [("python", "payloads/hello.py"), ("typescript", "payloads/hello.ts")] {
        let (shell, folder) = organism();
        let before = shell.run(&format!("systole sdk {language} --check; echo $?"));
        assert!(before.contains(&format!("sdk/{language}/{module}: missing")), "{before}");
        assert!(before.ends_with(&format!("try: systole sdk {language}\n1\n")), "{before}");
        assert!(!folder.join("sdk").exists(), "--check writes nothing");

        let said = shell.run(&format!("systole sdk {language}; echo $?"));
        assert!(
            said.contains(&format!("wrote sdk/{language}/{module}")) && said.ends_with("\n0\n"),
            "{said}"
        );
        let path = folder.join("sdk").join(language).join(module);
        let written = read(&path);
        assert!(written.contains("Weather") && written.contains("city"), "{written}");
        let again = shell.run(&format!("systole sdk {language}; systole sdk {language} --check; echo $?"));
        assert!(again.contains("files are as they would be written") && again.ends_with("\n0\n"), "{again}");

        shell.run("sed -i 's/{city: line/{town: line/' organism.yaml");
        let stale = shell.run(&format!("systole sdk {language} --check --json; echo $?"));
        assert!(
            stale.contains(&format!("\"path\":\"sdk/{language}/{module}\",\"state\":\"stale\"")),
            "{stale}"
        );
        shell.run(&format!("systole sdk {language} && systole sdk {language} --check && echo fresh"));
        assert!(read(&path).contains("town"));
        assert_ne!(read(&path), written);
    }
}

#[test]
fn g7_the_sdk_touches_no_file_of_another_author() {
    let (shell, folder) = organism();
    let module = folder.join("sdk/python/payloads/hello.py");
    shell.run("mkdir -p sdk/python/payloads && echo mine > sdk/python/payloads/hello.py");
    let said = shell.run("systole sdk python; echo $?");
    assert!(said.contains("did not write sdk/python/payloads/hello.py") && said.ends_with("\n2\n"), "{said}");
    assert_eq!(read(&module), "mine\n");
    assert!(!folder.join("sdk/python/systole_sdk").exists(), "all or nothing");
    let other = shell.run("systole sdk python -o other --types; echo $?; ls other/python");
    assert!(other.ends_with("\n0\npayloads\n"), "{other}");

    shell.run("rm -r sdk && systole sdk python");
    shell.run("echo mine > sdk/python/payloads/notes.py");
    shell.run("cp sdk/python/payloads/hello.py sdk/python/payloads/gone.py");
    let said = shell.run("systole sdk python");
    assert!(said.contains("removed sdk/python/payloads/gone.py"), "{said}");
    assert_eq!(read(folder.join("sdk/python/payloads/notes.py")), "mine\n");

    shell.run("echo 'listenrs: {}' >> organism.yaml");
    let refused = shell.run("systole sdk python; echo $?");
    assert!(refused.contains("listenrs") && refused.ends_with("\n3\n"), "{refused}");
    let unknown = shell.run("systole sdk perl; echo $?");
    assert!(unknown.contains("perl") && unknown.ends_with("\n2\n"), "{unknown}");
}

#[test]
fn g7_a_sandbox_that_hides_the_sdk_is_warned_of_and_one_that_shows_it_runs() {
    let (shell, _) = organism();
    shell.run("systole listener new python parrot");
    shell.run("sed -i 's#python3, listeners#/usr/bin/python3, listeners#; s/    env: {PYTHONPATH/    sandbox: {}\\n&/' organism.yaml");
    let words = "warning[config.hidden-sdk]: listeners.parrot.sandbox hides ./sdk/python, which";
    let said = shell.run("systole check; echo $?");
    assert!(said.contains(words) && said.ends_with("\n0\n"), "{said}");
    let failed = shell.run("systole send parrot text=hi 2>&1; echo $?");
    assert!(failed.contains("No module named 'payloads'"), "{failed}");

    shell.run("sed -i 's#sandbox: {}#sandbox: {read: [./sdk]}#' organism.yaml");
    let said = shell.run("systole check");
    assert!(!said.contains("hidden-sdk"), "{said}");
    let answered = shell.run("systole send parrot text=hi 2>&1; echo $?");
    assert!(answered.contains("<text>You said: hi</text>") && answered.ends_with("\n0\n"), "{answered}");
}
