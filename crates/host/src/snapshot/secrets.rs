//! Removes secrets from text: values of keys such as `password`, passwords in URLs, keys in PEM or of NVMe and dm-crypt. JSON
//! stays JSON.
//!
//! Where a value has no clear end, the rest of the line is removed: a lost comment costs less than a leaked password.

use std::ops::Range;

/// What stands in the place of a secret.
pub const REDACTED: &str = "REDACTED";

/// A key that contains one of these has a secret value, in any spelling: `api_key`, `ApiKey`.
const SECRET: [&str; 11] = [
    "accesskey",
    "apikey",
    "credential",
    "dhchap",
    "encryptionkey",
    "fastopenkey",
    "passphrase",
    "passwd",
    "password",
    "privatekey",
    "secret",
];

/// As [`SECRET`], but words of ordinary text too: a value needs `=` or `:` before it, unless they begin the line.
const OFTEN_SECRET: [&str; 2] = ["community", "token"];

/// Keys whose values identify a device or a host, in what commands print.
const IDENTITIES: [&str; 4] = ["hostid", "hostnqn", "serialnumber", "subsystemnqn"];

/// Words that make a key secret only as a whole word of it, as in `wpa_psk`.
const SECRET_WORDS: [&str; 6] = ["cred", "creds", "pass", "psk", "pw", "pwd"];

/// Settings whose names merely look secret: of GPFS and of the kernel.
const HARMLESS: [&str; 4] = ["maxtokenservers", "secretmem", "secretmemenable", "tokenmemlimit"];

/// Values that are settings: `use-machine-creds=1`.
const SETTINGS: [&str; 12] = ["0", "1", "y", "n", "yes", "no", "on", "off", "true", "false", "none", "null"];

/// What NVMe's keys begin with.
const KEY_PREFIXES: [&str; 2] = ["DHHC-1:", "NVMeTLSkey-1:"];

/// How many backslashes quotes have in text that is in quotes itself, level by level.
const QUOTES: [usize; 4] = [0, 1, 3, 7];

const PEM_BEGIN: &str = "-----BEGIN ";
const PEM_END: &str = "-----END ";

/// The text without its secrets.
pub fn redacted(text: &str) -> String {
    let passes = [without_pem, without_nvme_keys, without_passwords_in_urls, without_crypt_keys, without_values];
    passes.iter().fold(text.to_owned(), |text, pass| pass(&text))
}

/// True for the name of a setting whose value is a secret.
pub fn is_secret_key(name: &str) -> bool {
    strength(name).is_some()
}

/// How sure it is that a word is followed by a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Strength {
    /// With a separator, or at the beginning of a line.
    Weak,
    /// Wherever it stands.
    Strong,
}

fn strength(key: &str) -> Option<Strength> {
    let plain: String = key.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    if HARMLESS.contains(&plain.as_str()) {
        return None;
    }
    if SECRET.iter().any(|word| plain.contains(word)) {
        return Some(Strength::Strong);
    }
    let is_weak = OFTEN_SECRET.iter().any(|word| plain.contains(word))
        || IDENTITIES.contains(&plain.as_str())
        || words(key).any(|word| SECRET_WORDS.contains(&word.to_ascii_lowercase().as_str()));
    is_weak.then_some(Strength::Weak)
}

/// The words of a name: `user_pass`, `userPass`.
fn words(key: &str) -> impl Iterator<Item = &str> {
    key.split(|c: char| !c.is_ascii_alphanumeric()).flat_map(|part| {
        let bytes = part.as_bytes();
        let begins =
            |&index: &usize| index > 0 && bytes[index - 1].is_ascii_lowercase() && bytes[index].is_ascii_uppercase();
        let mut cuts: Vec<usize> = (0..part.len()).filter(begins).collect();
        cuts.push(part.len());
        cuts.into_iter().scan(0, move |from, to| Some(&part[std::mem::replace(from, to)..to]))
    })
}

/// The text with each of these ranges, which are in order, replaced.
fn replaced(text: &str, mut next: impl FnMut(usize) -> Option<Range<usize>>) -> String {
    replaced_by(text, |done| Some((next(done)?, REDACTED.to_owned())))
}

