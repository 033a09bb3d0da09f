package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Bounds of a file.
const (
	maxFile  = 1 << 20 // bytes: some hundred RSA keys with certificates
	maxKeys  = 1000
	maxNamed = 10 // skipped keys that a text names, each with its reason
)

// keyring is what was read from a file at one time, with the tokens that its keys verified.
type keyring struct {
	keys    []key            // those that can be used, as they stand in the file
	byID    map[string][]key // RFC 7517, 4.5: keys should have a kid of their own, but need not
	skipped []string         // the others, each with the reason
	cache   *cache           // nil: none
}

// parseKeys reads a JWKS. A key that cannot be used here is skipped and decides about no other:
// RFC 7517, 5. Texts name the key and what is wrong, never its values.
func parseKeys(text []byte) (*keyring, error) {
	var set map[string]json.RawMessage // names of members are case-sensitive, as in a struct they are not
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("this is not a JWKS: %w", err)
	}
	var keys []json.RawMessage
	if err := json.Unmarshal(set["keys"], &keys); err != nil || keys == nil {
		return nil, errors.New(`this is not a JWKS: it has no array "keys"; a JWKS is {"keys":[...]}`)
	}
	if len(keys) > maxKeys {
		return nil, fmt.Errorf("more than %d keys", maxKeys)
	}
	ring := &keyring{byID: make(map[string][]key, len(keys))}
	for i, text := range keys {
		k, err := parseKey(text)
		if err != nil {
			ring.skipped = append(ring.skipped, fmt.Sprintf("key %d%s: %s", i+1, named(k.id), shortened(err.Error())))
			continue
		}
		ring.byID[k.id] = append(ring.byID[k.id], k)
		ring.keys = append(ring.keys, k)
	}
	return ring, nil
}

// unusable says why a ring without a key has none.
func (k *keyring) unusable() error {
	if len(k.skipped) == 0 {
		return errors.New("there is no key in it")
	}
	return fmt.Errorf("no key in it can be used: %s", k.reasons())
}

// reasons names the keys that were skipped, up to a bound.
func (k *keyring) reasons() string {
	text := strings.Join(k.skipped[:min(maxNamed, len(k.skipped))], "; ")
	if more := len(k.skipped) - maxNamed; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}

func named(id string) string {
	if id == "" {
		return ""
	}
	return fmt.Sprintf(" (kid %q)", shortened(id))
}

// shortened bounds what comes from the file in a text.
func shortened(text string) string {
	const most = 200 // bytes
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}
