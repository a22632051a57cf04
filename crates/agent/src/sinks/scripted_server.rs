//! A server on loopback that answers what a test says, and keeps what it was asked.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::mpsc::{self, Receiver};
use std::thread;

use ioassay_protocol::watch::setup::Server;

/// What it was asked.
pub struct ReceivedRequest {
    /// Method and path.
    pub line: String,
    /// Headers, as they came.
    pub headers: String,
    /// The body.
    pub body: Vec<u8>,
}

/// A server that is at work until the test ends.
pub struct ScriptedServer {
    address: SocketAddr,
    asked: Receiver<ReceivedRequest>,
}

impl ScriptedServer {
    /// One that answers each request with a status line, further headers with CRLF behind each, and a body.
    pub fn start(mut answer: impl FnMut(&ReceivedRequest) -> (String, String) + Send + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (tell, asked) = mpsc::channel();
        thread::spawn(move || {
            for connection in listener.incoming() {
                let mut connection = BufReader::new(connection.unwrap());
                while let Some(request) = read(&mut connection) {
                    let (head, body) = answer(&request);
                    let length = body.len();
                    let answered =
                        write!(connection.get_mut(), "HTTP/1.1 {head}\r\nContent-Length: {length}\r\n\r\n{body}");
                    if answered.is_err() || tell.send(request).is_err() {
                        break;
                    }
                }
            }
        });
        Self { address, asked }
    }

    /// How it is reached.
    pub fn server(&self) -> Server {
        Server { url: format!("http://{}", self.address), credentials: None, authorities: None, certificate: None }
    }

    /// The next thing that it was asked and has answered.
    pub fn asked(&self) -> ReceivedRequest {
        self.asked.recv().unwrap()
    }
}

fn read(connection: &mut impl BufRead) -> Option<ReceivedRequest> {
    let mut line = String::new();
    connection.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut headers = String::new();
    while !headers.ends_with("\r\n\r\n") && headers != "\r\n" {
        connection.read_line(&mut headers).ok().filter(|read| *read > 0)?;
    }
    let length = headers.to_lowercase().lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    connection.read_exact(&mut body).ok()?;
    Some(ReceivedRequest { line: line.trim_end_matches(" HTTP/1.1\r\n").to_owned(), headers, body })
}