/// The same, each by a text of its own.
fn replaced_by(text: &str, mut next: impl FnMut(usize) -> Option<(Range<usize>, String)>) -> String {
    let (mut result, mut done) = (String::with_capacity(text.len()), 0);
    while let Some((Range { start, end }, by)) = next(done) {
        result.push_str(&text[done..start]);
        result.push_str(&by);
        done = end;
    }
    result + &text[done..]
}

fn without_pem(text: &str) -> String {
    replaced(text, |done| {
        let start = done + text[done..].find(PEM_BEGIN)?;
        let end = text[start..].find(PEM_END).map_or(text.len(), |offset| {
            let label = start + offset + PEM_END.len();
            text[label..].find("-----").map_or(text.len(), |offset| label + offset + 5)
        });
        Some(start..end)
    })
}

fn without_nvme_keys(text: &str) -> String {
    replaced(text, |done| {
        let starts = KEY_PREFIXES.iter().filter_map(|prefix| Some(done + text[done..].find(prefix)?));
        let start = starts.min()?;
        Some(start..start + word_end(&text[start..]))
    })
}

/// `https://user:password@host`, and dracut's `iscsi:user:password@host`.
fn without_passwords_in_urls(text: &str) -> String {
    let mut from = 0;
    replaced(text, |done| {
        from = from.max(done);
        loop {
            let begins = ["://", "iscsi:"].map(|mark| Some(from + text[from..].find(mark)? + mark.len()));
            let start = begins.into_iter().flatten().min()?;
            from = start;
            let end = start + word_end(&text[start..]);
            let Some(sign) = text[start..end].rfind('@').map(|sign| start + sign) else { continue };
            if let Some(colon) = text[start..sign].find(':').map(|colon| start + colon) {
                from = sign;
                return Some(colon + 1..sign);
            }
        }
    })
}

/// The length of the word that text begins with.
fn word_end(text: &str) -> usize {
    text.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>')).unwrap_or(text.len())
}

/// Of a device-mapper table `… crypt CIPHER KEY …`, where the key is not in a keyring.
fn without_crypt_keys(text: &str) -> String {
    let crypt = |line: &str| {
        let mut words = line.split(' ').skip_while(|word| *word != "crypt");
        let key = words.nth(2)?;
        let is_key = key.len() >= 16 && key.bytes().all(|byte| byte.is_ascii_hexdigit()) && key.contains(|c| c != '0');
        is_key.then(|| line.replacen(key, REDACTED, 1))
    };
    if !text.contains(" crypt ") {
        return text.to_owned();
    }
    text.split_inclusive('\n').map(|line| crypt(line).unwrap_or_else(|| line.to_owned())).collect()
}

fn without_values(text: &str) -> String {
    replaced_by(text, |done| {
        let bytes = text.as_bytes();
        let mut position = done;
        while position < text.len() {
            if !is_of_key(bytes[position]) {
                position += 1;
                continue;
            }
            let end = position
                + bytes[position..].iter().position(|&byte| !is_of_key(byte)).unwrap_or(bytes.len() - position);
            let key = Key::new(text, position..end);
            if let Some((key, value)) = key.as_ref().and_then(|key| Some((key, key.value()?))) {
                return Some((value.clone(), key.replacement(value)));
            }
            position = end;
        }
        None
    })
}

fn is_of_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// A word of the text that is followed by a secret.
struct Key<'a> {
    text: &'a str,
    range: Range<usize>,
    strength: Strength,
    /// What stands before it on its line.
    before: &'a str,
    /// It stands in quotes, as in JSON.
    is_quoted: bool,
    /// How many backslashes the double quotes have of the text that it is a part of: what follows ends with that.
    inside: Option<usize>,
}

impl<'a> Key<'a> {
    fn new(text: &'a str, range: Range<usize>) -> Option<Self> {
        let word = &text[range.clone()];
        let line = text[..range.start].rfind('\n').map_or(0, |newline| newline + 1);
        let before = &text[line..range.start];
        let strength = strength(word).or_else(|| {
            // `private key: …`
            let is_key = word.eq_ignore_ascii_case("key") || word.eq_ignore_ascii_case("keys");
            let other = before.trim_end().rsplit(|c: char| !c.is_ascii_alphanumeric()).next()?;
            is_key.then(|| strength(&format!("{other}{word}")))?
        })?;
        let quote = before.chars().next_back().filter(|c| matches!(c, '"' | '\''));
        let is_quoted = quote.is_some_and(|quote| text[range.end..].trim_start_matches('\\').starts_with(quote));
        let around = if is_quoted { before[..before.len() - 1].trim_end_matches('\\') } else { before };
        Some(Self { text, range, strength, before, is_quoted, inside: open_quotes(around) })
    }

