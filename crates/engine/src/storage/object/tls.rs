//! Which servers are believed to be who they say: those that the system's certificates vouch for, or a site's own.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_platform_verifier::BuilderVerifierExt;

use super::location::Location;
use crate::failure::Explained;

/// The key of a URL that names a file with certificates to be trusted instead of the system's.
pub(super) const CA_FILE: &str = "ca-file";

/// The key of a URL that says whether certificates are verified.
pub(super) const VERIFY: &str = "tls-verify";

/// How connections to `location` are secured.
pub(super) fn configuration(location: &Location) -> io::Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let builder = builder.map_err(io::Error::other)?;
    let builder = match (location.option(CA_FILE), is_verified(location)) {
        (_, false) => builder.dangerous().with_custom_certificate_verifier(Arc::new(Unverified(provider))),
        (Some(file), true) => builder.with_root_certificates(certificates(Path::new(file))?),
        (None, true) => builder.with_platform_verifier().map_err(|error| {
            let what = format!("the system's certificates cannot be read: {error}");
            let remedy = "install them (ca-certificates), or name a file with ca-file in the target's URL".to_owned();
            Explained { what, remedy }.into_io()
        })?,
    };
    let mut configuration = builder.with_no_client_auth();
    configuration.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(configuration)
}

/// False if the user accepts any certificate.
pub(super) fn is_verified(location: &Location) -> bool {
    location.option(VERIFY) != Some("no")
}

fn certificates(file: &Path) -> io::Result<RootCertStore> {
    let refused = |why: String| {
        let what = format!("ca-file {}: {why}", file.display());
        let remedy = "name a readable PEM file with the certificates of the site's authorities".to_owned();
        Explained { what, remedy }.into_io()
    };
    let mut store = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| refused(error.to_string()))? {
        let certificate = certificate.map_err(|error| refused(error.to_string()))?;
        store.add(certificate).map_err(|error| refused(error.to_string()))?;
    }
    if store.is_empty() { Err(refused("it has no certificate".to_owned())) } else { Ok(store) }
}

/// Accepts every certificate; signatures are still checked, so that the handshake is the same work.
#[derive(Debug)]
struct Unverified(Arc<CryptoProvider>);

impl ServerCertVerifier for Unverified {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
