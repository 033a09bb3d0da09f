package ordertest

import (
	"crypto/hmac"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/sha512"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
)

func asksForToken(c *client) {
	uid := c.one(c.account(1))
	for _, q := range c.each("x", "", uid) {
		r := c.do(q)
		c.refused(r, http.StatusUnauthorized, "")
		if challenge := r.header.Get("WWW-Authenticate"); challenge != "Bearer" {
			c.t.Errorf("%s: WWW-Authenticate %q", q.path, challenge)
		}
	}
	for _, other := range []string{"Basic dXNlcjpwYXNz", "Bearer", "Bearer ", c.ring.token(c.account(1))} {
		r := c.do(request{path: orderPath(uid), header: map[string]string{"Authorization": other}})
		c.refused(r, http.StatusUnauthorized, "")
		if challenge := r.header.Get("WWW-Authenticate"); !strings.HasPrefix(challenge, "Bearer") {
			c.t.Errorf("%s: WWW-Authenticate %q", other, challenge)
		}
	}
}

func takesTokens(c *client) {
	me := c.account(1)
	uid := c.one(me)
	several := claims(me)
	several["aud"] = []string{"others", env.Audience}
	several["nbf"] = time.Now().Add(-time.Hour).Unix()
	for _, token := range []string{
		c.ring.sign(c.ring.key(secretKey), claims(me)), c.ring.sign(c.ring.key(edKey), claims(me)), c.ring.sign(c.ring.key(rsaKey), claims(me)),
		c.ring.sign(c.ring.key(edKey), several),
	} {
		for range 2 { // also when its signature is known
			if r := c.do(request{path: orderPath(uid), token: token}); r.status != http.StatusOK {
				c.t.Fatalf("%s: %s", token, r)
			}
		}
	}
	if r := c.do(request{path: orderPath(uid), header: map[string]string{"Authorization": "bearer " + c.ring.token(me)}}); r.status != http.StatusOK {
		c.t.Fatalf("schemes are the same in small letters: %s", r)
	}
}

// part is base64url without padding, of a JSON text or bytes.
func part(v any) string {
	if data, ok := v.([]byte); ok {
		return base64.RawURLEncoding.EncodeToString(data)
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic(err) // the suite's own values can be written
	}
	return base64.RawURLEncoding.EncodeToString(data)
}

// hs256 signs whatever header there is with a secret.
func hs256(header, claims map[string]any, secret []byte) string {
	text := part(header) + "." + part(claims)
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(text))
	return text + "." + part(mac.Sum(nil))
}

type object = map[string]any

// forged are tokens for an account that no holder of a key has issued so.
func (c *client) forged(me string) map[string]string {
	good := c.ring.token(me)
	parts := strings.Split(good, ".")
	secret := c.ring.key(secretKey).Key.([]byte)
	public := &c.ring.key(rsaKey).Key.(*rsa.PrivateKey).PublicKey
	pkix, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		c.t.Fatal(err)
	}
	inPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pkix})
	shown := c.ring.key(rsaKey)
	jwk, err := shown.Public().MarshalJSON()
	if err != nil {
		c.t.Fatal(err)
	}
	text := part(object{"alg": "HS512", "kid": secretKey}) + "." + part(claims(me))
	mac := hmac.New(sha512.New, secret)
	mac.Write([]byte(text))
	mine := newEd(edKey) // with the id of theirs
	all := map[string]string{
		"alg none":                      part(object{"alg": "none"}) + "." + part(claims(me)) + ".",
		"alg none for a key":            part(object{"alg": "none", "kid": secretKey}) + "." + part(claims(me)) + ".",
		"alg None":                      part(object{"alg": "None", "kid": secretKey}) + "." + part(claims(me)) + ".",
		"alg none, signature kept":      part(object{"alg": "none", "kid": secretKey}) + "." + parts[1] + "." + parts[2],
		"no alg":                        hs256(object{"kid": secretKey}, claims(me), secret),
		"HS256 with the RSA key in PEM": hs256(object{"alg": "HS256", "kid": rsaKey}, claims(me), inPEM),
		"HS256 with the RSA key in DER": hs256(object{"alg": "HS256", "kid": rsaKey}, claims(me), pkix),
		"HS256 with the RSA modulus":    hs256(object{"alg": "HS256", "kid": rsaKey}, claims(me), public.N.Bytes()),
		"HS256 with the RSA key as JWK": hs256(object{"alg": "HS256", "kid": rsaKey}, claims(me), jwk),
		"HS256 with an empty secret":    hs256(object{"alg": "HS256", "kid": secretKey}, claims(me), nil),
		"HS512 with a key for HS256":    text + "." + part(mac.Sum(nil)),
		"HS256 says RS256":              hs256(object{"alg": "RS256", "kid": secretKey}, claims(me), secret),
		"a secret for another id":       hs256(object{"alg": "HS256", "kid": edKey}, claims(me), secret),
		"an unknown id":                 hs256(object{"alg": "HS256", "kid": "unknown"}, claims(me), secret),
		"an id that is a path":          hs256(object{"alg": "HS256", "kid": "../../../../dev/null"}, claims(me), nil),
		"an id that is SQL":             hs256(object{"alg": "HS256", "kid": "x' UNION SELECT 'key' --"}, claims(me), []byte("key")),
		"an id that is a number":        hs256(object{"alg": "HS256", "kid": 7}, claims(me), secret),
		"its own key in the header":     hs256(object{"alg": "HS256", "kid": "mine", "jwk": object{"kty": "oct", "k": part([]byte("key")), "kid": "mine"}}, claims(me), []byte("key")),
		"its own key elsewhere":         hs256(object{"alg": "HS256", "kid": "mine", "jku": "http://127.0.0.1:1/keys"}, claims(me), []byte("key")),
		"a critical extension":          hs256(object{"alg": "HS256", "kid": secretKey, "crit": []string{"x"}, "x": true}, claims(me), secret),
		"another Ed25519 key, same id":  c.ring.sign(mine, claims(me)),
		"another algorithm for the key": c.ring.sign(jose.JSONWebKey{Key: slowKey(), KeyID: rsaKey, Algorithm: string(jose.PS256)}, claims(me)),
		"another account's signature":   parts[0] + "." + part(claims(me)) + "." + strings.Split(c.ring.token("other"), ".")[2],
		"a changed bit":                 parts[0] + "." + parts[1] + "." + flipped(parts[2]),
		"no signature":                  parts[0] + "." + parts[1] + ".",
		"two parts":                     parts[0] + "." + parts[1],
		"truncated":                     good[:len(good)-6],
		"truncated at the start":        good[6:],
		"a fourth part":                 good + ".x",
		"two tokens":                    good + "," + good,
		"as JSON":                       `{"protected":"` + parts[0] + `","payload":"` + parts[1] + `","signature":"` + parts[2] + `"}`,
		"no base64":                     "a.b.c",
		"dots":                          "..",
	}
	for name, change := range map[string]func(object){
		"expired":                func(o object) { o["exp"] = time.Now().Add(-time.Hour).Unix() },
		"never expires":          func(o object) { delete(o, "exp") },
		"expires at a word":      func(o object) { o["exp"] = "tomorrow" },
		"not valid yet":          func(o object) { o["nbf"] = time.Now().Add(time.Hour).Unix() },
		"for another audience":   func(o object) { o["aud"] = "others" },
		"for no audience":        func(o object) { delete(o, "aud") },
		"from another issuer":    func(o object) { o["iss"] = "https://elsewhere.test" },
		"from no issuer":         func(o object) { delete(o, "iss") },
		"of no account":          func(o object) { delete(o, "sub") },
		"of an empty account":    func(o object) { o["sub"] = "" },
		"of what is no account":  func(o object) { o["sub"] = "a b" },
		"of an account too long": func(o object) { o["sub"] = strings.Repeat("x", 65) },
	} {
		changed := claims(me)
		change(changed)
		all[name] = c.ring.sign(c.ring.key(secretKey), changed)
	}
	return all
}

