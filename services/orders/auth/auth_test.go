package auth

import (
	"path/filepath"
	"testing"
	"time"
)

func TestSmoke(t *testing.T) {
	f := filepath.Join(t.TempDir(), "d", "jwks.json")
	if err := Create(f); err != nil {
		t.Fatal(err)
	}
	tok, err := Issue(f, "", Claims{Account: "A1", Expiry: time.Now().Add(time.Hour)})
	if err != nil {
		t.Fatal(err)
	}
	v, err := Open(Config{File: f, Cache: "digest"})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	t.Log(tok)
	for range 2 {
		if a, err := v.Verify("Bearer "+tok, time.Now()); a != "A1" || err != nil {
			t.Fatal(a, err)
		}
	}
	t.Log(v.Stats())
	h := "Bearer " + tok
	now := time.Now()
	t.Log(testing.AllocsPerRun(1000, func() { v.Verify(h, now) }))
	t.Log(testing.AllocsPerRun(1000, func() { v.Verify(h[:len(h)-1], now) }))
}
