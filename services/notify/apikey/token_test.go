package apikey

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// made asks for a token with a key.
func made(t *testing.T, k *Keys, key, body string) (status int, token string, expires time.Time) {
	t.Helper()
	r := httptest.NewRequest("POST", tokensPath, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+key)
	w := httptest.NewRecorder()
	k.Require(http.NotFoundHandler()).ServeHTTP(w, r)
	var out struct {
		Token   string
		Error   string
		Expires time.Time
	}
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || (out.Token == "") == (w.Code == 201) || (out.Error == "") == (w.Code != 201) {
		t.Fatalf("%s: %d %s", body, w.Code, w.Body)
	}
	return w.Code, out.Token, out.Expires
}

// follow asks for something with a token in the URL and returns the status, what the query became,
// and the error.
func follow(k *Keys, method, target string) (status int, query url.Values, says string) {
	w := httptest.NewRecorder()
	k.Require(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		query, _ = url.ParseQuery(r.URL.RawQuery)
		if strings.Contains(r.RequestURI+r.URL.String(), "token") {
			panic("the token is passed on")
		}
	})).ServeHTTP(w, httptest.NewRequest(method, target, nil))
	return w.Code, query, w.Body.String()
}

func TestStreamTokens(t *testing.T) {
	k, log, _ := opened(t, line("shop", "alpha"))
	_, orders, _ := made(t, k, "alpha", `{"types":["order.*","paid"]}`)
	_, all, _ := made(t, k, "alpha", "")
	_, star, _ := made(t, k, "alpha", `{"types":["*"],"expires_in":3600}`)
	_, other, _ := made(t, k, "alpha", `{"types":["x"]}`)
	body, _, _ := strings.Cut(orders, ".")
	_, mac, _ := strings.Cut(other, ".")
	for _, c := range []struct {
		method, target string
		status         int
		types          string
	}{
		{"GET", "/v1/stream?token=" + orders, 200, "order.*,paid"},
		{"GET", "/v1/stream?after=3&token=" + orders + "&types=paid", 200, "paid"},
		{"GET", "/v1/ws?types=paid&types=order.*&token=" + orders, 200, "paid,order.*"},
		{"GET", "/v1/stream?token=" + all, 200, ""},
		{"GET", "/v1/stream?types=any&token=" + star, 200, "any"},
		{"GET", "/v1/stream?types=order.paid&token=" + orders, 403, ""},
		{"GET", "/v1/stream?types=paid,y&token=" + orders, 403, ""},
		{"GET", "/v1/stream?types=&token=" + orders, 403, ""},
		{"GET", "/v1/stream?types=*&token=" + orders, 403, ""},
		{"GET", "/v1/stats?token=" + all, 401, ""},
		{"POST", "/v1/stream?token=" + all, 401, ""},
		{"POST", tokensPath + "?token=" + all, 401, ""},
		{"GET", "/v1/stream?token=", 401, ""},
		{"GET", "/v1/stream?token=" + body, 401, ""},
		{"GET", "/v1/stream?token=" + body + ".", 401, ""},
		{"GET", "/v1/stream?token=" + body + "." + mac, 401, ""},
		{"GET", "/v1/stream?token=x" + orders, 401, ""},
		{"GET", "/v1/stream?token=" + orders + "x", 401, ""},
	} {
		status, query, says := follow(k, c.method, c.target)
		if status != c.status || strings.Join(query["types"], ",") != c.types {
			t.Errorf("%s %s: %d %v %s", c.method, c.target, status, query, says)
		}
	}
	for _, wrong := range []string{`{"types":[]}`, `{"types":["a*"]}`, `{"types":["a,b"]}`, `{"expires_in":0}`, `{"expires_in":3601}`, `{"expires_in":-9223372036854775808}`,
		`{"types":["` + strings.Repeat("a", 250) + strings.Repeat(`","`+strings.Repeat("b", 250), 9) + `"]}`, `{"tipes":[]}`, `[`} {
		if status, _, _ := made(t, k, "alpha", wrong); status != 400 {
			t.Errorf("%s: %d", wrong, status)
		}
	}
	if status, _, _ := made(t, k, "wrong", ""); status != 401 {
		t.Errorf("a token without a key: %d", status)
	}
	if log.String() != "" {
		t.Errorf("logged: %s", log)
	}
}

// A token ends with its time, with the key that it was made with, and with the process that made
// it.
func TestStreamTokensEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, _, path := opened(t, line("shop", "alpha")+line("billing", "beta"))
		_, short, expires := made(t, k, "alpha", `{"expires_in":60}`)
		if d := time.Until(expires); d <= 59*time.Second || d > time.Minute {
			t.Errorf("it expires in %v", d)
		}
		_, long, _ := made(t, k, "alpha", `{"expires_in":3600}`)
		_, others, _ := made(t, k, "beta", `{"expires_in":3600}`)
		time.Sleep(59 * time.Second)
		if status, _, says := follow(k, "GET", "/v1/stream?token="+short); status != 200 {
			t.Errorf("before its time is over: %d %s", status, says)
		}
		time.Sleep(time.Second)
		if status, _, says := follow(k, "GET", "/v1/stream?token="+short); status != 401 || !strings.Contains(says, "expired") {
			t.Errorf("after it: %d %s", status, says)
		}
		watched(t, k)
		write(t, path, line("billing", "beta"))
		look()
		if status, _, _ := follow(k, "GET", "/v1/stream?token="+long); status != 401 {
			t.Errorf("its key was taken out: %d", status)
		}
		if status, _, says := follow(k, "GET", "/v1/stream?token="+others); status != 200 {
			t.Errorf("another key was taken out: %d %s", status, says)
		}
		again, err := Open(path, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		if status, _, _ := follow(again, "GET", "/v1/stream?token="+others); status != 401 {
			t.Errorf("after a start: %d", status)
		}
	})
}

func FuzzToken(f *testing.F) {
	path := filepath.Join(f.TempDir(), "keys.txt")
	if err := os.WriteFile(path, []byte(line("shop", "alpha")), 0o600); err != nil {
		f.Fatal(err)
	}
	k, err := Open(path, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		f.Fatal(err)
	}
	now := time.Unix(1_800_000_000, 0)
	hash := (*k.entries.Load())[0].hash
	good := k.sign(claims{hash[:], []string{"a"}, now.Unix() + 1})
	f.Add(good)
	f.Add(".")
	f.Add("e30." + good)
	f.Fuzz(func(t *testing.T, token string) {
		if _, err := k.verify(token, now); err == nil && token != good {
			t.Errorf("%q passes", token)
		}
	})
}
