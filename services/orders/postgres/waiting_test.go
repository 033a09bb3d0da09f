package postgres

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// What takes long is reported every 5 s, and what is over soon is not.
func TestFor(t *testing.T) {
	refused := errors.New("refused")
	for name, c := range map[string]struct {
		takes, limit time.Duration
		fails        error
		want         error
		lines        int
	}{
		"soon": {time.Second, time.Minute, nil, nil, 0}, "late": {11 * time.Second, time.Minute, nil, nil, 3},
		"refused": {time.Second, time.Minute, refused, refused, 0}, "given up": {time.Minute, 6 * time.Second, nil, context.DeadlineExceeded, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			var said strings.Builder
			ctx, cancel := context.WithTimeout(t.Context(), c.limit)
			defer cancel()
			begun := time.Now()
			err := reporter{to: &said}.wait(ctx, "waiting", func() (bool, error) {
				if time.Since(begun) < c.takes {
					return false, nil
				}
				return c.fails == nil, c.fails
			})
			if !errors.Is(err, c.want) || strings.Count(said.String(), "\n") != c.lines {
				t.Errorf("%s: %v, want %v and %d lines:\n%s", name, err, c.want, c.lines, &said)
			}
		})
	}
}

func TestWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said strings.Builder
		stop := reporter{to: &said}.while("downloading")
		time.Sleep(12 * time.Second)
		stop()
		if want := "postgres: downloading, for 5s so far\npostgres: downloading, for 10s so far\n"; said.String() != want {
			t.Errorf("%q, want %q", &said, want)
		}
	})
}
