package auth

import (
	"context"
	"encoding/hex"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dyno/parts/keyfile"
	"dyno/parts/seconds"
)

// What was granted ends with the token, and with the key: one that is put into the file again in
// other letters is the same.
func TestGrantsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "arena.key")
		k, err := Follow(file, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var watching sync.WaitGroup
		watching.Go(func() { k.Watch(ctx) })
		defer watching.Wait()
		defer cancel()
		put := func(text string) {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			time.Sleep(keyfile.Interval + keyfile.Settle)
			synctest.Wait()
		}
		grant := func(life time.Duration) Grant {
			token, err := k.Current().Issue(Claims{Name: "ada", Exp: seconds.Date(time.Now().Add(life).Unix())})
			if err != nil {
				t.Fatal(err)
			}
			g, err := k.Check(token, time.Now())
			if err != nil || g.Name != "ada" {
				t.Fatalf("%+v, %v", g, err)
			}
			return g
		}
		short, long := grant(10*time.Second), grant(time.Hour)
		held := k.Grant(int64(long.Exp))
		old := hex.EncodeToString(*k.Current())
		put("  " + old + "\n\n")
		put("no key")
		for name, g := range map[string]Grant{"short": short, "long": long, "held": held} {
			if err := g.Lasts(time.Now()); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
		time.Sleep(10 * time.Second)
		if short.Lasts(time.Now()) == nil || long.Lasts(time.Now()) != nil {
			t.Error("after 10 s the short one lasts, or the long one does not")
		}
		put(hex.EncodeToString(New()))
		if long.Lasts(time.Now()) == nil || held.Lasts(time.Now()) == nil {
			t.Error("they last with another key")
		}
		if err := grant(time.Minute).Lasts(time.Now()); err != nil {
			t.Errorf("with the new key: %v", err)
		}
	})
}
