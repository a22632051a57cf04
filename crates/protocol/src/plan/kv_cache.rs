//! A key-value cache of language models: what prefill has computed is stored, and read back instead of computed again.
//!
//! Not here: how many bytes a token of which model has; studies say that by the size of an object.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Inference with a cache on storage. Each rank is an inference server with an accelerator, users, and a cache of its own:
/// its part of the file set, each file of which holds the keys and values of `object_tokens` consecutive tokens.
///
/// A request of a user has all tokens of the conversation so far: those of a context that conversations share, such as a
/// document, and those of the user's earlier turns. The server reads objects from the first token on up to the first one
/// that it does not have, computes the tokens behind it (prefill), answers token by token (decode), and stores each object
/// that has become whole. Where the cache is full, the object that was used least recently is removed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KvCacheWork {
    /// Name of the file set, of one file per rank (`N-N`) and object.
    pub files: String,
    /// Tokens of each object.
    pub object_tokens: u64,
    /// Users of each rank. Each has one request at a time.
    pub users: u32,
    /// What conversations begin with.
    pub contexts: Contexts,
    /// Requests of each conversation.
    pub turns: Span,
    /// Tokens that a user adds with each request.
    pub prompt_tokens: Span,
    /// Tokens of each answer.
    pub answer_tokens: Span,
    /// Tokens per second that the accelerator of a rank computes in prefill, of one request after another.
    pub prefill_tokens_per_s: u64,
    /// Tokens per second of each answer, however many there are at a time.
    pub decode_tokens_per_s: u64,
    /// How long a user thinks between an answer and the next request, in nanoseconds.
    pub think_ns: u64,
    /// Objects that the memory of each server holds before its storage, those used last.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub memory_objects: u64,
    /// By when a request has its first token, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_token_deadline_ns: Option<u64>,
    /// How long a token of an answer may take, in the mean of the answer, in nanoseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token_deadline_ns: Option<u64>,
    /// Each object that is read is compared with what was written.
    #[serde(default, skip_serializing_if = "super::is_false")]
    pub verify: bool,
}

/// What conversations begin with, such as documents or the instructions of an application.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Contexts {
    /// How many there are.
    pub count: u64,
    /// Tokens of each.
    pub tokens: Span,
    /// Exponent of the Zipf distribution by which conversations choose them: 0 chooses evenly, 1 the second half as often
    /// as the first.
    pub exponent: f64,
}

/// A number between two, both included, each as likely as any other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// The smallest.
    pub least: u64,
    /// The largest.
    pub most: u64,
}
