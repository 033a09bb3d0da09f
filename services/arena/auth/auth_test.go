package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dyno/parts/seconds"
)

var now = time.Unix(1_000_000, 0)

// signed is a token of any header and claims.
func signed(k Key, header, claims string) string {
	text := base64.RawURLEncoding.EncodeToString([]byte(header)) + "." + base64.RawURLEncoding.EncodeToString([]byte(claims))
	sum := hmac.New(sha256.New, k)
	sum.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(sum.Sum(nil))
}

const ada = `{"name":"ada","exp":1000001}`

func TestCheck(t *testing.T) {
	k := New()
	good := signed(k, `{"alg":"HS256"}`, ada)
	if c, err := k.Check(good, now); err != nil || c.Name != "ada" {
		t.Errorf("%+v, %v", c, err)
	}
	if _, err := k.Check(good, now.Add(time.Second)); err == nil || !strings.Contains(err.Error(), "expired") {
		t.Errorf("after its time: %v", err)
	}
	for _, far := range []string{"1000001.5", "1.0e7", "6e30", "77777777777777777777777"} { // as other programs write dates
		if c, err := k.Check(signed(k, `{"alg":"HS256"}`, `{"name":"eve","exp":`+far+`}`), now); err != nil || c.Name != "eve" {
			t.Errorf("exp %s: %+v, %v", far, c, err)
		}
	}
	unsigned := signed(k, `{"alg":"none"}`, ada)
	for name, token := range map[string]string{
		"another key":     signed(New(), `{"alg":"HS256"}`, ada),
		"no algorithm":    unsigned,
		"no signature":    unsigned[:strings.LastIndexByte(unsigned, '.')+1],
		"two parts":       unsigned[:strings.LastIndexByte(unsigned, '.')],
		"HS512":           signed(k, `{"alg":"HS512"}`, ada),
		"other claims":    good[:strings.IndexByte(good, '.')] + unsigned[strings.IndexByte(unsigned, '.'):],
		"no end":          signed(k, `{"alg":"HS256"}`, `{"name":"ada"}`),
		"a long name":     signed(k, `{"alg":"HS256"}`, `{"name":"`+strings.Repeat("x", MaxName+1)+`","exp":1000001}`),
		"a name with NUL": signed(k, `{"alg":"HS256"}`, `{"name":"\u0000","exp":1000001}`),
		"nothing":         "",
	} {
		if c, err := k.Check(token, now); err == nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func TestOpen(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	first, err := Open(file)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := Open(file); err != nil || !hmac.Equal(first, again) {
		t.Errorf("%v", err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	for _, text := range []string{"", "00", strings.Repeat("0", 66), "key"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(file); err == nil {
			t.Errorf("%q is a key", text)
		}
	}
}

// No text but those that a key has signed is a token of it.
func FuzzCheck(f *testing.F) {
	k, other := Key(strings.Repeat("k", keyBytes)), Key(strings.Repeat("o", keyBytes))
	token, err := other.Issue(Claims{Name: "ada", Exp: seconds.Date(now.Unix() + 1)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(token)
	f.Add(signed(other, `{"alg":"none"}`, ada))
	f.Add("..")
	f.Add(`{"payload":"","signatures":[]}`)
	f.Fuzz(func(t *testing.T, token string) {
		if c, err := k.Check(token, now); err == nil {
			t.Errorf("%q: %+v", token, c)
		}
	})
}
