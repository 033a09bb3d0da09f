package release

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strings"

	"dyno/services/orders/web"
)

// side maps a request's account to a pseudo-random number between 0 and 1, fixed for one release:
// the second version answers accounts below a stage's share. So an account changes sides at most
// once while the share grows, and all gateways agree. With another salt, other accounts come first.
func side(salt string, req *web.Request) float64 {
	account := req.Account
	if account == "" {
		account = subject(req.Authorization)
	}
	sum := sha256.Sum256([]byte(salt + "\x00" + account))
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
}

// maxToken is the maximum size of a token that is parsed, in bytes.
const maxToken = 8 << 10

// subject returns the account that a token claims, or the header itself if it claims none. It
// verifies nothing: a false claim selects a version, which verifies the token.
func subject(authorization string) string {
	_, token, _ := strings.Cut(authorization, " ")
	_, rest, _ := strings.Cut(token, ".")
	payload, _, ok := strings.Cut(rest, ".")
	if !ok || len(token) > maxToken {
		return authorization
	}
	text, err := base64.RawURLEncoding.DecodeString(payload)
	if err != nil {
		return authorization
	}
	var claims struct {
		Sub string `json:"sub"`
	}
	if json.Unmarshal(text, &claims) != nil || claims.Sub == "" {
		return authorization
	}
	return claims.Sub
}