    /// Where its value is.
    fn value(&self) -> Option<Range<usize>> {
        let after = &self.text[self.range.end..];
        // `<password>…</password>`
        if let Some(value) = after.strip_prefix('>').filter(|_| self.before.ends_with('<')) {
            let length = value.find(['<', '\n']).unwrap_or(value.len());
            return self.from(value, length);
        }
        // `"password": …`, `ENV{password}=…`
        let rest = after.trim_start_matches(['"', '\'', '\\', '}', ']', ')']);
        let spaced = rest.trim_start_matches([' ', '\t']);
        let assigned = spaced.strip_prefix('+').unwrap_or(spaced);
        if !assigned.starts_with(['=', ':']) {
            let is_apart = spaced.len() < rest.len() && rest.len() == after.len();
            return if is_apart && self.may_stand_alone() { self.to_end_of_line(spaced) } else { None };
        }
        let is_colon = assigned.starts_with(':');
        let value = assigned.trim_start_matches(['=', ':', '>']);
        let begin = if self.is_quoted && is_colon { value.trim_start() } else { value.trim_start_matches([' ', '\t']) };
        let quotes = quotes_at(begin);
        if !quotes.is_empty() && self.ends_in(quotes).is_none() {
            return self.from(begin, self.quoted(begin));
        }
        if self.is_quoted && begin.starts_with(['[', '{']) {
            return self.from(begin, balanced(begin, quotes_at(after).len().saturating_sub(1)));
        }
        if self.is_quoted && is_colon {
            let length = begin.find(|c: char| c.is_whitespace() || matches!(c, ',' | '}' | ']')).unwrap_or(begin.len());
            return self.from(begin, length);
        }
        if is_colon || begin.len() < value.len() {
            return self.to_end_of_line(begin);
        }
        // Options are separated by commas; what begins a word is no option of a list, so a comma may belong to its value.
        let is_option = self.before.ends_with(',');
        let ends = |c: char| c.is_whitespace() || (c == ',' && is_option);
        let length = begin.find(ends).unwrap_or(begin.len());
        self.from(begin, self.inside(begin, length))
    }

    /// What stands for its value: in quotes where that was, or where JSON wants them.
    fn replacement(&self, value: Range<usize>) -> String {
        let old = &self.text[value.clone()];
        let between = &self.text[self.range.end..value.start];
        let open = quotes_at(old);
        let quotes = if !open.is_empty() && old.len() >= 2 * open.len() && old.ends_with(open) {
            open
        } else if self.is_quoted && between.trim_end().ends_with(':') {
            quotes_at(between)
        } else {
            ""
        };
        format!("{quotes}{REDACTED}{quotes}")
    }

    /// True if its value may follow without a separator: `password …`.
    fn may_stand_alone(&self) -> bool {
        let is_path = self.before.ends_with('/');
        let begins_line = self.before.trim_start_matches([' ', '\t', '#', ';']).is_empty();
        let is_flag = self.text[self.range.clone()].starts_with('-');
        !is_path && (self.strength == Strength::Strong || begins_line || is_flag)
    }

    fn to_end_of_line(&self, value: &str) -> Option<Range<usize>> {
        let length = value.find(['\n', '\r']).unwrap_or(value.len());
        self.from(value, self.inside(value, length))
    }

    /// The length of a value, cut where the text in quotes ends that it is a part of.
    fn inside(&self, value: &str, length: usize) -> usize {
        self.ends_in(&value[..length]).unwrap_or(length)
    }

    /// Where the text in quotes ends that it is a part of, before the backslashes of the quote.
    fn ends_in(&self, value: &str) -> Option<usize> {
        let inside = self.inside?;
        // A quote with fewer backslashes ends what is around that text.
        let end = |index| QUOTES.iter().find(|&&slashes| slashes <= inside && is_delimiter(value, index, slashes));
        (0..value.len()).find_map(|index| Some(index - end(index)?))
    }

