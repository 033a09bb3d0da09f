package auth

import (
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/go-jose/go-jose/v4"
)

// Bounds of a file and its keys.
const (
	maxFile    = 1 << 20 // bytes: some hundred RSA keys with certificates
	maxKeys    = 1000
	maxKeyID   = 256  // bytes
	minSecret  = 32   // bytes: RFC 7518, 3.2: a key as long as the hash
	minModulus = 2048 // bits: RFC 7518, 3.3
)

// key is one of the file.
type key struct {
	id        string
	algorithm jose.SignatureAlgorithm
	public    any // what verifies: []byte, *rsa.PublicKey or ed25519.PublicKey
	private   any // what signs; nil: the file has the public key alone
}

// keyring is what was read from a file at one time, with the tokens that its keys verified.
type keyring struct {
	keys  []key // as they stand in the file
	byID  map[string]key
	cache *cache // nil: none
}

// parseKeys reads a JWKS. Errors name the key and what is wrong, never what stands there.
func parseKeys(text []byte) (*keyring, error) {
	var set struct {
		Keys *[]json.RawMessage `json:"keys"`
	}
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("this is not a JWKS: %w", err)
	}
	if set.Keys == nil {
		return nil, errors.New(`this is not a JWKS: it has no member "keys"; a JWKS is {"keys":[...]}`)
	}
	if len(*set.Keys) > maxKeys {
		return nil, fmt.Errorf("more than %d keys", maxKeys)
	}
	ring := &keyring{byID: make(map[string]key, len(*set.Keys))}
	for i, text := range *set.Keys {
		k, err := parseKey(text)
		if err != nil {
			return nil, fmt.Errorf("key %d%s: %w", i+1, named(k.id), err)
		}
		if _, ok := ring.byID[k.id]; ok {
			return nil, fmt.Errorf("key %d%s: another key has this kid; each needs one of its own", i+1, named(k.id))
		}
		ring.byID[k.id] = k
		ring.keys = append(ring.keys, k)
	}
	return ring, nil
}

func named(id string) string {
	if id == "" {
		return ""
	}
	return fmt.Sprintf(" (kid %q)", id)
}

// parseKey returns what it found out also with an error.
func parseKey(text []byte) (key, error) {
	var head struct {
		Type      string `json:"kty"`
		ID        string `json:"kid"`
		Algorithm string `json:"alg"`
		Use       string `json:"use"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return key{}, errors.New("it is not a JSON object whose kty, kid, alg and use are strings")
	}
	k := key{algorithm: jose.SignatureAlgorithm(head.Algorithm)}
	if len(head.ID) > maxKeyID {
		return k, fmt.Errorf("its kid has more than %d bytes", maxKeyID)
	}
	k.id = head.ID
	switch {
	case head.Type == "":
		return k, errors.New("kty is missing; it says what kind of key this is: oct, RSA or OKP")
	case head.ID == "":
		return k, errors.New("kid is missing; tokens name their key by it")
	case head.Algorithm == "":
		return k, errors.New("alg is missing; it is HS256 for oct, RS256 for RSA, EdDSA for OKP")
	case head.Use != "" && head.Use != "sig":
		return k, fmt.Errorf("use is %q; this file is for keys that sign (sig)", head.Use)
	}
	if want := algorithmOf[head.Type]; want == "" {
		return k, fmt.Errorf("kty %q is not known here; there are oct (HS256), RSA (RS256) and OKP (EdDSA)", head.Type)
	} else if want != k.algorithm {
		return k, fmt.Errorf("alg is %q; with kty %s it is %s", head.Algorithm, head.Type, want)
	}
	var parsed jose.JSONWebKey
	if err := parsed.UnmarshalJSON(text); err != nil {
		return k, fmt.Errorf("its values cannot be read: %w", err)
	}
	return k, k.take(parsed)
}

// algorithmOf says which algorithm a type of key has. It is the only one: a key that could be used
// with two could be used with the wrong one.
var algorithmOf = map[string]jose.SignatureAlgorithm{"oct": jose.HS256, "RSA": jose.RS256, "OKP": jose.EdDSA}

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
	if public, ok := k.public.(*rsa.PublicKey); ok && public.N.BitLen() < minModulus {
		return fmt.Errorf("its modulus has %d bits; RS256 needs %d or more", public.N.BitLen(), minModulus)
	}
	return nil
}
