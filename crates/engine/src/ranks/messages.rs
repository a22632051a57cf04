//! What ranks send each other in gathers and broadcasts, as bytes.
//!
//! Not here: what nodes say to each other ([`super::nodes`]).

use serde::Serialize;
use serde::de::DeserializeOwned;

/// A message of a rank to others.
pub fn to_rank<T: Serialize + ?Sized>(message: &T) -> Vec<u8> {
    serde_json::to_vec(message).expect("our own types are JSON")
}

/// Everything that is in messages which are lists.
pub fn all_of<T: DeserializeOwned>(messages: &[Vec<u8>]) -> Vec<T> {
    messages.iter().flat_map(|message| from_rank::<Vec<T>>(message)).collect()
}

/// What is in a message.
pub fn from_rank<T: DeserializeOwned>(message: &[u8]) -> T {
    serde_json::from_slice(message).expect("every rank runs this very program")
}
