package auth

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-jose/go-jose/v4/jwt"
)

// Many tokens of one client do not make the cache grow.
func TestCacheIsBounded(t *testing.T) {
	v := opened(t, allKeys(), Config{Cache: "digest", CacheSize: 100})
	exp := time.Now().Unix() + 3600
	for i := range 1000 {
		if _, err := v.Verify("Bearer "+signed(hsHeader, fmt.Sprintf(`{"sub":"A%d","exp":%d}`, i, exp)), time.Now()); err != nil {
			t.Fatal(err)
		}
	}
	cache := v.keys.Load().cache
	cache.CleanUp()
	if n := cache.EstimatedSize(); n > 100 || n < 50 {
		t.Errorf("%d tokens are kept", n)
	}
}

// Refused tokens are not kept, whatever they are refused for.
func TestCacheHoldsWhatWasAccepted(t *testing.T) {
	v := opened(t, allKeys(), Config{Cache: "digest"})
	for _, a := range attacks() {
		v.Verify(a.header, noon)
	}
	cache := v.keys.Load().cache
	cache.CleanUp()
	if n := cache.EstimatedSize(); n != 0 {
		t.Errorf("%d are kept", n)
	}
}

// What has expired, or has been believed for a day, goes without being asked for.
func TestCacheLetsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ring := &keyring{cache: newCache(100, time.Second)}
		defer ring.close()
		exp := jwt.NumericDate(time.Now().Add(time.Minute).Unix())
		far := jwt.NumericDate(4e18)
		ring.cache.Set(digest{1}, &jwt.Claims{Expiry: &exp})
		ring.cache.Set(digest{2}, &jwt.Claims{Expiry: &far})
		for _, c := range []struct {
			after time.Duration
			left  int
		}{{59 * time.Second, 2}, {10 * time.Second, 1}, {23 * time.Hour, 1}, {time.Hour, 0}} {
			time.Sleep(c.after)
			synctest.Wait()
			if n := ring.cache.EstimatedSize(); n != c.left {
				t.Errorf("after %v more: %d are left, want %d", c.after, n, c.left)
			}
		}
	})
}

// What the cache knows costs no memory; nor does a refusal of it.
func TestHitsDoNotAllocate(t *testing.T) {
	v := opened(t, allKeys(), Config{Cache: "digest", Audience: "orders", Issuer: "id"})
	now := time.Now()
	header := "Bearer " + signed(hsHeader, fmt.Sprintf(`{"sub":"A1","exp":%d,"aud":"orders","iss":"id"}`, now.Unix()+3600))
	if _, err := v.Verify(header, now); err != nil {
		t.Fatal(err)
	}
	for _, at := range []time.Time{now, now.Add(2 * time.Hour)} {
		if n := testing.AllocsPerRun(1000, func() { v.Verify(header, at) }); n != 0 {
			t.Errorf("%v allocations", n)
		}
	}
	if s := v.Stats(); s.Verified != 1 {
		t.Errorf("%+v", s)
	}
}

func BenchmarkVerify(b *testing.B) {
	for _, cache := range caches {
		for _, header := range []string{hsHeader, edHeader, rsHeader} {
			b.Run(fmt.Sprintf("%s/%s", cache, header[8:13]), func(b *testing.B) {
				v := opened(b, allKeys(), Config{Cache: cache})
				now := time.Now()
				token := "Bearer " + signed(header, fmt.Sprintf(`{"sub":"A1","exp":%d}`, now.Unix()+3600))
				b.ReportAllocs()
				for b.Loop() {
					if _, err := v.Verify(token, now); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
