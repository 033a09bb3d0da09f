package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/valyala/fasthttp"
)

var secret = []byte("an example that is 32 bytes long")

func keyFile(t *testing.T) string {
	t.Helper()
	text, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: secret, KeyID: "k1", Algorithm: "HS256"}}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "jwks.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func sign(t *testing.T, kid string, alg jose.SignatureAlgorithm, key []byte, c jwt.Claims) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, (&jose.SignerOptions{}).WithHeader("kid", kid))
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(c).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func TestVerify(t *testing.T) {
	keys, err := readKeys(keyFile(t))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	later, before := jwt.NewNumericDate(now.Add(time.Hour)), jwt.NewNumericDate(now.Add(-time.Hour))
	good := jwt.Claims{Subject: "A1", Expiry: later}
	for name, c := range map[string]struct {
		token string
		want  string // "": it is refused
	}{
		"good":            {sign(t, "k1", jose.HS256, secret, good), "A1"},
		"another secret":  {sign(t, "k1", jose.HS256, []byte(strings.Repeat("x", 32)), good), ""},
		"another key":     {sign(t, "k2", jose.HS256, secret, good), ""},
		"another alg":     {sign(t, "k1", jose.HS512, append(secret, secret...), good), ""},
		"expired":         {sign(t, "k1", jose.HS256, secret, jwt.Claims{Subject: "A1", Expiry: before}), ""},
		"not yet":         {sign(t, "k1", jose.HS256, secret, jwt.Claims{Subject: "A1", Expiry: later, NotBefore: later}), ""},
		"never expires":   {sign(t, "k1", jose.HS256, secret, jwt.Claims{Subject: "A1"}), ""},
		"no subject":      {sign(t, "k1", jose.HS256, secret, jwt.Claims{Expiry: later}), ""},
		"not even tokens": {"a.b.c", ""},
	} {
		got, err := verify(keys, c.token, now)
		if (err == nil) != (c.want != "") || err == nil && got != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestReadKeys(t *testing.T) {
	file := filepath.Join(t.TempDir(), "jwks.json")
	for _, bad := range []string{"", "{", `{"keys":[]}`} {
		if err := os.WriteFile(file, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readKeys(file); err == nil {
			t.Errorf("%q was read as keys", bad)
		}
	}
	if _, err := readKeys(file + ".not"); err == nil {
		t.Error("a file that is not there was read")
	}
}

// What is refused never comes to the database: there is none here.
func TestRefusals(t *testing.T) {
	keys, err := readKeys(keyFile(t))
	if err != nil {
		t.Fatal(err)
	}
	s := server{keys: keys}
	token := sign(t, "k1", jose.HS256, secret, jwt.Claims{Subject: "A1", Expiry: jwt.NewNumericDate(time.Now().Add(time.Hour))})
	for _, c := range []struct {
		method, uri, authorization string
		status                     int
	}{
		{"GET", "/other", "Bearer " + token, 404}, {"POST", "/api/v1/order?uid=1", "Bearer " + token, 405},
		{"GET", "/api/v1/order?uid=1", "", 401}, {"GET", "/api/v1/order?uid=1", "Bearer " + token + "x", 401},
		{"GET", "/api/v1/order?uid=1", "Basic " + token, 401},
		{"GET", "/api/v1/order", "Bearer " + token, 400}, {"GET", "/api/v1/order?uid=0", "Bearer " + token, 400},
		{"GET", "/api/v1/order?uid=9223372036854775808", "Bearer " + token, 400},
	} {
		var ctx fasthttp.RequestCtx
		ctx.Request.Header.SetMethod(c.method)
		ctx.Request.SetRequestURI(c.uri)
		ctx.Request.Header.Set("Authorization", c.authorization)
		s.handle(&ctx)
		var answer struct{ Error string }
		if err := json.Unmarshal(ctx.Response.Body(), &answer); err != nil || answer.Error == "" || ctx.Response.StatusCode() != c.status {
			t.Errorf("%s %s: %d %s, want %d", c.method, c.uri, ctx.Response.StatusCode(), ctx.Response.Body(), c.status)
		}
		if challenged := len(ctx.Response.Header.Peek("WWW-Authenticate")) > 0; challenged != (c.status == 401) {
			t.Errorf("%s %s: WWW-Authenticate %q", c.method, c.uri, ctx.Response.Header.Peek("WWW-Authenticate"))
		}
	}
}
