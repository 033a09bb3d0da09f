package hostport

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/http/httpguts"
)

func TestNormal(t *testing.T) {
	for text, want := range map[string]string{
		"http://h":                                  "http://h",
		"HTTPS://Shop.Example:0443":                 "https://shop.example:443",
		"http://h:/a":                               "http://h/a",
		"http://h?x":                                "http://h?x",
		"http://my_hooks.:81/?":                     "http://my_hooks.:81/?",
		"http://h/two words/ä?q=ü ö|\"<>^`{}":       "http://h/two%20words/%C3%A4?q=%C3%BC%20%C3%B6%7C%22%3C%3E%5E%60%7B%7D",
		"http://h/a[1]?b[]=2":                       "http://h/a%5B1%5D?b%5B%5D=2",
		"http://h/%7euser/%2F?a=%20+'(1),;:@/?!$&*": "http://h/%7euser/%2F?a=%20+'(1),;:@/?!$&*",
		"http://h//a/../b":                          "http://h//a/../b",
		"http://Bücher.example/":                    "http://xn--bcher-kva.example/",
		"http://b%C3%BCcher.example/":               "http://xn--bcher-kva.example/",
		"http://例え。テスト:8080/":                       "http://xn--r8jz45g.xn--zckzah:8080/",
		"http://[2001:DB8:0:0::1]:80/":              "http://[2001:db8::1]:80/",
		"http://192.0.2.7:80/":                      "http://192.0.2.7:80/",
		"http://7.0x.4you/":                         "http://7.0x.4you/",
	} {
		got, err := Normal(text)
		if got != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", text, got, err, want)
		}
	}
	for text, says := range map[string]string{
		"": "empty", "h": "http", "ftp://h/": "http", "//h/": "http", "http:h": "http", "http:///x": "no host", "http://:80/": "no host", "http://?a": "no host",
		" http://h": "space", "http://h/ ": "space", "http://h\t/": "control", "http://h/\r\nA: b": "control", "http://h/\x7f": "control", "http://h/\xff": "UTF-8",
		"http://h\\@g/": "backslash", "http://h/a\\b": "backslash", "http://h/a#b": "fragment",
		"http://u@h/": "user", "http://u:p@h/": "user", "http://@h/": "user",
		"http://h/100%": "%25", "http://h/%zz": "%25", "http://h/?%4": "%25", "http://h%/": "escape", "http://h%00/": "no name",
		"http://h:99999/": "no port", "http://h:0/": "no port", "http://h:00/": "no port", "http://h:-1/": "no port", "http://h:http/": "no port",
		"http://[fe80::1%25eth0]/": "zone", "http://[fe80::1%eth0]/": "zone", "http://[::g]/": "IPv6", "http://[1.2.3.4]/": "IPv6", "http://::1/": "no host", "http://2001:db8::1/": "brackets",
		"http://[::1]x/": "host and port", "http://[::1/": "brackets", "http://a..b/": "empty part", "http://.a/": "empty part", "http://a b/": "no name", "http://a\"b/": "no name", "http://a|b/": "no name",
		"http://" + strings.Repeat("a", 64) + "/": "more than 63", "http://" + strings.Repeat("a.", 130) + "/": "at most 253", "http://a\u200b_ü/": "ASCII",
		"http://192.518/": "four decimal", "http://3221225994/": "four decimal", "http://0300.0.2.10/": "four decimal", "http://0xC000020A/": "four decimal", "http://hooks.0x/": "four decimal",
		"http://192.0.2.10./": "four decimal", "http://192.0.2.256": "four decimal", "http://1.192.0.2.10/": "four decimal", "http://%31９2.1/": "four decimal",
	} {
		if got, err := Normal(text); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %q, %v, want an error with %q", text, got, err, says)
		}
	}
}

// What Normal returns stays as it is, and net/url and net/http send it as it is, as a valid request
// line and Host.
func FuzzNormal(f *testing.F) {
	for _, text := range []string{"http://h/a b?c|d", "https://Bücher.example:080/%41", "http://[::1]:9/", "http://%C3%A4/", "http://h?%", "http://h/#", "http://ß。x"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		normal, err := Normal(text)
		if err != nil {
			return
		}
		if again, err := Normal(normal); again != normal || err != nil {
			t.Fatalf("%q, again %q, %v", normal, again, err)
		}
		u, err := url.Parse(normal)
		if err != nil || u.String() != normal || u.User != nil || u.Fragment != "" || !httpguts.ValidHostHeader(u.Host) || strings.ContainsAny(u.Host, "%@/ \"<>\\") {
			t.Fatalf("%q: %+v, %v", normal, u, err)
		}
		target := strings.TrimPrefix(normal, u.Scheme+"://"+u.Host)
		if !strings.HasPrefix(target, "/") {
			target = "/" + target
		}
		if u.RequestURI() != target || strings.ContainsFunc(target, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
			t.Fatalf("%q is sent as %q", target, u.RequestURI())
		}
		if r, err := http.NewRequest(http.MethodPost, normal, nil); err != nil || r.Host != u.Host {
			t.Fatalf("%+v, %v", r, err)
		}
	})
}
