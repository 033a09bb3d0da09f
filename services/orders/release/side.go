package release

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"strings"

	"dyno/services/orders/web"
)

// side places a request's account between 0 and 1, at random but always in the same place for one release: below
// a stage's share, the second version has it. So an account changes sides at most once, on the way up, and all
// gateways agree. Salt makes that the accounts that come first are others for another release.
func side(salt string, req *web.Request) float64 {
	account := req.Account
	if account == "" {
		account = subject(req.Authorization)
	}
	sum := sha256.Sum256([]byte(salt + "\x00" + account))
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
}

// maxToken is the longest token that is looked into, in bytes.
const maxToken = 8 << 10

// subject gives the account that a token claims to be for, or the header itself when it claims none. Nothing is
// verified: who lies chooses a version, which verifies it.
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