    /// The length of text in quotes, and of what follows it at once: `"a""b"`.
    fn quoted(&self, value: &str) -> usize {
        let slashes = value.len() - value.trim_start_matches('\\').len();
        let open = &value[..=slashes];
        let quote = value.as_bytes()[slashes];
        let line = value.find('\n').unwrap_or(value.len());
        let mut position = 0;
        loop {
            let rest = &value[..line];
            if rest[position..].starts_with(open) {
                let inner = position + open.len();
                let closes = |&position: &usize| {
                    value.as_bytes()[position] == quote && delimits(&value.as_bytes()[inner..position], slashes)
                };
                let close = (inner..line).find(closes);
                let Some(close) = close else { return line };
                position = close + 1;
                continue;
            }
            match rest[position..].chars().next() {
                None => return position,
                Some(c) if c.is_whitespace() || matches!(c, ',' | ';' | ')' | ']' | '}' | '<') => return position,
                Some('\\' | '"') if self.ends_in(quotes_at(&rest[position..])).is_some() => return position,
                Some('\\' | '"') if slashes > 0 => return position,
                Some(c) => position += c.len_utf8(),
            }
        }
    }

    fn from(&self, value: &str, length: usize) -> Option<Range<usize>> {
        let start = offset(self.text, value);
        let is_setting = SETTINGS.contains(&value[..length].trim_end().to_ascii_lowercase().as_str());
        (length > 0 && !is_setting).then_some(start..start + length)
    }
}

/// The quote that text begins with, with its backslashes.
fn quotes_at(text: &str) -> &str {
    let slashes = text.len() - text.trim_start_matches('\\').len();
    if text[slashes..].starts_with(['"', '\'']) { &text[..=slashes] } else { "" }
}

/// Where `part`, which is a part of `text`, begins in it.
fn offset(text: &str, part: &str) -> usize {
    part.as_ptr() as usize - text.as_ptr() as usize
}

/// How many backslashes the quotes have of the innermost text in double quotes that is open after `before`.
fn open_quotes(before: &str) -> Option<usize> {
    let is_open =
        |slashes: &usize| (0..before.len()).filter(|&index| is_delimiter(before, index, *slashes)).count() % 2 == 1;
    QUOTES.into_iter().rev().find(is_open)
}

/// True if there is a double quote there that begins or ends text in quotes with that many backslashes.
fn is_delimiter(text: &str, index: usize, slashes: usize) -> bool {
    text.as_bytes()[index] == b'"' && delimits(&text.as_bytes()[..index], slashes)
}

/// True if the quote after `before` begins or ends text, where such quotes have that many backslashes. In text that is itself
/// escaped, each level doubles the backslashes and adds one.
fn delimits(before: &[u8], slashes: usize) -> bool {
    let run = before.iter().rev().take_while(|&&byte| byte == b'\\').count();
    run % (2 * (slashes + 1)) == slashes
}

/// The length of what the bracket at the beginning encloses, as in JSON whose quotes have that many backslashes.
fn balanced(text: &str, slashes: usize) -> usize {
    let (mut depth, mut in_string) = (0_u32, false);
    for (index, byte) in text.bytes().enumerate() {
        match byte {
            b'"' if delimits(&text.as_bytes()[..index], slashes) => in_string = !in_string,
            b'[' | b'{' if !in_string => depth += 1,
            b']' | b'}' if !in_string => {
                depth -= 1;
                if depth == 0 {
                    return index + 1;
                }
            }
            _ => {}
        }
    }
    text.len()
}

