package apikey

import (
	"context"
	"crypto/sha256"
	"net/http"
	"time"

	"dyno/parts/refusal"
)

// hold is a stream that was let in and has not ended. The cause for which its request's context
// ends says why it may not go on.
type hold struct {
	key [sha256.Size]byte // hash
	end context.CancelCauseFunc
}

// Causes for which a stream ends.
var (
	errRemoved = refusal.New(http.StatusUnauthorized, "the API key of this stream was removed")
	errPassed  = refusal.New(http.StatusUnauthorized, "the token of this stream has expired; resume with another after the last number seen")
)

// isStream reports whether a request opens a stream: it lasts, so what it was granted by may end
// before it.
func isStream(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) && (r.URL.Path == "/v1/stream" || r.URL.Path == "/v1/ws")
}

// serve passes on what a key lets in. A stream ends with its key, and with its token where it has
// one; zero: it has none.
func (k *Keys) serve(w http.ResponseWriter, r *http.Request, next http.Handler, key [sha256.Size]byte, expires time.Time) {
	if !isStream(r) {
		next.ServeHTTP(w, r)
		return
	}
	ctx := r.Context()
	if !expires.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, expires, errPassed)
		defer cancel()
	}
	ctx, end := context.WithCancelCause(ctx)
	h := &hold{key, end}
	k.mu.Lock()
	k.holds[h] = struct{}{}
	k.mu.Unlock()
	defer func() {
		k.mu.Lock()
		delete(k.holds, h)
		k.mu.Unlock()
		end(nil)
	}()
	if !k.inForce(key) { // it was removed just now
		refuse(w, challengeWrong, errRemoved.Text)
		return
	}
	next.ServeHTTP(w, r.WithContext(ctx))
}

// release ends the streams whose keys are not in force any more, and returns their number.
func (k *Keys) release() (n int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for h := range k.holds {
		if !k.inForce(h.key) {
			h.end(errRemoved)
			n++
		}
	}
	return n
}
