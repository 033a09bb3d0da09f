package auth

import (
	"errors"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"dyno/parts/seconds"
	"dyno/services/orders/order"
)

// maxToken bounds the bytes that are hashed and parsed for an unknown client. Servers bound headers
// to about the same size.
const maxToken = 8 << 10

// algorithms are those that any key may have. Which one a token may have depends on its key.
var algorithms = []jose.SignatureAlgorithm{jose.HS256, jose.RS256, jose.EdDSA}

// bearer takes the token out of an Authorization header: RFC 9110, 11.4: the scheme in any case,
// one or more spaces, the token.
func bearer(authorization string) (string, *Rejection) {
	scheme, token, _ := strings.Cut(strings.Trim(authorization, " "), " ")
	token = strings.TrimLeft(token, " ")
	switch {
	case !strings.EqualFold(scheme, "Bearer") || token == "":
		return "", errMissing
	case len(token) > maxToken:
		return "", errTooLong
	}
	return token, nil
}

// verify checks everything about a token that stays as it is: its form, its signature, and which
// account it names.
func (k *keyring) verify(token string) (*jwt.Claims, *Rejection) {
	if !canonical(token) {
		return nil, errMalformed
	}
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		if _, ok := errors.AsType[*jose.ErrUnexpectedSignatureAlgorithm](err); ok {
			return nil, errAlgorithm
		}
		return nil, errHeader
	}
	if len(parsed.Headers) != 1 {
		return nil, errMalformed
	}
	header := parsed.Headers[0]
	if header.ExtraHeaders["crit"] != nil || header.ExtraHeaders["b64"] != nil {
		return nil, errHeader
	}
	keys := k.byID[header.KeyID]
	if len(keys) == 0 {
		return nil, errKey
	}
	rejection := errAlgorithm
	for _, key := range keys { // nearly always one
		if header.Algorithm != string(key.algorithm) {
			continue
		}
		var claims *jwt.Claims
		if claims, rejection = claimsOf(parsed, key); rejection != errSignature {
			return claims, rejection
		}
	}
	return nil, rejection
}

func claimsOf(parsed *jwt.JSONWebToken, key key) (*jwt.Claims, *Rejection) {
	// When it was issued says nothing about what it is good for; nor is a token's own name asked for.
	said := struct {
		Issuer    string        `json:"iss"`
		Subject   string        `json:"sub"`
		Audience  jwt.Audience  `json:"aud"`
		Expiry    *seconds.Date `json:"exp"`
		NotBefore *seconds.Date `json:"nbf"`
	}{}
	err := parsed.Claims(key.public, &said)
	claims := &jwt.Claims{Issuer: said.Issuer, Subject: said.Subject, Audience: said.Audience,
		Expiry: (*jwt.NumericDate)(said.Expiry), NotBefore: (*jwt.NumericDate)(said.NotBefore)}
	switch {
	case errors.Is(err, jose.ErrCryptoFailure):
		return nil, errSignature
	case err != nil:
		return nil, errClaims
	case !order.ValidAccount(claims.Subject):
		return nil, errSubject
	case claims.Expiry == nil:
		return nil, errNoExpiry
	}
	return claims, nil
}

// check checks what can change from one request to the next.
func (v *Verifier) check(claims *jwt.Claims, now time.Time) *Rejection {
	expected := v.expected
	expected.Time = now
	switch err := claims.ValidateWithLeeway(expected, v.config.Leeway); {
	case errors.Is(err, jwt.ErrExpired), !now.Add(-v.config.Leeway).Before(claims.Expiry.Time()):
		return errExpired // the library lets a token live on at exp; RFC 7519, 4.1.4 says before it
	case errors.Is(err, jwt.ErrNotValidYet):
		return errNotYet
	case errors.Is(err, jwt.ErrInvalidAudience):
		return errAudience
	case errors.Is(err, jwt.ErrInvalidIssuer):
		return errIssuer
	case err != nil:
		return errClaims
	}
	return nil
}

// canonical reports whether a token is three parts in unpadded base64url, each in its canonical
// encoding. Decoders accept line breaks and ignore spare bits of the last character; here a token
// has one spelling, so that the signed text, the hashed text of the cache and the text in a log are
// the same.
func canonical(token string) bool {
	parts, start := 0, 0
	for i := 0; i <= len(token); i++ {
		if i < len(token) && token[i] != '.' {
			if sextets[token[i]] < 0 {
				return false
			}
			continue
		}
		if parts++; parts > 3 || !canonicalEnd(token[start:i]) {
			return false
		}
		start = i + 1
	}
	return parts == 3
}

// canonicalEnd reports whether a part has a possible length, and no bits set that belong to no
// byte.
func canonicalEnd(part string) bool {
	switch len(part) % 4 {
	case 0:
		return part != ""
	case 2:
		return sextets[part[len(part)-1]]&0xf == 0
	case 3:
		return sextets[part[len(part)-1]]&0x3 == 0
	default:
		return false
	}
}

// sextets maps the characters of base64url (RFC 4648, 5) to their 6 bits, all others to -1.
var sextets = func() (table [256]int8) {
	for i := range table {
		table[i] = -1
	}
	for i, c := range []byte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_") {
		table[c] = int8(i)
	}
	return table
}()
