//! Files of a conversation: their bytes, read from the log when a model is asked. Those that were read last are kept, for
//! all calls of an agent together.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use systole_kit::file_reference::find_type;
use systole_kit::line::{Line, NotTaken};

use crate::limits;
use crate::model::{MessageAuthor, MessageFile, MessagePart, PromptMessage};

/// The files that were read last.
#[derive(Default)]
pub(crate) struct FileShelf {
    /// The hash and the bytes of each, the newest last.
    kept: Mutex<VecDeque<(String, Arc<[u8]>)>>,
}

impl FileShelf {
    fn find(&self, hash: &str) -> Option<Arc<[u8]>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(known, _)| known == hash).map(|(_, bytes)| bytes.clone())
    }

    fn keep(&self, hash: &str, bytes: &Arc<[u8]>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push_back((hash.to_owned(), bytes.clone()));
        let count =
            |kept: &VecDeque<(String, Arc<[u8]>)>| kept.iter().map(|(_, bytes)| bytes.len()).sum::<usize>();
        while kept.len() > 1 && count(&kept) > limits::SHELF_BYTES {
            kept.pop_front();
        }
    }

    /// Reads the bytes of all files, the newest first, with at most `room` questions.
    pub(crate) async fn load_files(
        &self,
        messages: &mut [PromptMessage],
        mut room: u64,
        line: &(dyn Line + '_),
    ) -> Result<(), NotTaken> {
        for part in messages.iter_mut().rev().flat_map(|message| message.parts.iter_mut().rev()) {
            let MessagePart::File(file) = part else { continue };
            file.content = match self.find(&file.hash) {
                Some(bytes) => Ok(bytes),
                None if file.bytes > limits::FILE_BYTES => {
                    Err(format!("it has more than {} MiB", limits::FILE_BYTES >> 20))
                }
                None => match room.checked_sub(file.bytes.div_ceil(limits::QUESTION_BYTES).max(1)) {
                    Some(left) => {
                        room = left;
                        self.read_file(file, line).await?
                    }
                    None => Err("too many files were to be read at once".to_owned()),
                },
            };
            let is_right = |bytes: &Arc<[u8]>| find_type(bytes) == Some(file.media_type.as_str());
            if file.content.as_ref().is_ok_and(|bytes| !is_right(bytes)) {
                file.content = Err(format!("its first bytes are not those of {}", file.media_type));
            }
        }
        Ok(())
    }

    async fn read_file(
        &self,
        file: &MessageFile,
        line: &(dyn Line + '_),
    ) -> Result<Result<Arc<[u8]>, String>, NotTaken> {
        let bytes: Arc<[u8]> = match line.blob(&file.hash, file.bytes).await {
            Ok(bytes) => bytes.into(),
            Err(NotTaken::Over) => return Err(NotTaken::Over),
            Err(why) => return Ok(Err(why.to_string())),
        };
        self.keep(&file.hash, &bytes);
        Ok(Ok(bytes))
    }
}

/// The estimated tokens of a request, with the files that were read in place of what their size alone let expect. The
/// provider's report about the request before counts those before its answer.
pub(crate) fn correct_estimate(estimated: u64, messages: &[PromptMessage], is_reported: bool) -> u64 {
    let last = messages.iter().rposition(|message| message.role == MessageAuthor::Assistant);
    let new = messages.iter().skip(last.filter(|_| is_reported).map_or(0, |last| last + 1));
    new.flat_map(|message| &message.parts).fold(estimated, |tokens, part| match part {
        MessagePart::File(file) => {
            tokens.saturating_add(file.measure_tokens()).saturating_sub(file.estimate_tokens())
        }
        _ => tokens,
    })
}
