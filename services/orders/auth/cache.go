package auth

import (
	"crypto/sha256"
	"time"
	"unsafe"

	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/maypok86/otter/v2"
)

// digest is the SHA-256 of a whole token, signature and all.
type digest [sha256.Size]byte

func digestOf(token string) digest {
	// The hash neither keeps nor changes what it reads, so the token is not copied.
	return sha256.Sum256(unsafe.Slice(unsafe.StringData(token), len(token)))
}

// cache has the claims of tokens whose signature was good, by their digest. Otter removes expired
// entries automatically.
type cache = otter.Cache[digest, *jwt.Claims]

// maxStay is how long a signature is believed at the most, whatever exp says.
const maxStay = 24 * time.Hour

func newCache(size int, leeway time.Duration) *cache {
	return otter.Must(&otter.Options[digest, *jwt.Claims]{
		MaximumSize: size,
		ExpiryCalculator: otter.ExpiryCreatingFunc(func(e otter.Entry[digest, *jwt.Claims]) time.Duration {
			return max(0, min(maxStay, time.Until(e.Value.Expiry.Time().Add(leeway))))
		}),
		Executor: func(work func()) { work() }, // no goroutines without an owner that waits for them
	})
}

// close ends the cache's goroutine.
func (k *keyring) close() {
	if k.cache != nil {
		k.cache.StopAllGoroutines()
	}
}
