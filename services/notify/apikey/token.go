package apikey

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"dyno/services/notify/topic"
)

// A stream token lets a browser's EventSource or WebSocket in, which cannot send an Authorization
// header. It stands in the URL, so it is good for streams of some types only, and for a short time:
// BASE64URL(claims).BASE64URL(HMAC-SHA256 of that). The key of the HMAC is this process's own, so
// tokens end with it.
const (
	tokensPath     = "/v1/stream-tokens"
	tokenParameter = "token"

	defaultLife = 5 * time.Minute
	maxLife     = time.Hour
	maxTypes    = 2048    // bytes of a token's types: all of it stands in a URL
	maxAsk      = 8 << 10 // bytes
)

// claims is what a token says. Its key must still be in force.
type claims struct {
	Key     []byte   `json:"k"` // hash of the API key that it was made with
	Types   []string `json:"t,omitempty"`
	Expires int64    `json:"e"` // s since 1970
}

var (
	errToken   = errors.New("this stream token was not made here, or notifyd was started since; POST " + tokensPath + " with an API key makes one")
	errExpired = errors.New("this stream token has expired; POST " + tokensPath + " with an API key makes another")
)

func (k *Keys) sign(c claims) string {
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // it holds nothing that cannot be encoded
	}
	body := base64.RawURLEncoding.EncodeToString(text)
	return body + "." + k.mac(body)
}

func (k *Keys) mac(body string) string {
	h := hmac.New(sha256.New, k.secret[:])
	io.WriteString(h, body)
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}

// verify reads a token that was made here and has not expired.
func (k *Keys) verify(token string, now time.Time) (c claims, err error) {
	body, mac, _ := strings.Cut(token, ".")
	if !hmac.Equal([]byte(mac), []byte(k.mac(body))) {
		return c, errToken
	}
	text, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil || json.Unmarshal(text, &c) != nil || len(c.Key) != sha256.Size || !k.inForce([sha256.Size]byte(c.Key)) {
		return c, errToken
	}
	if now.Unix() >= c.Expires {
		return c, errExpired
	}
	return c, nil
}

// inForce reports whether the file still has the key of a hash.
func (k *Keys) inForce(hash [sha256.Size]byte) bool {
	return slices.ContainsFunc(*k.entries.Load(), func(e entry) bool { return e.hash == hash })
}

// tokenOf returns the token in a stream's URL, and the rest of its query. Other requests take none.
func tokenOf(r *http.Request) (token string, rest url.Values) {
	if !isStream(r) || !strings.Contains(r.URL.RawQuery, tokenParameter+"=") {
		return "", nil
	}
	rest = r.URL.Query()
	token = rest.Get(tokenParameter)
	rest.Del(tokenParameter)
	return token, rest
}

// admit passes on a stream whose token is good, without the token, so that what comes after cannot
// show it.
func (k *Keys) admit(w http.ResponseWriter, r *http.Request, token string, rest url.Values, next http.Handler) {
	c, err := k.verify(token, time.Now())
	if err != nil {
		refuse(w, challengeWrong, err.Error())
		return
	}
	if !rest.Has("types") && len(c.Types) > 0 {
		rest.Set("types", strings.Join(c.Types, ","))
	}
	if !covers(c.Types, strings.Split(strings.Join(rest["types"], ","), ",")) {
		answer(w, http.StatusForbidden, map[string]string{"error": "this stream token is for the types " + strings.Join(c.Types, ",") + " only", "field": "types"})
		return
	}
	inside := *r.URL
	inside.RawQuery = rest.Encode()
	r = r.WithContext(r.Context()) // a copy
	r.URL, r.RequestURI = &inside, inside.RequestURI()
	k.serve(w, r, next, [sha256.Size]byte(c.Key), time.Unix(c.Expires, 0))
}

// covers reports whether a token for some types is good for others. What it is for all of covers
// all.
func covers(types, wanted []string) bool {
	if len(types) == 0 || slices.Contains(types, "*") {
		return true
	}
	return !slices.ContainsFunc(wanted, func(t string) bool { return !slices.Contains(types, t) })
}

// issue answers POST /v1/stream-tokens of a client that has a key.
func (k *Keys) issue(w http.ResponseWriter, r *http.Request, hash [sha256.Size]byte) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		answer(w, http.StatusMethodNotAllowed, map[string]string{"error": "a stream token is made with POST"})
		return
	}
	ask := struct {
		Types   []string `json:"types"`
		Seconds *int     `json:"expires_in"`
	}{}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxAsk))
	d.DisallowUnknownFields()
	if err := d.Decode(&ask); err != nil && err != io.EOF {
		answer(w, http.StatusBadRequest, map[string]string{"error": `send {"types":[..],"expires_in":SECONDS}, or nothing: ` + err.Error()})
		return
	}
	life := defaultLife
	if ask.Seconds != nil {
		life = time.Duration(min(max(*ask.Seconds, 0), int(maxLife/time.Second)+1)) * time.Second
	}
	types := strings.Join(ask.Types, ",")
	switch err := topic.Check(ask.Types); {
	case ask.Types != nil && len(ask.Types) == 0:
		answer(w, http.StatusBadRequest, map[string]string{"error": "types: name one at least; without the field the token is good for all types", "field": "types"})
	case err != nil:
		answer(w, http.StatusBadRequest, map[string]string{"error": "types: " + err.Error(), "field": "types"})
	case len(types) > maxTypes:
		answer(w, http.StatusBadRequest, map[string]string{"error": "types: they have more than 2048 bytes, and stand in a URL; use prefixes such as order.*", "field": "types"})
	case strings.Count(types, ",") != max(len(ask.Types)-1, 0):
		answer(w, http.StatusBadRequest, map[string]string{"error": "types: a type with a comma cannot stand in a URL", "field": "types"})
	case life < time.Second || life > maxLife:
		answer(w, http.StatusBadRequest, map[string]string{"error": "expires_in: give 1 to 3600 seconds", "field": "expires_in"})
	default:
		expires := time.Now().Add(life).Truncate(time.Second).UTC()
		w.Header().Set("Cache-Control", "no-store")
		answer(w, http.StatusCreated, struct {
			Token   string    `json:"token"`
			Types   []string  `json:"types,omitempty"`
			Expires time.Time `json:"expires"`
		}{k.sign(claims{hash[:], ask.Types, expires.Unix()}), ask.Types, expires})
	}
}
