package auth

import (
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"

	"github.com/go-jose/go-jose/v4"
)

// Bounds of a key.
const (
	maxKeyID   = 256   // bytes
	minSecret  = 32    // bytes: RFC 7518, 3.2: a key as long as the hash
	minModulus = 2048  // bits: RFC 7518, 3.3
	maxModulus = 16384 // bits: a signature of more takes a core for milliseconds
)

// key is one of the file.
type key struct {
	id        string
	algorithm jose.SignatureAlgorithm
	public    any // what verifies: []byte, *rsa.PublicKey or ed25519.PublicKey
	private   any // what signs; nil: the file has the public key alone
}

// algorithmOf says which algorithm a type of key has. It is the only one: a key that could be used
// with two could be used with the wrong one.
var algorithmOf = map[string]jose.SignatureAlgorithm{"oct": jose.HS256, "RSA": jose.RS256, "OKP": jose.EdDSA}

// members are those of a key in the file.
type members map[string]json.RawMessage

// text returns a member that is a string; null is as good as none.
func (m members) text(name string) (s string, err error) {
	if raw := m[name]; raw != nil && json.Unmarshal(raw, &s) != nil {
		return "", fmt.Errorf("%s is not a string", name)
	}
	return s, nil
}

// parseKey returns what it found out also with an error.
func parseKey(text []byte) (k key, err error) {
	var m members
	if json.Unmarshal(text, &m) != nil || m == nil {
		return k, errors.New("it is not a JSON object")
	}
	if k.id, err = m.text("kid"); err != nil {
		return k, err
	}
	if k.algorithm, err = m.purpose(); err != nil {
		return k, err
	}
	switch {
	case k.id == "":
		return k, errors.New("kid is missing; tokens name their key by it")
	case len(k.id) > maxKeyID:
		return k, fmt.Errorf("its kid has more than %d bytes", maxKeyID)
	}
	var parsed jose.JSONWebKey
	if err := parsed.UnmarshalJSON(text); err != nil {
		return k, fmt.Errorf("its values cannot be read: %w", err)
	}
	return k, k.take(parsed)
}

// purpose returns the algorithm that a key is for. RFC 7517, 4.2 to 4.4: use, key_ops and alg are
// optional, and Entra leaves alg out; what is there must fit.
func (m members) purpose() (jose.SignatureAlgorithm, error) {
	var given [4]string
	for i, name := range []string{"kty", "use", "alg", "crv"} {
		var err error
		if given[i], err = m.text(name); err != nil {
			return "", err
		}
	}
	kty, use, alg, crv := given[0], given[1], given[2], given[3]
	algorithm, known := algorithmOf[kty]
	switch {
	case kty == "":
		return "", errors.New("kty is missing; it says what kind of key this is: oct, RSA or OKP")
	case !known:
		return "", fmt.Errorf("kty is %q; there are oct (HS256), RSA (RS256) and OKP (EdDSA)", kty)
	case use != "" && use != "sig":
		return "", fmt.Errorf("use is %q; keys that sign have sig", use)
	case alg != "" && alg != string(algorithm):
		return "", fmt.Errorf("alg is %q; with kty %s it is %s", alg, kty, algorithm)
	case kty == "OKP" && crv != "Ed25519":
		return "", fmt.Errorf("crv is %q; with kty OKP it is Ed25519", crv)
	}
	if raw := m["key_ops"]; raw != nil {
		var ops []string
		if json.Unmarshal(raw, &ops) != nil {
			return "", errors.New("key_ops is not an array of strings")
		}
		if ops != nil && !slices.Contains(ops, "verify") {
			return "", errors.New("key_ops is without verify")
		}
	}
	return algorithm, nil
}

// take checks the key itself and puts it in.
func (k *key) take(parsed jose.JSONWebKey) error {
	if secret, ok := parsed.Key.([]byte); ok {
		if len(secret) < minSecret {
			return fmt.Errorf("its secret has %d bits; HS256 needs %d or more", 8*len(secret), 8*minSecret)
		}
		k.public, k.private = secret, secret
		return nil
	}
	if !parsed.Valid() {
		return errors.New("its values are not those of a key")
	}
	if !parsed.IsPublic() {
		k.private = parsed.Key
	}
	k.public = parsed.Public().Key
	if public, ok := k.public.(*rsa.PublicKey); ok {
		return checkRSA(public)
	}
	return nil
}

// checkRSA refuses what no token could be verified with.
func checkRSA(public *rsa.PublicKey) error {
	switch bits := public.N.BitLen(); {
	case bits < minModulus:
		return fmt.Errorf("its modulus has %d bits; RS256 needs %d or more", bits, minModulus)
	case bits > maxModulus:
		return fmt.Errorf("its modulus has %d bits; more than %d take too long", bits, maxModulus)
	case public.N.Bit(0) == 0 || public.E < 3 || public.E%2 == 0 || big.NewInt(int64(public.E)).BitLen() > 31:
		return errors.New("its modulus or exponent is not one of RSA")
	}
	return nil
}