/// Texts with a secret in every known form.
#[cfg(test)]
pub fn forms(secret: &str, key: &str) -> Vec<String> {
    let json = serde_json::json!({"a": 1, (key): secret, "z": [secret.len()]});
    let nested = serde_json::json!({"inner": json.to_string()});
    vec![
        format!("a=1 {key}={secret} z=2"),
        format!("ro,{key}={secret},rw"),
        format!("(ro,{key}={secret})"),
        format!("{key} = {secret}\nnext=1"),
        format!("{key}: {secret}"),
        format!("\t{key} {secret}\n"),
        format!("# {key} {secret}"),
        format!("{key}=\"{secret}\""),
        format!("{key} '{secret}'"),
        format!("run --{key} {secret}"),
        format!("run --{key}={secret}"),
        format!("<{key}>{secret}</{key}>"),
        format!("ENV{{{key}}}+=\"{secret}\""),
        json.to_string(),
        format!("{json:#}"),
        nested.to_string(),
        format!("https://joe:{secret}@host/x?{key}={secret}"),
        format!("netroot=iscsi:joe:{secret}@host::3260"),
        format!("-----BEGIN X-----\n{secret}\n-----END X-----\n"),
        format!("connect -S DHHC-1:00:{secret}: -n x"),
    ]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn values_of_secret_keys_are_replaced_and_the_rest_stays() {
        for (text, wanted) in [
            (
                "//srv/x /mnt cifs rw,username=joe,password=hunter2,vers=3 0 0",
                "//srv/x /mnt cifs rw,username=joe,password=REDACTED,vers=3 0 0",
            ),
            ("//srv/x /mnt cifs credentials=/root/c,ro 0 0", "//srv/x /mnt cifs credentials=REDACTED 0 0"),
            ("BOOT_IMAGE=/vmlinuz rd.iscsi.password=a,b quiet", "BOOT_IMAGE=/vmlinuz rd.iscsi.password=REDACTED quiet"),
            (
                "netroot=iscsi:joe:hunter2@10.0.0.1::3260::iqn quiet",
                "netroot=iscsi:joe:REDACTED@10.0.0.1::3260::iqn quiet",
            ),
            ("proxy https://joe:hun/ter2@proxy:3128/ ok", "proxy https://joe:REDACTED@proxy:3128/ ok"),
            ("\tpassword \"hunter two\" # why", "\tpassword REDACTED"),
            ("password = correct horse battery\nnext=1", "password = REDACTED\nnext=1"),
            ("api_key: abc def\nnext: 1", "api_key: REDACTED\nnext: 1"),
            ("{\"password\": \"a\\\"b,c\", \"size\": 5}", "{\"password\": \"REDACTED\", \"size\": 5}"),
            ("{\"tokens\":[\"a\",{\"b\":\"c\"}],\"size\":5}", "{\"tokens\":\"REDACTED\",\"size\":5}"),
            (
                "{\"o\": \"ro,password=a,rw\", \"p\": \"x password=b\", \"n\": 1}",
                "{\"o\": \"ro,password=REDACTED,rw\", \"p\": \"x password=REDACTED\", \"n\": 1}",
            ),
            ("\"{\\\"apiKey\\\": \\\"abc\\\", \\\"n\\\": 1}\"", "\"{\\\"apiKey\\\": \\\"REDACTED\\\", \\\"n\\\": 1}\""),
            ("\"{\\\"o\\\":\\\"pw='a'\\\"}\"", "\"{\\\"o\\\":\\\"pw='REDACTED'\\\"}\""),
            ("\"{\\\"o\\\":\\\"x pw: a b\\\",\\\"n\\\":1}\"", "\"{\\\"o\\\":\\\"x pw: REDACTED\\\",\\\"n\\\":1}\""),
            ("mount --password hunter2 /mnt", "mount --password REDACTED"),
            ("rocommunity public 10.0.0.0/8", "rocommunity REDACTED"),
            ("wpa_psk='it''s' rest", "wpa_psk='REDACTED' rest"),
            ("access key = abc", "access key = REDACTED"),
            ("nvme connect -S DHHC-1:00:ia6zGodO==: -q x", "nvme connect -S REDACTED -q x"),
            ("{\"SerialNumber\" : \"S64\", \"Size\":1}", "{\"SerialNumber\" : \"REDACTED\", \"Size\":1}"),
            ("{\"token\":512, \"n\":1}", "{\"token\":\"REDACTED\", \"n\":1}"),
            ("<password>a b</password>", "<password>REDACTED</password>"),
            ("ENV{ID_PASSWORD}=\"x\", GOTO=\"end\"", "ENV{ID_PASSWORD}=\"REDACTED\", GOTO=\"end\""),
            (
                "home: 0 16 crypt aes-xts-plain64 00112233445566778899aabbccddeeff 0 8:2 32768",
                "home: 0 16 crypt aes-xts-plain64 REDACTED 0 8:2 32768",
            ),
            ("a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb", "a\nREDACTED\nb"),
            ("a\n-----BEGIN PRIVATE KEY-----\nMIIE", "a\nREDACTED"),
        ] {
            assert_eq!(redacted(text), wanted, "{text}");
        }
    }

    #[test]
    fn what_merely_looks_like_a_secret_stays() {
        for text in [
            "monkey=1 nokey hotkey: 3 keyring=user",
            "options nvme_core multipath=Y",
            "bypass=1 compass: 2 passes 3",
            "tokenMemLimit 512M\nmaxTokenServers 128",
            "24 22 0:25 / /run/secrets rw,relatime shared:5 - tmpfs tmpfs rw,mode=700",
            "25 22 0:26 / /run/credentials/systemd-journald.service ro - ramfs none rw",
            "10.0.0.1@tcp:10.0.0.2@tcp:/scratch /scratch lustre rw,flock 0 0",
            "reservation_key 0x123abc",
            "# <file system> <mount point> <type> <options> <dump> <pass>\nUUID=1 / ext4 defaults 0 1",
            "home: 0 16 crypt aes-xts-plain64 :64:logon:cryptsetup:1 0 8:2 32768",
            "home: 0 16 crypt aes-xts-plain64 00000000000000000000000000000000 0 8:2 32768",
            "a kernel with secretmem.enable=1 http://host:80/x",
            "this is the second pass over the data, with a token bucket",
            "password=\npassword:\nsecret",
            r#""{\"opts\":\"pw:\",\"n\":1}""#,
            r#""{\"opts\":\"ro,password=\"}""#,
            "# use-machine-creds=1\nallow_password = no \n{\"token\": null, \"password\": false}",
        ] {
            assert_eq!(redacted(text), text);
        }
    }

    proptest! {
        #[test]
        fn a_secret_is_removed_in_every_form(
            secret in "Zq[A-Za-z0-9!#$%^*+/_.~&(|){};:=-]{6,20}Q",
            key in "(password|passwd|rd\\.iscsi\\.password_in|Passphrase|client_secret|authToken|credentials|api-key|API_KEY|\
                    access_key|privateKey|dhchap_ctrl_key|wpa_psk|rocommunity|pass)",
        ) {
            for text in forms(&secret, &key) {
                let clean = redacted(&text);
                prop_assert!(!clean.contains(&secret), "{text} became {clean}");
                prop_assert!(!clean.contains(&secret[4..]), "{text} became {clean}");
            }
        }

        #[test]
        fn quoted_secrets_may_contain_anything_but_line_ends(secret in "Zq[ -~]{6,20}ZQ") {
            let json = serde_json::json!({"a": "x", "password": secret, "z": 1});
            for text in [json.to_string(), format!("{json:#}"), serde_json::json!({"inner": json.to_string()}).to_string()] {
                let clean = redacted(&text);
                let tail = serde_json::to_string(&secret[secret.len() - 5..]).unwrap();
                prop_assert!(!clean.contains(tail.trim_matches('"')), "{text} became {clean}");
            }
        }

        #[test]
        fn json_stays_json(
            secret in "[ -~]{0,20}",
            number in 2_u32..,
            plain in "[a-z =,:]{0,20}|[a-z ,]{0,5}(pw|token|password)[a-z =,:]{0,10}",
        ) {
            let inner = serde_json::json!({"password": secret, "opts": plain, "token": [secret, {"a": number}], "z": true});
            let outer = serde_json::json!({"inner": inner.to_string(), "secret": number, "o": inner, "plain": plain});
            for text in [outer.to_string(), format!("{outer:#}")] {
                let clean = redacted(&text);
                let read = serde_json::from_str::<serde_json::Value>(&clean);
                prop_assert!(read.is_ok(), "{text} became {clean}");
                let inner = read.unwrap()["inner"].as_str().unwrap().to_owned();
                prop_assert!(serde_json::from_str::<serde_json::Value>(&inner).is_ok(), "{text} became {clean}");
            }
        }

        #[test]
        fn any_text_is_taken(text in "\\PC{0,80}") {
            let _ = redacted(&text);
        }
    }
}
