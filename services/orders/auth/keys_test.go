package auth

import (
	"crypto/rand"
	"crypto/rsa"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A key that cannot be used is named, and decides about none beside it, before or after.
func TestUnusableKeysAreSkipped(t *testing.T) {
	weak, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	secret := made().secret
	hs, ed, rs := octKey("hs", secret), edKey("ed", false), rsaKey("rs", made().rsa, false)
	without := func(member string) string {
		return strings.Replace(hs, member, `"x":`, 1)
	}
	with := func(key, members string) string { return strings.Replace(key, "{", "{"+members+",", 1) }
	even := &rsa.PrivateKey{PublicKey: rsa.PublicKey{N: made().rsa.N, E: 65536}}
	for _, c := range []struct{ text, says string }{
		{`1`, "key 1: it is not a JSON object"},
		{`null`, "key 1: it is not a JSON object"},
		{`[]`, "key 1: it is not a JSON object"},
		{`{"kty":"oct","kid":1}`, "key 1: kid is not a string"},
		{with(hs, `"use":["sig"]`), `key 1 (kid "hs"): use is not a string`},
		{strings.Replace(hs, `"HS256"`, `256`, 1), `key 1 (kid "hs"): alg is not a string`},
		{without(`"kty":`), `key 1 (kid "hs"): kty is missing`},
		{without(`"kid":`), `key 1: kid is missing`},
		{without(`"k":`), `key 1 (kid "hs"): its values cannot be read`},
		{octKey("", secret), `key 1: kid is missing`},
		{octKey(strings.Repeat("k", 257), secret), `key 1 (kid "` + strings.Repeat("k", 200) + `..."): its kid has more than 256 bytes`},
		{octKey("short", secret[1:]), `key 1 (kid "short"): its secret has 248 bits; HS256 needs 256 or more`},
		{octKey("empty", nil), `key 1 (kid "empty"): its `},
		{rsaKey("weak", weak, false), `key 1 (kid "weak"): its modulus has 1024 bits; RS256 needs 2048 or more`},
		{rsaKey("weak", weak, true), `key 1 (kid "weak"): its modulus has 1024 bits; RS256 needs 2048 or more`},
		{strings.Replace(rsaKey("even", even, false), "AQAB", "AQAA", 1), `key 1 (kid "even"): its modulus or exponent is not one of RSA`},
		{strings.Replace(rs, "AQAB", "AQ", 1), `key 1 (kid "rs"): its values cannot be read`},
		{strings.Replace(rs, "AQAB", "!", 1), `key 1 (kid "rs"): its values cannot be read`},
		{strings.Replace(rs, "RS256", "PS256", 1), `key 1 (kid "rs"): alg is "PS256"; with kty RSA it is RS256`},
		{strings.Replace(rs, "RS256", "RSA-OAEP-256", 1), `key 1 (kid "rs"): alg is "RSA-OAEP-256"`},
		{strings.Replace(hs, "HS256", "HS512", 1), `key 1 (kid "hs"): alg is "HS512"; with kty oct it is HS256`},
		{strings.Replace(hs, "HS256", "none", 1), `key 1 (kid "hs"): alg is "none"; with kty oct it is HS256`},
		{strings.Replace(hs, `"oct"`, `"RSA"`, 1), `key 1 (kid "hs"): alg is "HS256"; with kty RSA it is RS256`},
		{strings.Replace(ed, "Ed25519", "X25519", 1), `key 1 (kid "ed"): crv is "X25519"; with kty OKP it is Ed25519`},
		{strings.Replace(ed, `"crv":"Ed25519",`, "", 1), `key 1 (kid "ed"): crv is ""`},
		{`{"kty":"EC","alg":"ES256","kid":"ec","crv":"P-256","x":"AA","y":"AA"}`, `key 1 (kid "ec"): kty is "EC"; there are oct`},
		{with(hs, `"use":"enc"`), `key 1 (kid "hs"): use is "enc"`},
		{with(rs, `"key_ops":["encrypt","wrapKey"]`), `key 1 (kid "rs"): key_ops is without verify`},
		{with(rs, `"key_ops":"verify"`), `key 1 (kid "rs"): key_ops is not an array of strings`},
		{with(rs, `"x5c":["AAAA"]`), `key 1 (kid "rs"): its values cannot be read`},
		{with(rs, `"x5c":"AAAA"`), `key 1 (kid "rs"): its values cannot be read`},
		{with(rs, `"x5t":"AAAA"`), `key 1 (kid "rs"): its values cannot be read`},
		{with(rs, `"x5t#S256":7`), `key 1 (kid "rs"): its values cannot be read`},
		{with(rs, `"kid":"rs"`), `key 1 (kid "rs"): its values cannot be read`}, // RFC 7517, 4: names are unique
	} {
		ring, err := parseKeys([]byte(jwks(c.text, octKey("good", secret))))
		switch {
		case err != nil || len(ring.keys) != 1 || len(ring.byID["good"]) != 1:
			t.Errorf("%s decides about its neighbour: %v, %+v", c.text, err, ring)
		case len(ring.skipped) != 1 || !strings.HasPrefix(ring.skipped[0], c.says):
			t.Errorf("%s: %q, want %s", c.text, ring.skipped, c.says)
		case strings.Contains(ring.reasons(), b64.EncodeToString(secret)):
			t.Errorf("the reason repeats a secret: %s", ring.reasons())
		}
		if ring, err = parseKeys([]byte(jwks(ed, c.text))); err != nil || len(ring.keys) != 1 {
			t.Errorf("%s decides about the key before it: %v", c.text, err)
		}
		if v, err := openFile(t, jwks(c.text)); err == nil || !strings.Contains(err.Error(), "no key in it can be used: "+c.says) {
			t.Errorf("%s alone: %v", c.text, err)
			if v != nil {
				v.Close()
			}
		}
	}
}

// openFile opens a file with this text.
func openFile(t *testing.T, text string) (*Verifier, error) {
	file := filepath.Join(t.TempDir(), "jwks.json")
	write(t, file, text)
	return Open(completed(Config{File: file}))
}

func TestUsableKeys(t *testing.T) {
	hs, ed, rs := octKey("hs", made().secret), edKey("ed", false), rsaKey("rs", made().rsa, false)
	for _, text := range []string{
		allKeys(),
		"\ufeff" + jwks(hs, ed, rs),
		strings.Replace(jwks(hs, ed, rs), "{", `{"KEYS":7,"Keys":[],"iss":"x","keys":null,`, 1), // RFC 7517, 5: unknown members are ignored; the last of two counts
		jwks(strings.Replace(hs, `"alg":"HS256",`, "", 1), strings.Replace(ed, `"alg":"EdDSA",`, `"alg":null,`, 1), strings.Replace(rs, `"alg":"RS256",`, `"KTY":"EC",`, 1)),
		jwks(strings.Replace(hs, "{", `{"use":"sig","key_ops":["sign","verify"],`, 1), strings.Replace(ed, "{", `{"use":null,"key_ops":["verify"],`, 1), strings.Replace(rs, "{", `{"key_ops":null,"nbf":7,"x5u":"https://example.test/",`, 1)),
	} {
		v := opened(t, text, Config{})
		for _, header := range []string{hsHeader, rsHeader, edHeader} {
			if account, err := v.Verify("Bearer "+signed(header, goodClaims("")), noon); account != "A1" || err != nil {
				t.Errorf("%s: %s: %q, %v", text, header, account, err)
			}
		}
	}
}

// RFC 7517, 4.5: kids need not differ. Each of the keys that have one is tried.
func TestKeysOfOneID(t *testing.T) {
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{octKey("k", []byte(strings.Repeat("z", 32))), rsaKey("k", other, false), `{"kty":"EC","kid":"k"}`, edKey("k", false), rsaKey("k", made().rsa, false), octKey("k", made().secret)}
	v := opened(t, jwks(all...), Config{Cache: "digest"})
	for _, alg := range []string{"HS256", "RS256", "EdDSA"} {
		token := signed(fmt.Sprintf(`{"alg":%q,"kid":"k"}`, alg), goodClaims(""))
		if account, err := v.Verify("Bearer "+token, noon); account != "A1" || err != nil {
			t.Errorf("%s: %q, %v", alg, account, err)
		}
	}
	v = opened(t, jwks(all[:3]...), Config{})
	for alg, want := range map[string]error{"HS256": errSignature, "RS256": errSignature, "EdDSA": errAlgorithm} {
		if _, err := v.Verify("Bearer "+signed(fmt.Sprintf(`{"alg":%q,"kid":"k"}`, alg), goodClaims("")), noon); err != want {
			t.Errorf("%s: %v, want %v", alg, err, want)
		}
	}
}

func TestNoJWKS(t *testing.T) {
	hs := octKey("hs", made().secret)
	for _, c := range []struct{ text, says string }{
		{``, "this is not a JWKS: unexpected end"},
		{`{}`, `this is not a JWKS: it has no array "keys"`},
		{`{"keys":null}`, `this is not a JWKS: it has no array "keys"`},
		{`{"keys":{"a":` + hs + `}}`, `this is not a JWKS: it has no array "keys"`},
		{`{"Keys":[` + hs + `]}`, `this is not a JWKS: it has no array "keys"`},
		{hs, `this is not a JWKS: it has no array "keys"`},
		{`[` + hs + `]`, "this is not a JWKS"},
		{`null`, "this is not a JWKS"},
		{jwks(hs)[:60], "this is not a JWKS"},
		{jwks(hs) + "x", "this is not a JWKS"},
	} {
		if _, err := parseKeys([]byte(c.text)); err == nil || !strings.HasPrefix(err.Error(), c.says) {
			t.Errorf("%s: %v, want %s", c.text, err, c.says)
		}
	}
	if _, err := openFile(t, jwks()); err == nil || !strings.Contains(err.Error(), "there is no key in it") {
		t.Errorf("an empty set: %v", err)
	}
}

// testdata/sets are sets as identity providers publish them, made with pyca/cryptography and
// jwcrypto, and a token of each, signed by joserfc.
func TestProviders(t *testing.T) {
	for name, skipped := range map[string]int{"keycloak": 3, "auth0": 1, "entra": 0, "google": 0, "own": 6} {
		text, err := os.ReadFile("testdata/sets/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		token, err := os.ReadFile("testdata/sets/" + name + ".token")
		if err != nil {
			t.Fatal(err)
		}
		var log buffer
		v := opened(t, string(text), Config{Log: slog.New(slog.NewTextHandler(&log, nil))})
		if account, err := v.Verify("Bearer "+strings.TrimSpace(string(token)), noon); account != "A7" || err != nil {
			t.Errorf("%s: %q, %v", name, account, err)
		}
		lines := strings.Count(log.String(), "keys of the file were skipped")
		if says := fmt.Sprintf("skipped=%d ", skipped); lines != min(1, skipped) || skipped > 0 && !strings.Contains(log.String(), says) {
			t.Errorf("%s: the log says %q, want %s", name, log.String(), says)
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
	for i := range keys {
		keys[i] = fmt.Sprintf(`{"kty":"%0999d","kid":"%0256d"}`, i, i)
	}
	ring, err := parseKeys([]byte(jwks(keys[1:]...)))
	if err != nil {
		t.Fatal(err)
	}
	if text := ring.reasons(); len(text) > 10_000 || !strings.HasSuffix(text, "; and 990 more") {
		t.Errorf("%d bytes name the keys: %.200s", len(text), text)
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
	f.Add([]byte(`{"keys":[null,{"kty":"oct","alg":"HS256","kid":"","k":""},7,{"kty":"EC"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		ring, err := parseKeys(text)
		if err != nil {
			return
		}
		if len(ring.reasons()) > maxNamed*1100 {
			t.Fatalf("%d bytes name the skipped keys", len(ring.reasons()))
		}
		for _, k := range ring.keys {
			if k.id == "" || k.public == nil || algorithmOf["oct"] != k.algorithm && algorithmOf["RSA"] != k.algorithm && algorithmOf["OKP"] != k.algorithm || len(ring.byID[k.id]) == 0 {
				t.Fatalf("accepted %+v", k)
			}
			if secret, ok := k.public.([]byte); ok && len(secret) < 32 {
				t.Fatalf("a secret of %d bytes", len(secret))
			}
		}
	})
}
