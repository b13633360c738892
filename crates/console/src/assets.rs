//! The style and the scripts of the pages, embedded in the program. Each is named by its hash, so that browsers keep it
//! for ever.
//!
//! A name comes in; bytes that never change under that name go out. They hold no secret, so everyone may ask for them.

use std::sync::LazyLock;

use axum::extract::Path;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest as _, Sha256};

use crate::limits;

/// The folder of the addresses.
pub(super) const FOLDER: &str = "/assets/";

/// An embedded file.
pub(super) struct Asset {
    bytes: &'static [u8],
    kind: &'static str,
    name: String,
}

impl Asset {
    fn of(stem: &str, end: &str, kind: &'static str, bytes: &'static [u8]) -> Asset {
        let hash: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        let name = format!("{stem}-{}.{end}", hash.get(..limits::VERSION_DIGITS).unwrap_or_default());
        Asset { bytes, kind, name }
    }

    /// Its address.
    pub(super) fn href(&self) -> String {
        format!("{FOLDER}{}", self.name)
    }
}

/// The style of all pages.
pub(super) static STYLE: LazyLock<Asset> = LazyLock::new(|| {
    let bytes = include_bytes!("assets/console.css");
    Asset::of("console", "css", "text/css; charset=utf-8", bytes)
});
/// The script of all pages.
pub(super) static SCRIPT: LazyLock<Asset> = LazyLock::new(|| {
    let bytes = include_bytes!("assets/console.js");
    Asset::of("console", "js", "text/javascript; charset=utf-8", bytes)
});
/// The picture of the tab.
pub(super) static ICON: LazyLock<Asset> = LazyLock::new(|| {
    let bytes = include_bytes!("assets/icon.svg");
    Asset::of("icon", "svg", "image/svg+xml", bytes)
});

/// All files.
fn all() -> [&'static Asset; 3] {
    [&STYLE, &SCRIPT, &ICON]
}

/// Serves a file.
pub(super) async fn serve(Path(name): Path<String>) -> Response {
    match all().into_iter().find(|asset| asset.name == name) {
        Some(asset) => {
            let headers = [
                (header::CONTENT_TYPE, asset.kind),
                (header::CACHE_CONTROL, "public, max-age=31536000, immutable"),
            ];
            (headers, asset.bytes).into_response()
        }
        None => (StatusCode::NOT_FOUND, "there is no such file; load the page again\n").into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The limit of docs/decisions/0066.
    const SCRIPTS: usize = 30 * 1024;

    #[test]
    fn all_scripts_together_are_small() {
        let scripts = all().into_iter().filter(|asset| asset.kind.starts_with("text/javascript"));
        let bytes: usize = scripts.map(|asset| asset.bytes.len()).sum();
        assert!(bytes <= SCRIPTS, "{bytes} bytes of scripts");
    }

    #[test]
    fn a_name_has_the_hash_of_its_bytes() {
        let href = STYLE.href();
        assert!(href.starts_with("/assets/console-") && href.ends_with(".css"), "{href}");
        assert_ne!(STYLE.href(), Asset::of("console", "css", "", b"other").href());
    }
}
