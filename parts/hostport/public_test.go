package hostport

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

func TestPublic(t *testing.T) {
	for ip, want := range map[string]bool{
		"1.1.1.1": true, "8.8.8.8": true, "2606:4700::1111": true, "::ffff:8.8.8.8": true,
		"127.0.0.1": false, "10.0.0.1": false, "172.31.255.255": false, "192.168.1.1": false, "169.254.169.254": false,
		"0.1.2.3": false, "100.64.0.1": false, "198.18.0.1": false, "255.255.255.255": false, "224.0.0.1": false,
		"::1": false, "::": false, "fe80::1": false, "fc00::1": false, "::ffff:10.0.0.1": false, "64:ff9b::a00:1": false, "2002:a00:1::": false,
		"2002:7f00:1::%lo": false, "2606:4700::1111%eth0": true, "::7f00:1": false, "64:ff9b:1::a00:1": false, "fec0::1": false,
		"2001::1": false, "::ffff:0:a00:1": false, "ff02::1": false,
	} {
		if got := Public(netip.MustParseAddr(ip)); got != want {
			t.Errorf("%s: public %v", ip, got)
		}
	}
}

func TestTarget(t *testing.T) {
	for text, want := range map[string]string{
		"https://Example.com/x": "", "http://8.8.8.8:80": "", "http://127.0.0.1/": "not a public address", "http://[::1]:80": "not a public address",
		"http://１２７.0.0.1/": "not a public address", "http://%31%32%37.0.0.1/": "not a public address", "http://[0:0::FFFF:10.0.0.1]/": "not a public address",
	} {
		if _, err := Target(text, false); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if got, err := Target("http://127.0.0.1/", true); got != "http://127.0.0.1/" || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

func TestClient(t *testing.T) {
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, server.URL+"/other", http.StatusFound)
	}))
	defer server.Close()
	if _, err := Client(time.Minute, false).Get(server.URL); !errors.Is(err, ErrNotPublic) {
		t.Errorf("a loopback address: %v", err)
	}
	client := Client(time.Minute, true)
	defer client.CloseIdleConnections()
	resp, err := client.Get(server.URL)
	if err != nil || resp.StatusCode != http.StatusFound {
		t.Fatalf("a redirect: %v, %v", resp, err)
	}
	resp.Body.Close()
}
