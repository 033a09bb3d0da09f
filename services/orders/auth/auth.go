// Package auth says whose request it is: it verifies JSON Web Tokens (RFC 7519) by the keys of a
// JWKS file (RFC 7517), which may change while it is in use, and issues tokens for tests, loads and
// small installations.
//
// What is accepted is narrow. A key has one algorithm, HS256, RS256 or EdDSA (Ed25519), and only a
// token that names this key by its kid and this algorithm is tried on it, so that neither "none"
// nor a public key taken for a secret gets anywhere. Keys of other kinds are skipped. A token comes
// in the compact serialisation, in its one canonical spelling, in at most 8 KiB. It needs sub, an
// account, and exp; nbf is honoured, aud and iss are compared with what is configured. Headers that
// bring or point to keys (jwk, jku, x5c, x5u) are never used; crit and b64 are refused. The
// cryptography and the reading of tokens are go-jose's.
//
// The cache "digest" saves the signature check of a token that was seen before, and nothing else:
// its times, audience and issuer are checked each time. It holds only accepted tokens, so a client
// without a key cannot fill it; a token leaves it at the latest when it expires, and all leave it
// when the keys change.
//
// It is not for rights: what an account may do is asked elsewhere. A Verifier has one goroutine,
// which looks at the file, and the cache's, which clears out what has expired; Close ends both and
// waits for them.
package auth

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"dyno/parts/keyfile"
	"dyno/parts/refusal"
)

// Config says which tokens to accept.
type Config struct {
	File     string // the JWKS
	Audience string // that aud has to name; "": aud is not looked at
	Issuer   string // that iss has to be; "": iss is not looked at

	Cache string `seam:"tokens"` // none: each signature is verified; digest

	Leeway    time.Duration `set:"leeway" default:"0s" min:"0s" max:"1m" doc:"permitted difference of clocks when tokens are checked"`
	Reload    time.Duration `set:"keys_reload" default:"2s" min:"10ms" max:"1h" doc:"interval of checks of the file of keys"`
	CacheSize int           `set:"tokens_kept" default:"100000" min:"1" max:"16777216" tune:"true" doc:"tokens that are remembered (tokens=digest)"`

	Log *slog.Logger
}

// ErrKeys is what Open's error wraps when the file of keys is the fault.
var ErrKeys = errors.New("the keys cannot be read")

// Verifier verifies tokens. Its methods are safe for concurrent use.
type Verifier struct {
	config   Config
	expected jwt.Expected

	keys atomic.Pointer[keyring]
	file *keyfile.File
	stop context.CancelFunc
	done chan struct{}

	verified, hits, rejected, reloads atomic.Uint64
}

// Stats are counts since the start, and the state of the file.
type Stats struct {
	Verified uint64 // signatures that were computed and found good
	Hits     uint64 // signatures that the cache knew
	Rejected uint64 // requests without an acceptable token, whatever was wrong
	Reloads  uint64 // changed files whose keys came into force

	// Unread is how long the file could not be taken over, so that the keys from before are in force.
	Unread time.Duration
}

// Open reads the keys. A file that is no JWKS, or without a key that can be used, is an error.
func Open(c Config) (*Verifier, error) {
	if c.Cache != "none" && c.Cache != "digest" {
		return nil, refusal.Unknown("token cache", c.Cache, "none", "digest")
	}
	v := &Verifier{config: c, done: make(chan struct{})}
	v.expected.Issuer = c.Issuer
	if c.Audience != "" {
		v.expected.AnyAudience = jwt.Audience{c.Audience}
	}
	var err error
	v.file, err = keyfile.Open(keyfile.Options{Path: c.File, Max: maxFile, Every: c.Reload, Take: v.take, Log: c.Log})
	if err != nil {
		return nil, unread(err)
	}
	var watching context.Context
	watching, v.stop = context.WithCancel(context.Background())
	go func() {
		defer close(v.done)
		v.file.Watch(watching)
	}()
	return v, nil
}

// Verify returns the account that a request's Authorization header speaks for at this time. The
// error is always a *Rejection. The account does not share the header's memory.
func (v *Verifier) Verify(authorization string, now time.Time) (account string, err error) {
	account, rejection := v.verify(authorization, now)
	if rejection != nil {
		v.rejected.Add(1)
		return "", rejection
	}
	return account, nil
}

func (v *Verifier) verify(authorization string, now time.Time) (string, *Rejection) {
	token, rejection := bearer(authorization)
	if rejection != nil {
		return "", rejection
	}
	keys := v.keys.Load()
	var d digest
	if keys.cache != nil {
		d = digestOf(token)
		if claims, ok := keys.cache.GetIfPresent(d); ok {
			v.hits.Add(1)
			return claims.Subject, v.check(claims, now)
		}
	}
	claims, rejection := keys.verify(token)
	if rejection != nil {
		return "", rejection
	}
	v.verified.Add(1)
	rejection = v.check(claims, now)
	if rejection == nil && keys.cache != nil {
		keys.cache.Set(d, claims)
	}
	return claims.Subject, rejection
}

// Stats returns them.
func (v *Verifier) Stats() Stats {
	return Stats{Verified: v.verified.Load(), Hits: v.hits.Load(), Rejected: v.rejected.Load(), Reloads: v.reloads.Load(), Unread: v.file.Unread()}
}

// Close ends the goroutines and waits for them. It may be called once. Verify goes on working, with
// the keys as they are.
func (v *Verifier) Close() {
	v.stop()
	<-v.done
	v.keys.Load().close()
}
