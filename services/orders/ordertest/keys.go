package ordertest

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Ids of a ring's keys.
const (
	SecretKey = "secret"
	EdKey     = "ed"
	RsaKey    = "rsa"
)

// ring is the keys of a program, and the file that it reads them from.
type ring struct {
	t    testing.TB
	file string
	keys []jose.JSONWebKey // with what signs
}

// newRing makes one key of each algorithm.
func newRing(t testing.TB) *ring {
	r := &ring{t: t, file: filepath.Join(t.TempDir(), "keys.json")}
	r.Write(NewSecret(SecretKey), NewEd(EdKey), jose.JSONWebKey{Key: SlowKey(), KeyID: RsaKey, Algorithm: string(jose.RS256), Use: "sig"})
	return r
}

// Write makes these the keys.
func (r *ring) Write(keys ...jose.JSONWebKey) {
	r.t.Helper()
	r.keys = keys
	var set jose.JSONWebKeySet
	for _, key := range keys {
		if _, symmetric := key.Key.([]byte); !symmetric {
			key = key.Public()
		}
		set.Keys = append(set.Keys, key)
	}
	data, err := json.Marshal(set)
	if err != nil {
		r.t.Fatal(err)
	}
	r.replace(data)
}

// Spoil makes the file one that cannot be read.
func (r *ring) Spoil() {
	r.t.Helper()
	r.replace([]byte(`{"keys":[`))
}

// replace changes the file atomically.
func (r *ring) replace(data []byte) {
	r.t.Helper()
	draft := r.file + ".new"
	if err := os.WriteFile(draft, data, 0o600); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Rename(draft, r.file); err != nil {
		r.t.Fatal(err)
	}
}

func NewSecret(id string) jose.JSONWebKey {
	secret := make([]byte, 32)
	rand.Read(secret)
	return jose.JSONWebKey{Key: secret, KeyID: id, Algorithm: string(jose.HS256), Use: "sig"}
}

func NewEd(id string) jose.JSONWebKey {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err) // crypto/rand does not fail
	}
	return jose.JSONWebKey{Key: private, KeyID: id, Algorithm: string(jose.EdDSA), Use: "sig"}
}

// NewEC makes a key of a type that no program of the suite has to know.
func NewEC(id string) jose.JSONWebKey {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // crypto/rand does not fail
	}
	return jose.JSONWebKey{Key: private, KeyID: id, Algorithm: string(jose.ES256), Use: "sig"}
}

// SlowKey takes a moment to make, so all rings share it.
var SlowKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err) // crypto/rand does not fail
	}
	return key
})

// Key returns a key by its id.
func (r *ring) Key(id string) jose.JSONWebKey {
	for _, key := range r.keys {
		if key.KeyID == id {
			return key
		}
	}
	r.t.Fatalf("the ring has no key %q", id)
	return jose.JSONWebKey{}
}

// Claims are those of a token that is good for an hour.
func Claims(account string) map[string]any {
	return map[string]any{
		"sub": account, "aud": Usual.Audience, "iss": Usual.Issuer,
		"iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix(),
	}
}

// Token is an account's, good for an hour and signed with the ring's first key.
func (r *ring) Token(account string) string { return r.Sign(r.keys[0], Claims(account)) }

// Sign issues a token.
func (r *ring) Sign(key jose.JSONWebKey, claims map[string]any) string {
	r.t.Helper()
	options := new(jose.SignerOptions).WithType("JWT").WithHeader("kid", key.KeyID) // which go-jose leaves out of HS256
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.SignatureAlgorithm(key.Algorithm), Key: key.Key}, options)
	if err != nil {
		r.t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(claims).Serialize()
	if err != nil {
		r.t.Fatal(err)
	}
	return token
}
