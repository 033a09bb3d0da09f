package apikey

import (
	"context"
	"strings"
	"time"
)

// Allows reports whether a request with this Authorization header has a key that is known, for a
// server that is not net/http. It never blocks: it does not look at the file, which Watch does.
func (k *Keys) Allows(authorization string) bool {
	scheme, key, _ := strings.Cut(authorization, " ")
	return strings.EqualFold(scheme, "Bearer") && k.known(strings.TrimSpace(key))
}

// Watch takes over a file that changes, until ctx ends. A file system that hangs holds it.
func (k *Keys) Watch(ctx context.Context) {
	look := time.NewTicker(interval)
	defer look.Stop()
	for {
		select {
		case <-look.C:
			k.reload()
		case <-ctx.Done():
			return
		}
	}
}