// flipped changes the first bit of what is in base64url.
func flipped(text string) string {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		panic(err) // the suite's own token
	}
	data[0] ^= 0x80
	return part(data)
}

func refusesForged(c *client) {
	me := c.account(1)
	uid := c.one(me)
	for name, token := range c.forged(me) {
		c.t.Log(name)
		r := c.do(request{path: orderPath(uid), token: token})
		c.refused(r, http.StatusUnauthorized, "")
		const says = `Bearer error="invalid_token", error_description="`
		challenge := r.header.Get("WWW-Authenticate")
		if description, ok := strings.CutPrefix(challenge, says); !ok || len(description) < 2 || strings.Count(description, `"`) != 1 {
			c.t.Errorf("%s: WWW-Authenticate %q", name, challenge)
		}
	}
	long := claims(me)
	long["more"] = strings.Repeat("x", 100_000)
	r, err := c.try(request{path: orderPath(uid), token: c.ring.sign(c.ring.key(secretKey), long)})
	if err == nil && r.status != http.StatusUnauthorized && r.status != http.StatusRequestHeaderFieldsTooLarge {
		c.t.Fatalf("a token of 100 KB: %s", r)
	}
	c.order(me, uid) // a good one still is
}

// tokenExpires: a token that was good is not for ever, however well it is known.
func tokenExpires(c *client) {
	me := c.account(1)
	uid := c.one(me)
	brief := claims(me)
	brief["exp"] = time.Now().Add(2 * time.Second).Unix()
	token := c.ring.sign(c.ring.key(secretKey), brief)
	good := 0
	await(c.t, "a token to expire", func() bool {
		r := c.do(request{path: orderPath(uid), token: token})
		if r.status == http.StatusOK {
			good++
			return false
		}
		c.refused(r, http.StatusUnauthorized, "")
		return true
	})
	if good == 0 {
		c.t.Fatal("it was never good")
	}
}

// rotatesKeys: keys come and go with the file, and a file that cannot be read changes nothing.
func rotatesKeys(c *client) {
	c.run()
	me := c.account(1)
	uid := c.one(me)
	status := func(key jose.JSONWebKey) int {
		return c.do(request{path: orderPath(uid), token: c.ring.sign(key, claims(me))}).status
	}
	old, next := c.ring.key(secretKey), newEd("next")
	if got := status(old); got != http.StatusOK {
		c.t.Fatalf("the first key: %d", got)
	}
	if got := status(next); got != http.StatusUnauthorized {
		c.t.Fatalf("a key that is not in the file yet: %d", got)
	}
	c.ring.write(old, next)
	await(c.t, "the next key to count", func() bool { return status(next) == http.StatusOK })
	if got := status(old); got != http.StatusOK {
		c.t.Fatalf("the old key, while both are in the file: %d", got)
	}
	c.ring.write(next)
	await(c.t, "the old key to go", func() bool { return status(old) == http.StatusUnauthorized })
	c.ring.spoil()
	for range 50 { // over several times Reload
		if got := status(next); got != http.StatusOK {
			c.t.Fatalf("while the file cannot be read: %d", got)
		}
	}
	same := newSecret("next") // the same id, another key
	c.ring.write(same)
	await(c.t, "the key to be replaced", func() bool { return status(same) == http.StatusOK })
	if got := status(next); got != http.StatusUnauthorized {
		c.t.Fatalf("the replaced key: %d", got)
	}
}
