package environment

import (
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/pprof"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestPortsFields(t *testing.T) {
	web, other, debug := netip.MustParseAddrPort("127.0.0.1:8080"), netip.MustParseAddrPort("127.0.0.1:9090"), netip.MustParseAddrPort("127.0.0.1:6060")
	for _, tt := range []struct {
		name   string
		wanted int
		at     []netip.AddrPort
		want   map[string]string
		err    string
	}{
		{"one", 0, []netip.AddrPort{web}, map[string]string{"listen": "127.0.0.1:8080"}, ""},
		{"one with profiles", 0, []netip.AddrPort{debug}, map[string]string{"listen": "127.0.0.1:6060", "debug": "127.0.0.1:6060"}, ""},
		{"profiles apart", 0, []netip.AddrPort{debug, web}, map[string]string{"listen": "127.0.0.1:8080", "debug": "127.0.0.1:6060"}, ""},
		{"not clear", 0, []netip.AddrPort{web, other}, nil, "--port"},
		{"named", 9090, []netip.AddrPort{web, other, debug}, map[string]string{"listen": "127.0.0.1:9090", "debug": "127.0.0.1:6060"}, ""},
		{"named, with profiles", 6060, []netip.AddrPort{web, debug}, map[string]string{"listen": "127.0.0.1:6060", "debug": "127.0.0.1:6060"}, ""},
		{"named, not yet bound", 7070, []netip.AddrPort{web}, nil, ""},
	} {
		got, err := (&ports{wanted: tt.wanted}).fields(tt.at, func(a string) bool { return a == debug.String() })
		if !maps.Equal(got, tt.want) || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %v, %v; want %v", tt.name, got, err, tt.want)
		}
	}
}

// A server that does nothing for the lab is found, with its profiles.
func TestPortsFind(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("reads /proc")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	s := httptest.NewServer(mux)
	defer s.Close()
	port := s.Listener.Addr().(*net.TCPAddr).Port
	p := &ports{wanted: port}
	for {
		got, err := p.find(t.Context(), os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		if got == nil {
			time.Sleep(time.Millisecond) // as Start polls; the test's own time limit ends it
			continue
		}
		if at := s.Listener.Addr().String(); got["listen"] != at || got["debug"] != at {
			t.Errorf("found %v, want %s", got, at)
		}
		return
	}
}
