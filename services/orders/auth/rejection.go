package auth

// Rejection says why a request was not let in.
type Rejection struct {
	// Description is for people, and fits error_description in WWW-Authenticate (RFC 6750: printable
	// ASCII without quotes and backslashes). It repeats nothing of the token.
	Description string

	// Missing: there was no token at all, so the challenge is "Bearer" alone.
	Missing bool
}

// Error is the description.
func (r *Rejection) Error() string { return r.Description }

// The reasons are few and fixed, so that a refusal costs no memory and reveals only what a client
// needs.
var (
	errMissing   = &Rejection{Description: "this needs a token: send the header Authorization: Bearer TOKEN", Missing: true}
	errTooLong   = &Rejection{Description: "the token has more than 8192 bytes"}
	errMalformed = &Rejection{Description: "the token is not a JWT in the compact serialisation"}
	errHeader    = &Rejection{Description: "the token's header cannot be read, or asks for an extension (crit, b64) that is not known here"}
	errKey       = &Rejection{Description: "the token's kid names no key that is known here"}
	errAlgorithm = &Rejection{Description: "the token's alg is not that of its key"}
	errSignature = &Rejection{Description: "the token's signature does not fit"}
	errClaims    = &Rejection{Description: "the token's claims cannot be read"}
	errSubject   = &Rejection{Description: "the token's sub is not an account: 1 to 64 of A-Z a-z 0-9 . _ : -"}
	errNoExpiry  = &Rejection{Description: "the token has no exp"}
	errExpired   = &Rejection{Description: "the token has expired"}
	errNotYet    = &Rejection{Description: "the token is not valid yet (nbf)"}
	errAudience  = &Rejection{Description: "the token is for another audience (aud)"}
	errIssuer    = &Rejection{Description: "the token is from another issuer (iss)"}
)
