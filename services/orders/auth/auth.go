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
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"dyno/parts/keyfile"
	"dyno/parts/refusal"
)

// Config says which tokens to accept.
type Config struct {
	File      string        // the JWKS
	Audience  string        // that aud has to name; "": aud is not looked at
	Issuer    string        // that iss has to be; "": iss is not looked at
	Leeway    time.Duration // by how much clocks may differ where exp and nbf are compared; 0 to 5 minutes
	Cache     string        // "none": each signature is verified; "digest"; "": none
	CacheSize int           // tokens; 0: 65,536
	Reload    time.Duration // how often the file is looked at; 0: 2 s
	Log       *slog.Logger  // nil: slog.Default()
}

const (
	// defaultCacheSize tokens, of some 500 bytes each, take 30 MB.
	defaultCacheSize = 1 << 16

	// defaultReload keeps what the documentation promises, with room for a slow disk: a key that was
	// taken out of the file is refused within 5 s.
	defaultReload = 2 * time.Second

	// maxLeeway bounds the allowance for clocks that are not synchronised. More would make exp
	// meaningless.
	maxLeeway = 5 * time.Minute
)

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
	if err := c.complete(); err != nil {
		return nil, err
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

// complete puts the defaults in.
func (c *Config) complete() error {
	c.Cache, c.CacheSize = cmp.Or(c.Cache, "none"), cmp.Or(c.CacheSize, defaultCacheSize)
	c.Reload, c.Log = cmp.Or(c.Reload, defaultReload), cmp.Or(c.Log, slog.Default())
	switch {
	case c.Cache != "none" && c.Cache != "digest":
		return refusal.Unknown("token cache", c.Cache, "none", "digest")
	case c.CacheSize < 0:
		return fmt.Errorf("a token cache of %d tokens cannot be; give 1 or more", c.CacheSize)
	case c.Reload < 0:
		return fmt.Errorf("the key file cannot be looked at every %v; give a time above 0", c.Reload)
	case c.Leeway < 0 || c.Leeway > maxLeeway:
		return fmt.Errorf("a leeway of %v is not between 0 and %v", c.Leeway, maxLeeway)
	}
	return nil
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
