package core

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

	"dyno/services/orders/ordertest"
)

func asksForToken(c *ordertest.Client) {
	uid := c.One(c.Account(1))
	for _, q := range each(c, "x", "", uid) {
		r := c.Do(q)
		c.Refused(r, http.StatusUnauthorized, "")
		if challenge := r.Header.Get("WWW-Authenticate"); challenge != "Bearer" {
			c.T.Errorf("%s: WWW-Authenticate %q", q.Path, challenge)
		}
	}
	for _, other := range []string{"Basic dXNlcjpwYXNz", "Bearer", "Bearer ", c.Ring.Token(c.Account(1))} {
		r := c.Do(ordertest.Request{Path: ordertest.OrderPath(uid), Header: map[string]string{"Authorization": other}})
		c.Refused(r, http.StatusUnauthorized, "")
		if challenge := r.Header.Get("WWW-Authenticate"); !strings.HasPrefix(challenge, "Bearer") {
			c.T.Errorf("%s: WWW-Authenticate %q", other, challenge)
		}
	}
}

func takesTokens(c *ordertest.Client) {
	me := c.Account(1)
	uid := c.One(me)
	several := ordertest.Claims(me)
	several["aud"] = []string{"others", ordertest.Usual.Audience}
	several["nbf"] = time.Now().Add(-time.Hour).Unix()
	for _, token := range []string{
		c.Ring.Sign(c.Ring.Key(ordertest.SecretKey), ordertest.Claims(me)), c.Ring.Sign(c.Ring.Key(ordertest.EdKey), ordertest.Claims(me)), c.Ring.Sign(c.Ring.Key(ordertest.RsaKey), ordertest.Claims(me)),
		c.Ring.Sign(c.Ring.Key(ordertest.EdKey), several),
	} {
		for range 2 { // also when its signature is known
			if r := c.Do(ordertest.Request{Path: ordertest.OrderPath(uid), Token: token}); r.Status != http.StatusOK {
				c.T.Fatalf("%s: %s", token, r)
			}
		}
	}
	if r := c.Do(ordertest.Request{Path: ordertest.OrderPath(uid), Header: map[string]string{"Authorization": "bearer " + c.Ring.Token(me)}}); r.Status != http.StatusOK {
		c.T.Fatalf("schemes are the same in small letters: %s", r)
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
func forged(c *ordertest.Client, me string) map[string]string {
	good := c.Ring.Token(me)
	parts := strings.Split(good, ".")
	secret := c.Ring.Key(ordertest.SecretKey).Key.([]byte)
	public := &c.Ring.Key(ordertest.RsaKey).Key.(*rsa.PrivateKey).PublicKey
	pkix, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		c.T.Fatal(err)
	}
	inPEM := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: pkix})
	shown := c.Ring.Key(ordertest.RsaKey)
	jwk, err := shown.Public().MarshalJSON()
	if err != nil {
		c.T.Fatal(err)
	}
	text := part(object{"alg": "HS512", "kid": ordertest.SecretKey}) + "." + part(ordertest.Claims(me))
	mac := hmac.New(sha512.New, secret)
	mac.Write([]byte(text))
	mine := ordertest.NewEd(ordertest.EdKey) // with the id of theirs
	all := map[string]string{
		"alg none":                      part(object{"alg": "none"}) + "." + part(ordertest.Claims(me)) + ".",
		"alg none for a key":            part(object{"alg": "none", "kid": ordertest.SecretKey}) + "." + part(ordertest.Claims(me)) + ".",
		"alg None":                      part(object{"alg": "None", "kid": ordertest.SecretKey}) + "." + part(ordertest.Claims(me)) + ".",
		"alg none, signature kept":      part(object{"alg": "none", "kid": ordertest.SecretKey}) + "." + parts[1] + "." + parts[2],
		"no alg":                        hs256(object{"kid": ordertest.SecretKey}, ordertest.Claims(me), secret),
		"HS256 with the RSA key in PEM": hs256(object{"alg": "HS256", "kid": ordertest.RsaKey}, ordertest.Claims(me), inPEM),
		"HS256 with the RSA key in DER": hs256(object{"alg": "HS256", "kid": ordertest.RsaKey}, ordertest.Claims(me), pkix),
		"HS256 with the RSA modulus":    hs256(object{"alg": "HS256", "kid": ordertest.RsaKey}, ordertest.Claims(me), public.N.Bytes()),
		"HS256 with the RSA key as JWK": hs256(object{"alg": "HS256", "kid": ordertest.RsaKey}, ordertest.Claims(me), jwk),
		"HS256 with an empty secret":    hs256(object{"alg": "HS256", "kid": ordertest.SecretKey}, ordertest.Claims(me), nil),
		"HS512 with a key for HS256":    text + "." + part(mac.Sum(nil)),
		"HS256 says RS256":              hs256(object{"alg": "RS256", "kid": ordertest.SecretKey}, ordertest.Claims(me), secret),
		"a secret for another id":       hs256(object{"alg": "HS256", "kid": ordertest.EdKey}, ordertest.Claims(me), secret),
		"an unknown id":                 hs256(object{"alg": "HS256", "kid": "unknown"}, ordertest.Claims(me), secret),
		"an id that is a path":          hs256(object{"alg": "HS256", "kid": "../../../../dev/null"}, ordertest.Claims(me), nil),
		"an id that is SQL":             hs256(object{"alg": "HS256", "kid": "x' UNION SELECT 'key' --"}, ordertest.Claims(me), []byte("key")),
		"an id that is a number":        hs256(object{"alg": "HS256", "kid": 7}, ordertest.Claims(me), secret),
		"its own key in the header":     hs256(object{"alg": "HS256", "kid": "mine", "jwk": object{"kty": "oct", "k": part([]byte("key")), "kid": "mine"}}, ordertest.Claims(me), []byte("key")),
		"its own key elsewhere":         hs256(object{"alg": "HS256", "kid": "mine", "jku": "http://127.0.0.1:1/keys"}, ordertest.Claims(me), []byte("key")),
		"a critical extension":          hs256(object{"alg": "HS256", "kid": ordertest.SecretKey, "crit": []string{"x"}, "x": true}, ordertest.Claims(me), secret),
		"another Ed25519 key, same id":  c.Ring.Sign(mine, ordertest.Claims(me)),
		"another algorithm for the key": c.Ring.Sign(jose.JSONWebKey{Key: ordertest.SlowKey(), KeyID: ordertest.RsaKey, Algorithm: string(jose.PS256)}, ordertest.Claims(me)),
		"another account's signature":   parts[0] + "." + part(ordertest.Claims(me)) + "." + strings.Split(c.Ring.Token("other"), ".")[2],
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
		changed := ordertest.Claims(me)
		change(changed)
		all[name] = c.Ring.Sign(c.Ring.Key(ordertest.SecretKey), changed)
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

func refusesForged(c *ordertest.Client) {
	me := c.Account(1)
	uid := c.One(me)
	for name, token := range forged(c, me) {
		c.T.Log(name)
		r := c.Do(ordertest.Request{Path: ordertest.OrderPath(uid), Token: token})
		c.Refused(r, http.StatusUnauthorized, "")
		const says = `Bearer error="invalid_token", error_description="`
		challenge := r.Header.Get("WWW-Authenticate")
		if description, ok := strings.CutPrefix(challenge, says); !ok || len(description) < 2 || strings.Count(description, `"`) != 1 {
			c.T.Errorf("%s: WWW-Authenticate %q", name, challenge)
		}
	}
	long := ordertest.Claims(me)
	long["more"] = strings.Repeat("x", 100_000)
	r, err := c.Try(ordertest.Request{Path: ordertest.OrderPath(uid), Token: c.Ring.Sign(c.Ring.Key(ordertest.SecretKey), long)})
	if err == nil && r.Status != http.StatusUnauthorized && r.Status != http.StatusRequestHeaderFieldsTooLarge {
		c.T.Fatalf("a token of 100 KB: %s", r)
	}
	c.Order(me, uid) // a good one still is
}

// tokenExpires: a token that was good is not for ever, however well it is known.
func tokenExpires(c *ordertest.Client) {
	me := c.Account(1)
	uid := c.One(me)
	brief := ordertest.Claims(me)
	brief["exp"] = time.Now().Add(2 * time.Second).Unix()
	token := c.Ring.Sign(c.Ring.Key(ordertest.SecretKey), brief)
	good := 0
	ordertest.Await(c.T, "a token to expire", func() bool {
		r := c.Do(ordertest.Request{Path: ordertest.OrderPath(uid), Token: token})
		if r.Status == http.StatusOK {
			good++
			return false
		}
		c.Refused(r, http.StatusUnauthorized, "")
		return true
	})
	if good == 0 {
		c.T.Fatal("it was never good")
	}
}

// rotatesKeys: keys come and go with the file, whatever keys for other programs are beside them,
// and a file that cannot be read changes nothing.
func rotatesKeys(c *ordertest.Client) {
	c.Run()
	me := c.Account(1)
	uid := c.One(me)
	status := func(key jose.JSONWebKey) int {
		return c.Do(ordertest.Request{Path: ordertest.OrderPath(uid), Token: c.Ring.Sign(key, ordertest.Claims(me))}).Status
	}
	old, next := c.Ring.Key(ordertest.SecretKey), ordertest.NewEd("next")
	if got := status(old); got != http.StatusOK {
		c.T.Fatalf("the first key: %d", got)
	}
	if got := status(next); got != http.StatusUnauthorized {
		c.T.Fatalf("a key that is not in the file yet: %d", got)
	}
	c.Ring.Write(old, next)
	ordertest.Await(c.T, "the next key to count", func() bool { return status(next) == http.StatusOK })
	if got := status(old); got != http.StatusOK {
		c.T.Fatalf("the old key, while both are in the file: %d", got)
	}
	c.Ring.Write(ordertest.NewEC("elsewhere"), next)
	ordertest.Await(c.T, "the old key to go", func() bool { return status(old) == http.StatusUnauthorized })
	c.Ring.Spoil()
	for range 50 { // over several times Reload
		if got := status(next); got != http.StatusOK {
			c.T.Fatalf("while the file cannot be read: %d", got)
		}
	}
	same := ordertest.NewSecret("next") // the same id, another key
	c.Ring.Write(same)
	ordertest.Await(c.T, "the key to be replaced", func() bool { return status(same) == http.StatusOK })
	if got := status(next); got != http.StatusUnauthorized {
		c.T.Fatalf("the replaced key: %d", got)
	}
}
