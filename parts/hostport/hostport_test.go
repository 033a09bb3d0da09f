package hostport

import (
	"net/url"
	"testing"
)

func TestCheckPort(t *testing.T) {
	for text, good := range map[string]bool{
		"http://a": true, "http://a:": true, "http://a:1/x": true, "http://[::1]:65535": true, "http://a:00080": true,
		"http://a:0": false, "http://a:00": false, "http://a:65536": false, "http://a:99999/x?y": false, "http://[::1]:0": false,
		"http://a:99999999999999999999999": false,
	} {
		u, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckPort(u); (err == nil) != good {
			t.Errorf("%s: %v", text, err)
		}
	}
}
