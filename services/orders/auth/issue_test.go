package auth

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Of many concurrent calls that create a file, one creates it; all find the same key, and only the
// owner may read it.
func TestCreate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data", "jwks.json")
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if err := Create(file); err != nil {
				t.Error(err)
			}
			if _, err := Issue(file, "", Claims{Account: "A1", Expiry: noon}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	info, _ := os.Stat(file)
	if mode := info.Mode().Perm(); mode != 0o600 {
		t.Errorf("mode %v", mode)
	}
	if err := Create(file); err != nil {
		t.Error(err)
	}
	if after, _ := os.ReadFile(file); !bytes.Equal(before, after) {
		t.Error("the key is another one")
	}
	if left, _ := os.ReadDir(filepath.Dir(file)); len(left) != 1 {
		t.Errorf("%v are left", left)
	}
	other := filepath.Join(t.TempDir(), "jwks.json")
	if err := Create(other); err != nil {
		t.Fatal(err)
	}
	if key, _ := os.ReadFile(other); bytes.Equal(before, key) {
		t.Error("two files have the same key")
	}
}

// What is issued says what was asked for, by each kind of key.
func TestIssue(t *testing.T) {
	keys := jwks(octKey("hs", made().secret), rsaKey("rs", made().rsa, true), edKey("ed", true))
	v := opened(t, keys, Config{Audience: "orders", Issuer: "me"})
	claims := Claims{Account: "A7", Audience: "orders", Issuer: "me", IssuedAt: noon, NotBefore: noon, Expiry: noon.Add(time.Minute)}
	for kid, alg := range map[string]string{"hs": "HS256", "rs": "RS256", "ed": "EdDSA", "": "HS256"} {
		token, err := Issue(v.config.File, kid, claims)
		if err != nil {
			t.Fatal(err)
		}
		if account, err := v.Verify("Bearer "+token, noon); account != "A7" || err != nil {
			t.Errorf("%s: %q, %v", kid, account, err)
		}
		if _, err := v.Verify("Bearer "+token, noon.Add(-time.Second)); err != error(errNotYet) {
			t.Errorf("%s: %v", kid, err)
		}
		if _, err := v.Verify("Bearer "+token, noon.Add(time.Minute)); err != error(errExpired) {
			t.Errorf("%s: %v", kid, err)
		}
		head, _, _ := strings.Cut(token, ".")
		text, _ := b64.DecodeString(head)
		var header struct{ Alg, Kid, Typ string }
		if err := json.Unmarshal(text, &header); err != nil || header.Alg != alg || header.Typ != "JWT" || kid != "" && header.Kid != kid {
			t.Errorf("%s: %s", kid, text)
		}
	}
}

func TestIssueRefuses(t *testing.T) {
	public, both, none := t.TempDir()+"/public", t.TempDir()+"/both", t.TempDir()+"/none"
	write(t, public, jwks(edKey("ed", false)))
	write(t, both, jwks(rsaKey("rs", made().rsa, false), octKey("hs", made().secret)))
	write(t, none, jwks())
	good := Claims{Account: "A1", Expiry: noon}
	for _, c := range []struct {
		file, kid string
		claims    Claims
		says      string
	}{
		{both, "", good, ""},
		{both, "rs", good, `the key with kid "rs" is a public one`},
		{both, "x", good, `unknown kid "x"; there are hs`},
		{public, "", good, "no key here can sign"},
		{none, "", good, "there is no key in it"},
		{both + "x", "", good, "cannot be read"},
		{both, "", Claims{Account: "A 1", Expiry: noon}, `"A 1" is not an account`},
		{both, "", Claims{Account: "A1"}, "needs a time when it expires"},
	} {
		_, err := Issue(c.file, c.kid, c.claims)
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s %s: %v, want %q", c.file, c.kid, err, c.says)
		}
	}
}
