package auth

import (
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"strings"
	"testing"
)

func TestParseKeys(t *testing.T) {
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	secret := made().secret
	hs := octKey("hs", secret)
	without := func(member string) string {
		return strings.Replace(hs, member, `"x":`, 1)
	}
	for _, c := range []struct{ text, says string }{ // "": accepted
		{allKeys(), ""},
		{jwks(octKey("a", secret), rsaKey("b", made().rsa, true), edKey("c", true)), ""},
		{`{"keys":[]}`, ""},
		{jwks(strings.Replace(hs, `"kty"`, `"use":"sig","kty"`, 1)), ""},

		{``, "this is not a JWKS: unexpected end"},
		{`{}`, `this is not a JWKS: it has no member "keys"`},
		{`{"keys":null}`, `this is not a JWKS: it has no member "keys"`},
		{hs, `this is not a JWKS: it has no member "keys"`},
		{`[` + hs + `]`, "this is not a JWKS"},
		{jwks(`1`), "key 1: it is not a JSON object"},
		{jwks(hs, `{"kty":"oct","kid":1}`), "key 2: it is not a JSON object"},
		{jwks(without(`"kty":`)), `key 1 (kid "hs"): kty is missing`},
		{jwks(without(`"alg":`)), `key 1 (kid "hs"): alg is missing; it is HS256 for oct`},
		{jwks(without(`"kid":`)), `key 1: kid is missing`},
		{jwks(without(`"k":`)), `key 1 (kid "hs"): its values cannot be read`},
		{jwks(octKey("", secret)), `key 1: kid is missing`},
		{jwks(octKey(strings.Repeat("k", 257), secret)), `key 1: its kid has more than 256 bytes`},
		{jwks(edKey("a", false), hs, octKey("a", secret)), `key 3 (kid "a"): another key has this kid`},
		{jwks(octKey("short", secret[1:])), `key 1 (kid "short"): its secret has 248 bits; HS256 needs 256 or more`},
		{jwks(octKey("empty", nil)), `key 1 (kid "empty"): its `},
		{jwks(rsaKey("weak", weak, false)), `key 1 (kid "weak"): its modulus has 1024 bits; RS256 needs 2048 or more`},
		{jwks(rsaKey("weak", weak, true)), `key 1 (kid "weak"): its modulus has 1024 bits; RS256 needs 2048 or more`},
		{jwks(strings.Replace(hs, "HS256", "HS512", 1)), `key 1 (kid "hs"): alg is "HS512"; with kty oct it is HS256`},
		{jwks(strings.Replace(hs, "HS256", "none", 1)), `key 1 (kid "hs"): alg is "none"; with kty oct it is HS256`},
		{jwks(strings.Replace(hs, `"oct"`, `"RSA"`, 1)), `key 1 (kid "hs"): alg is "HS256"; with kty RSA it is RS256`},
		{jwks(strings.Replace(edKey("ed", false), "Ed25519", "X25519", 1)), `key 1 (kid "ed"): its values`},
		{jwks(`{"kty":"EC","alg":"ES256","kid":"ec","crv":"P-256","x":"AA","y":"AA"}`), `key 1 (kid "ec"): kty "EC" is not known here; there are oct`},
		{jwks(strings.Replace(hs, `"kty"`, `"use":"enc","kty"`, 1)), `key 1 (kid "hs"): use is "enc"`},
	} {
		ring, err := parseKeys([]byte(c.text))
		switch {
		case c.says == "" && (err != nil || len(ring.keys) != len(ring.byID)):
			t.Errorf("%s: %v", c.text, err)
		case c.says != "" && (err == nil || !strings.HasPrefix(err.Error(), c.says)):
			t.Errorf("%s: %v, want %s", c.text, err, c.says)
		case err != nil && strings.Contains(err.Error(), b64.EncodeToString(secret)):
			t.Errorf("the error repeats a secret: %v", err)
		}
	}
}

func TestKeysAreBounded(t *testing.T) {
	keys := make([]string, maxKeys+1)
	for i := range keys {
		keys[i] = octKey(fmt.Sprint(i), made().secret)
	}
	if _, err := parseKeys([]byte(jwks(keys...))); err == nil || err.Error() != "more than 1000 keys" {
		t.Errorf("%v", err)
	}
	if _, err := parseKeys([]byte(jwks(keys[1:]...))); err != nil {
		t.Errorf("%v", err)
	}
}

// A private key never verifies as such: what is kept for verifying is the public one.
func TestPrivateKeysVerify(t *testing.T) {
	v := opened(t, jwks(rsaKey("rs", made().rsa, true), edKey("ed", true)), Config{})
	for _, header := range []string{rsHeader, edHeader} {
		if account, err := v.Verify("Bearer "+signed(header, goodClaims("")), noon); account != "A1" || err != nil {
			t.Errorf("%s: %q, %v", header, account, err)
		}
	}
}

func FuzzParseKeys(f *testing.F) {
	f.Add([]byte(allKeys()))
	f.Add([]byte(jwks(edKey("ed", true), rsaKey("rs", made().rsa, true))))
	f.Add([]byte(`{"keys":[{"kty":"oct","alg":"HS256","kid":"","k":""}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		ring, err := parseKeys(text)
		if err != nil {
			return
		}
		for _, k := range ring.keys {
			if k.id == "" || k.public == nil || algorithmOf["oct"] != k.algorithm && algorithmOf["RSA"] != k.algorithm && algorithmOf["OKP"] != k.algorithm {
				t.Fatalf("accepted %+v", k)
			}
			if secret, ok := k.public.([]byte); ok && len(secret) < 32 {
				t.Fatalf("a secret of %d bytes", len(secret))
			}
		}
	})
}
