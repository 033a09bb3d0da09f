package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// algorithms are those that a key may be for. The key names its algorithm; what a token names must
// equal that.
var algorithms = []jose.SignatureAlgorithm{jose.HS256, jose.EdDSA, jose.RS256}

const maxToken = 8 << 10 // bytes

var accounts = regexp.MustCompile(`^[A-Za-z0-9._:-]{1,64}$`)

// keys are those of a JWKS file, which is read again when it has changed.
type keys struct {
	config config

	mu     sync.Mutex // guards the fields below
	set    jose.JSONWebKeySet
	text   []byte    // of the file, that the set was read from
	looked time.Time // at the file, last
}

func openKeys(c config) (*keys, error) {
	k := &keys{config: c}
	if err := k.read(); err != nil {
		return nil, fmt.Errorf("reading --jwt-keys: %w", err)
	}
	return k, nil
}

// read takes over the keys of the file, if it has changed: those that fit. What else a JWKS has is
// not for this program.
func (k *keys) read() error {
	k.looked = time.Now()
	text, err := os.ReadFile(k.config.keys)
	if err != nil || bytes.Equal(text, k.text) {
		return err
	}
	var all struct{ Keys []json.RawMessage }
	if err := json.Unmarshal(text, &all); err != nil {
		return err
	}
	var set jose.JSONWebKeySet
	for _, text := range all.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(text) == nil && fits(key) {
			set.Keys = append(set.Keys, key)
		}
	}
	if len(set.Keys) == 0 && k.text == nil {
		return errors.New("no key in it has the algorithm (alg) HS256, EdDSA or RS256, and a key (kty) for that")
	}
	k.set, k.text = set, text
	return nil
}

// fits reports whether a key is one for its algorithm.
func fits(key jose.JSONWebKey) (ok bool) {
	switch jose.SignatureAlgorithm(key.Algorithm) {
	case jose.HS256:
		_, ok = key.Key.([]byte)
	case jose.EdDSA:
		_, ok = key.Key.(ed25519.PublicKey)
	case jose.RS256:
		_, ok = key.Key.(*rsa.PublicKey)
	}
	return ok
}

// find returns the key of a token.
func (k *keys) find(id, algorithm string) (jose.JSONWebKey, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.looked) >= k.config.reload {
		if err := k.read(); err != nil {
			slog.Error("the keys could not be read again; those from before still hold", "file", k.config.keys, "error", err)
		}
	}
	for _, key := range k.set.Keys {
		if key.KeyID == id && key.Algorithm == algorithm {
			return key, true
		}
	}
	return jose.JSONWebKey{}, false
}

// verify returns the account that a token speaks for.
func (k *keys) verify(token string) (account string, err error) {
	if len(token) > maxToken {
		return "", errors.New("the token is too long")
	}
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil || len(parsed.Headers) != 1 {
		return "", errors.New("the token is malformed")
	}
	header := parsed.Headers[0]
	key, ok := k.find(header.KeyID, header.Algorithm)
	if !ok {
		return "", errors.New("the token is signed with an unknown key")
	}
	var claims jwt.Claims
	if err := parsed.Claims(key, &claims); err != nil {
		return "", errors.New("the signature is wrong")
	}
	expected := jwt.Expected{Issuer: k.config.issuer, Time: time.Now()}
	if k.config.audience != "" {
		expected.AnyAudience = jwt.Audience{k.config.audience}
	}
	if claims.Expiry == nil {
		return "", errors.New("the token does not say when it expires")
	}
	if err := claims.ValidateWithLeeway(expected, k.config.leeway); err != nil {
		return "", errors.New(strings.TrimPrefix(err.Error(), "go-jose/go-jose/jwt: "))
	}
	if !accounts.MatchString(claims.Subject) {
		return "", errors.New("the token's subject is no account")
	}
	return claims.Subject, nil
}

// handler answers a request of an account.
type handler = func(w http.ResponseWriter, r *http.Request, account string) error

// authenticated passes on requests with a valid token.
func (s *server) authenticated(next handler) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		given := r.Header.Values("Authorization")
		scheme, token, _ := strings.Cut(strings.Join(given, ", "), " ")
		if len(given) != 1 || !strings.EqualFold(scheme, "Bearer") || token == "" {
			w.Header().Set("WWW-Authenticate", "Bearer")
			answerError(w, refuse(http.StatusUnauthorized, "send one token as Authorization: Bearer TOKEN"))
			return
		}
		account, err := s.keys.verify(token)
		if err != nil {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf("Bearer error=\"invalid_token\", error_description=%q", err))
			answerError(w, refuse(http.StatusUnauthorized, "%v; get a new one", err))
			return
		}
		if err := next(w, r, account); err != nil {
			answerError(w, err)
		}
	}
}
