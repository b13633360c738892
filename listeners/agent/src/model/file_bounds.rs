//! Which files of a request go out: those that the model takes, and of these the newest for which its provider has room.

use std::borrow::Cow;

use super::{FileKind, MessagePart, ModelRequest};

/// The most bytes of files that a provider takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct FileBounds {
    /// Of one picture.
    pub(super) image: u64,
    /// Of all in one request.
    pub(super) request: u64,
}

/// The request with only the files that a model takes, and of these only the newest that fit into a request.
pub(super) fn hold_back<'r>(
    request: &'r ModelRequest,
    takes: &[FileKind],
    bounds: FileBounds,
) -> Cow<'r, ModelRequest> {
    let has_files = |part: &MessagePart| matches!(part, MessagePart::File(_));
    if !request.messages.iter().flat_map(|message| &message.parts).any(has_files) {
        return Cow::Borrowed(request);
    }
    let mut request = request.clone();
    let mut room = bounds.request;
    for part in request.messages.iter_mut().rev().flat_map(|message| message.parts.iter_mut().rev()) {
        let MessagePart::File(file) = part else { continue };
        let Ok(bytes) = &file.content else { continue };
        let bytes = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let why = if !takes.contains(&file.kind) {
            format!("this model takes no {}", file.media_type)
        } else if file.kind == FileKind::Image && bytes > bounds.image {
            format!("its provider takes no picture of more than {} bytes", bounds.image)
        } else if bytes > room {
            format!("newer files fill the {} MiB of a request", bounds.request >> 20)
        } else {
            room -= bytes;
            continue;
        };
        file.content = Err(why);
    }
    Cow::Owned(request)
}
